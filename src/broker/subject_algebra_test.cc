#include "broker/subject_algebra.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace mesh::broker {
namespace {

// The reference: all subjects of up to four tokens over three letters, one of which no pattern
// names. A pattern has at most three tokens, so that nothing longer behaves in another way.

using Words = std::vector<std::string>;

Words extended(const Words& shorter, const Words& tokens) {
  Words out;
  for (const auto& head : shorter) {
    for (const auto& token : tokens) {
      out.push_back(head.empty() ? token : fmt::format("{}.{}", head, token));
    }
  }
  return out;
}

Words up_to(std::size_t length, const Words& tokens) {
  Words all;
  Words last = {""};
  for (std::size_t i = 0; i < length; ++i) {
    last = extended(last, tokens);
    all.insert(all.end(), last.begin(), last.end());
  }
  return all;
}

Words patterns() {
  Words out = up_to(3, {"a", "b", "*"});
  for (const auto& head : up_to(2, {"a", "b", "*"})) {
    out.push_back(head + ".>");
  }
  out.push_back(">");
  return out;
}

const Words kSubjects = up_to(4, {"a", "b", "z"});

bool matches(std::string_view pattern, std::string_view subject) {
  const auto p = split(pattern, '.');
  const auto s = split(subject, '.');
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == ">") {
      return s.size() > i;
    }
    if (i >= s.size() || (p[i] != "*" && p[i] != s[i])) {
      return false;
    }
  }
  return p.size() == s.size();
}

std::vector<bool> matched(const std::string& pattern) {
  std::vector<bool> out;
  for (const auto& subject : kSubjects) {
    out.push_back(matches(pattern, subject));
  }
  return out;
}

TEST(SubjectAlgebra, IncludesAndOverlapsAreWhatMatchingEverySubjectSays) {
  const auto all = patterns();
  std::vector<std::vector<bool>> sets;
  for (const auto& pattern : all) {
    sets.push_back(matched(pattern));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      bool subset = true;
      bool meet = false;
      for (std::size_t k = 0; k < kSubjects.size(); ++k) {
        subset = subset && (!sets[j][k] || sets[i][k]);
        meet = meet || (sets[i][k] && sets[j][k]);
      }
      EXPECT_EQ(includes(all[i], all[j]), subset) << all[i] << " includes " << all[j];
      EXPECT_EQ(overlaps(all[i], all[j]), meet) << all[i] << " overlaps " << all[j];
    }
  }
}

TEST(SubjectAlgebra, CoversIsWhatMatchingEverySubjectSays) {
  const auto all = patterns();
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string_view> outers;
    for (auto count = random() % 6; count > 0; --count) {
      outers.emplace_back(all[random() % all.size()]);
    }
    const auto& inner = all[random() % all.size()];
    bool expected = true;
    for (const auto& subject : kSubjects) {
      const auto by = [&](std::string_view outer) { return matches(outer, subject); };
      expected = expected && (!matches(inner, subject) || std::ranges::any_of(outers, by));
    }
    ASSERT_EQ(covers(outers, inner), expected)
        << fmt::format("{}", fmt::join(outers, " ")) << " covers " << inner;
  }
}

TEST(SubjectAlgebra, AUnionCoversWhatNoneOfItDoes) {
  using Views = std::vector<std::string_view>;
  EXPECT_TRUE(covers(Views{"a.*", "a.*.>"}, "a.>"));
  EXPECT_TRUE(covers(Views{"*", "*.*", "*.*.>"}, ">"));
  EXPECT_FALSE(covers(Views{"a", "b"}, "*"));
  EXPECT_FALSE(covers(Views{"*", "*.*.>"}, ">"));
  EXPECT_FALSE(covers(Views{}, "a"));
  EXPECT_TRUE(covers(Views{"x.a", "x.*"}, "x.a"));
}

TEST(SubjectAlgebra, IsSubject) {
  for (const auto* good :
       {"a", "a.b", "*", ">", "a.*.c", "a.>", "$JS.API.>", "_INBOX.x.>", "a-b"}) {
    EXPECT_TRUE(is_subject(good)) << good;
  }
  for (const auto* bad : {"", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a b", "a.b ", "a*", "*a.b",
                          "a.>>", "a\tb", "a\nb", "a\x7f"}) {
    EXPECT_FALSE(is_subject(bad)) << bad;
  }
}

}  // namespace
}  // namespace mesh::broker
