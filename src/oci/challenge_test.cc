#include "oci/challenge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mesh::oci {
namespace {

using Parameters = std::map<std::string, std::string>;

struct ChallengeCase {
  std::vector<std::string> headers;
  std::vector<std::pair<std::string, Parameters>> challenges;
};

const Parameters kThree = {{"realm", "https://auth.docker.io/token"},
                           {"service", "registry.docker.io"},
                           {"scope", "repository:docker/docker:pull,push"}};

std::vector<ChallengeCase> challenge_cases() {
  return {
      {{}, {}},
      {{""}, {}},
      {{"  , ,"}, {}},
      {{"Basic"}, {{"basic", {}}}},
      {{"Basic realm=\"Registry\""}, {{"basic", {{"realm", "Registry"}}}}},
      {{R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:docker/docker:pull,push")"},
       {{"bearer", kThree}}},
      // Upper and lower case, blanks around commas and equal signs, tabs.
      {{"BEARER  REALM = \"https://auth.docker.io/token\" ,\tService=\"registry.docker.io\" , "
        "scope=\"repository:docker/docker:pull,push\""},
       {{"bearer", kThree}}},
      // Without quotes; the comma of the scope stays in it.
      {{"Bearer "
        "realm=https://auth.docker.io/token,service=registry.docker.io,scope=repository:docker/"
        "docker:pull,push"},
       {{"bearer", kThree}}},
      {{"Bearer scope=repository:docker/docker:pull,push,realm=https://auth.docker.io/token, "
        "service=registry.docker.io"},
       {{"bearer", kThree}}},
      // Commas missing.
      {{R"(Bearer realm="https://auth.docker.io/token" service="registry.docker.io" scope="repository:docker/docker:pull,push")"},
       {{"bearer", kThree}}},
      {{R"(Bearer realm="https://auth.docker.io/token"service="registry.docker.io"scope="repository:docker/docker:pull,push")"},
       {{"bearer", kThree}}},
      // The last quote missing.
      {{R"(Bearer service="registry.docker.io",scope="repository:docker/docker:pull,push",realm="https://auth.docker.io/token)"},
       {{"bearer", kThree}}},
      // Quoted commas, quotes and backslashes.
      {{R"(Basic realm="a, \"b\" and \\c, Bearer realm=x")"},
       {{"basic", {{"realm", R"(a, "b" and \c, Bearer realm=x)"}}}}},
      {{R"(Basic realm="ends in \)"}, {{"basic", {{"realm", "ends in \\"}}}}},
      // Several in one header, and several headers (RFC 9110 has the first).
      {{R"(Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"")"},
       {{"basic", {{"realm", "simple"}}},
        {"newauth", {{"realm", "apps"}, {"type", "1"}, {"title", R"(Login to "apps")"}}}}},
      {{R"(Newauth realm="apps", type=1, Basic realm="simple")"},
       {{"newauth", {{"realm", "apps"}, {"type", "1"}}}, {"basic", {{"realm", "simple"}}}}},
      {{R"(Bearer realm="https://a/token",service="a",Basic realm="b")"},
       {{"bearer", {{"realm", "https://a/token"}, {"service", "a"}}}, {"basic", {{"realm", "b"}}}}},
      {{R"(Basic realm="b")", R"(Bearer realm="https://a/token")"},
       {{"basic", {{"realm", "b"}}}, {"bearer", {{"realm", "https://a/token"}}}}},
      {{"Negotiate, Basic realm=x"}, {{"negotiate", {}}, {"basic", {{"realm", "x"}}}}},
      {{"Negotiate YWJj==, Basic realm=x"},
       {{"negotiate", {{"ywjj", "="}}}, {"basic", {{"realm", "x"}}}}},
      // What cannot be read is left out; the first of two counts; nothing before a scheme.
      {{R"(realm="x")"}, {}},
      {{R"(realm="x", Basic realm="y")"}, {{"basic", {{"realm", "y"}}}}},
      {{R"(Basic realm="x", realm="y")"}, {{"basic", {{"realm", "x"}}}}},
      {{R"(Basic realm="x", @@@, charset="UTF-8")"},
       {{"basic", {{"realm", "x"}, {"charset", "UTF-8"}}}}},
      {{"Bearer realm="}, {{"bearer", {{"realm", ""}}}}},
      {{"Bearer realm=,service=x"}, {{"bearer", {{"realm", ""}, {"service", "x"}}}}},
      {{R"(Bearer realm="https://a/token",error="insufficient_scope",error_description="no, \"never\"")"},
       {{"bearer",
         {{"realm", "https://a/token"},
          {"error", "insufficient_scope"},
          {"error_description", "no, \"never\""}}}}},
  };
}

TEST(ChallengeTest, ReadsWhatRegistriesSend) {
  for (const auto& one : challenge_cases()) {
    const auto challenges = parse_challenges(one.headers);
    const std::string shown = one.headers.empty() ? "" : one.headers.front();
    ASSERT_EQ(challenges.size(), one.challenges.size()) << shown;
    for (std::size_t i = 0; i < challenges.size(); ++i) {
      EXPECT_EQ(challenges[i].scheme, one.challenges[i].first) << shown;
      EXPECT_EQ(challenges[i].parameters, one.challenges[i].second) << shown;
    }
  }
}

Result<Demand> demanded(const std::vector<std::string>& headers) {
  return choose_demand(parse_challenges(headers));
}

TEST(DemandTest, PrefersBearer) {
  const Demand bearer =
      demanded({R"(Basic realm="b", Bearer realm="https://a/t",service="s",error="invalid_token")"})
          .value();
  EXPECT_EQ(bearer.kind, Demand::Kind::Bearer);
  EXPECT_EQ(bearer.realm, "https://a/t");
  EXPECT_EQ(bearer.service, "s");
  EXPECT_EQ(bearer.error, "invalid_token");
  EXPECT_TRUE(bearer.scopes.empty());
  EXPECT_EQ(demanded({"Bearer service=x, Basic realm=b"}).value().kind, Demand::Kind::Basic);
  EXPECT_EQ(demanded({"Negotiate", "Basic"}).value().kind, Demand::Kind::Basic);
  const Error other = demanded({"Negotiate, NTLM"}).error();
  EXPECT_EQ(other.code, Code::Unsupported);
  EXPECT_NE(other.message.find("negotiate, ntlm"), std::string::npos) << other.message;
  EXPECT_EQ(demanded({}).error().code, Code::Unsupported);
}

TEST(ScopeTest, MayHoldSeveralEntries) {
  // Two entries in one scope, separated by a blank, and a name with a port.
  const auto scopes =
      parse_scopes("repository:a/b:pull,push repository:host:5000/c:pull registry:catalog:*");
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0], (Scope{"repository", "a/b", {"pull", "push"}}));
  EXPECT_EQ(scopes[1], (Scope{"repository", "host:5000/c", {"pull"}}));
  EXPECT_EQ(scopes[2].text(), "registry:catalog:*");
  EXPECT_EQ(parse_scopes("repository:a:push,pull,pull")[0].text(), "repository:a:pull,push");
  EXPECT_EQ(parse_scopes("repository(plugin):a:pull")[0].type, "repository(plugin)");
  for (const char* text : {"", " ", "a", "a:b", ":b:c", "a::c", "::"}) {
    EXPECT_TRUE(parse_scopes(text).empty()) << text;
  }
  EXPECT_EQ(parse_scopes("repository:a:").at(0).actions.size(), 0U);
}

TEST(ScopeTest, AreAccumulated) {
  const auto both = merged(parse_scopes("repository:a:pull repository:b:pull"),
                           {repository_scope("a", true), repository_scope("c", false)});
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(both[0].text(), "repository:a:pull,push");
  EXPECT_EQ(both[1].text(), "repository:b:pull");
  EXPECT_EQ(both[2].text(), "repository:c:pull");
  EXPECT_TRUE(merged({}, {}).empty());
}

TEST(TokenRequestTest, SendsNothingEmpty) {
  const Url realm = Url::parse("https://auth.example/token").value();
  Demand demand{Demand::Kind::Bearer, "", "", {}, ""};
  EXPECT_EQ(token_url(realm, demand, {}, "").text(), "https://auth.example/token");
  demand.service = "registry & co";
  EXPECT_EQ(token_url(realm, demand, {repository_scope("a/b", true), repository_scope("c", false)},
                      "me@x")
                .text(),
            "https://auth.example/"
            "token?service=registry%20%26%20co&scope=repository%3Aa%2Fb%3Apull%2Cpush"
            "&scope=repository%3Ac%3Apull&account=me%40x");
  const Url with_query = Url::parse("https://auth.example/token?realm=x").value();
  EXPECT_EQ(token_url(with_query, {}, {}, "a").text(),
            "https://auth.example/token?realm=x&account=a");
  EXPECT_EQ(
      refresh_form(demand, {repository_scope("a", false), repository_scope("b", false)}, "to/ken"),
      "grant_type=refresh_token&client_id=mesh&service=registry%20%26%20co"
      "&scope=repository%3Aa%3Apull%20repository%3Ab%3Apull&refresh_token=to%2Fken");
  EXPECT_EQ(refresh_form({}, {}, "t"), "grant_type=refresh_token&client_id=mesh&refresh_token=t");
}

struct RealmCase {
  const char* realm;
  const char* registry;
  bool allowed;
};

TEST(RealmTest, CredentialsGoOnlyWhereTheyMay) {
  const RealmCase cases[] = {
      {"https://auth.docker.io/token", "https://registry-1.docker.io", true},
      {"https://8.8.8.8/token", "https://registry.example", true},
      {"https://registry.example:8443/token", "https://registry.example", true},
      // Downgrades.
      {"http://auth.docker.io/token", "https://registry-1.docker.io", false},
      {"http://registry.example/token", "https://registry.example", false},
      {"http://auth.example/token", "http://registry.example:5000", false},
      {"http://registry.example:5001/token", "http://registry.example:5000",
       true},  // declared insecure
      {"http://127.0.0.1:5001/token", "http://127.0.0.1:5000", true},
      {"http://localhost:5001/token", "http://127.0.0.1:5000", true},
      {"http://[::1]:5001/token", "https://localhost:5000", true},
      {"http://127.0.0.1/token", "https://registry.example", false},
      // Addresses within a network.
      {"https://127.0.0.1/token", "https://registry.example", false},
      {"https://localhost/token", "https://registry.example", false},
      {"https://10.0.0.1/token", "https://registry.example", false},
      {"https://10.0.0.1/token", "https://8.8.8.8", false},
      {"https://10.0.0.1/token", "https://192.168.1.1:5000", true},
      {"https://10.0.0.1/token", "http://127.0.0.1:5000", true},
      {"https://127.0.0.1/token", "https://10.0.0.1:5000", false},
      {"https://169.254.169.254/latest", "https://registry.example", false},
      {"https://169.254.169.254/latest", "https://10.0.0.1", false},
      {"https://[fd00::1]/token", "https://registry.example", false},
      {"https://[::ffff:169.254.169.254]/", "https://registry.example", false},
      {"https://2130706433/token", "http://127.0.0.1:5000", false},
      {"https://0.0.0.0/token", "http://127.0.0.1:5000", false},
      // No URL to send credentials to.
      {"", "https://registry.example", false},
      {"/token", "https://registry.example", false},
      {"ftp://auth.example/token", "https://registry.example", false},
      {"https://user:password@auth.example/token", "https://registry.example", false},
      {"https://auth.example/\r\nX: y", "https://registry.example", false},
  };
  for (const auto& one : cases) {
    const auto url = check_realm(one.realm, Url::parse(one.registry).value());
    EXPECT_EQ(url.has_value(), one.allowed) << one.realm << " of " << one.registry;
    if (!url) {
      EXPECT_EQ(url.error().code, Code::PermissionDenied);
      EXPECT_EQ((url.error().message + url.error().hint).find("password@"), std::string::npos);
    }
  }
}

TEST(TokenTest, IsReadInBothWords) {
  const TokenAnswer a =
      read_token(R"({"token":"abc","expires_in":900,"issued_at":"2026-08-01T00:00:10.5Z"})")
          .value();
  EXPECT_EQ(a.token, "abc");
  EXPECT_EQ(a.expires_in, 900);
  EXPECT_EQ(a.issued_at, 1785542410);
  const TokenAnswer b = read_token(R"({"access_token":"abc","refresh_token":"r"})").value();
  EXPECT_EQ(b.token, "abc");
  EXPECT_EQ(b.refresh_token, "r");
  EXPECT_EQ(b.expires_in, 60);
  EXPECT_EQ(b.issued_at, std::nullopt);
  EXPECT_EQ(read_token(R"({"token":"","access_token":"x"})").value().token, "x");
  EXPECT_EQ(read_token(R"({"token":"x","access_token":"y"})").value().token, "x");
  const std::pair<const char*, std::int64_t> lives[] = {
      {"0", 60},     {"-5", 60},          {"1", 1},    {"59.9", 59},
      {"\"x\"", 60}, {"1e300", 31622400}, {"null", 60}};
  for (const auto& [text, seconds] : lives) {
    EXPECT_EQ(
        read_token(std::string(R"({"token":"x","expires_in":)") + text + "}").value().expires_in,
        seconds)
        << text;
  }
  EXPECT_EQ(
      read_token(R"({"token":"x","issued_at":"2026-08-01T02:00:10+02:00"})").value().issued_at,
      1785542410);
  for (const char* text : {"yesterday", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                           "2026-08-01T24:00:00Z", "2026-08-01T00:00:10", "2026-08-01"}) {
    EXPECT_EQ(
        read_token(std::string(R"({"token":"x","issued_at":")") + text + "\"}").value().issued_at,
        std::nullopt)
        << text;
  }
}

TEST(TokenTest, RefusesWithoutQuotingIt) {
  for (const std::string& body : std::vector<std::string>{
           "", "secret", "{\"token\":\"secret\"", "[\"secret\"]", R"({"tokem":"secret"})",
           R"({"token":5,"x":"secret"})", R"({"token":"secret\r\nX-Other: 1"})",
           R"({"token":"sec ret secret"})", R"({"token":")" + std::string(70'000, 's') + "ecret\"}",
           R"({"token":"secret","refresh_token":"\u0000secret"})"}) {
    const auto answer = read_token(body);
    ASSERT_FALSE(answer.has_value()) << body.substr(0, 80);
    EXPECT_EQ(answer.error().code, Code::Corrupt);
    EXPECT_EQ(answer.error().message.find("secret"), std::string::npos) << answer.error().message;
  }
}

}  // namespace
}  // namespace mesh::oci
