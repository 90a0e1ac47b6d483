#include "registry/mirror.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/interrupt.h"
#include "os/random.h"
#include "tests/support/made_image.h"
#include "tests/support/memory_ledger.h"
#include "tests/support/registry_process.h"

// The mirror between two of Debian's registries.
namespace mesh::registry {
namespace {

using test::MadeImage;
using test::RegistryProcess;

/// Notes what became of each blob; may do something at the first that is through.
class Notes final : public Progress {
 public:
  void blob_ends(const std::string& digest, std::uint64_t /*size*/, How how) override {
    ends.emplace_back(digest, how);
    if (at_end) {
      at_end(ends.size());
    }
  }
  void remark(const std::string& line) override { remarks.push_back(line); }
  [[nodiscard]] std::size_t count(How how) const {
    std::size_t found = 0;
    for (const auto& [digest, became] : ends) {
      found += became == how ? 1U : 0U;
    }
    return found;
  }
  std::vector<std::pair<std::string, How>> ends;
  std::vector<std::string> remarks;
  std::function<void(std::size_t)> at_end;
};

class MirrorContract : public ::testing::Test {
 protected:
  void SetUp() override {
    auto source = RegistryProcess::start();
    ASSERT_TRUE(source.has_value()) << source.error().message;
    source_.emplace(std::move(*source));
    auto own = RegistryProcess::start();
    ASSERT_TRUE(own.has_value()) << own.error().message;
    own_.emplace(std::move(*own));
    image_ = test::made_index({test::made_image(1, {100'000, 3'000'000}, "amd64"),
                               test::made_image(2, {50'000, 2'500'000}, "arm64")});
    ASSERT_TRUE(test::push_made(image_, source_->address(), "up/base", "1").has_value());
    static_cast<void>(source_->new_requests());
    static_cast<void>(own_->new_requests());
  }

  [[nodiscard]] MirrorOptions options() const {
    MirrorOptions options;
    options.registry = own_->address();
    options.state = state_.path().string();
    return options;
  }
  [[nodiscard]] MirrorPair pair(const std::string& target, const std::string& repository) const {
    return {oci::Reference::parse(source_->address() + "/" + target).value(),
            oci::Repository::parse(repository).value(), std::nullopt};
  }
  [[nodiscard]] std::string pinned() const { return "up/base@" + image_.digest(); }

  std::vector<Result<Mirrored>> mirror(const std::vector<MirrorPair>& pairs,
                                       const MirrorOptions& how) {
    notes_.ends.clear();
    Mirror mirror(how, services_, ledger_, notes_);
    auto done = mirror.run(pairs);
    asked_ = mirror.asked();
    return done;
  }
  Result<Mirrored> mirror(const std::string& target, const std::string& repository) {
    return mirror({pair(target, repository)}, options())[0];
  }
  Result<Mirrored> verify(const std::string& repository, bool with_storage = true) {
    MirrorOptions how = options();
    how.verify = true;
    how.storage = with_storage ? own_->storage().string() : "";
    return mirror({pair(pinned(), repository)}, how)[0];
  }

  /// Every byte of the image comes out of the registry as it was made.
  void expect_whole(const std::string& repository) const {
    const std::string root = "http://" + own_->address() + "/v2/" + repository;
    for (const auto& [digest, bytes] : image_.blobs) {
      std::string got;
      EXPECT_EQ(test::ask_registry("GET", root + "/blobs/" + digest, &got), 200);
      EXPECT_TRUE(got == bytes) << digest;
    }
    for (const auto& one : image_.manifests) {
      std::string got;
      EXPECT_EQ(test::ask_registry("GET", root + "/manifests/" + one.digest, &got), 200);
      EXPECT_EQ(got, one.bytes);
    }
  }

  std::optional<RegistryProcess> source_;
  std::optional<RegistryProcess> own_;
  MadeImage image_;
  test::TemporaryDirectory state_;
  test::MemoryLedger ledger_;
  Notes notes_;
  std::vector<Asked> asked_;
  os::SystemClock clock_;
  os::SystemRandom random_;
  Services services_{clock_, random_, [](const std::string&) { return std::nullopt; }};
};

std::string largest_blob(const MadeImage& image) {
  return std::ranges::max_element(image.blobs, {},
                                  [](const auto& blob) { return blob.second.size(); })
      ->first;
}

TEST_F(MirrorContract, ColdTakesTheFewestRequestsThatThereAre) {
  const auto done = mirror(pinned(), "base");
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->reference, own_->address() + "/base@" + image_.digest());
  EXPECT_FALSE(done->held);
  expect_whole("base");
  // 3 manifests and 6 blobs once each; a POST and a PUT a blob, a PUT a manifest.
  EXPECT_EQ(source_->new_requests().size(), 9U);
  EXPECT_EQ(asked_.size(), 9U);
}

TEST_F(MirrorContract, ColdAsksTheRegistryTwiceABlobAndOnceAManifest) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  EXPECT_EQ(own_->new_requests().size(), 15U);
}

TEST_F(MirrorContract, HeldAsksUpstreamNothingEvenWhenItIsOff) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  source_->kill();
  static_cast<void>(own_->new_requests());
  const auto again = mirror(pinned(), "base");
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_TRUE(again->held);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(own_->new_requests(),
            std::vector<std::string>{"HEAD /v2/base/manifests/" + image_.digest()});
  // A tag beside the digest changes nothing.
  EXPECT_TRUE(mirror("up/base:9@" + image_.digest(), "base").has_value());
  EXPECT_TRUE(asked_.empty());
}

TEST_F(MirrorContract, HeldInAnotherRepositoryIsMountedWithUpstreamOff) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  source_->kill();
  const auto sibling = mirror(pinned(), "team/other");
  ASSERT_TRUE(sibling.has_value()) << sibling.error().message;
  EXPECT_TRUE(sibling->held);
  EXPECT_EQ(notes_.count(Progress::How::Mounted), 6U);
  EXPECT_TRUE(asked_.empty());
  expect_whole("team/other");
}

TEST_F(MirrorContract, ManyRepositoriesInOneRunFetchEachContentOnce) {
  std::vector<MirrorPair> pairs;
  for (int at = 0; at < 10; ++at) {
    pairs.push_back(pair(pinned(), fmt::format("m{}/base", at)));
  }
  for (const auto& one : mirror(pairs, options())) {
    EXPECT_TRUE(one.has_value()) << one.error().message;
  }
  EXPECT_EQ(source_->new_requests().size(), 9U);
  EXPECT_EQ(own_->new_requests().size(), 10 * 9U + 6U);
  EXPECT_EQ(notes_.count(Progress::How::Fetched), 6U);
  EXPECT_EQ(notes_.count(Progress::How::Mounted), 54U);
  expect_whole("m9/base");
}

TEST_F(MirrorContract, ATagIsResolvedByOneHeadInARun) {
  const auto done = mirror({pair("up/base:1", "a"), pair("up/base:1", "b")}, options());
  ASSERT_TRUE(done[0].has_value() && done[1].has_value());
  EXPECT_EQ(done[0]->digest.text(), image_.digest());
  const auto asked = source_->new_requests();
  EXPECT_EQ(std::ranges::count(asked, "HEAD /v2/up/base/manifests/1"), 1);
  EXPECT_EQ(asked.size(), 10U);
}

TEST_F(MirrorContract, ALockedTagGoesOnWithUpstreamOffAndSaysSo) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  source_->kill();
  MirrorPair locked = pair("up/base:1", "base");
  EXPECT_EQ(mirror({locked}, options())[0].error().code, Code::Unavailable);
  locked.locked = oci::Digest::parse(image_.digest()).value();
  const auto done = mirror({locked}, options())[0];
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_NE(done->remark.find("going on with " + image_.digest()), std::string::npos);
}

TEST_F(MirrorContract, TheRegistryOutOfReachIsAnErrorThatSaysWhatWasAskedWhom) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  own_->kill();
  const auto refused = mirror(pinned(), "base");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_EQ(refused.error().message.find("asking " + own_->address() + " whether it holds base@" +
                                         image_.digest() + ": "),
            0U)
      << refused.error().message;
}

TEST_F(MirrorContract, ABrokenOffRunFetchesOnlyTheRest) {
  os::Interrupt interrupt;
  MirrorOptions how = options();
  how.stop_fd = interrupt.descriptor();
  how.blobs_at_once = 1;
  notes_.at_end = [&](std::size_t count) {
    if (count == 3) {
      interrupt.request();
    }
  };
  EXPECT_EQ(mirror({pair(pinned(), "base")}, how)[0].error().code, Code::Interrupted);
  notes_.at_end = {};
  const std::size_t before = notes_.count(Progress::How::Fetched);
  EXPECT_GE(before, 3U);
  EXPECT_LT(before, 6U);
  static_cast<void>(source_->new_requests());
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  // The manifests are known, and so is what was brought.
  EXPECT_EQ(source_->new_requests().size(), 6U - before);
  EXPECT_EQ(notes_.count(Progress::How::Held), before);
  expect_whole("base");
}

TEST_F(MirrorContract, VerifyFindsALayerThatWasDeletedAndFetchesItAlone) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  const std::string lost = largest_blob(image_);
  ASSERT_EQ(test::ask_registry("DELETE", "http://" + own_->address() + "/v2/base/blobs/" + lost),
            202);
  // One HEAD does not see it.
  EXPECT_TRUE(mirror(pinned(), "base")->held);
  static_cast<void>(source_->new_requests());
  const auto repaired = verify("base");
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  EXPECT_FALSE(repaired->held);
  EXPECT_EQ(source_->new_requests(), std::vector<std::string>{"GET /v2/up/base/blobs/" + lost});
  expect_whole("base");
  EXPECT_TRUE(verify("base")->held);
}

TEST_F(MirrorContract, VerifyPutsAChildManifestBackWithUpstreamOff) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  source_->kill();
  ASSERT_EQ(test::ask_registry("DELETE", "http://" + own_->address() + "/v2/base/manifests/" +
                                             image_.manifests[0].digest),
            202);
  const auto repaired = verify("base");
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  EXPECT_TRUE(asked_.empty());
  expect_whole("base");
}

TEST_F(MirrorContract, VerifyFindsBytesThatWereChangedOnTheDisk) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  const std::string bad = largest_blob(image_);
  std::fstream(own_->data_file(bad), std::ios::in | std::ios::out | std::ios::binary)
      << "something else";
  static_cast<void>(source_->new_requests());
  const auto repaired = verify("base");
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  EXPECT_EQ(source_->new_requests(), std::vector<std::string>{"GET /v2/up/base/blobs/" + bad});
  expect_whole("base");
}

TEST_F(MirrorContract, VerifyFindsATruncatedLayerAndAChangedManifest) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  std::filesystem::resize_file(own_->data_file(largest_blob(image_)), 1000);
  std::ofstream(own_->data_file(image_.manifests[1].digest)) << "{}";
  const auto repaired = verify("base");
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  expect_whole("base");
}

TEST_F(MirrorContract, DamageThatTheRegistryWillNotLetGoOfIsNamed) {
  ASSERT_TRUE(mirror(pinned(), "base").has_value());
  const std::string bad = largest_blob(image_);
  std::fstream(own_->data_file(bad), std::ios::in | std::ios::out | std::ios::binary)
      << "something else";
  const auto refused = verify("base", false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Corrupt);
  EXPECT_NE(refused.error().message.find(bad), std::string::npos);
  // It does not count as held any more.
  EXPECT_TRUE(ledger_.held.empty());
}

}  // namespace
}  // namespace mesh::registry
