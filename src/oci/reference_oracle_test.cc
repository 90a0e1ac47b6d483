#include <gtest/gtest.h>

#include <array>
#include <random>
#include <regex>
#include <string>
#include <string_view>

#include "oci/reference.h"

// The grammar once more, as regular expressions, and docker's normalisation: two ways to read a
// reference must agree on every text. Random texts of the pieces that matter are compared.
namespace mesh::oci {
namespace {

const std::string kDomainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const std::string kDomainAndPort =
    "(?:" + kDomainPart + "(?:\\." + kDomainPart + ")*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?";
const std::string kPathPart = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
const std::string kPath = kPathPart + "(?:/" + kPathPart + ")*";

struct Oracle {
  bool accepted = false;
  std::string domain;
  std::string path;
  std::string tag;
  std::string digest;
};

Oracle by_expressions(const std::string& text) {
  static const std::regex kWhole("^(" + kDomainAndPort + ")/(" + kPath +
                                 ")(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
                                 "(?:@((?:sha256:[a-f0-9]{64})|(?:sha512:[a-f0-9]{128})))?$");
  static const std::regex kNameless("^(?:[a-f0-9]{64}|sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$");
  if (std::regex_match(text, kNameless)) {
    return {};
  }
  std::string domain = "docker.io";
  std::string rest = text;
  const auto slash = text.find('/');
  const std::string first = text.substr(0, slash);
  const bool upper = first.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos;
  if (slash != std::string::npos &&
      (first == "localhost" || upper || first.find_first_of(".:") != std::string::npos)) {
    domain = first == "index.docker.io" ? "docker.io" : first;
    rest = text.substr(slash + 1);
  }
  if (domain == "docker.io" && rest.find('/') == std::string::npos) {
    rest = "library/" + rest;
  }
  const std::string whole = domain + "/" + rest;
  std::smatch match;
  if (!std::regex_match(whole, match, kWhole) || match[2].length() > 255) {
    return {};
  }
  return {true, match[1], match[2], match[3], match[4]};
}

class Texts {
 public:
  std::string next() {
    std::string out;
    const std::size_t count = 1 + random_() % 9;
    for (std::size_t i = 0; i < count; ++i) {
      out += piece();
    }
    return out;
  }

 private:
  std::string_view piece() {
    static constexpr std::array<std::string_view, 35> kPieces{
        "a",       "b9",        "Z",       "0",         "5000",
        ".",       "..",        "-",       "--",        "_",
        "__",      "___",       "/",       "/",         ":",
        ":",       "@",         "[",       "]",         "::1",
        "[::1]",   "localhost", "library", "docker.io", "index.docker.io",
        "x.y",     " ",         "%",       "fe80",      "tag",
        "sha256:", "+",         "a/b",     "x:t",       "deadbeef"};
    static const std::string kDigest = "@sha256:" + std::string(64, 'a');
    const auto index = random_() % (kPieces.size() + 1);
    return index == kPieces.size() ? std::string_view(kDigest) : kPieces[index];
  }
  std::mt19937 random_{20260801};
};

TEST(ReferenceOracle, AgreesOnEveryText) {
  Texts texts;
  int accepted = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::string text = texts.next();
    const auto parsed = Reference::parse(text);
    const Oracle expected = by_expressions(text);
    // The expression for IPv6 takes brackets without any colon, which no address is.
    if (expected.accepted && expected.domain.starts_with('[') &&
        expected.domain.substr(0, expected.domain.find(']')).find(':') == std::string::npos) {
      continue;
    }
    ASSERT_EQ(parsed.has_value(), expected.accepted)
        << text << (parsed ? "" : ": " + parsed.error().message);
    if (!parsed) {
      EXPECT_FALSE(parsed.error().message.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(parsed->domain(), expected.domain) << text;
    EXPECT_EQ(parsed->path(), expected.path) << text;
    EXPECT_EQ(parsed->tag().value_or(""), expected.tag) << text;
    EXPECT_EQ(parsed->digest() ? parsed->digest()->text() : "", expected.digest) << text;
    EXPECT_EQ(Reference::parse(parsed->text()).value(), *parsed) << text;
    EXPECT_EQ(Reference::parse(parsed->familiar()).value(), *parsed) << text;
  }
  EXPECT_GT(accepted, 3000) << "the texts say too little";
}

}  // namespace
}  // namespace mesh::oci
