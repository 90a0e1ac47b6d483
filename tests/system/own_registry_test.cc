/// The registry that `mesh up` runs, with the real binaries: when it is started, that it comes
/// back, that it ends, and that a prune takes what nothing names and nothing else.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/server_record.h"
#include "tests/support/made_image.h"
#include "tests/support/nats_server.h"
#include "tests/support/registry_process.h"

namespace mesh::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr os::Milliseconds kLong{60'000};

class OwnRegistry : public testing::Test {
 protected:
  OwnRegistry() { write_mesh(registry_table()); }
  ~OwnRegistry() override { (void)mesh({"down"}); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << text;
  }
  std::string registry_table() const {
    return fmt::format("[registry]\nlisten = \"127.0.0.1:{}\"\n", port_);
  }
  void write_mesh(const std::string& more) {
    write("mesh.toml", fmt::format("mesh = \"own\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = "
                                   "\"{}\"\n[nodes.one]\n{}",
                                   bus_port_, server_program("2.10").string(), more));
  }

  os::RunResult mesh(std::vector<std::string> arguments) {
    os::RunOptions options;
    options.spawn.argv = {program_, "-C", directory_.path().string()};
    options.spawn.argv.insert(options.spawn.argv.end(), arguments.begin(), arguments.end());
    options.spawn.environment = os::current_environment();
    // It would override the configuration, if it got through.
    (*options.spawn.environment)["REGISTRY_HTTP_ADDR"] = "127.0.0.1:1";
    for (const auto& [name, value] : variables_) {
      (*options.spawn.environment)[name] = value;
    }
    options.timeout = os::Milliseconds{120'000};
    auto result = os::run(options);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : os::RunResult{};
  }
  json answer(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const auto ran = mesh(std::move(arguments));
    auto read = json::parse(ran.out, nullptr, false);
    EXPECT_TRUE(read.is_object()) << ran.out << ran.err;
    return read;
  }
  json registry() { return answer({"status"}).value("registry", json::object()); }
  std::string check(const std::string& name) {
    for (const auto& one : answer({"doctor"}).value("checks", json::array())) {
      if (one.at("name") == name) {
        return one.at("state").get<std::string>() + ": " + one.at("message").get<std::string>();
      }
    }
    return "no such check";
  }

  std::optional<os::ServerRecord> record() {
    auto read = os::running_server((directory_.path() / ".mesh/registry/server.json").string());
    return read ? *read : std::nullopt;
  }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  int get(const std::string& repository, const std::string& kind, const std::string& digest) {
    return ask_registry("GET",
                        fmt::format("http://{}/v2/{}/{}/{}", address(), repository, kind, digest));
  }

  /// All of the image is in the repository, or nothing of it.
  void expect_held(const std::string& repository, const MadeImage& image, bool held) {
    for (const auto& manifest : image.manifests) {
      EXPECT_EQ(get(repository, "manifests", manifest.digest), held ? 200 : 404) << manifest.digest;
    }
    for (const auto& [digest, bytes] : image.blobs) {
      EXPECT_EQ(get(repository, "blobs", digest), held ? 200 : 404) << digest;
    }
  }

  template <class Condition>
  [[nodiscard]] bool comes_true(Condition condition) {
    const os::Deadline deadline(kLong);
    while (!condition()) {
      if (deadline.passed()) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }

  void come_up() {
    const auto up = mesh({"up", "--detach"});
    ASSERT_TRUE(up.status.ok()) << up.out << up.err;
  }

  TemporaryDirectory directory_;
  std::string program_ = std::string(MESH_BINARY_DIR) + "/bin/mesh";
  os::Environment variables_;
  int bus_port_ = free_port();
  int port_ = free_port();
};

TEST_F(OwnRegistry, RunsComesBackAndEnds) {
  EXPECT_EQ(mesh({"mirror", "127.0.0.1:1/x:1", "x"}).status.code, 69) << "nothing runs";
  come_up();
  auto now = registry();
  EXPECT_EQ(now.at("running"), true) << now;
  EXPECT_EQ(now.at("address"), address());
  EXPECT_EQ(now.at("server"), "managed");
  EXPECT_TRUE(now.at("version").is_string());
  EXPECT_EQ(check("registry").substr(0, 3), "ok:");
  const auto port = check("registry port");
  EXPECT_TRUE(port.starts_with("ok: " + address() + " is the registry")) << port;

  const auto image = made_image(1, {100'000, 5'000});
  ASSERT_TRUE(push_made(image, address(), "by/hand", "1"));
  const auto before = record();
  ASSERT_TRUE(before);
  ASSERT_EQ(::kill(before->process.pid, SIGKILL), 0);
  ASSERT_TRUE(comes_true([&] {
    const auto after = record();
    return after && after->process != before->process;
  }));
  expect_held("by/hand", image, true);
  EXPECT_GT(registry().at("bytes"), 105'000);

  const auto last = record();
  ASSERT_TRUE(last);
  EXPECT_TRUE(mesh({"down"}).status.ok());
  EXPECT_FALSE(os::mark_of(last->process.pid));
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/registry/server.json"));
  EXPECT_EQ(registry().at("running"), false);
}

TEST_F(OwnRegistry, SaysWhoHasItsPort) {
  auto other = RegistryProcess::start();
  ASSERT_TRUE(other) << other.error().message;
  port_ = other->port();
  write_mesh(registry_table());
  const auto up = mesh({"up"});
  EXPECT_EQ(up.status.code, 1) << up.err;
  EXPECT_NE(up.err.find(address() + " is already used by a docker-registry"), std::string::npos)
      << up.err;
  EXPECT_NE(up.err.find("choose another listen in [registry]"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/bus/server.json")) << "the bus has ended too";
  EXPECT_EQ(check("registry port"), "error: " + address() + " is taken by something else");
}

TEST_F(OwnRegistry, IsStartedWhenItIsAskedForAndNotBefore) {
  write_mesh("");
  come_up();
  EXPECT_FALSE(record());
  EXPECT_EQ(registry().at("needed"), false);
  EXPECT_EQ(check("registry"), "ok: none runs, and no component is an image");
  auto source = RegistryProcess::start();
  ASSERT_TRUE(source) << source.error().message;
  const auto image = made_image(2, {10'000});
  ASSERT_TRUE(push_made(image, source->address(), "up/base", "1"));
  write_mesh(registry_table());
  const auto mirrored =
      mesh({"mirror", source->address() + "/up/base@" + image.digest(), "base/base"});
  EXPECT_EQ(mirrored.status.code, 0) << mirrored.err;
  EXPECT_EQ(mirrored.out, address() + "/base/base@" + image.digest() + "\n");
  expect_held("base/base", image, true);
  const auto running = record();
  ASSERT_TRUE(running);
  EXPECT_TRUE(mesh({"down"}).status.ok());
  EXPECT_FALSE(os::mark_of(running->process.pid));
}

TEST_F(OwnRegistry, IsNotMissedWhereNothingNeedsIt) {
  fs::create_directories(directory_.path() / "bin");
  for (const auto* name : {"mesh", "mesh-host", "mesh-keeper"}) {
    fs::copy_file(fs::path(MESH_BINARY_DIR) / "bin" / name, directory_.path() / "bin" / name);
  }
  program_ = (directory_.path() / "bin/mesh").string();
  variables_["PATH"] = "/nowhere";
  write_mesh("");
  EXPECT_EQ(check("docker-registry"), "ok: none is installed, and no component needs one");
  come_up();
  EXPECT_TRUE(mesh({"down"}).status.ok());
  write_mesh(registry_table());
  EXPECT_EQ(check("docker-registry"), "error: there is no docker-registry beside mesh nor on PATH");
  const auto up = mesh({"up"});
  EXPECT_EQ(up.status.code, 1);
  EXPECT_NE(up.err.find("install docker-registry"), std::string::npos) << up.err;
}

TEST_F(OwnRegistry, PruneTakesWhatNothingNamesAndNothingElse) {
  auto source = RegistryProcess::start();
  ASSERT_TRUE(source) << source.error().message;
  const auto shared = made_image(10, {40'000, 30'000}, "amd64");
  const auto named = made_index({shared, made_image(11, {20'000}, "arm64")});
  const auto unused = made_index({shared, made_image(12, {2'000'000}, "arm64")});
  const auto base = made_image(13, {50'000});
  const auto locked = made_image(14, {60'000});
  const auto by_hand = made_image(15, {70'000});
  const std::vector<std::pair<std::string, const MadeImage*>> images{
      {"named", &named}, {"unused", &unused}, {"base", &base}, {"locked", &locked}};
  come_up();
  for (const auto& [repository, image] : images) {
    ASSERT_TRUE(push_made(*image, source->address(), repository, "1"));
    const auto mirrored =
        mesh({"mirror", source->address() + "/" + repository + "@" + image->digest(), "all"});
    ASSERT_EQ(mirrored.status.code, 0) << mirrored.err;
  }
  ASSERT_EQ(mesh({"mirror", source->address() + "/unused@" + unused.digest(), "other"}).status.code,
            0);
  ASSERT_TRUE(push_made(by_hand, address(), "by/hand", "1"));

  // Who names what: a component, a base of one that is built, mesh.lock.
  write("shop/Containerfile",
        fmt::format("FROM {}/base@{}\nCOPY x /x\n", source->address(), base.digest()));
  write("shop/x", "x");
  write("shop/module.toml",
        fmt::format("[components.made]\nbuild = \".\"\n[components.had]\nimage = \"{}/named@{}\"\n",
                    address(), named.digest()));
  write("mesh.lock",
        json{{"version", 1}, {"images", {{"docker.io/library/x:1", locked.digest()}}}}.dump());
  write_mesh(registry_table() + "[modules.shop]\npath = \"shop\"\non = [\"one\"]\n");

  const auto plan = answer({"registry", "prune"});
  ASSERT_EQ(plan.at("unused").size(), 2U) << plan.dump(1);
  EXPECT_EQ(plan["unused"][0].at("repository"), "all");
  EXPECT_EQ(plan["unused"][0].at("digest"), unused.digest());
  EXPECT_EQ(plan["unused"][1].at("repository"), "other");
  ASSERT_EQ(plan.at("foreign").size(), 1U) << plan.dump(1);
  EXPECT_EQ(plan["foreign"][0].at("digest"), by_hand.digest());
  EXPECT_EQ(plan.at("removed"), false);
  EXPECT_EQ(mesh({"registry", "prune"}).status.code, 0) << "a listing is an answer";
  expect_held("other", unused, true);
  EXPECT_NE(check("unused images").find("2, 1 MiB"), std::string::npos) << check("unused images");

  const auto before = record();
  const auto done = answer({"registry", "prune", "--yes"});
  EXPECT_EQ(done.at("removed"), true) << done.dump(1);
  EXPECT_GT(done.at("freed"), 2'000'000);
  EXPECT_LT(done.at("freed"), 2'010'000);
  for (const auto& [repository, image] : images) {
    if (image != &unused) {
      expect_held("all", *image, true);
    }
  }
  expect_held("by/hand", by_hand, true);
  EXPECT_EQ(get("all", "manifests", unused.digest()), 404);
  EXPECT_EQ(get("other", "manifests", unused.digest()), 404);
  EXPECT_NE(record()->process, before->process) << "it was ended for the collecting";
  const auto again = answer({"registry", "prune", "--yes"});
  EXPECT_EQ(again.at("unused").size(), 0U);
  EXPECT_EQ(again.at("freed"), nullptr) << "nothing to do: it is not ended";

  // What was taken is brought again, whole; what stayed is whole.
  for (const auto& [repository, image] : images) {
    const auto mirrored =
        mesh({"mirror", "--verify", source->address() + "/" + repository + "@" + image->digest(),
              "all"});
    EXPECT_EQ(mirrored.status.code, 0) << mirrored.err;
    expect_held("all", *image, true);
  }
  EXPECT_EQ(answer({"registry", "prune", "--all"}).at("unused").size(), 2U);
}

TEST_F(OwnRegistry, AManifestThatItCannotReadIsRepairedWhereverItIsMet) {
  auto source = RegistryProcess::start();
  ASSERT_TRUE(source) << source.error().message;
  const auto base =
      made_index({made_image(40, {40'000}, "amd64"), made_image(41, {9'000}, "arm64")});
  ASSERT_TRUE(push_made(base, source->address(), "team/base", "1"));
  const auto pinned = source->address() + "/team/base@" + base.digest();
  come_up();
  ASSERT_EQ(mesh({"mirror", pinned, "first"}).status.code, 0);
  const auto damage = [&](const std::string& digest, const std::string& bytes) {
    const auto hex = digest.substr(digest.find(':') + 1);
    write(fmt::format(".mesh/registry/data/docker/registry/v2/blobs/sha256/{}/{}/data",
                      hex.substr(0, 2), hex),
          bytes);
    ASSERT_EQ(get("first", "manifests", digest), 500);
  };
  // The root, an image of it; without a word, and to a repository that has nothing yet.
  for (const auto& words : {std::vector<std::string>{"first"}, {"first", "--verify"}, {"second"}}) {
    damage(base.digest(), words[0] == "second" ? "no JSON" : "");
    auto all = std::vector<std::string>{"mirror", pinned};
    all.insert(all.end(), words.begin(), words.end());
    const auto ran = mesh(all);
    EXPECT_EQ(ran.status.code, 0) << ran.err;
    expect_held(words[0], base, true);
  }
  damage(base.manifests.front().digest, "");
  EXPECT_EQ(mesh({"mirror", pinned, "first", "--verify"}).status.code, 0);
  expect_held("first", base, true);
}

TEST_F(OwnRegistry, PruneLeavesTheBaseOfATagThatTheLockHasLost) {
  auto source = RegistryProcess::start();
  ASSERT_TRUE(source) << source.error().message;
  const auto base =
      made_index({made_image(30, {40'000}, "amd64"), made_image(31, {9'000}, "arm64")});
  ASSERT_TRUE(push_made(base, source->address(), "team/base", "1"));
  write("shop/Containerfile", fmt::format("FROM {}/team/base:1\n", source->address()));
  write("shop/module.toml", "[components.made]\nbuild = \".\"\n");
  come_up();
  const auto port = source->address().substr(source->address().rfind(':') + 1);
  const auto kept = fmt::format("base/127.0.0.1_{}/team/base", port);
  ASSERT_EQ(mesh({"mirror", source->address() + "/team/base@" + base.digest(), kept}).status.code,
            0);
  write_mesh(registry_table() + "[modules.shop]\npath = \"shop\"\non = [\"one\"]\n");
  const auto done = answer({"registry", "prune", "--yes"});
  EXPECT_EQ(done.at("unused").size(), 0U) << done.dump(1);
  ASSERT_EQ(done.at("kept").size(), 1U) << done.dump(1);
  EXPECT_NE(done["kept"][0].at("because").get<std::string>().find("mesh.lock does not say"),
            std::string::npos)
      << done.dump(1);
  expect_held(kept, base, true);
}

TEST_F(OwnRegistry, PruneWaitsForNobodyAndLeavesEverythingWhereItCannotKnow) {
  come_up();
  write("mesh.lock", "<<<<<<< HEAD\n");
  EXPECT_NE(mesh({"registry", "prune", "--yes"}).status.code, 0) << "mesh.lock cannot be read";
  fs::remove(directory_.path() / "mesh.lock");
  {
    const auto lock =
        os::Lock::take((directory_.path() / ".mesh/mirror.lock").string(), "mirror", "now");
    ASSERT_TRUE(lock);
    const auto busy = mesh({"registry", "prune", "--yes"});
    EXPECT_EQ(busy.status.code, 1);
    EXPECT_NE(busy.err.find("mirror"), std::string::npos) << busy.err;
  }
  EXPECT_TRUE(mesh({"registry", "prune", "--yes"}).status.ok());
  EXPECT_TRUE(mesh({"down"}).status.ok());
  EXPECT_EQ(mesh({"registry", "prune", "--yes"}).status.code, 69);
}

}  // namespace
}  // namespace mesh::test
