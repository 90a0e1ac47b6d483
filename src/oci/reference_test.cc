#include "oci/reference.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mesh::oci {
namespace {

/// `text` as often as `times` says.
std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

const std::string kHex = repeated("0123456789abcdef", 4);
const std::string k256 = "sha256:" + kHex;
const std::string k512 = "sha512:" + kHex + kHex;
const std::string kLong = repeated("a/", 127) + "a";  // 255 characters

/// What a text parses to; or, where `domain` is empty, words of the refusal and of its hint.
struct Case {
  std::string text;
  std::string domain;
  std::string path;
  std::string tag = {};
  std::string digest = {};
};

const std::vector<Case> kAccepted = {
    // Docker's short names.
    {"debian", "docker.io", "library/debian"},
    {"debian:12", "docker.io", "library/debian", "12"},
    {"a", "docker.io", "library/a"},
    {"1", "docker.io", "library/1"},
    {"test_com", "docker.io", "library/test_com"},
    {"test.com", "docker.io", "library/test.com"},
    {"test.com:tag", "docker.io", "library/test.com", "tag"},
    {"test.com:5000", "docker.io", "library/test.com", "5000"},
    {"foo_bar.com:8080", "docker.io", "library/foo_bar.com", "8080"},
    {"localhost", "docker.io", "library/localhost"},
    {"localhost:5000", "docker.io", "library/localhost", "5000"},
    {"192.168.1.1", "docker.io", "library/192.168.1.1"},
    {"192.168.1.1:5000", "docker.io", "library/192.168.1.1", "5000"},
    {"library/debian", "docker.io", "library/debian"},
    {"user/app", "docker.io", "user/app"},
    {"user/app:v1", "docker.io", "user/app", "v1"},
    {"a/b/c", "docker.io", "a/b/c"},
    {"test_com/foo", "docker.io", "test_com/foo"},
    {"foo/foo_bar.com:8080", "docker.io", "foo/foo_bar.com", "8080"},
    {"library/distros/debian", "docker.io", "library/distros/debian"},
    // docker.io by its names.
    {"docker.io/debian", "docker.io", "library/debian"},
    {"docker.io/bash", "docker.io", "library/bash"},
    {"docker.io/library/debian", "docker.io", "library/debian"},
    {"docker.io/user/app", "docker.io", "user/app"},
    {"index.docker.io/debian:12", "docker.io", "library/debian", "12"},
    {"index.docker.io/library/debian", "docker.io", "library/debian"},
    {"index.docker.io/user/app", "docker.io", "user/app"},
    {"registry-1.docker.io/library/debian", "registry-1.docker.io", "library/debian"},
    {"registry-1.docker.io/debian", "registry-1.docker.io", "debian"},
    // Whether the first part is a domain.
    {"a.b/c", "a.b", "c"},
    {"a/b", "docker.io", "a/b"},
    {"a:1/b", "a:1", "b"},
    {"a-b/c", "docker.io", "a-b/c"},
    {"localhost/x", "localhost", "x"},
    {"localhost/library/debian", "localhost", "library/debian"},
    {"localhost:5000/x:y", "localhost:5000", "x", "y"},
    {"LOCALDOMAIN/debian", "LOCALDOMAIN", "debian"},
    {"Docker/docker", "Docker", "docker"},
    {"Foo.Example/x", "Foo.Example", "x"},
    {"test:5000/repo", "test:5000", "repo"},
    {"test:5000/repo:tag", "test:5000", "repo", "tag"},
    {"test-com:8080/foo", "test-com:8080", "foo"},
    {"test.com/repo:tag", "test.com", "repo", "tag"},
    {"ghcr.io/owner/app", "ghcr.io", "owner/app"},
    {"quay.io/app", "quay.io", "app"},
    {"b.gcr.io/test.example.com/my-app:test.example.com", "b.gcr.io", "test.example.com/my-app",
     "test.example.com"},
    {"sub-dom1.foo.com/bar/baz/quux", "sub-dom1.foo.com", "bar/baz/quux"},
    {"sub-dom1.foo.com/bar/baz/quux:some-long-tag", "sub-dom1.foo.com", "bar/baz/quux",
     "some-long-tag"},
    {"xn--n3h.com/myimage:xn--n3h.com", "xn--n3h.com", "myimage", "xn--n3h.com"},
    {"a.b.c:1/d/e.f/g_h/i__j/k---l", "a.b.c:1", "d/e.f/g_h/i__j/k---l"},
    {"x.y/localhost/z", "x.y", "localhost/z"},
    {"docker.io/localhost/z", "docker.io", "localhost/z"},
    {"1.2/3", "1.2", "3"},
    // Addresses and ports.
    {"192.168.1.1/repo", "192.168.1.1", "repo"},
    {"192.168.1.1:5000/repo:5050", "192.168.1.1:5000", "repo", "5050"},
    {"127.0.0.1:5000/library/debian", "127.0.0.1:5000", "library/debian"},
    {"[::1]/x", "[::1]", "x"},
    {"[::1]:5000/x", "[::1]:5000", "x"},
    {"[::1]:5000/x:y", "[::1]:5000", "x", "y"},
    {"[::]/x", "[::]", "x"},
    {"[2001:db8::1]/repo", "[2001:db8::1]", "repo"},
    {"[2001:db8::]:5000/repo", "[2001:db8::]:5000", "repo"},
    {"[2001:db8:1:2:3:4:5:6]/repo:tag", "[2001:db8:1:2:3:4:5:6]", "repo", "tag"},
    {"[2001:DB8::A]:5000/repo", "[2001:DB8::A]:5000", "repo"},
    {"[fc00::1]:5000/docker/docker", "[fc00::1]:5000", "docker/docker"},
    {"test:00080/x", "test:00080", "x"},
    {"test:99999/x", "test:99999", "x"},  // a number to the grammar; the client refuses it
    // Tags.
    {"x:A", "docker.io", "library/x", "A"},
    {"x:_", "docker.io", "library/x", "_"},
    {"x:1.2.3-rc.1_x", "docker.io", "library/x", "1.2.3-rc.1_x"},
    {"x:" + repeated("t", 128), "docker.io", "library/x", repeated("t", 128)},
    {"lowercase:Uppercase", "docker.io", "library/lowercase", "Uppercase"},
    {"sha256:abc", "docker.io", "library/sha256", "abc"},
    // Digests, alone and beside a tag.
    {"debian@" + k256, "docker.io", "library/debian", "", k256},
    {"debian:12@" + k256, "docker.io", "library/debian", "12", k256},
    {"golang:1.4.2@" + k256, "docker.io", "library/golang", "1.4.2", k256},
    {"test:5000/repo@" + k256, "test:5000", "repo", "", k256},
    {"test:5000/repo:tag@" + k256, "test:5000", "repo", "tag", k256},
    {"[2001:db8::1]:5000/repo:tag@" + k256, "[2001:db8::1]:5000", "repo", "tag", k256},
    {"x.y/z@" + k512, "x.y", "z", "", k512},
    {"x.y/z:t@" + k512, "x.y", "z", "t", k512},
    // Names that look like something else.
    {"docker.io/" + kHex, "docker.io", "library/" + kHex},
    {"user/" + kHex, "docker.io", "user/" + kHex},
    {kHex + ":tag", "docker.io", "library/" + kHex, "tag"},
    {kHex + "@" + k256, "docker.io", "library/" + kHex, "", k256},
    {repeated("g", 64), "docker.io", "library/" + repeated("g", 64)},
    {kHex.substr(1), "docker.io", "library/" + kHex.substr(1)},
    // Lengths: the domain does not count, `library/` does.
    {"a.b/" + kLong, "a.b", kLong},
    {"a.b/" + kLong + ":tag-puts-this-over-the-most", "a.b", kLong, "tag-puts-this-over-the-most"},
    {"a.b/" + repeated("a", 255), "a.b", repeated("a", 255)},
    {repeated("a", 247), "docker.io", "library/" + repeated("a", 247)},
};

/// The text, words of its refusal, words of the hint (may be empty).
struct Refusal {
  std::string text;
  std::string why;
  std::string hint = {};
  Code code = Code::InvalidArgument;
};

const std::vector<Refusal> kRefused = {
    {"", "empty", "registry/name"},
    {" ", "blank"},
    {" debian", "blank"},
    {"debian ", "blank"},
    {"debian\n", "control"},
    {"deb ian", "blank"},
    {std::string("a\0b", 3), "control"},
    // Names.
    {":tag", "a part of its name is empty"},
    {"/x", "empty"},
    {"x/", "a part of its name is empty", "slash"},
    {"x//y", "a part of its name is empty", "slash"},
    {"docker///docker", "a part of its name is empty"},
    {"a.b//c", "a part of its name is empty"},
    {"a.b/c/", "a part of its name is empty"},
    {"a.b/", "names no repository", "registry/name"},
    {"localhost:5000/", "names no repository"},
    {"Debian", "upper-case", "lower case"},
    {"Uppercase:tag", "upper-case", "lower case"},
    {"docker/Docker", "upper-case"},
    {"docker.io/docker/Docker", "upper-case"},
    {"docker.io/Docker", "upper-case"},
    {"test:5000/Uppercase/lowercase:tag", "upper-case"},
    {"-docker", "separator"},
    {"docker-", "separator"},
    {"-docker/docker", "separator"},
    {"docker-/docker", "separator"},
    {"_docker/_docker", "separator"},
    {".x", "separator"},
    {"x.", "separator"},
    {"____/____", "separator"},
    {"dock..er/x", "an empty part between two dots"},
    {"x/dock..er", "\"..\" cannot separate", "one period"},
    {"x/dock_.er", "\"_.\" cannot separate"},
    {"x/dock-.er", "\"-.\" cannot separate"},
    {"x/a___b", "\"___\" cannot separate", "one or two underscores"},
    {"x/a._b", "\"._\" cannot separate"},
    {"aa/asdf$$^/aa", "\"$\" cannot stand"},
    {"x/y+z", "\"+\" cannot stand"},
    {"x\\y", "\"\\\" cannot stand"},
    {"x/é", "cannot stand"},
    {"a.b/" + repeated("a", 256), "256 characters, the most are 255"},
    {repeated("a", 248), "256 characters, the most are 255"},
    {"a.b/" + kLong + "a", "256 characters"},
    // Domains.
    {"https://docker.io/library/debian", "begins with a scheme", "leave \"https://\" out"},
    {"http://localhost:5000/x", "begins with a scheme", "leave \"http://\" out"},
    {"docker://debian", "begins with a scheme", "leave \"docker://\" out"},
    {"oci:///x", "begins with a scheme"},
    {"fd2e::1:5000/x", "IPv6 address without brackets", "[::1]:5000/name"},
    {"::1/x", "IPv6 address without brackets", "brackets"},
    {"[::1]", "names a registry and no repository", "[::1]:5000/name"},
    {"[::1]:5000", "names a registry and no repository"},
    {"[2001:db8::1]:tag", "names a registry and no repository"},
    {"[fe80::1%eth0]:5000/x", "with a zone", "leave the zone out"},
    {"[fe80::1%25eth0]/x", "with a zone"},
    {"[fe80::1%@invalidzone]:5000/repo", "with a zone"},
    {"[2001:db8:3:4::192.0.2.33]:5000/debian", "not an IPv6 address"},
    {"[]/x", "not an IPv6 address"},
    {"[abc]/x", "not an IPv6 address"},
    {"[::g]/x", "not an IPv6 address"},
    {"[::1/x", "not closed"},
    {"[::1]x/y", "only a port may stand"},
    {"[::1]:/y", "the port after the colon is missing"},
    {"[::1]:p/y", "port \"p\" is not a number", "tag"},
    {"test:/x", "the port after the colon is missing", "leave the colon out"},
    {"test:x/y", "port \"x\" is not a number", "tag"},
    {"test:-1/y", "port \"-1\" is not a number"},
    {"repo:tag/y:tag", "port \"tag\" is not a number"},
    {"-docker.io/docker/docker", "begins or ends with a dash"},
    {"docker-.io/x", "begins or ends with a dash"},
    {"foo_bar.com/x", "\"_\" cannot stand in a registry's name", "underscore"},
    {".b/x", "an empty part"},
    {"a./x", "an empty part"},
    {"a..b/x", "an empty part"},
    {"user@host.example/x", "not a digest"},
    // Tags.
    {"x:", "the tag after the colon is empty", "leave the colon out"},
    {"a.b/x:", "the tag after the colon is empty"},
    {"x:@" + k256, "the tag after the colon is empty"},
    {"x:a:b", "\":\" cannot stand in a tag"},
    {"x:-a", "begins with \"-\""},
    {"x:.a", "begins with \".\""},
    {"x:a/b", "port"},
    {"y/x:a/b", "\"/\" cannot stand in a tag"},
    {"x:a+b", "\"+\" cannot stand in a tag"},
    {"x:é", "cannot stand in a tag"},
    {"x:" + repeated("t", 129), "129 characters, the most are 128"},
    // Digests.
    {kHex, "taken for an image's id", "name@sha256"},
    {k256, "a digest alone names no repository", "name@" + k256},
    {k512, "a digest alone names no repository"},
    {"@" + k256, "a part of its name is empty"},
    {"x@", "the digest after @ is empty"},
    {"x@sha256", "no algorithm", "sha256:"},
    {"x@sha256:", "64 hexadecimal digits, here are 0"},
    {"x@sha256:" + repeated("f", 34), "64 hexadecimal digits, here are 34", "copy the whole"},
    {"x@" + k256 + "0", "64 hexadecimal digits, here are 65"},
    {"x@" + k256 + ":tag", "only the digits"},
    {"x@" + k256 + "@" + k256, "only the digits"},
    {"x@sha512:" + kHex, "128 hexadecimal digits, here are 64"},
    {"x@sha256:" + repeated("F", 64), "lower case", "lower case"},
    {"x@sha256:" + repeated("g", 64), "only the digits"},
    {"x@md5:" + repeated("f", 32), "does not know: \"md5\"", "sha256", Code::Unsupported},
    {"x@SHA256:" + kHex, "does not know: \"SHA256\"", "lower case", Code::Unsupported},
    {"x@sha256+b64:" + kHex, "does not know", "", Code::Unsupported},
    {"x@blake3:" + kHex, "does not know: \"blake3\"", "", Code::Unsupported},
    {"x@tag", "no algorithm"},
};

TEST(ReferenceTable, HasAtLeastTheInputsThatItShould) {
  std::set<std::string> inputs;
  for (const auto& one : kAccepted) {
    inputs.insert(one.text);
  }
  for (const auto& one : kRefused) {
    inputs.insert(one.text);
  }
  EXPECT_EQ(inputs.size(), kAccepted.size() + kRefused.size()) << "an input stands twice";
  EXPECT_GE(inputs.size(), 120U);
}

TEST(ReferenceTable, ParsesWhatTheGrammarHas) {
  for (const auto& one : kAccepted) {
    const auto parsed = Reference::parse(one.text);
    ASSERT_TRUE(parsed.has_value()) << one.text << ": " << parsed.error().message;
    EXPECT_EQ(parsed->domain(), one.domain) << one.text;
    EXPECT_EQ(parsed->path(), one.path) << one.text;
    EXPECT_EQ(parsed->tag().value_or(""), one.tag) << one.text;
    EXPECT_EQ(parsed->digest() ? parsed->digest()->text() : "", one.digest) << one.text;
    EXPECT_EQ(parsed->target(), !one.digest.empty() ? one.digest
                                : one.tag.empty()   ? "latest"
                                                    : one.tag);
  }
}

TEST(ReferenceTable, WhatIsShownParsesToTheSame) {
  for (const auto& one : kAccepted) {
    const auto parsed = Reference::parse(one.text).value();
    for (const std::string& shown : {parsed.text(), parsed.familiar()}) {
      const auto again = Reference::parse(shown);
      ASSERT_TRUE(again.has_value()) << shown << " of " << one.text;
      EXPECT_EQ(*again, parsed) << shown << " of " << one.text;
    }
  }
}

TEST(ReferenceTable, RefusesWithTheCauseAndTheRemedy) {
  for (const auto& one : kRefused) {
    const auto parsed = Reference::parse(one.text);
    ASSERT_FALSE(parsed.has_value()) << one.text << " became " << parsed->text();
    const Error& error = parsed.error();
    EXPECT_EQ(error.code, one.code) << one.text;
    EXPECT_NE(error.message.find(one.why), std::string::npos) << one.text << ": " << error.message;
    EXPECT_NE(error.hint.find(one.hint), std::string::npos) << one.text << ": " << error.hint;
  }
}

TEST(ReferenceTest, TheTagIsNoPartOfTheRepository) {
  const auto a = Reference::parse("debian:12@" + k256).value();
  const auto b = Reference::parse("docker.io/library/debian@" + k256).value();
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.target(), b.target());
  EXPECT_EQ(a.text(), "docker.io/library/debian:12@" + k256);
  EXPECT_EQ(a.pinned(*a.digest()), b.text());
}

TEST(ReferenceTest, ShowsAsDockerDoes) {
  const std::pair<std::string, std::string> cases[] = {
      {"docker.io/library/debian:12", "debian:12"},
      {"docker.io/user/app@" + k256, "user/app@" + k256},
      {"docker.io/library/distros/debian", "library/distros/debian"},
      {"docker.io/library/" + kHex, "docker.io/library/" + kHex},
      {"docker.io/localhost/z", "docker.io/localhost/z"},
      {"docker.io/a.b/z", "docker.io/a.b/z"},
      {"ghcr.io/library/x", "ghcr.io/library/x"},
      {"registry-1.docker.io/library/x", "registry-1.docker.io/library/x"}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(Reference::parse(text).value().familiar(), shown);
  }
}

TEST(ReferenceTest, RefusalsAreOneCleanLine) {
  const auto error = Reference::parse("a\x1b[31m\n" + repeated("b", 5000)).error();
  EXPECT_LT(error.message.size(), 400U);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

TEST(RegistryNames, DockersRegistryIsOne) {
  for (const char* domain :
       {"docker.io", "index.docker.io", "registry-1.docker.io", "Docker.IO",
        "registry.hub.docker.com", "docker.io:443", "registry-1.docker.io:443"}) {
    EXPECT_EQ(credential_key(domain), "docker.io") << domain;
  }
  for (const char* domain : {"docker.io", "index.docker.io", "Docker.io", "index.docker.io:443"}) {
    EXPECT_EQ(endpoint_of(domain), "registry-1.docker.io") << domain;
  }
  EXPECT_EQ(credential_key("Registry.Example:443"), "registry.example:443");
  EXPECT_EQ(credential_key("docker.io.example"), "docker.io.example");
  EXPECT_EQ(credential_key("docker.io:5000"), "docker.io:5000");
  EXPECT_EQ(endpoint_of("registry.example:5000"), "registry.example:5000");
  EXPECT_EQ(endpoint_of("registry-1.docker.io"), "registry-1.docker.io");
}

TEST(RegistryNames, LoopbackIsThisMachine) {
  for (const char* domain :
       {"localhost", "localhost:5000", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:5000"}) {
    EXPECT_TRUE(is_loopback_domain(domain)) << domain;
  }
  for (const char* domain :
       {"docker.io", "10.0.0.1:5000", "localhost.example", "[::2]:5000", "127.1:5000", "host:1"}) {
    EXPECT_FALSE(is_loopback_domain(domain)) << domain;
  }
}

TEST(RepositoryTest, IsANameWithinTheRegistry) {
  for (const std::string& text :
       std::vector<std::string>{"a", "bases/debian", "localhost/x", "a.b/c", kLong, kHex}) {
    ASSERT_TRUE(Repository::parse(text).has_value()) << text;
    EXPECT_EQ(Repository::parse(text)->text(), text);
  }
  const Refusal cases[] = {{"", "no repository", "bases/debian"},
                           {"a:b", "a tag", "alone"},
                           {"host:5000/a", "a port"},
                           {"https://host/a", "a scheme"},
                           {"a@" + k256, "a digest"},
                           {"A/b", "upper-case", "lower case"},
                           {"a//b", "empty"},
                           {"/a", "empty"},
                           {"a/..", "separator"},
                           {"../a", "separator"},
                           {"a b", "cannot stand"},
                           {kLong + "a", "256 characters"}};
  for (const auto& one : cases) {
    const auto parsed = Repository::parse(one.text);
    ASSERT_FALSE(parsed.has_value()) << one.text;
    EXPECT_EQ(parsed.error().code, Code::InvalidArgument);
    EXPECT_NE(parsed.error().message.find(one.why), std::string::npos) << parsed.error().message;
    EXPECT_NE(parsed.error().hint.find(one.hint), std::string::npos) << parsed.error().hint;
  }
}

TEST(TagTest, IsChecked) {
  EXPECT_EQ(parse_tag("v1.2_3-x").value(), "v1.2_3-x");
  for (const std::string& tag :
       std::vector<std::string>{"", "-a", ".a", "a b", "a/b", "a:b", repeated("a", 129)}) {
    EXPECT_EQ(parse_tag(tag).error().code, Code::InvalidArgument) << tag;
  }
}

}  // namespace
}  // namespace mesh::oci
