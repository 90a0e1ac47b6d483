#include "oci/auth_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"

namespace mesh::oci {
namespace {

std::string shown(const CredentialSource& source) {
  if (const auto* pair = std::get_if<BasicPair>(&source)) {
    return "basic " + pair->user + ":" + pair->password;
  }
  if (const auto* token = std::get_if<IdentityToken>(&source)) {
    return "identity " + token->token;
  }
  if (const auto* token = std::get_if<RegistryToken>(&source)) {
    return "registry " + token->token;
  }
  const auto& helper = std::get<Helper>(source);
  return "helper " + helper.name + " " + helper.server;
}

std::vector<std::string> found(const std::string& text, std::string_view domain,
                               std::string_view path) {
  const auto file = AuthFile::parse(text, "auth.json");
  if (!file) {
    return {"error: " + file.error().message};
  }
  std::vector<std::string> out;
  for (const auto& source : file->sources(domain, path)) {
    out.push_back(shown(source));
  }
  return out;
}

std::string auth_of(const std::string& text) {
  return R"({"auth":")" + base64(text) + R"("})";
}

using Sources = std::vector<std::string>;

TEST(AuthFileTest, FindsTheMostParticularFirst) {
  const std::string text = fmt::format(
      R"({{"auths":{{"host.example":{},"host.example/ns":{},"host.example/ns/repo":{},"other.example":{}}}}})",
      auth_of("a:1"), auth_of("b:2"), auth_of("c:3"), auth_of("d:4"));
  EXPECT_EQ(found(text, "host.example", "ns/repo"),
            (Sources{"basic c:3", "basic b:2", "basic a:1"}));
  EXPECT_EQ(found(text, "host.example", "ns/other"), (Sources{"basic b:2", "basic a:1"}));
  EXPECT_EQ(found(text, "host.example", "nsx/repo"), (Sources{"basic a:1"}));
  EXPECT_EQ(found(text, "host.example", ""), (Sources{"basic a:1"}));
  EXPECT_EQ(found(text, "HOST.example", "x"), (Sources{"basic a:1"}));
  EXPECT_EQ(found(text, "host.example:5000", "ns/repo"), Sources{});
  EXPECT_EQ(found(text, "docker.io", "library/x"), Sources{});
}

TEST(AuthFileTest, DockersRegistryHasOneEntryUnderAnyName) {
  for (const char* key :
       {"docker.io", "index.docker.io", "https://index.docker.io/v1/", "https://index.docker.io/v1",
        "registry-1.docker.io", "https://registry-1.docker.io/v2/", "https://docker.io",
        "index.docker.io/v1/"}) {
    const std::string text = fmt::format(R"({{"auths":{{"{}":{}}}}})", key, auth_of("u:p"));
    for (const char* domain : {"docker.io", "index.docker.io", "registry-1.docker.io"}) {
      EXPECT_EQ(found(text, domain, "library/debian"), Sources{"basic u:p"})
          << key << " for " << domain;
    }
    EXPECT_EQ(found(text, "ghcr.io", "x"), Sources{}) << key;
  }
  const std::string both =
      fmt::format(R"({{"auths":{{"https://index.docker.io/v1/":{},"docker.io":{}}}}})",
                  auth_of("docker:1"), auth_of("podman:2"));
  EXPECT_EQ(found(both, "docker.io", "x"), (Sources{"basic podman:2", "basic docker:1"}));
  const std::string repository =
      fmt::format(R"({{"auths":{{"docker.io/user/app":{}}}}})", auth_of("u:p"));
  EXPECT_EQ(found(repository, "docker.io", "user/app"), Sources{"basic u:p"});
  EXPECT_EQ(found(repository, "docker.io", "user/other"), Sources{});
}

TEST(AuthFileTest, KeysMayBeUrls) {
  for (const char* key :
       {"https://host.example:5000", "http://host.example:5000/", "https://host.example:5000/v2/",
        "host.example:5000/v2", "https://host.example:5000/any/path", "host.example:5000/"}) {
    const std::string text = fmt::format(R"({{"auths":{{"{}":{}}}}})", key, auth_of("u:p"));
    EXPECT_EQ(found(text, "host.example:5000", "x"), Sources{"basic u:p"}) << key;
    EXPECT_EQ(found(text, "host.example", "x"), Sources{}) << key;
  }
}

TEST(AuthFileTest, ReadsEachKindOfEntry) {
  const auto entry = [](const std::string& value) {
    return found(R"({"auths":{"h.example":)" + value + "}}", "h.example", "x");
  };
  EXPECT_EQ(entry(auth_of("user:pass:with:colons")), Sources{"basic user:pass:with:colons"});
  EXPECT_EQ(entry(auth_of(std::string("user:pass\0\0", 11))), Sources{"basic user:pass"});
  EXPECT_EQ(entry(R"({"username":"u","password":"p"})"), Sources{"basic u:p"});
  EXPECT_EQ(entry(R"({"identitytoken":"t"})"), Sources{"identity t"});
  EXPECT_EQ(entry(R"({"auth":")" + base64("00000000-0000-0000-0000-000000000000:") +
                  R"(","identitytoken":"t"})"),
            Sources{"identity t"});
  EXPECT_EQ(entry(R"({"registrytoken":"r","identitytoken":"t"})"),
            (Sources{"registry r", "identity t"}));
  EXPECT_EQ(entry("{}"), Sources{});
  EXPECT_EQ(entry("null"), Sources{});
  EXPECT_EQ(entry(R"({"email":"x@y"})"), Sources{});
  EXPECT_EQ(found("{}", "h.example", "x"), Sources{});
  EXPECT_EQ(found(R"({"auths":null,"HttpHeaders":{"a":"b"},"psFormat":"x"})", "h.example", "x"),
            Sources{});
}

TEST(AuthFileTest, HelpersAndTheStore) {
  const std::string text = fmt::format(
      R"({{"auths":{{"h.example":{},"https://stored.example":{{}}}},"credHelpers":{{"h.example":"own","gcr.io":"gcloud","docker.io/ns":"particular"}},"credsStore":"desktop"}})",
      auth_of("u:p"));
  EXPECT_EQ(found(text, "h.example", "x"),
            (Sources{"helper own h.example", "basic u:p", "helper desktop h.example"}));
  EXPECT_EQ(found(text, "gcr.io", "x"), (Sources{"helper gcloud gcr.io", "helper desktop gcr.io"}));
  EXPECT_EQ(found(text, "docker.io", "library/x"),
            Sources{"helper desktop https://index.docker.io/v1/"});
  EXPECT_EQ(
      found(text, "docker.io", "ns/x"),
      (Sources{"helper particular docker.io/ns", "helper desktop https://index.docker.io/v1/"}));
  EXPECT_EQ(found(text, "stored.example", "x"), Sources{"helper desktop https://stored.example"});
  EXPECT_EQ(found(text, "new.example:5000", "x"), Sources{"helper desktop new.example:5000"});
}

TEST(AuthFileTest, ErrorsNameTheKeyAndNoSecret) {
  const std::string texts[] = {
      "secret",
      R"({"auths":{"h.example":{"auth":"secret")",
      R"({"auths":{"h.example":{"auth":"!secret!"}}})",
      R"({"auths":{"h.example":{"auth":")" + base64("secret-without-colon") + R"("}}})",
      R"({"auths":{"h.example":"secret"}})",
      R"({"auths":{"h.example":{"auth":"c2VjcmV0"}}, secret})",
      R"({"auths":{"https://user:secret@h.example/v2/":{"auth":"secret"}}})",
      R"({"credHelpers":{"h.example":"../../bin/secret"}})",
      R"({"credHelpers":{"h.example":5}})",
      R"({"credsStore":"secret; rm"})",
      "[]"};
  for (const auto& text : texts) {
    const auto file = AuthFile::parse(text, "auth.json");
    ASSERT_FALSE(file.has_value()) << text;
    EXPECT_EQ(file.error().code, Code::Corrupt) << text;
    const std::string said = file.error().message + file.error().hint;
    EXPECT_EQ(said.find("secret"), std::string::npos) << said;
    EXPECT_EQ(said.find(base64("secret-without-colon")), std::string::npos) << said;
    EXPECT_EQ(said.find("auth.json"), 0U) << said;
  }
  EXPECT_NE(AuthFile::parse(texts[2], "f").error().message.find("h.example"), std::string::npos);
}

TEST(HelperAnswerTest, IsAPairOrAToken) {
  const Helper helper{"own", "h.example"};
  EXPECT_EQ(shown(read_helper_answer(R"({"ServerURL":"h.example","Username":"u","Secret":"p:q"})",
                                     0, helper)
                      .value()),
            "basic u:p:q");
  EXPECT_EQ(shown(read_helper_answer(R"({"Username":"<token>","Secret":"t"})", 0, helper).value()),
            "identity t");
  EXPECT_EQ(
      read_helper_answer("credentials not found in native keychain\n", 1, helper).error().code,
      Code::NotFound);
  EXPECT_EQ(read_helper_answer(R"({"Username":"","Secret":""})", 0, helper).error().code,
            Code::NotFound);
  EXPECT_EQ(read_helper_answer("", 0, helper).error().code, Code::Corrupt);
  EXPECT_EQ(read_helper_answer("secret", 0, helper).error().code, Code::Corrupt);
  EXPECT_EQ(read_helper_answer("secret", 0, helper).error().message.find("secret"),
            std::string::npos);
  const Error failed = read_helper_answer("no keyring is open\nmore", 2, helper).error();
  EXPECT_EQ(failed.code, Code::Unavailable);
  EXPECT_NE(failed.message.find("docker-credential-own failed (2): no keyring is open"),
            std::string::npos);
  const Error hidden =
      read_helper_answer(R"({"Username":"u","Secret":"secret"})", 1, helper).error();
  EXPECT_EQ(hidden.message.find("secret"), std::string::npos) << hidden.message;
}

}  // namespace
}  // namespace mesh::oci
