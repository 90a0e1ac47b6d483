// A node's agent: real mesh, real bus, real mesh-host; commands as what runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/process.h"
#include "os/process_table.h"
#include "tests/support/nats_server.h"

namespace mesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr os::Milliseconds kLong{60'000};

/// A process of this test that is ended with it.
class Daemon {
 public:
  Daemon(Words argv, const std::string& directory, const std::string& log) {
    os::SpawnOptions options;
    options.argv = std::move(argv);
    options.directory = directory;
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    options.out = os::Output::to_fd(fd);
    options.err = os::Output::to_fd(fd);
    process_ = std::move(os::Process::spawn(options)).value();
    ::close(fd);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() { stop(); }
  os::Process& process() { return *process_; }
  void stop() {
    if (process_) {
      (void)process_->stop(kLong);
      process_.reset();
    }
  }
  void kill() {
    process_->signal(SIGKILL);
    (void)process_->wait(kLong).has_value();
    process_.reset();
  }

 private:
  std::optional<os::Process> process_;
};

class HostTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // As root the modules' users must be let through to their homes, not to the state.
    port_ = test::free_port();
    declare("1");
    const auto made = mesh({"init"});
    made_ = made.out + made.err;
    start_controller();
  }
  void start_controller() {
    controller_ = std::make_unique<Daemon>(Words{MESH_BINARY_DIR "/bin/mesh", "controller"}, root(),
                                           root() + "/controller.log");
    const os::Deadline deadline(kLong);
    while (mesh({"status"}).status.code != 0) {
      ASSERT_FALSE(deadline.passed() || controller_->process().poll()) << read("controller.log");
    }
  }
  void TearDown() override {
    hosts_.clear();
    for (const auto& state : states_) {
      (void)host(state, {"stop", "--all"});
    }
    controller_.reset();
    if (HasFailure()) {
      for (const auto& entry : fs::directory_iterator(root())) {
        if (entry.path().extension() == ".log") {
          std::cerr << "== " << entry.path() << "\n" << read(entry.path().filename().string());
        }
      }
    }
  }

  [[nodiscard]] std::string root() const { return directory_.path().string(); }
  void write(const std::string& path, std::string_view bytes) const {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    return os::read_file((directory_.path() / path).string(), 1U << 22U).value_or("");
  }
  /// Module `shop` on node `one`: a shell that says its version and waits.
  void declare(const std::string& version, const std::string& script = "exec sleep 1000") const {
    write("mesh.toml",
          fmt::format(
              "mesh = \"home\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = \"{}\"\n[nodes.one]\n"
              "[modules.shop]\npath = \"shop\"\non = [\"one\"]\n",
              port_, test::server_program(GetParam()).string()));
    write("shop/module.toml",
          fmt::format("[components.web]\nrun = [\"sh\", \"-c\", \"echo version $VERSION of "
                      "$MESH_USER; {}\"]\nenv = {{ VERSION = \"{}\" }}\ngrace = \"2s\"\n",
                      script, version));
  }
  [[nodiscard]] os::RunResult run(Words argv, std::string input = {}) const {
    os::RunOptions options;
    options.spawn.argv = std::move(argv);
    options.spawn.directory = root();
    options.input = std::move(input);
    options.timeout = kLong * 2;
    auto ran = os::run(options);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    return ran ? std::move(*ran) : os::RunResult{};
  }
  [[nodiscard]] os::RunResult mesh(Words words) const {
    words.insert(words.begin(), MESH_BINARY_DIR "/bin/mesh");
    return run(std::move(words));
  }
  [[nodiscard]] Words host_words(const std::string& state, Words words) const {
    Words argv{MESH_BINARY_DIR "/bin/mesh-host"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(),
                {"--state", root() + "/" + state, "--config", root() + "/none.toml", "--engine",
                 root() + "/no-engine.sock", "--checkout", root(), "--allow-run"});
    return argv;
  }
  [[nodiscard]] os::RunResult host(const std::string& state, Words words,
                                   std::string input = {}) const {
    return run(host_words(state, std::move(words)), std::move(input));
  }
  Daemon& start_host(const std::string& state) {
    hosts_.push_back(std::make_unique<Daemon>(host_words(state, {"run"}), root(),
                                              root() + "/" + state + ".log"));
    return *hosts_.back();
  }
  [[nodiscard]] std::string token(const std::string& node) const {
    const auto added = mesh({"node", "add", node});
    EXPECT_EQ(added.status.code, 0) << added.err;
    return added.out;
  }
  void join(const std::string& state) {
    states_.push_back(state);
    const auto joined = host(state, {"join", "-"}, token("one"));
    ASSERT_EQ(joined.status.code, 0) << joined.err << read("controller.log");
  }
  [[nodiscard]] Json node() const {
    const auto status = mesh({"status", "--json"});
    const auto document = Json::parse(status.out, nullptr, false);
    return document.is_object() ? document["nodes"][0] : Json();
  }
  /// The processes that keep this host's units.
  static std::vector<pid_t> keepers(const std::string& state) {
    std::vector<pid_t> out;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const auto name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) {
        continue;
      }
      const auto words = os::read_file(entry.path().string() + "/cmdline", 1U << 16U).value_or("");
      if (words.find("mesh-keeper") != std::string::npos &&
          words.find(state + "/units/") != std::string::npos) {
        out.push_back(std::stoi(name));
      }
    }
    std::ranges::sort(out);
    return out;
  }
  [[nodiscard]] Json push(int exit = 0, Words more = {}) const {
    Words words{"push", "--json", "--timeout", "60s"};
    words.insert(words.end(), more.begin(), more.end());
    const auto pushed = mesh(words);
    EXPECT_EQ(pushed.status.code, exit) << pushed.err << pushed.out;
    return Json::parse(pushed.out, nullptr, false);
  }

  int port_ = 0;
  std::string made_;  // what `mesh init` said
  test::TemporaryDirectory directory_;
  std::unique_ptr<Daemon> controller_;
  std::vector<std::unique_ptr<Daemon>> hosts_;
  std::vector<std::string> states_;
};

TEST_P(HostTest, JoinsConvergesFollowsAndIsLeftRunning) {
  const auto before = push();
  EXPECT_EQ(before["nodes"][0]["state"], "unknown");
  join("one");
  auto* agent = &start_host("one");
  const auto first = push();
  EXPECT_EQ(first["nodes"][0]["state"], "converged") << first.dump();
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 1 of one.shop"));
  EXPECT_EQ(mesh({"explain", "shop"}).status.code, 0);

  declare("2");
  const auto second = push();
  EXPECT_EQ(second["nodes"][0]["state"], "converged") << second.dump();
  EXPECT_EQ(second["nodes"][0]["number"], second["number"]);
  EXPECT_THAT(mesh({"logs", "shop.web"}).out, HasSubstr("version 2 of one.shop"));
  EXPECT_EQ(push()["number"], second["number"]) << "nothing changed";

  const auto marker = root() + "/one";  // stands in the keeper's arguments
  const auto kept = keepers(marker);
  EXPECT_EQ(kept.size(), 1U);
  agent->kill();
  start_host("one");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  EXPECT_EQ(node()["modules"][0]["components"][0]["state"], "running");
  EXPECT_EQ(keepers(marker), kept) << "what runs is not started again";

  EXPECT_EQ(mesh({"rollback", first["number"].dump()}).status.code, 0);
  const os::Deadline deadline(kLong);
  while (mesh({"logs", "shop.web"}).out.find("version 1") == std::string::npos) {
    ASSERT_FALSE(deadline.passed()) << mesh({"status"}).out;
  }
}

TEST_P(HostTest, AnUpdateThatDoesNotComeUpIsPutBack) {
  (void)push();
  join("one");
  start_host("one");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  declare("3", "echo it breaks; exit 7");
  const auto failed = push(1);
  EXPECT_EQ(failed["nodes"][0]["state"], "failed") << failed.dump();
  EXPECT_THAT(failed["nodes"][0]["because"].dump(), HasSubstr("exit code 7"));
  const os::Deadline deadline(kLong);
  while (node()["modules"][0]["components"][0]["state"] != "running") {
    ASSERT_FALSE(deadline.passed()) << node().dump();
  }
  EXPECT_THAT(mesh({"logs", "shop.web"}).out, HasSubstr("version 1"));
  EXPECT_EQ(mesh({"explain", "shop"}).status.code, 1);
  declare("4");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
}

TEST_P(HostTest, LosingTheBusStopsNothing) {
  (void)push();
  join("one");
  auto* agent = &start_host("one");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  controller_->stop();
  agent->kill();
  for (const auto keeper : keepers(root() + "/one")) {
    for (const auto child : os::children_of(keeper)) {
      ::kill(child, SIGKILL);
    }
  }
  start_host("one");
  const os::Deadline deadline(kLong);
  while (read("one.log").find("): it ended") == std::string::npos && !deadline.passed()) {
    (void)hosts_.back()->process().wait(os::Milliseconds{50});
  }
  EXPECT_FALSE(deadline.passed()) << read("one.log");
}

// All but the repository, a backup (older than the last push) and the recovery key is lost.
TEST_P(HostTest, RestoredFromABackupTheNodesGoOn) {
  const auto from = made_.find("mesh-recovery-");
  ASSERT_NE(from, std::string::npos) << made_;
  const auto key = made_.substr(from, made_.find_first_of(" \n", from) - from);
  (void)push();
  join("one");
  start_host("one");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  ASSERT_EQ(mesh({"backup", "home.backup"}).status.code, 0);
  declare("2");
  const auto last = push();
  EXPECT_EQ(last["nodes"][0]["state"], "converged");
  const auto kept = keepers(root() + "/one");

  controller_->stop();
  fs::remove_all(directory_.path() / ".mesh");
  const auto restored = run({MESH_BINARY_DIR "/bin/mesh", "restore", "home.backup"}, key);
  ASSERT_EQ(restored.status.code, 0) << restored.err;
  start_controller();
  EXPECT_EQ(keepers(root() + "/one"), kept) << "what runs is not touched";
  const os::Deadline deadline(kLong);
  while (read("controller.log").find("these records do not know") == std::string::npos) {
    ASSERT_FALSE(deadline.passed()) << read("controller.log") << read("one.log");
  }
  declare("3");
  const auto again = push();
  EXPECT_EQ(again["nodes"][0]["state"], "converged") << again.dump();
  EXPECT_GT(again["number"], last["number"]);
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 3"));
}

TEST_P(HostTest, ASecondMachineUnderTheNameIsRefusedByBothSides) {
  (void)push();
  const auto both = token("one");
  states_ = {"one", "two"};
  ASSERT_EQ(host("one", {"join", "-"}, both).status.code, 0) << read("controller.log");
  start_host("one");
  const auto second = host("two", {"join", "-", "--timeout", "10"}, both);
  EXPECT_EQ(second.status.code, 1) << second.err;
  EXPECT_EQ(mesh({"node", "add", "one"}).status.code, 1) << "it is taken";
  hosts_.clear();
  EXPECT_EQ(host("one", {"join", "-"}, both).status.code, 1) << "it has joined";
  EXPECT_EQ(mesh({"node", "remove", "one"}).status.code, 0);
  EXPECT_EQ(host("two", {"join", "-"}, token("one")).status.code, 0);
  start_host("two");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
}

TEST_P(HostTest, BadTokensAndNames) {
  (void)push();
  EXPECT_EQ(mesh({"node", "add", "nine"}).status.code, 65);
  EXPECT_EQ(mesh({"node", "remove", "one"}).status.code, 1);
  const auto bad = host("x", {"join", "mesh-join-abc"});
  EXPECT_EQ(bad.status.code, 65);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("no join token"), Not(HasSubstr("abc\n"))));
  auto cut = token("one");
  cut.resize(cut.size() - 20);
  EXPECT_EQ(host("x", {"join", "-"}, cut).status.code, 65);
  EXPECT_EQ(host("x", {"run"}).status.code, 1) << "it has not joined";
  EXPECT_EQ(host("x", {"dance"}).status.code, 64);
}

INSTANTIATE_TEST_SUITE_P(Servers, HostTest, ::testing::ValuesIn(test::server_versions()),
                         [](const auto& one) {
                           auto name = "v" + one.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace mesh
