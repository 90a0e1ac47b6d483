#include "controller/prune_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace mesh::controller {
namespace {

using Blobs = std::vector<std::pair<std::string, std::uint64_t>>;

HeldManifest image(const std::string& repository, const std::string& digest, Blobs blobs = {}) {
  HeldManifest one;
  one.repository = repository;
  one.digest = digest;
  one.size = 1;
  one.blobs = std::move(blobs);
  one.ours = true;
  return one;
}

HeldManifest index(const std::string& repository, const std::string& digest,
                   std::vector<std::string> children) {
  auto one = image(repository, digest);
  one.children = std::move(children);
  return one;
}

std::vector<std::string> unused_of(const PrunePlan& plan) {
  std::vector<std::string> out;
  for (const auto& one : plan.unused) {
    out.push_back(one.repository + "@" + one.digest);
  }
  return out;
}

std::set<std::string> removed_of(const PrunePlan& plan) {
  std::set<std::string> out;
  for (const auto& one : plan.unused) {
    for (const auto& digest : one.manifests) {
      EXPECT_TRUE(out.insert(one.repository + "@" + digest).second) << digest << " twice";
    }
  }
  return out;
}

using List = std::vector<std::string>;
using Set = std::set<std::string>;

TEST(PrunePlan, LeavesAllOfARepositoryThatIsNamedByItself) {
  const auto plan = plan_prune({image("base/x", "m1"), index("base/x", "i1", {"m1"}),
                                image("base/x", "m2"), image("base/xy", "m2"), image("r", "i1")},
                               {{"base/x", "the lock does not say"}}, false);
  EXPECT_EQ(unused_of(plan), (List{"base/xy@m2", "r@i1"}));
  ASSERT_EQ(plan.kept.size(), 2U) << "images, not their parts";
  EXPECT_EQ(plan.kept[0].digest, "i1");
  EXPECT_EQ(plan.kept[1].because, "the lock does not say");
}

TEST(PrunePlan, TakesWhatNobodyNamesAndWhatItConsistsOf) {
  const auto plan =
      plan_prune({image("r", "m1", {{"shared", 10}, {"own1", 5}}),
                  image("r", "m2", {{"shared", 10}, {"own2", 7}}), index("r", "i1", {"m1", "m2"}),
                  image("r", "m3", {{"own3", 3}}), index("r", "i2", {"m2", "m3"})},
                 {{"i2", "mesh.lock"}}, false);
  EXPECT_EQ(unused_of(plan), (List{"r@i1"}));
  EXPECT_EQ(plan.unused[0].manifests, (List{"i1", "m1"})) << "the root first, what stays not";
  EXPECT_EQ(plan.unused[0].bytes, 1U + 1 + 10 + 5 + 1 + 7);
  EXPECT_EQ(plan.frees, 1U + 1 + 5);
  ASSERT_EQ(plan.kept.size(), 1U);
  EXPECT_EQ(plan.kept[0].digest, "i2");
  EXPECT_EQ(plan.kept[0].because, "mesh.lock");
}

TEST(PrunePlan, ADigestCountsInEveryRepositoryATagInItsOwn) {
  auto tagged = image("a", "m2");
  tagged.tags = {"1", "2"};
  auto other = image("b", "m2");
  other.tags = {"1"};
  const auto plan = plan_prune({image("a", "m1"), image("b", "m1"), tagged, other},
                               {{"m1", "why"}, {"a:2", "why"}}, false);
  EXPECT_EQ(unused_of(plan), (List{"b@m2"}));
}

TEST(PrunePlan, KeepsSubjectsAndWhatIsSaidAboutWhatStays) {
  const std::string named = "sha256:" + std::string(64, 'a');
  auto signature = image("r", "signature");
  signature.subject = named;
  auto about_signature = image("r", "about");
  about_signature.subject = "signature";
  auto by_tag = image("r", "by-tag");
  by_tag.tags = {"sha256-" + std::string(64, 'a') + ".sig"};
  auto lone = image("r", "lone");
  lone.subject = "gone";
  EXPECT_EQ(unused_of(plan_prune({image("r", named), about_signature, signature, by_tag, lone},
                                 {{named, "why"}}, false)),
            (List{"r@lone"}));
  EXPECT_EQ(unused_of(plan_prune({image("r", named), signature}, {{"signature", "why"}}, false)),
            (List{}));
}

TEST(PrunePlan, LeavesWhatMeshDidNotPutThere) {
  auto foreign = index("r", "foreign", {"part"});
  auto part = image("r", "part");
  foreign.ours = part.ours = false;
  const std::vector<HeldManifest> held{foreign, part, image("r", "mine")};
  const auto plan = plan_prune(held, {}, false);
  EXPECT_EQ(unused_of(plan), (List{"r@mine"}));
  ASSERT_EQ(plan.foreign.size(), 1U);
  EXPECT_EQ(plan.foreign[0].digest, "foreign");
  EXPECT_EQ(removed_of(plan_prune(held, {}, true)), (Set{"r@foreign", "r@part", "r@mine"}));
}

TEST(PrunePlan, WhereAnImageThatStaysCannotBeReadItsRepositoryStays) {
  auto unreadable = image("r", "named");
  unreadable.readable = false;
  EXPECT_EQ(unused_of(plan_prune({unreadable, image("r", "m1"), image("s", "m1")},
                                 {{"named", "why"}}, true)),
            (List{"s@m1"}));
  EXPECT_EQ(unused_of(plan_prune({unreadable, image("r", "m1")}, {{"m1", "why"}}, true)),
            (List{"r@named"}))
      << "one that goes need not be read";
}

TEST(PrunePlan, NeverTakesWhatIsNeededAndLeavesNothingElse) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    std::vector<HeldManifest> held;
    std::map<std::string, std::string> named;
    for (unsigned i = 0; i < 12; ++i) {
      auto one = image("r", "m" + std::to_string(i), {{"b" + std::to_string(pick(6)), 1}});
      for (unsigned child = 0; child < i && pick(2) == 0; ++child) {
        one.children.push_back("m" + std::to_string(pick(i)));
      }
      if (i > 0 && pick(5) == 0) {
        one.subject = "m" + std::to_string(pick(i));
      }
      one.ours = pick(4) != 0;
      if (pick(4) == 0) {
        named[one.digest] = "why";
      }
      held.push_back(std::move(one));
    }
    const auto plan = plan_prune(held, named, true);
    const auto removed = removed_of(plan);
    const auto goes = [&](const std::string& digest) { return removed.contains("r@" + digest); };
    for (const auto& one : held) {
      EXPECT_FALSE(goes(one.digest) && named.contains(one.digest)) << seed;
      for (const auto& child : one.children) {
        EXPECT_FALSE(!goes(one.digest) && goes(child)) << seed << ": " << child;
      }
      EXPECT_FALSE(!one.subject.empty() && !goes(one.digest) && goes(one.subject)) << seed;
      EXPECT_FALSE(!one.subject.empty() && goes(one.digest) && !goes(one.subject)) << seed;
    }
    if (named.empty()) {
      EXPECT_EQ(removed.size(), held.size());
    }
  }
}

}  // namespace
}  // namespace mesh::controller
