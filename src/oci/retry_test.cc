#include "oci/retry.h"

#include <gtest/gtest.h>

#include <string>

namespace mesh::oci {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kNow = 1785542400;  // 2026-08-01T00:00:00Z, a Saturday

TEST(HttpDateTest, HasThreeForms) {
  // RFC 9110 section 5.6.7: the same moment.
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text, kNow), 784111777) << text;
  }
  EXPECT_EQ(parse_http_date("Sat, 01 Aug 2026 00:01:30 GMT", kNow), kNow + 90);
  EXPECT_EQ(parse_http_date("Saturday, 01-Aug-26 00:01:30 GMT", kNow), kNow + 90);
  EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT", kNow), 1709164800);
  for (const char* text : {"", "now", "Sat, 01 Aug 2026 00:01:30", "Sat, 01 Aug 2026 00:01:30 CEST",
                           "Sat, 32 Aug 2026 00:01:30 GMT", "Sat, 30 Feb 2026 00:01:30 GMT",
                           "Sat, 01 Foo 2026 00:01:30 GMT", "Sat, 01 Aug 2026 24:01:30 GMT",
                           "Sat, 01 Aug 2026 0:01:30 GMT", "Sat, 01 Aug 202 00:01:30 GMT",
                           "Sat, -1 Aug 2026 00:01:3O GMT"}) {
    EXPECT_EQ(parse_http_date(text, kNow), std::nullopt) << text;
  }
}

TEST(RetryAfterTest, IsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after("120", kNow), seconds(120));
  EXPECT_EQ(parse_retry_after(" 0 ", kNow), seconds(0));
  EXPECT_EQ(parse_retry_after("Sat, 01 Aug 2026 00:01:30 GMT", kNow), seconds(90));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kNow), seconds(0));
  EXPECT_EQ(parse_retry_after("99999999999999999999999", kNow), seconds(316224000));
  for (const char* text : {"", "-1", "1.5", "soon", "1 2", "0x10", "+5"}) {
    EXPECT_EQ(parse_retry_after(text, kNow), std::nullopt) << text;
  }
}

TEST(RateLimitTest, HasACountAndAWindow) {
  EXPECT_EQ(parse_rate_limit("76;w=21600"), (RateLimit{76, seconds(21600)}));
  EXPECT_EQ(parse_rate_limit("100;w=21600"), (RateLimit{100, seconds(21600)}));
  EXPECT_EQ(parse_rate_limit(" 76 ; w=60 ; x=y"), (RateLimit{76, seconds(60)}));
  EXPECT_EQ(parse_rate_limit("76;x=y;w=60"), (RateLimit{76, seconds(60)}));
  EXPECT_EQ(parse_rate_limit("0"), (RateLimit{0, std::nullopt}));
  EXPECT_EQ(parse_rate_limit("5;w=x"), (RateLimit{5, std::nullopt}));
  for (const char* text : {"", ";w=5", "-1;w=5", "x", "1.5"}) {
    EXPECT_EQ(parse_rate_limit(text), std::nullopt) << text;
  }
}

TEST(ErrorBodyTest, IsOneCleanLine) {
  struct BodyCase {
    std::string body;
    std::string code;
    std::string message;
  };
  const BodyCase cases[] = {
      {"", "", ""},
      {" \n", "", ""},
      {R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"x"}}]})",
       "MANIFEST_UNKNOWN", "manifest unknown"},
      {R"({"errors":[{"code":"DENIED","message":"no"},{"code":"OTHER","message":"x"}]})", "DENIED",
       "no"},
      {R"({"errors":[{"code":"DENIED","message":"","detail":"because"}]})", "DENIED", "because"},
      {R"({"errors":[{"code":"DENIED"}]})", "DENIED", ""},
      {R"({"code":"X","message":"alone"})", "X", "alone"},
      {R"({"message":"alone"})", "", "alone"},
      {R"({"error":"invalid_grant","error_description":"bad user"})", "", "bad user"},
      {R"({"error":{"code":"E","message":"nested"}})", "E", "nested"},
      {R"({"details":"incorrect username or password"})", "", "incorrect username or password"},
      {R"({"errors":[]})", "", R"({"errors":[]})"},
      {R"({"errors":"no list"})", "", R"({"errors":"no list"})"},
      {"{broken", "", "{broken"},
      {"404 page not found\n", "", "404 page not found"},
      {"Too Many Requests", "", "Too Many Requests"},
      {"two\r\n  lines\tof it \n", "", "two lines of it"},
      {"<html><head><title>502 Bad\n Gateway</title></head><body><h1>x</h1></body></html>", "",
       "502 Bad Gateway"},
      {"<!DOCTYPE html><BODY class='a'><h1>Log in</h1><p>please</p></BODY>", "", "Log in please"},
      {"<p>Not <b>here</b>", "", "Not here"},
      {"a\x1b[31mred\x7f", "", "a\\x1b[31mred\\x7f"},
      {"\xff\xfe", "", "\\xff\\xfe"},
  };
  for (const auto& one : cases) {
    const RegistryError error = parse_error_body(one.body);
    EXPECT_EQ(error.code, one.code) << one.body;
    EXPECT_EQ(error.message, one.message) << one.body;
  }
  EXPECT_EQ((RegistryError{"A", "b"}).text(), "A: b");
  EXPECT_EQ((RegistryError{"", "b"}).text(), "b");
  EXPECT_LT(parse_error_body(std::string(1'000'000, 'x')).message.size(), 220U);
  EXPECT_LT(parse_error_body("<title>" + std::string(1'000'000, '<')).message.size(), 220U);
}

TEST(LimitTest, QuotaIsToldFromAbuse) {
  const auto quota = parse_error_body(
      R"({"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your pull rate limit. You may increase the limit by authenticating and upgrading: https://www.docker.com/increase-rate-limit"}]})");
  EXPECT_EQ(limit_of(quota, std::nullopt), Limit::Quota);
  EXPECT_EQ(limit_of(parse_error_body("You have reached your unauthenticated pull rate limit."),
                     std::nullopt),
            Limit::Quota);
  EXPECT_EQ(limit_of(parse_error_body("Too Many Requests"), std::nullopt), Limit::Abuse);
  EXPECT_EQ(
      limit_of(parse_error_body("Too Many Requests (HAP429).\n"), RateLimit{76, seconds(21600)}),
      Limit::Abuse);
  EXPECT_EQ(limit_of(parse_error_body(
                         R"({"errors":[{"code":"TOOMANYREQUESTS","message":"Rate exceeded"}]})"),
                     std::nullopt),
            Limit::Abuse);
  EXPECT_EQ(limit_of({}, RateLimit{0, seconds(21600)}), Limit::Quota);
}

Decision decided(int status, int attempt = 1, std::optional<seconds> after = {},
                 Limit limit = Limit::Abuse, std::optional<seconds> window = {},
                 double jitter = 0) {
  return decide({status, after, limit, window}, attempt, {}, jitter);
}

TEST(DecisionTest, RepeatsWhatMayPass) {
  for (const int status : {0, 408, 429, 500, 502, 503, 504}) {
    EXPECT_TRUE(decided(status).again) << status;
  }
  for (const int status : {200, 206, 301, 400, 401, 403, 404, 405, 413, 416, 501, 505}) {
    const Decision decision = decided(status, 1, seconds(1));
    EXPECT_FALSE(decision.again) << status;
    EXPECT_EQ(decision.reason, "not worth repeating");
  }
}

TEST(DecisionTest, WaitsTwiceAsLongEachTimeAndThenGivesUp) {
  const RetryPolicy policy{8, milliseconds(500), milliseconds(5000), seconds(120)};
  const auto wait = [&](int attempt, double jitter) {
    return decide({503, {}, {}, {}}, attempt, policy, jitter).wait;
  };
  EXPECT_EQ(wait(1, 0), milliseconds(500));
  EXPECT_EQ(wait(2, 0), milliseconds(1000));
  EXPECT_EQ(wait(3, 0), milliseconds(2000));
  EXPECT_EQ(wait(5, 0), milliseconds(5000));
  EXPECT_EQ(wait(7, 0), milliseconds(5000));
  EXPECT_EQ(wait(2, 0.5), milliseconds(1250));
  EXPECT_EQ(wait(2, 9), milliseconds(1500));
  EXPECT_EQ(decide({503, {}, {}, {}}, 8, policy, 0).reason, "after 8 attempts");
  EXPECT_FALSE(decide({503, {}, {}, {}}, 8, policy, 0).again);
}

TEST(DecisionTest, ObeysRetryAfter) {
  EXPECT_EQ(decided(503, 1, seconds(30)).wait, milliseconds(30'000));
  EXPECT_EQ(decided(429, 4, seconds(30)).wait, milliseconds(30'000));
  EXPECT_EQ(decided(429, 1, seconds(0)).wait, milliseconds(500));
  EXPECT_GT(decided(429, 1, seconds(30), Limit::Abuse, {}, 0.9).wait, milliseconds(30'000));
  const Decision long_wait = decided(429, 1, seconds(900));
  EXPECT_FALSE(long_wait.again);
  EXPECT_EQ(long_wait.closed, seconds(900));
  EXPECT_NE(long_wait.reason.find("900 seconds"), std::string::npos);
  EXPECT_FALSE(decided(503, 5, seconds(1)).again);
}

TEST(DecisionTest, ASpentQuotaIsNotAskedAgain) {
  const Decision spent = decided(429, 1, {}, Limit::Quota, seconds(21600));
  EXPECT_FALSE(spent.again);
  EXPECT_EQ(spent.closed, seconds(21600));
  EXPECT_NE(spent.reason.find("quota is spent for up to 21600"), std::string::npos) << spent.reason;
  EXPECT_FALSE(decided(429, 1, {}, Limit::Quota).again);
  EXPECT_EQ(decided(429, 1, seconds(3600), Limit::Quota, seconds(21600)).closed, seconds(3600));
  EXPECT_TRUE(decided(429, 1, seconds(20), Limit::Quota).again);
  EXPECT_TRUE(decided(503, 1, {}, Limit::Quota).again);
}

}  // namespace
}  // namespace mesh::oci
