#include <gtest/gtest.h>
#include <sodium.h>

#include <string>
#include <type_traits>

#include "base/digest.h"
#include "secrets/base64url.h"
#include "secrets/bcrypt.h"
#include "secrets/credential.h"
#include "secrets/recovery_key.h"
#include "secrets/seal.h"
#include "secrets/sealed_box.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::secrets {
namespace {

std::string bytes(std::size_t count, int first = 0) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += static_cast<char>((static_cast<std::size_t>(first) + i * 7) & 255U);
  }
  return out;
}

static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_default_constructible_v<fmt::formatter<Secret>>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);

TEST(SecretTest, MovesComparesAndTakes) {
  std::string source = "top";
  Secret a = Secret::take(source);
  EXPECT_TRUE(source.empty());
  const Secret b = a.copy();
  EXPECT_TRUE(a.equals(b));
  EXPECT_FALSE(a.equals(Secret("tap")));
  EXPECT_FALSE(a.equals(Secret("topp")));
  const Secret c = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): what the move leaves is the point
  EXPECT_EQ(c.reveal(), "top");
  EXPECT_TRUE(Secret().equals(Secret("")));
}

// Examples of RFC 4648 section 10, without padding.
TEST(Base64Url, KnownTexts) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},        {"f", "Zg"},        {"fo", "Zm8"},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"\xfb\xff\xfe", "-__-"}};
  for (const auto& [plain, text] : cases) {
    EXPECT_EQ(base64url(plain), text);
    EXPECT_EQ(from_base64url(text).value(), plain);
  }
  EXPECT_EQ(base64url(bytes(32)).size(), 43U);
}

TEST(Base64Url, EachValueHasOneText) {
  for (const char* text : {"Z", "Zh", "Zm9=", "Zm9v\n", "Zm+v", "Zm/v", "Zm9vZ"}) {
    EXPECT_FALSE(from_base64url(text).has_value()) << text;
  }
  for (std::size_t length = 0; length < 70; ++length) {
    EXPECT_EQ(from_base64url(base64url(bytes(length, 3))).value(), bytes(length, 3));
  }
}

TEST(Seal, OpensOnlyWithItsKeyOwnerAndBytes) {
  const SealKey key = SealKey::from_bytes(bytes(32)).value();
  const SealKey other = SealKey::from_bytes(bytes(32, 1)).value();
  const std::string sealed = seal(key, "value", "credential/one.shop", bytes(24)).value();
  EXPECT_EQ(open(key, sealed, "credential/one.shop").value().reveal(), "value");
  EXPECT_EQ(open(other, sealed, "credential/one.shop").error().code, Code::Corrupt);
  EXPECT_EQ(open(key, sealed, "credential/two.shop").error().code, Code::Corrupt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(open(key, damaged, "credential/one.shop").error().code, Code::Corrupt) << i;
    EXPECT_FALSE(open(key, sealed.substr(0, i), "credential/one.shop").has_value()) << i;
  }
  EXPECT_EQ(open(key, seal(key, "", "", bytes(24)).value(), "").value().size(), 0U);
  EXPECT_FALSE(SealKey::from_bytes(bytes(31)).has_value());
  EXPECT_FALSE(seal(key, "", "", bytes(23)).has_value());
}

// The last hash is of crypt_blowfish's own test vectors.
TEST(Bcrypt, HashesAtCostFourAndVerifies) {
  const std::string hash = bcrypt_hash("secret", bytes(16)).value();
  EXPECT_TRUE(hash.starts_with("$2a$04$")) << hash;
  EXPECT_EQ(hash.size(), 60U);
  EXPECT_EQ(bcrypt_hash("secret", bytes(16)).value(), hash);
  EXPECT_NE(bcrypt_hash("secret", bytes(16, 1)).value(), hash);
  EXPECT_TRUE(bcrypt_verify("secret", hash));
  EXPECT_FALSE(bcrypt_verify("Secret", hash));
  EXPECT_FALSE(bcrypt_verify(hash, hash));
  EXPECT_FALSE(bcrypt_verify("secret", "secret"));
  EXPECT_FALSE(bcrypt_verify("secret", std::string(60, '*')));
  EXPECT_TRUE(bcrypt_verify("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
}

TEST(Bcrypt, RefusesWhatItWouldCut) {
  for (const std::string& secret : {std::string(), std::string("a\0b", 3), std::string(73, 'x')}) {
    EXPECT_EQ(bcrypt_hash(secret, bytes(16)).error().code, Code::InvalidArgument);
  }
  EXPECT_TRUE(bcrypt_hash(std::string(72, 'x'), bytes(16)).has_value());
  EXPECT_FALSE(bcrypt_hash("secret", bytes(15)).has_value());
}

TEST(CredentialTest, IsFortyThreeCharactersAndItsHash) {
  const Credential credential = new_credential(bytes(48)).value();
  EXPECT_EQ(credential.secret.size(), 43U);
  EXPECT_TRUE(bcrypt_verify(credential.secret.reveal(), credential.hash));
  EXPECT_FALSE(new_credential(bytes(47)).has_value());
}

std::string from_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return out;
}

// RFC 8032 section 7.1, test 2.
TEST(Signing, KnownAnswer) {
  const auto key = SigningKey::from_seed(
                       from_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
                       .value();
  EXPECT_EQ(hex(key.public_key().bytes()),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  EXPECT_EQ(hex(key.sign("\x72")),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(Signing, VerifiesOnlyTheMessageUnderTheKey) {
  const auto key = SigningKey::from_seed(bytes(32)).value();
  const auto other = SigningKey::from_seed(bytes(32, 1)).value();
  const std::string signature = key.sign("message");
  EXPECT_TRUE(verify(key.public_key(), "message", signature));
  EXPECT_FALSE(verify(key.public_key(), "massage", signature));
  EXPECT_FALSE(verify(other.public_key(), "message", signature));
  EXPECT_FALSE(verify(key.public_key(), "message", signature.substr(1)));
  EXPECT_FALSE(SigningKey::from_seed(bytes(31)).has_value());
  EXPECT_FALSE(PublicKey::from_bytes(bytes(33)).has_value());
  EXPECT_EQ(mesh_id(key.public_key()), sha256_hex(key.public_key().bytes()).substr(0, 32));
}

TEST(SealedBox, OpensOnlyWithThePrivateHalf) {
  const auto key = SigningKey::from_seed(bytes(32)).value();
  const auto other = SigningKey::from_seed(bytes(32, 1)).value();
  const std::string sealed = seal_to(key.public_key(), "archive", bytes(32, 9)).value();
  EXPECT_EQ(open_sealed(key, sealed).value().reveal(), "archive");
  EXPECT_EQ(open_sealed(other, sealed).error().code, Code::Corrupt);
  EXPECT_EQ(open_sealed(key, sealed.substr(0, 20)).error().code, Code::Corrupt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_FALSE(open_sealed(key, damaged).has_value()) << i;
  }
  EXPECT_FALSE(
      seal_to(PublicKey::from_bytes(std::string(32, '\0')).value(), "x", bytes(32)).has_value());
}

TEST(RecoveryKey, IsReadBackHoweverItWasWrittenDown) {
  const auto key = SigningKey::from_seed(bytes(32, 77)).value();
  const Secret shown = recovery_text(key);
  std::string text(shown.reveal());
  EXPECT_TRUE(text.starts_with("mesh-recovery-"));
  EXPECT_EQ(text.size(), 14U + 56U + 6U);
  EXPECT_EQ(from_recovery_text(text).value().public_key(), key.public_key());
  for (char& c : text) {
    c = c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    c = c == 'O' ? '0' : c;
    c = c == 'L' ? '1' : c;
    c = c == 'B' ? '8' : c;
  }
  EXPECT_EQ(from_recovery_text(" " + text + "\r\n").value().public_key(), key.public_key());
}

TEST(RecoveryKey, EachMistypedCharacterIsSeen) {
  const Secret shown = recovery_text(SigningKey::from_seed(bytes(32, 77)).value());
  const std::string text(shown.reveal());
  for (std::size_t i = 14; i < text.size(); ++i) {
    if (text[i] == '-') {
      continue;
    }
    std::string mistyped = text;
    mistyped[i] = text[i] == 'x' ? 'y' : 'x';
    const auto refused = from_recovery_text(mistyped);
    ASSERT_FALSE(refused.has_value()) << i;
    EXPECT_EQ(refused.error().message.find(mistyped.substr(14, 8)), std::string::npos);
  }
  for (const std::string& other :
       {std::string(), std::string("mesh-recovery-"), text.substr(1), text.substr(0, 70),
        text + "a", std::string(100000, 'a'), std::string("mesh-recovery-!")}) {
    EXPECT_EQ(from_recovery_text(other).error().code, Code::InvalidArgument);
  }
}

}  // namespace
}  // namespace mesh::secrets
