/// Verbs on a bus that runs, or hangs: the real binary and a real server.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "os/files.h"
#include "os/process.h"
#include "tests/support/nats_server.h"

namespace mesh::test {
namespace {

using nlohmann::json;

class RunningVerbs : public testing::Test {
 protected:
  void SetUp() override {
    write("m/module.toml",
          "emits = [\"placed\"]\nconsumes = [\"m.placed\"]\n[tools.price]\n"
          "[components.main]\nrun = [\"sleep\", \"1000\"]\n"
          "[components.once]\nrun = [\"true\"]\nrestart = \"on-failure\"\n");
    declare(server_program("2.10").string());
  }
  void TearDown() override {
    if (server_ > 0) {
      ::kill(server_, SIGCONT);
    }
    (void)mesh({"down"});
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << text;
  }

  void declare(const std::string& program) {
    write("mesh.toml",
          fmt::format("mesh = \"running\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = \"{}\"\n"
                      "[nodes.one]\n[modules.m]\npath = \"m\"\non = [\"one\"]\n",
                      port_, program));
  }

  os::RunResult mesh(std::vector<std::string> words) {
    os::RunOptions options;
    options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "-C",
                          directory_.path().string()};
    options.spawn.argv.insert(options.spawn.argv.end(), words.begin(), words.end());
    options.timeout = os::Milliseconds{120'000};
    auto result = os::run(options);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : os::RunResult{};
  }

  /// Runs it with --timeout 1s: what it says, where it ends soon enough. (The usual wait for an
  /// answer is 10 s.)
  os::RunResult soon(std::vector<std::string> words) {
    words.insert(words.end(), {"--timeout", "1s"});
    const os::Deadline deadline(os::Milliseconds{7'000});
    auto result = mesh(words);
    EXPECT_FALSE(deadline.passed()) << words.front() << ": " << result.out << result.err;
    return result;
  }

  void stop_the_server() {
    const auto record =
        os::read_file((directory_.path() / ".mesh/bus/server.json").string(), 65536);
    ASSERT_TRUE(record.has_value());
    server_ = json::parse(*record).at("pid").get<pid_t>();
    ASSERT_EQ(::kill(server_, SIGSTOP), 0);
  }

  TemporaryDirectory directory_;
  int port_ = free_port();
  pid_t server_ = 0;
};

TEST_F(RunningVerbs, WhatIsDoneOrNeverCameIsTold) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  const auto explained = mesh({"explain", "m"});
  EXPECT_EQ(explained.status.code, 0) << explained.out;
  const auto nothing = mesh({"tap", "x", "--count", "2", "--timeout", "500ms"});
  EXPECT_EQ(nothing.status.code, 1) << nothing.err;
  EXPECT_NE(nothing.err.find("of 2 messages only 0 came"), std::string::npos) << nothing.err;
  EXPECT_EQ(mesh({"tap", "x", "--timeout", "500ms"}).status.code, 0);

  // A reader that goes is no bus that cannot be reached, and a full disk is neither.
  const auto binary = std::string(MESH_BINARY_DIR) + "/bin/mesh -C " + directory_.path().string();
  const auto shell = [&](const std::string& command) {
    os::RunOptions options;
    options.spawn.argv = {"bash", "-c", command};
    return os::run(options).value();
  };
  const auto gone = shell("set -o pipefail; " + binary + " status --watch | head -n 1");
  EXPECT_EQ(gone.status.code, 0) << gone.err;
  const auto full = shell(binary + " status --watch --timeout 5s > /dev/full");
  EXPECT_EQ(full.status.code, 1) << full.err;
  EXPECT_NE(full.err.find("No space left"), std::string::npos) << full.err;
}

TEST_F(RunningVerbs, VerbsThatAskTheBusEndWithTheirDeadline) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  stop_the_server();
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"push"}, {"plan"}, {"status"}, {"call", "m.price"}, {"explain", "m"}, {"tap", ">"}}) {
    const auto ended = soon(words);
    EXPECT_TRUE(ended.status.code == 69 || ended.status.code == 1) << words.front() << ended.err;
    EXPECT_FALSE(ended.err.empty()) << words.front();
  }
  // The port is its own, whether its server answers or not.
  const auto doctor = soon({"doctor"});
  EXPECT_EQ(doctor.status.code, 1) << doctor.out;
  EXPECT_NE(doctor.out.find("is the bus, process"), std::string::npos) << doctor.out;
  EXPECT_EQ(doctor.out.find("something else"), std::string::npos) << doctor.out;
}

TEST_F(RunningVerbs, AProgramThatHangsIsNotWaitedForLonger) {
  write("hang", "#!/bin/sh\nexec sleep 1000\n");
  std::filesystem::permissions(directory_.path() / "hang", std::filesystem::perms(0755));
  declare((directory_.path() / "hang").string());
  EXPECT_EQ(soon({"doctor"}).status.code, 1);
  EXPECT_TRUE(soon({"bus-config"}).status.ok());
}

}  // namespace
}  // namespace mesh::test
