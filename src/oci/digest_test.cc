#include "oci/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <unordered_set>

namespace mesh::oci {
namespace {

// FIPS 180-4, the examples of one block.
constexpr const char* kAbc256 =
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kAbc512 =
    "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
constexpr const char* kEmpty256 =
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static_assert(!std::is_default_constructible_v<Digest>);
static_assert(!std::is_constructible_v<Digest, std::string>);
static_assert(!std::is_copy_constructible_v<Hasher>);

TEST(DigestTest, ParsesBothAlgorithms) {
  const Digest a = Digest::parse(kAbc256).value();
  EXPECT_EQ(a.algorithm(), Algorithm::Sha256);
  EXPECT_EQ(a.hex().size(), 64U);
  EXPECT_EQ(a.text(), kAbc256);
  EXPECT_EQ(a.brief(), "sha256:ba7816bf8f01");
  const Digest b = Digest::parse(kAbc512).value();
  EXPECT_EQ(b.algorithm(), Algorithm::Sha512);
  EXPECT_EQ(b.hex().size(), 128U);
  EXPECT_NE(a, b);
  EXPECT_LT(a, b);
  EXPECT_EQ((std::unordered_set<Digest>{a, b, a}).size(), 2U);
}

TEST(DigestTest, HashesWithItsOwnAlgorithm) {
  EXPECT_EQ(digest_of("abc").text(), kAbc256);
  EXPECT_EQ(digest_of("abc", Algorithm::Sha512).text(), kAbc512);
  EXPECT_EQ(digest_of("").text(), kEmpty256);
}

TEST(HasherTest, OfAnyPiecesIsTheSame) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += std::to_string(i);
  }
  for (const Algorithm algorithm : {Algorithm::Sha256, Algorithm::Sha512}) {
    Hasher hasher(algorithm);
    for (std::size_t at = 0, step = 0; at < text.size(); at += step) {
      step = (step + 1) % 130;
      hasher.update(std::string_view(text).substr(at, step));
    }
    EXPECT_EQ(hasher.size(), text.size());
    EXPECT_EQ(hasher.finish(), digest_of(text, algorithm));
    EXPECT_EQ(hasher.size(), 0U);
    hasher.update("abc");
    Hasher moved = std::move(hasher);
    EXPECT_EQ(moved.finish(), digest_of("abc", algorithm));
  }
}

TEST(DigestTest, NamesTheAlgorithmThatItDoesNotKnow) {
  for (const char* text :
       {"sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "sha384:aa", "SHA256:aa",
        "multihash+base58:QmRZxt2b1FVZPNqd8hsiykDL3TdBDeTSPX9Kv46HmX4Gx8"}) {
    EXPECT_EQ(Digest::parse(text).error().code, Code::Unsupported) << text;
  }
  for (const char* text : {"", "sha256", ":aa", "sha256:aa", "sha256:", " sha256:aa"}) {
    EXPECT_FALSE(Digest::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace mesh::oci
