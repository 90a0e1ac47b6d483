#include "base/url.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/host.h"

namespace mesh {
namespace {

TEST(Base64, GoesThereAndBack) {
  // RFC 4648 section 10.
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
    std::string bare = text;
    bare.erase(bare.find_last_not_of('=') + 1);
    EXPECT_EQ(from_base64(bare), bytes);
  }
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Z", "Zg=", "Zg===", "Zh==", "Zm9=", "=", "==", "====", "Zm 9v",
                           "Zm9v\n", "Zg==Zg==", "Zm-_", "Z=g="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

TEST(HostKindTest, TellsWhereAHostIs) {
  const std::pair<const char*, HostKind> cases[] = {
      {"example.com", HostKind::Name},
      {"localhost.example.com", HostKind::Name},
      {"10.example", HostKind::Name},
      {"localhost", HostKind::Loopback},
      {"LOCALHOST.", HostKind::Loopback},
      {"a.localhost", HostKind::Loopback},
      {"127.0.0.1", HostKind::Loopback},
      {"127.255.0.9", HostKind::Loopback},
      {"[::1]", HostKind::Loopback},
      {"::ffff:127.0.0.1", HostKind::Loopback},
      {"::ffff:7f00:1", HostKind::Loopback},
      {"64:ff9b::127.0.0.1", HostKind::Loopback},
      {"2002:7f00:1::", HostKind::Loopback},
      {"10.1.2.3", HostKind::Private},
      {"172.16.0.1", HostKind::Private},
      {"172.31.255.255", HostKind::Private},
      {"172.32.0.1", HostKind::Public},
      {"192.168.1.1", HostKind::Private},
      {"100.64.0.1", HostKind::Private},
      {"100.128.0.1", HostKind::Public},
      {"[fd12::1]", HostKind::Private},
      {"::ffff:10.0.0.1", HostKind::Private},
      {"169.254.169.254", HostKind::LinkLocal},
      {"[fe80::1]", HostKind::LinkLocal},
      {"8.8.8.8", HostKind::Public},
      {"8.8.8.8.", HostKind::Public},
      {"[2606:4700::1]", HostKind::Public},
      {"0.0.0.0", HostKind::Special},
      {"::", HostKind::Special},
      {"", HostKind::Special},
      {"224.0.0.1", HostKind::Special},
      {"255.255.255.255", HostKind::Special},
      {"198.18.0.1", HostKind::Special},
      {"127.1", HostKind::Special},
      {"0x7f000001", HostKind::Special},
      {"0x7f.0.0.0x1", HostKind::Special},
      {"2130706433", HostKind::Special},
      {"010.0.0.1", HostKind::Special},
      {"[fe80::1%eth0]", HostKind::Special},
      {"ff02::1", HostKind::Special},
  };
  for (const auto& [host, kind] : cases) {
    EXPECT_EQ(host_kind(host), kind) << host;
  }
}

TEST(UrlTest, ParsesAndShows) {
  const Url url = Url::parse("HTTPS://Example.COM:8443/V2/a?b=C%2f#d").value();
  EXPECT_TRUE(url.is_https());
  EXPECT_EQ(url.host(), "example.com");
  EXPECT_EQ(url.port(), 8443);
  EXPECT_EQ(url.text(), "https://example.com:8443/V2/a?b=C%2f");
  EXPECT_EQ(url.shown(), "https://example.com:8443/V2/a");
  EXPECT_EQ(Url::parse("http://[::1]:5000").value().text(), "http://[::1]:5000/");
  EXPECT_EQ(Url::parse("https://a:443?x").value().text(), "https://a/?x");
  EXPECT_EQ(Url::parse("http://a:").value().port(), 80);
  EXPECT_TRUE(Url::parse("https://a/b").value().same_origin(Url::parse("https://A:443").value()));
  EXPECT_FALSE(Url::parse("https://a/b").value().same_origin(Url::parse("https://a:444").value()));
  EXPECT_EQ(Url::parse("https://a/b").value().with_query("c=d").text(), "https://a/b?c=d");
  EXPECT_EQ(Url::parse("https://a/b?x=").value().with_query("c=d").text(), "https://a/b?x=&c=d");
  EXPECT_EQ(url_escaped("a b/c:d~é"), "a%20b%2Fc%3Ad~%C3%A9");
}

TEST(UrlTest, RefusesWithoutSecrets) {
  for (const char* text : {"",
                           "a",
                           "/a",
                           "//a",
                           "ftp://a",
                           "https:/a",
                           "https:///a",
                           "https://u:secret@a/",
                           "http://:80",
                           "http://a:0",
                           "http://a:65536",
                           "http://a:x",
                           "http://[::1",
                           "http://::1/",
                           "http://[]/",
                           "http://[a.b]/",
                           "http://a b/",
                           "http://a/\r\nHost: b",
                           "http://a\\@b/",
                           "http://ä/",
                           "https://a%40b/",
                           "javascript:secret"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().code, Code::InvalidArgument);
  }
  const Error error = Url::parse("https://user:secret@a/?token=secret").error();
  EXPECT_NE(error.message.find("it holds a user or a password"), std::string::npos);
  EXPECT_EQ((error.message + error.hint).find("secret"), std::string::npos) << error.message;
}

// RFC 3986 section 5.4, as far as a fragment and other schemes do not matter.
TEST(UrlTest, ResolvesAsTheStandardSays) {
  const Url base = Url::parse("http://a/b/c/d;p?q").value();
  const std::pair<const char*, const char*> cases[] = {{"g", "http://a/b/c/g"},
                                                       {"./g", "http://a/b/c/g"},
                                                       {"g/", "http://a/b/c/g/"},
                                                       {"/g", "http://a/g"},
                                                       {"//g", "http://g/"},
                                                       {"?y", "http://a/b/c/d;p?y"},
                                                       {"g?y", "http://a/b/c/g?y"},
                                                       {"#s", "http://a/b/c/d;p?q"},
                                                       {";x", "http://a/b/c/;x"},
                                                       {"", "http://a/b/c/d;p?q"},
                                                       {".", "http://a/b/c/"},
                                                       {"./", "http://a/b/c/"},
                                                       {"..", "http://a/b/"},
                                                       {"../", "http://a/b/"},
                                                       {"../g", "http://a/b/g"},
                                                       {"../..", "http://a/"},
                                                       {"../../g", "http://a/g"},
                                                       {"../../../g", "http://a/g"},
                                                       {"/./g", "http://a/g"},
                                                       {"/../g", "http://a/g"},
                                                       {"g.", "http://a/b/c/g."},
                                                       {"..g", "http://a/b/c/..g"},
                                                       {"./../g", "http://a/b/g"},
                                                       {"./g/.", "http://a/b/c/g/"},
                                                       {"g/./h", "http://a/b/c/g/h"},
                                                       {"g/../h", "http://a/b/c/h"},
                                                       {"g?y/../x", "http://a/b/c/g?y/../x"},
                                                       {"https://h:5/i?j", "https://h:5/i?j"}};
  for (const auto& [reference, url] : cases) {
    EXPECT_EQ(base.resolve(reference).value().text(), url) << reference;
  }
  EXPECT_FALSE(base.resolve("mailto:a").has_value());
  EXPECT_FALSE(base.resolve("a b").has_value());
}

}  // namespace
}  // namespace mesh
