#include "oci/location.h"

#include <gtest/gtest.h>

#include <string>

namespace mesh::oci {
namespace {

Url located(const char* text) {
  return Url::parse(text).value();
}

const char* const kAsked = "https://registry.example/v2/a/b/blobs/uploads/";

TEST(UploadLocationTest, IsResolvedAsAnyUrl) {
  struct LocationCase {
    const char* location;
    const char* url;
    bool credentials;
  };
  const LocationCase cases[] = {
      {"/v2/a/b/blobs/uploads/1?_state=x%3D",
       "https://registry.example/v2/a/b/blobs/uploads/1?_state=x%3D", true},
      {"https://registry.example/v2/a/b/blobs/uploads/1?_state=x",
       "https://registry.example/v2/a/b/blobs/uploads/1?_state=x", true},
      {"https://registry.example:443/upload/1", "https://registry.example/upload/1", true},
      {"1?x", "https://registry.example/v2/a/b/blobs/uploads/1?x", true},
      {"../1", "https://registry.example/v2/a/b/blobs/1", true},
      {" /v2/1 ", "https://registry.example/v2/1", true},
      // Outside of /v2/, and on another host: allowed, without credentials.
      {"/artifacts-uploads/namespaces/x/uploads/y",
       "https://registry.example/artifacts-uploads/namespaces/x/uploads/y", true},
      {"https://storage.example/upload?sig=a%2Fb&x=%20",
       "https://storage.example/upload?sig=a%2Fb&x=%20", false},
      {"//storage.example/upload", "https://storage.example/upload", false},
      {"https://registry.example:8443/x", "https://registry.example:8443/x", false},
  };
  for (const auto& one : cases) {
    const auto onward = upload_location(located(kAsked), one.location);
    ASSERT_TRUE(onward.has_value()) << one.location;
    EXPECT_EQ(onward->url.text(), one.url);
    EXPECT_EQ(onward->credentials, one.credentials) << one.location;
  }
}

TEST(UploadLocationTest, ADowngradeIsNamed) {
  const auto refused = upload_location(
      located(kAsked), "http://registry.example/v2/a/b/blobs/uploads/1?_state=secret");
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_NE(refused.error().hint.find("X-Forwarded-Proto"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("relativeurls"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  EXPECT_TRUE(upload_location(located("http://127.0.0.1:5000/v2/"), "http://127.0.0.1:5000/v2/x")
                  .value()
                  .credentials);
  for (const char* location :
       {"", "  ", "ftp://x/y", "http:///x", "https://user:secret@x/y", "/a b"}) {
    const auto bad = upload_location(located(kAsked), location);
    EXPECT_EQ(bad.error().code, Code::InvalidArgument) << location;
    EXPECT_EQ(bad.error().message.find("secret"), std::string::npos) << bad.error().message;
  }
}

TEST(UploadLocationTest, AMissingPortIsHintedAt) {
  const auto onward =
      upload_location(located("https://registry.example:8443/v2/"), "https://registry.example/v2/x")
          .value();
  EXPECT_FALSE(onward.credentials);
  EXPECT_NE(onward.hint.find("relativeurls"), std::string::npos);
  EXPECT_TRUE(upload_location(located(kAsked), "https://storage.example/x").value().hint.empty());
}

TEST(UploadLocationTest, TheDigestGoesIntoTheQuery) {
  const Digest digest = digest_of("a");
  const std::string pair = "digest=sha256%3A" + std::string(digest.hex());
  EXPECT_EQ(with_digest(located("https://a/b"), digest).text(), "https://a/b?" + pair);
  EXPECT_EQ(with_digest(located("https://a/b?_state=x%2B"), digest).text(),
            "https://a/b?_state=x%2B&" + pair);
}

TEST(RedirectTest, CredentialsStayWhereTheyBelong) {
  const Url blob = located("https://registry.example/v2/a/blobs/x");
  EXPECT_TRUE(redirect(blob, "/elsewhere", 0, true).value().credentials);
  EXPECT_FALSE(
      redirect(blob, "https://s3.example/x?X-Amz-Signature=y", 0, true).value().credentials);
  EXPECT_FALSE(redirect(blob, "https://registry.example:444/x", 0, true).value().credentials);
  // What was dropped does not come back on the way home.
  const Onward away = redirect(blob, "https://s3.example/x", 0, true).value();
  const Onward home = redirect(away.url, "https://registry.example/y", 1, away.credentials).value();
  EXPECT_FALSE(home.credentials);
  EXPECT_FALSE(redirect(away.url, "/z", 1, away.credentials).value().credentials);
}

TEST(RedirectTest, RefusesByName) {
  const Url blob = located("https://registry.example/v2/a/blobs/x");
  EXPECT_EQ(redirect(blob, "http://registry.example/x", 0, true).error().code,
            Code::PermissionDenied);
  EXPECT_EQ(redirect(blob, "https://127.0.0.1/x", 0, true).error().code, Code::PermissionDenied);
  EXPECT_EQ(redirect(blob, "https://169.254.169.254/latest", 0, true).error().code,
            Code::PermissionDenied);
  EXPECT_EQ(redirect(blob, "https://10.1.2.3/x", 0, true).error().code, Code::PermissionDenied);
  EXPECT_EQ(redirect(blob, "https://0.0.0.0/x", 0, true).error().code, Code::PermissionDenied);
  EXPECT_EQ(redirect(blob, "", 0, true).error().code, Code::InvalidArgument);
  EXPECT_EQ(redirect(blob, "/x", kMostRedirects, true).error().code, Code::Unavailable);
  EXPECT_TRUE(redirect(blob, "/x", kMostRedirects - 1, true).has_value());
  // Within a network, its own addresses are in order; also from plain http on loopback.
  EXPECT_TRUE(redirect(located("https://10.0.0.1/v2/"), "https://10.0.0.2/x", 0, true).has_value());
  EXPECT_TRUE(redirect(located("http://127.0.0.1:5000/v2/"), "http://127.0.0.1:9000/x", 0, true)
                  .has_value());
  EXPECT_TRUE(
      redirect(located("http://127.0.0.1:5000/v2/"), "https://s3.example/x", 0, true).has_value());
}

TEST(UploadRangeTest, OwnCountWins) {
  struct RangeCase {
    const char* range;
    std::uint64_t sent;
    std::int64_t offset;  // -1: refused
  };
  const RangeCase cases[] = {{"0-3119", 3120, 3120},
                             {"0-3120", 3120, 3120},  // one too many: a known slip
                             {"0-99", 3120, 100},
                             {"bytes=0-99", 3120, 100},
                             {" 0-99 ", 3120, 100},
                             {"0-0", 0, 0},
                             {"0-0", 1, 1},
                             {"0-1", 1, 1},
                             {"0-0", 2, -1},
                             {"0-3121", 3120, -1},
                             {"0-5", 0, -1},
                             {"", 5, -1},
                             {"5", 5, -1},
                             {"1-4", 5, -1},
                             {"0--1", 5, -1},
                             {"0-x", 5, -1},
                             {"5-0", 5, -1},
                             {"0-18446744073709551615", 5, -1},
                             {"0-18446744073709551616", 5, -1}};
  for (const auto& one : cases) {
    const auto offset = resume_upload_at(one.range, one.sent);
    ASSERT_EQ(offset.has_value(), one.offset >= 0) << one.range << " of " << one.sent;
    if (offset) {
      EXPECT_EQ(static_cast<std::int64_t>(*offset), one.offset) << one.range << " of " << one.sent;
      EXPECT_LE(*offset, one.sent);
    } else {
      EXPECT_EQ(offset.error().code, Code::Corrupt);
    }
  }
}

TEST(ContentRangeTest, MustContinueWhatWasAsked) {
  const ContentRange range = parse_content_range("bytes 100-199/200").value();
  EXPECT_EQ(range.first, 100U);
  EXPECT_EQ(range.last, 199U);
  EXPECT_EQ(range.total, 200U);
  EXPECT_EQ(parse_content_range("bytes 100-199/*").value().total, std::nullopt);
  for (const char* text :
       {"", "bytes", "bytes */200", "bytes 100-199", "bytes 199-100/200", "bytes 100-200/200",
        "100-199/200", "items 100-199/200", "bytes 100-199/x", "bytes -199/200"}) {
    EXPECT_FALSE(parse_content_range(text).has_value()) << text;
  }
  EXPECT_TRUE(check_content_range("bytes 100-199/200", 100, 200).has_value());
  EXPECT_TRUE(check_content_range("bytes 100-199/*", 100, 200).has_value());
  EXPECT_TRUE(check_content_range("bytes 100-149/200", 100, 200).has_value());  // less than asked
  for (const char* text :
       {"bytes 0-199/200", "bytes 101-199/200", "bytes 100-200/201", "bytes 100-199/300",
        "bytes 100-250/*", "", "bytes 100-18446744073709551615/*"}) {
    const auto refused = check_content_range(text, 100, 200);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_EQ(refused.error().code, Code::Corrupt);
  }
}

}  // namespace
}  // namespace mesh::oci
