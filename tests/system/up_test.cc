/// `mesh up` and `mesh down` with the real binary and a real server: what runs, as whom, what a
/// push changes, and that nothing is left.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/process.h"
#include "tests/support/nats_server.h"

namespace mesh::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr os::Milliseconds kLong{60'000};

class Up : public testing::Test {
 protected:
  Up() : port_(free_port()) {
    // A module's user reaches its copy below /run/mesh, whoever owns this directory.
    declare("quiet", "trap 'exit 0' TERM; echo here; while :; do sleep 1; done");
    write_mesh({"quiet"});
  }

  ~Up() override { (void)mesh({"down"}); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << text;
  }

  std::string read(const std::string& path) {
    std::ifstream file(directory_.path() / path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// A module of one component that runs `script`, and nothing on the bus.
  void declare(const std::string& module, const std::string& script, const std::string& more = {}) {
    write(module + "/main.sh", script + "\n");
    write(module + "/module.toml",
          "[components.main]\nrun = [\"sh\", \"main.sh\"]\ngrace = \"2s\"\n" + more);
  }

  void write_mesh(const std::vector<std::string>& modules) {
    std::string text = fmt::format(
        "mesh = \"up\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = \"{}\"\n[nodes.one]\n", port_,
        server_program("2.10").string());
    for (const auto& module : modules) {
      text += fmt::format("[modules.{0}]\npath = \"{0}\"\non = [\"one\"]\n", module);
    }
    write("mesh.toml", text);
  }

  os::RunResult mesh(std::vector<std::string> arguments) {
    os::RunOptions options;
    options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "-C",
                          directory_.path().string()};
    options.spawn.argv.insert(options.spawn.argv.end(), arguments.begin(), arguments.end());
    options.timeout = os::Milliseconds{120'000};
    auto result = os::run(options);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : os::RunResult{};
  }

  json component(const std::string& module) {
    const auto status = json::parse(mesh({"status", "--json"}).out);
    for (const auto& one : status.at("nodes").at(0).at("modules")) {
      if (one.at("module") == module) {
        return one.at("components").at(0);
      }
    }
    return {};
  }

  /// Waits until `condition` holds; what did not happen within a minute does not happen.
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

  std::string log(const std::string& module) {
    return read(".mesh/log/one." + module + ".main.log");
  }

  TemporaryDirectory directory_;
  int port_;
};

TEST_F(Up, ComesUpIsPushedToAndGoes) {
  const auto up = mesh({"up", "--detach"});
  ASSERT_TRUE(up.status.ok()) << up.out << up.err << read(".mesh/run/up.log");
  EXPECT_EQ(component("quiet").at("state"), "running");
  EXPECT_TRUE(comes_true([&] { return log("quiet").find("here") != std::string::npos; }));

  // A push by another process: what is new starts, and what is as it was is not touched.
  const auto since = component("quiet").at("since");
  declare("second", "echo \"$WORD\"; exec sleep 1000", "env = { WORD = \"one\" }\n");
  write_mesh({"quiet", "second"});
  ASSERT_TRUE(mesh({"push"}).status.ok());
  EXPECT_TRUE(comes_true([&] { return component("second").at("state") == "running"; }));
  EXPECT_EQ(component("quiet").at("since"), since);

  declare("second", "echo \"$WORD\"; exec sleep 1000", "env = { WORD = \"two\" }\n");
  ASSERT_TRUE(mesh({"push"}).status.ok());
  EXPECT_TRUE(comes_true([&] { return log("second").find("two") != std::string::npos; }));

  const auto down = mesh({"down"});
  EXPECT_TRUE(down.status.ok()) << down.err;
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/run/up.json"));
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/bus/server.json"));
  EXPECT_EQ(mesh({"down"}).out, "nothing runs\n");
}

TEST_F(Up, WhatEndsIsStartedAgainAsItsPolicySays) {
  declare("failing", "echo start; exit 3");
  declare("once", "exit 0", "restart = \"on-failure\"\n");
  declare("never", "exit 4", "restart = \"never\"\n");
  write_mesh({"quiet", "failing", "once", "never"});
  const auto up = mesh({"up", "--detach", "--timeout", "3s"});
  EXPECT_EQ(up.status.code, 1) << up.out << up.err;
  EXPECT_NE(up.err.find("one.failing.main: "), std::string::npos) << up.err;
  EXPECT_TRUE(comes_true([&] { return component("failing").at("restarts").get<int>() >= 2; }));
  EXPECT_EQ(component("once").at("state"), "stopped");
  EXPECT_EQ(component("never").at("state"), "failed");
}

TEST_F(Up, KilledItLeavesNothingAndComesUpAgain) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  const auto record = json::parse(read(".mesh/run/up.json"));
  const auto pid = record.at("pid").get<pid_t>();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const auto gone = [&] { return ::kill(pid, 0) != 0; };
  EXPECT_TRUE(comes_true(gone));
  const auto up = mesh({"up", "--detach"});
  EXPECT_TRUE(up.status.ok()) << up.out << up.err << read(".mesh/run/up.log");
  EXPECT_EQ(component("quiet").at("state"), "running");
}

// What keeps the bus from running is told alike by each verb that starts it.
TEST_F(Up, ATakenPortIsToldAlikeWhoeverMeetsIt) {
  auto other = NatsServer::start("2.10", "");
  ASSERT_TRUE(other) << other.error().message;
  port_ = other->port();
  write_mesh({"quiet"});
  ASSERT_TRUE(mesh({"init"}).status.ok());
  const auto taken = fmt::format("127.0.0.1:{} is already used by a nats-server", port_);
  for (const auto& verb : {std::vector<std::string>{"controller"}, {"up"}, {"up", "--detach"}}) {
    auto words = verb;
    words.emplace_back("--json");
    const auto ran = mesh(words);
    EXPECT_EQ(ran.status.code, 1) << ran.out << ran.err;
    const auto error = json::parse(ran.out).at("error");
    EXPECT_EQ(error.at("code"), "conflict") << error;
    const auto message = error.at("message").get<std::string>();
    EXPECT_TRUE(message.starts_with(taken)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(error.at("hint").get<std::string>().find("choose another listen"), std::string::npos);
  }
  const auto text = mesh({"up", "--detach"});
  EXPECT_NE(text.err.find("/run/up.log"), std::string::npos) << text.err;
  EXPECT_NE(read(".mesh/run/up.log").find(taken), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/run/up.json"));
}

// ASSURANCE.md, "Machines": a module on this machine reads neither another's files nor the state.
TEST_F(Up, AModuleReadsNeitherAnothersFilesNorTheState) {
  declare("thief",
          "for f in \"$STATE/inventory.db\" \"$STATE/keys/seal.key\" \"$STATE/bus/nats.conf\" "
          "\"$STATE/env/one.quiet/password\" \"$(dirname \"$HOME\")/one.quiet/env/password\"; do\n"
          "  if cat \"$f\" >/dev/null 2>&1; then echo \"read $f\"; else echo refused; fi\ndone\n"
          "cat \"$MESH_PASSWORD_FILE\" >/dev/null && echo own\nexec sleep 1000",
          fmt::format("env = {{ STATE = \"{}\" }}\n", (directory_.path() / ".mesh").string()));
  write_mesh({"quiet", "thief"});
  const auto up = mesh({"up", "--detach"});
  ASSERT_TRUE(up.status.ok()) << up.out << up.err << read(".mesh/run/up.log");
  ASSERT_TRUE(comes_true([&] { return log("thief").find("own") != std::string::npos; }));
  if (::geteuid() == 0) {
    EXPECT_EQ(log("thief").find("read "), std::string::npos) << log("thief");
    EXPECT_NE(component("quiet"), json{});
  } else {
    // As an ordinary user all modules are that user, and it says so.
    EXPECT_NE(read(".mesh/run/up.log").find("isolation on this machine ends at the bus"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace mesh::test
