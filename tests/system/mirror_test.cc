// `mesh mirror` as a program, between two of Debian's registries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "os/process.h"
#include "tests/support/made_image.h"
#include "tests/support/registry_process.h"

namespace mesh {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
using test::RegistryProcess;

const std::string kProgram = MESH_BINARY_DIR "/bin/mesh";

class MirrorVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    auto source = RegistryProcess::start();
    ASSERT_TRUE(source.has_value()) << source.error().message;
    source_.emplace(std::move(*source));
    auto own = RegistryProcess::start();
    ASSERT_TRUE(own.has_value()) << own.error().message;
    own_.emplace(std::move(*own));
    write("mesh.toml", fmt::format("mesh = \"home\"\n[nodes.one]\n[registry]\n"
                                   "server = \"external\"\nadvertise = \"{}\"\n",
                                   own_->address()));
    image_ = test::made_index({test::made_image(1, {4'000'000, 9'000'000}, "amd64"),
                               test::made_image(2, {3'000'000, 8'000'000}, "arm64")});
    ASSERT_TRUE(test::push_made(image_, source_->address(), "up/base", "1").has_value());
    ASSERT_EQ(mesh({"init"}).status.code, 0);
    static_cast<void>(source_->new_requests());
  }
  void write(const std::string& path, std::string_view bytes) const {
    std::ofstream(directory_.path() / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] os::SpawnOptions spawn(Words words) const {
    words.insert(words.begin(), kProgram);
    os::SpawnOptions options;
    options.argv = std::move(words);
    options.directory = directory_.path().string();
    options.environment = os::current_environment();
    (*options.environment)["HOME"] = directory_.path().string();
    return options;
  }
  [[nodiscard]] os::RunResult mesh(Words words) const {
    os::RunOptions options;
    options.spawn = spawn(std::move(words));
    options.timeout = os::Milliseconds{120'000};
    auto ran = os::run(options);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    return ran ? std::move(*ran) : os::RunResult{};
  }
  [[nodiscard]] os::Process start(Words words) const {
    os::SpawnOptions options = spawn(std::move(words));
    options.out = os::Output::discard();
    options.err = os::Output::discard();
    return std::move(*os::Process::spawn(options));
  }
  [[nodiscard]] std::string pinned() const {
    return source_->address() + "/up/base@" + image_.digest();
  }
  [[nodiscard]] std::string kept(const std::string& repository) const {
    return own_->address() + "/" + repository + "@" + image_.digest();
  }
  void expect_whole(const std::string& repository) const {
    const std::string root = "http://" + own_->address() + "/v2/" + repository;
    for (const auto& [digest, bytes] : image_.blobs) {
      std::string got;
      EXPECT_EQ(test::ask_registry("GET", root + "/blobs/" + digest, &got), 200);
      EXPECT_TRUE(got == bytes) << digest;
    }
    EXPECT_EQ(test::ask_registry("GET", root + "/manifests/" + image_.digest()), 200);
  }

  std::optional<RegistryProcess> source_;
  std::optional<RegistryProcess> own_;
  test::MadeImage image_;
  test::TemporaryDirectory directory_;
};

TEST_F(MirrorVerb, PrintsThePinnedReferenceAloneAndOnStderrWhatWasAsked) {
  const auto cold = mesh({"mirror", pinned(), "base"});
  EXPECT_EQ(cold.status.code, 0) << cold.err;
  EXPECT_EQ(cold.out, kept("base") + "\n");
  EXPECT_THAT(cold.err, HasSubstr("fetched sha256:"));
  EXPECT_THAT(cold.err, HasSubstr("upstream was asked 9 times:\n  GET http://"));
  source_->kill();
  const auto held = mesh({"mirror", pinned(), "base"});
  EXPECT_EQ(held.status.code, 0) << held.err;
  EXPECT_EQ(held.out, cold.out);
  EXPECT_THAT(held.err, HasSubstr("upstream was asked nothing"));
}

TEST_F(MirrorVerb, ManyPairsOfAFileInOneProcess) {
  write("bases.txt",
        fmt::format("# bases\n{} one\n\n  {}   two # with a remark\n", pinned(), pinned()));
  const auto ran = mesh({"mirror", "--from", "bases.txt", "--json"});
  EXPECT_EQ(ran.status.code, 0) << ran.err;
  const auto document = Json::parse(ran.out);
  ASSERT_EQ(document["images"].size(), 2U);
  EXPECT_EQ(document["upstream"].size(), 9U);
  std::uint64_t bytes = 0;
  for (const auto& image : document["images"]) {
    bytes += image["bytes"].get<std::uint64_t>();
    EXPECT_EQ(image["digest"], image_.digest());
  }
  EXPECT_GT(bytes, 24'000'000U);
  EXPECT_LT(bytes, 24'010'000U);
  EXPECT_EQ(document["images"][1]["reference"], kept("two"));
  EXPECT_EQ(document["upstream"][0]["method"], "GET");
  EXPECT_EQ(document["upstream"][0]["status"], 200);
}

TEST_F(MirrorVerb, ExitCodes) {
  EXPECT_EQ(mesh({"mirror"}).status.code, 64);
  EXPECT_EQ(mesh({"mirror", "debian:12"}).status.code, 64);
  EXPECT_EQ(mesh({"mirror", "UPPER", "base"}).status.code, 64);
  EXPECT_EQ(mesh({"mirror", pinned(), "Base:1"}).status.code, 64);
  write("bad.txt", "debian:12\n");
  const auto bad = mesh({"mirror", "--from", "bad.txt"});
  EXPECT_EQ(bad.status.code, 65);
  EXPECT_THAT(bad.err, HasSubstr("bad.txt:1:1: "));
  write("bad.txt", "debian:12\n\nfine:1 fine\n  UPPER base # no\ndebian:12 Base\na b c d\n");
  const auto all = mesh({"mirror", "--from", "bad.txt", "--json"});
  EXPECT_EQ(all.status.code, 65);
  EXPECT_THAT(all.err, AllOf(HasSubstr("bad.txt:1:1: "), HasSubstr("bad.txt:4:3: "),
                             HasSubstr("bad.txt:5:11: "), HasSubstr("bad.txt:6:5: ")));
  const auto document = Json::parse(all.out, nullptr, false);
  EXPECT_EQ(document["error"]["line"], 1);
  EXPECT_EQ(document["problems"].size(), 4U);
  EXPECT_EQ(mesh({"mirror", "--from", "none.txt"}).status.code, 65);
  EXPECT_EQ(mesh({"mirror", "--from", "."}).status.code, 65);
  EXPECT_EQ(mesh({"mirror", source_->address() + "/up/none:1", "base"}).status.code, 1);
  source_->kill();
  EXPECT_EQ(mesh({"mirror", pinned(), "base"}).status.code, 69);
  own_->kill();
  ASSERT_TRUE(source_->restart());
  (void)source_->new_requests();
  for (const auto& source : {pinned(), source_->address() + "/up/base:1"}) {
    const auto away = mesh({"mirror", source, "base"});
    EXPECT_EQ(away.status.code, 69);
    EXPECT_THAT(away.err, AllOf(HasSubstr("asking the mesh's registry whether it answers"),
                                HasSubstr("hint: it is the mesh's registry: start it")));
  }
  EXPECT_THAT(source_->new_requests(), ::testing::IsEmpty())
      << "what cannot be kept is not fetched";
  for (const auto& words : {Words{"registry", "prune", "--yes"}, Words{"build"}}) {
    const auto ran = mesh(words);
    EXPECT_EQ(ran.status.code, words[0] == "build" ? 0 : 69) << "no component is built here";
  }
}

/// A manifest whose file is empty: docker-registry answers 500 to it, and takes no other bytes.
TEST_F(MirrorVerb, AManifestThatTheRegistryCannotReadIsFoundAndTheRemedySaid) {
  ASSERT_EQ(mesh({"mirror", pinned(), "base"}).status.code, 0);
  for (const auto& digest : {image_.digest(), image_.manifests.front().digest}) {
    std::string was;
    ASSERT_EQ(test::ask_registry(
                  "GET", "http://" + own_->address() + "/v2/base/manifests/" + digest, &was),
              200);
    std::ofstream(own_->data_file(digest), std::ios::binary | std::ios::trunc).flush();
    for (const Words& words :
         {Words{"mirror", pinned(), "base", "--verify"}, Words{"mirror", pinned(), "another"}}) {
      const auto ran = mesh(words);
      EXPECT_EQ(ran.status.code, 1) << ran.err << ran.out;
      EXPECT_THAT(ran.err, AllOf(HasSubstr("keeps damaged bytes of " + digest),
                                 HasSubstr("remove the folder docker/registry/v2/blobs/sha256/")));
    }
    std::filesystem::remove_all(own_->data_file(digest).parent_path());
    const auto after = mesh({"mirror", pinned(), "base", "--verify"});
    EXPECT_EQ(after.status.code, 0) << after.err;
    expect_whole("base");
    std::string is;
    ASSERT_EQ(test::ask_registry("GET",
                                 "http://" + own_->address() + "/v2/base/manifests/" + digest, &is),
              200);
    EXPECT_EQ(is, was);
  }
}

TEST_F(MirrorVerb, AReaderThatIsGoneIsNoFailure) {
  os::RunOptions piped;
  piped.spawn = spawn({"mirror", pinned(), "base"});
  piped.spawn.argv = {"bash", "-c", R"("$0" mirror "$1" base | true; exit ${PIPESTATUS[0]})",
                      kProgram, pinned()};
  const auto unread = os::run(piped);
  ASSERT_TRUE(unread);
  EXPECT_EQ(unread->status.code, 0) << unread->err << "it is held, whoever reads of it";
}

TEST_F(MirrorVerb, OnePairThatFailsLeavesTheOthersAlone) {
  write("bases.txt", fmt::format("{}/up/none:1 none\n{} base\n", source_->address(), pinned()));
  const auto ran = mesh({"mirror", "--from", "bases.txt"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_EQ(ran.out, kept("base") + "\n");
  EXPECT_THAT(ran.err, HasSubstr("up/none:1: "));
  const auto document = Json::parse(mesh({"mirror", "--from", "bases.txt", "--json"}).out);
  EXPECT_EQ(document["images"].size(), 1U);
  ASSERT_EQ(document["failed"].size(), 1U);
  EXPECT_EQ(document["failed"][0]["repository"], "none");
  EXPECT_EQ(document["failed"][0]["error"]["code"], "not-found");
}

TEST_F(MirrorVerb, TwoProcessesAtOnceFetchEachDigestOnce) {
  auto one = start({"mirror", pinned(), "one"});
  auto two = start({"mirror", pinned(), "two"});
  ASSERT_EQ(one.wait(os::Milliseconds(60'000)).value().code, 0);
  ASSERT_EQ(two.wait(os::Milliseconds(60'000)).value().code, 0);
  const auto asked = source_->new_requests();
  EXPECT_EQ(asked.size(), 9U);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(), 9U);
  expect_whole("one");
  expect_whole("two");
}

TEST_F(MirrorVerb, KilledAtAnyMomentTheNextRunFetchesTheRest) {
  std::size_t manifests = 0;
  for (int kill_after = 5; kill_after < 400; kill_after = kill_after * 3 / 2) {
    auto process = start({"mirror", pinned(), "base"});
    const auto ended = process.wait(os::Milliseconds(kill_after));
    process.signal(SIGKILL);
    static_cast<void>(process.wait(os::Milliseconds(10'000)).has_value());
    if (ended) {
      break;
    }
  }
  ASSERT_EQ(mesh({"mirror", pinned(), "base"}).status.code, 0);
  expect_whole("base");
  // No manifest is asked for again once all are known, and no blob once it is there: each may have
  // been cut off, so a blob may come more than once, but what came whole came once.
  for (const auto& request : source_->new_requests()) {
    manifests += request.find("/manifests/") != std::string::npos ? 1U : 0U;
  }
  EXPECT_GE(manifests, 3U);
  source_->kill();
  EXPECT_EQ(mesh({"mirror", pinned(), "base"}).status.code, 0);
  EXPECT_EQ(mesh({"mirror", pinned(), "base", "--verify"}).status.code, 0);
}

TEST_F(MirrorVerb, MemoryDoesNotGrowWithTheImage) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "under the address sanitizer what is freed is kept for a while";
#endif
  const auto large = test::made_image(7, {60'000'000, 60'000'000, 60'000'000, 60'000'000});
  ASSERT_TRUE(test::push_made(large, source_->address(), "up/large").has_value());
  const auto ran = [&](const std::string& script) {
    os::RunOptions options;
    options.spawn = spawn({});
    options.spawn.argv = {"bash", "-c", script};
    options.timeout = os::Milliseconds{120'000};
    return os::run(options).value();
  };
  // VmHWM of the process at its end, in kB, as the shell's time would not tell it.
  const auto peak = [&](const std::string& words) {
    const auto result =
        ran("python3 -c 'import os,resource,sys\n"
            "pid=os.spawnv(os.P_NOWAIT,sys.argv[1],sys.argv[1:])\n"
            "_,s,u=os.wait4(pid,0)\n"
            "sys.stderr.write(str(u.ru_maxrss)) if s==0 else sys.exit(1)' " +
            kProgram + " " + words + " 2>&1 >/dev/null | tail -n 1");
    EXPECT_EQ(result.status.code, 0);
    return std::stol("0" + result.out.substr(result.out.find_last_not_of("0123456789") + 1));
  };
  const long start = peak("check");
  const long most =
      peak(fmt::format("mirror {}/up/large@{} large", source_->address(), large.digest()));
  EXPECT_GT(start, 1000);
  EXPECT_GT(most, start);
  EXPECT_LT(most - start, 32L * 1024);
}

}  // namespace
}  // namespace mesh
