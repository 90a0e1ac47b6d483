/// `mesh up` and `mesh down` with the real binary and a real server: what runs, as whom, what a
/// push changes, and that nothing is left.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/fd.h"
#include "os/process.h"
#include "os/process_mark.h"
#include "os/process_table.h"
#include "tests/support/must.h"
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

  ~Up() override {
    (void)mesh({"down"});
    if (HasFailure()) {
      std::cerr << "== up\n"
                << read(".mesh/run/up.log") << "== one\n"
                << read(".mesh/hosts/one.log");
    }
  }

  void SetUp() override {
    ASSERT_TRUE(fs::exists(server_program("2.10"))) << "no nats-server: ./dev test fetches it";
  }

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

  os::RunResult mesh(std::vector<std::string> arguments, std::string input = {}) {
    os::RunOptions options;
    options.input = std::move(input);
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
      std::this_thread::sleep_for(os::Milliseconds{5});
    }
    return true;
  }

  /// What the module printed last, as long as its host runs.
  std::string log(const std::string& module) { return mesh({"logs", module}).out; }

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
  const auto up = mesh({"up", "--detach"});
  EXPECT_EQ(up.status.code, 69) << up.out << up.err;
  EXPECT_NE(up.err.find("one: failed: failing: "), std::string::npos) << up.err;
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

TEST_F(Up, ASecretThatIsSetReachesWhatUsesItWithAPush) {
  declare("variable", "echo \"has $KEY\"; exec sleep 1000",
          "env = { KEY = { secret = \"KEY\" } }\n");
  declare("file", "echo \"has $(cat \"$MESH_SECRETS/KEY\")\"; exec sleep 1000",
          "secrets = [\"KEY\"]\n");
  write_mesh({"quiet", "variable", "file"});
  ASSERT_TRUE(mesh({"secret", "set", "KEY"}, "one").status.ok());
  const auto up = mesh({"up", "--detach"});
  ASSERT_TRUE(up.status.ok()) << up.out << up.err << read(".mesh/run/up.log");
  const auto since = component("quiet").at("since");
  const auto set = mesh({"secret", "set", "KEY"}, "two");
  EXPECT_NE(set.err.find("`mesh push` brings it to what uses it"), std::string::npos) << set.err;
  const auto pushed = mesh({"push"});
  EXPECT_TRUE(pushed.status.ok()) << pushed.err;
  for (const auto* module : {"variable", "file"}) {
    EXPECT_NE(log(module).find("has two"), std::string::npos) << module << log(module);
  }
  EXPECT_EQ(component("quiet").at("since"), since);

  // One that is gone stops nothing: what runs has it, and a push without it is refused.
  ASSERT_TRUE(mesh({"secret", "remove", "KEY"}).status.ok());
  EXPECT_EQ(mesh({"push"}).status.code, 65);
  EXPECT_EQ(component("variable").at("state"), "running");
  EXPECT_EQ(component("variable").at("restarts"), 0);
}

// A command listens on the machine itself: its checks ask there.
TEST_F(Up, ChecksOfCommandsAskTheMachine) {
  const int port = free_port();
  declare("web", fmt::format("exec python3 -m http.server {} --bind 127.0.0.1", port),
          fmt::format("health = {{ http = \"/\", port = {} }}\n[components.other]\nrun = "
                      "[\"sleep\", \"1000\"]\nhealth = {{ tcp = true, port = {} }}\n",
                      port, port));
  write_mesh({"web"});
  const auto up = mesh({"up", "--detach"});
  EXPECT_TRUE(up.status.ok()) << up.err << log("web");
}

// A running server keeps its address: that another is declared is said, each time, until it is so.
TEST_F(Up, WhatNeedsARestartIsSaid) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  const auto running = fmt::format("127.0.0.1:{}", port_);
  EXPECT_EQ(json::parse(mesh({"plan", "--json"}).out).at("after_restart"), json::array());
  port_ = free_port();
  write_mesh({"quiet"});
  const auto declared = fmt::format("127.0.0.1:{}", port_);
  const json said = {{{"name", "listen"}, {"now", running}, {"then", declared}}};
  EXPECT_EQ(json::parse(mesh({"plan", "--json"}).out).at("after_restart"), said);
  EXPECT_EQ(json::parse(mesh({"push", "--json"}).out).at("after_restart"), said);
  for (const auto* verb : {"plan", "push"}) {
    const auto ran = mesh({verb});
    EXPECT_TRUE(ran.status.ok()) << ran.err;
    EXPECT_NE(ran.err.find("goes on with listen = " + running + "; " + declared + " takes effect"),
              std::string::npos)
        << verb << ran.err;
  }
  ASSERT_TRUE(mesh({"down"}).status.ok());
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  EXPECT_EQ(json::parse(mesh({"plan", "--json"}).out).at("after_restart"), json::array());
}

struct Signals {
  std::string name;
  int first;
  int second;
};

class UpSignalled : public Up, public testing::WithParamInterface<Signals> {
 protected:
  ~UpSignalled() override {
    for (const auto& mark : started_) {
      if (runs(mark)) {
        ::kill(mark.pid, SIGKILL);
      }
    }
  }

  static bool runs(const os::ProcessMark& mark) {
    const auto now = os::mark_of(mark.pid);
    return now && *now == mark;
  }

  /// All that descends from `pid`.
  static void add_below(pid_t pid, std::vector<pid_t>& out) {
    for (const auto child : os::children_of(pid)) {
      out.push_back(child);
      add_below(child, out);
    }
  }

  /// `mesh up` with more words, in the background of this test.
  os::Process start_up(const std::vector<std::string>& more = {}) {
    os::SpawnOptions options;
    options.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "-C", directory_.path().string(),
                    "up"};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    const os::Fd said(::open((directory_.path() / "said").c_str(), O_WRONLY | O_CREAT, 0600));
    options.out = os::Output::to_fd(said.get());
    options.err = os::Output::to_fd(said.get());
    return must(os::Process::spawn(options));
  }

  /// What descends from `mesh up`, and from whoever keeps something below this directory.
  void remember_all_below(pid_t pid) {
    std::vector<pid_t> found;
    add_below(pid, found);
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      const std::string words(std::istreambuf_iterator<char>(file), {});
      if (words.find("mesh-keeper") != std::string::npos &&
          words.find(directory_.path().string()) != std::string::npos) {
        const auto keeper = std::stoi(entry.path().filename().string());
        found.push_back(keeper);
        add_below(keeper, found);
      }
    }
    for (const auto child : found) {
      if (auto mark = os::mark_of(child)) {
        started_.push_back(*mark);
      }
    }
  }

  bool nobody_is_left() {
    return comes_true([&] { return std::ranges::none_of(started_, runs); });
  }

  std::vector<os::ProcessMark> started_;
};

// Signals may come while it ends; whatever it started has ended when it has.
TEST_P(UpSignalled, ItLeavesNobodyBehind) {
  declare("stubborn", "trap '' TERM; echo here; while :; do sleep 1; done");
  write("stubborn/module.toml",
        "[components.main]\nrun = [\"sh\", \"main.sh\"]\ngrace = \"60s\"\n");
  write_mesh({"quiet", "stubborn"});
  auto up = start_up();
  started_.push_back(must(os::mark_of(up.pid())));
  ASSERT_TRUE(comes_true([&] {
    return log("stubborn").find("here") != std::string::npos &&
           log("quiet").find("here") != std::string::npos;
  }));
  remember_all_below(up.pid());
  ASSERT_GE(started_.size(), 7U) << "up, nats-server, mesh-host, two keepers and components";
  const auto server = json::parse(read(".mesh/bus/server.json")).at("pid").get<pid_t>();
  EXPECT_TRUE(std::ranges::any_of(started_, [&](const auto& one) { return one.pid == server; }));

  up.signal(GetParam().first);
  ASSERT_TRUE(comes_true([&] { return read("said").find("ending the mod") != std::string::npos; }))
      << read("said");
  up.signal(GetParam().second);
  const auto status = up.wait(kLong);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->signal, 0) << status->text();
  EXPECT_TRUE(comes_true(
      [&] { return std::ranges::none_of(started_, [](const auto& one) { return runs(one); }); }));
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/bus/server.json"));
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/run/up.json"));
}

// While `up --detach` waits for what does not come, it is responsible for what it started.
TEST_P(UpSignalled, ADetachedOneThatIsInterruptedIsEnded) {
  declare("slow", "echo here; exec sleep 1000",
          "health = { command = [\"false\"], start = \"300s\" }\n");
  write_mesh({"quiet", "slow"});
  auto up = start_up({"--detach"});
  ASSERT_TRUE(comes_true([&] { return log("slow").find("here") != std::string::npos; }));
  remember_all_below(up.pid());
  ASSERT_GE(started_.size(), 5U) << "two of up, nats-server, mesh-host and a component";
  up.signal(GetParam().first);
  up.signal(GetParam().second);
  const auto status = up.wait(kLong);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->code, 130) << read("said");
  EXPECT_TRUE(nobody_is_left());
  EXPECT_FALSE(fs::exists(directory_.path() / ".mesh/bus/server.json"));
}

INSTANTIATE_TEST_SUITE_P(Twice, UpSignalled,
                         testing::Values(Signals{"IntInt", SIGINT, SIGINT},
                                         Signals{"TermInt", SIGTERM, SIGINT},
                                         Signals{"IntTerm", SIGINT, SIGTERM},
                                         Signals{"HupInt", SIGHUP, SIGINT}),
                         [](const auto& each) { return each.param.name; });

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
          "\"$STATE/hosts/one/identity.json\" \"$STATE\"/hosts/one/files/quiet*/password "
          "\"$HOME\"/../../quiet/files*/password; do\n"
          "  if cat \"$f\" >/dev/null 2>&1; then echo \"read $f\"; else echo refused; fi\ndone\n"
          "cat \"$MESH_PASSWORD_FILE\" >/dev/null && echo own\nexec sleep 1000",
          fmt::format("env = {{ STATE = \"{}\" }}\n", (directory_.path() / ".mesh").string()));
  write_mesh({"quiet", "thief"});
  const auto up = mesh({"up", "--detach"});
  ASSERT_TRUE(up.status.ok()) << up.out << up.err << read(".mesh/run/up.log");
  ASSERT_TRUE(comes_true([&] { return log("thief").find("own") != std::string::npos; }));
  if (::geteuid() == 0) {
    EXPECT_EQ(log("thief").find("read "), std::string::npos) << log("thief");
    EXPECT_EQ(component("quiet").at("state"), "running");
    EXPECT_TRUE(fs::exists(directory_.path() / ".mesh/hosts/one/identity.json"));
  } else {
    // As an ordinary user all modules are that user, and it says so.
    EXPECT_NE(read(".mesh/run/up.log").find("isolation on this machine ends at the bus"),
              std::string::npos);
  }
}

// Killed without a chance to end anything: the bus runs on for the clients that it has, `down` and
// the next `up` know what was left.
TEST_F(Up, WhatAKilledOneLeftIsEnded) {
  declare("family", "sleep 1000 & echo \"child $!\"; wait");
  write_mesh({"quiet", "family"});
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  ASSERT_TRUE(comes_true([&] { return log("family").find("child ") != std::string::npos; }));
  const auto said = log("family");
  const pid_t child = std::stoi(said.substr(said.find("child ") + 6));
  const pid_t server = json::parse(read(".mesh/bus/server.json")).at("pid");
  const pid_t up = json::parse(read(".mesh/run/up.json")).at("pid");
  const auto runs = [](pid_t pid) { return os::mark_of(pid).has_value(); };
  ASSERT_EQ(::kill(up, SIGKILL), 0);
  ASSERT_TRUE(comes_true([&] { return !runs(up); }));
  EXPECT_TRUE(runs(server));
  EXPECT_TRUE(runs(child));
  const auto down = mesh({"down"});
  EXPECT_EQ(down.status.code, 0) << down.err;
  EXPECT_FALSE(runs(server));
  EXPECT_TRUE(comes_true([&] { return !runs(child); }));
  EXPECT_EQ(mesh({"down"}).out, "nothing runs\n");
}

// Between the server's start and its record: nothing but its arguments tells whose it is.
TEST_F(Up, AServerWithoutARecordIsFound) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  const pid_t server = json::parse(read(".mesh/bus/server.json")).at("pid");
  const pid_t up = json::parse(read(".mesh/run/up.json")).at("pid");
  ASSERT_EQ(::kill(up, SIGKILL), 0);
  ASSERT_TRUE(comes_true([&] { return !os::mark_of(up).has_value(); }));
  fs::remove(directory_.path() / ".mesh/bus/server.json");
  const auto again = mesh({"up", "--detach"});
  EXPECT_TRUE(again.status.ok()) << again.err;
  EXPECT_FALSE(os::mark_of(server).has_value());
}

// A copy of a running mesh's directory is another mesh's: nothing of the first is ended or asked.
TEST_F(Up, ACopyDoesNotTouchTheOriginal) {
  ASSERT_TRUE(mesh({"up", "--detach"}).status.ok());
  const pid_t server = json::parse(read(".mesh/bus/server.json")).at("pid");
  const TemporaryDirectory copy;
  fs::copy(directory_.path(), copy.path() / "mesh", fs::copy_options::recursive);
  os::RunOptions options;
  options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "-C",
                        (copy.path() / "mesh").string(), "down"};
  const auto down = os::run(options);
  ASSERT_TRUE(down.has_value());
  EXPECT_EQ(down->out, "nothing runs\n") << down->err;
  EXPECT_TRUE(os::mark_of(server).has_value());
  EXPECT_EQ(component("quiet").at("state"), "running");
}

}  // namespace
}  // namespace mesh::test
