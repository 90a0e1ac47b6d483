#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "os/files.h"
#include "os/process.h"
#include "tests/support/nats_server.h"

/// A server that somebody else runs: Mesh owns one included file, and the commands of [bus].
namespace mesh {
namespace {

constexpr const char* kServer = R"(server_name: "theirs"
listen: "127.0.0.1:@PORT@"
jetstream: { store_dir: "@DIR@/jetstream" }
include "mesh.conf"
)";

class ExternalTest : public testing::TestWithParam<std::string> {
 protected:
  /// The server needs the file that it includes before Mesh has written it.
  void SetUp() override {
    auto server = test::NatsServer::start(
        GetParam(), "server_name: \"theirs\"\nlisten: \"127.0.0.1:@PORT@\"\n");
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_.emplace(std::move(*server));
    config_ = server_->directory() / "mesh.conf";
    write(config_, "");
    server_->write_config(kServer);
    ASSERT_TRUE(server_->restart().has_value());
    write(root() / "m/module.toml", "emits = [\"placed\"]\nconsumes = [\"m.placed\"]\n");
    declare("");
  }

  [[nodiscard]] std::filesystem::path root() const { return directory_.path(); }

  static void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  /// mesh.toml, with `commands` (its `test` and `reload`) or those that work.
  void declare(const std::string& commands) {
    const auto program = test::server_program(GetParam()).string();
    const auto working = fmt::format(
        "test = [\"{}\", \"-t\", \"-c\", \"{}\"]\nreload = [\"kill\", \"-HUP\", \"{}\"]\n", program,
        server_->config_file().string(), server_->pid());
    write(root() / "mesh.toml",
          fmt::format(
              "mesh = \"theirs\"\n[bus]\nserver = \"external\"\nconfig = \"{}\"\n"
              "advertise = \"{}\"\n{}[nodes.one]\n[modules.m]\npath = \"m\"\non = [\"one\"]\n",
              config_.string(), server_->url(), commands.empty() ? working : commands));
  }

  os::RunResult mesh(std::vector<std::string> words) {
    os::RunOptions options;
    options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh"};
    options.spawn.argv.insert(options.spawn.argv.end(), words.begin(), words.end());
    options.spawn.directory = root().string();
    options.timeout = std::chrono::milliseconds{60'000};
    auto result = os::run(options);
    EXPECT_TRUE(result.has_value());
    return result ? std::move(*result) : os::RunResult{};
  }

  [[nodiscard]] std::string config() const {
    return os::read_file(config_.string(), 1U << 20U).value_or("");
  }

  /// A system account is taken over only when a server starts.
  void introduce() {
    const auto first = mesh({"push"});
    EXPECT_EQ(first.status.code, 69) << first.err;
    EXPECT_NE(first.err.find("restart the server"), std::string::npos) << first.err;
    ASSERT_TRUE(server_->restart().has_value());
    declare("");
    const auto second = mesh({"push"});
    ASSERT_EQ(second.status.code, 0) << second.err;
  }

  test::TemporaryDirectory directory_;
  std::optional<test::NatsServer> server_;
  std::filesystem::path config_;
};

TEST_P(ExternalTest, IsIntroducedThenPushedAndSaysNothingTheSecondTime) {
  introduce();
  const auto again = mesh({"push", "--json"});
  EXPECT_EQ(again.status.code, 0) << again.err;
  EXPECT_NE(again.out.find("\"writes\":0"), std::string::npos) << again.out;
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  const auto changed = mesh({"push"});
  EXPECT_EQ(changed.status.code, 0) << changed.err;
  EXPECT_NE(config().find("mesh.mod.m.event.paid"), std::string::npos);
}

TEST_P(ExternalTest, ATestThatFailsLeavesTheFileAsItWas) {
  write(config_, "# mine\n");
  declare("test = [\"false\"]\nreload = [\"true\"]\n");
  const auto first = mesh({"push"});
  EXPECT_EQ(first.status.code, 1) << first.err;
  EXPECT_EQ(config(), "# mine\n");
  declare("");
  introduce();
  const auto before = config();
  declare("test = [\"false\"]\nreload = [\"true\"]\n");
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  const auto refused = mesh({"push"});
  EXPECT_EQ(refused.status.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("[bus] test"), std::string::npos) << refused.err;
  EXPECT_EQ(config(), before);
}

TEST_P(ExternalTest, AReloadThatFailsPutsTheOldFileBack) {
  introduce();
  const auto before = config();
  declare("reload = [\"false\"]\n");
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  const auto refused = mesh({"push"});
  EXPECT_EQ(refused.status.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("[bus] reload"), std::string::npos) << refused.err;
  EXPECT_EQ(config(), before);
}

TEST_P(ExternalTest, WithoutATestThatItWasNotProvedIsSaid) {
  introduce();
  declare(fmt::format("reload = [\"kill\", \"-HUP\", \"{}\"]\n", server_->pid()));
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  const auto pushed = mesh({"push"});
  EXPECT_EQ(pushed.status.code, 0) << pushed.err;
  EXPECT_NE(pushed.err.find("was not proved beforehand"), std::string::npos) << pushed.err;
}

TEST_P(ExternalTest, ACommandThatHangsEndsWithTheDeadlineAndTheOldFileIsBack) {
  introduce();
  const auto before = config();
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  for (const auto* commands : {"test = [\"sleep\", \"1000\"]\nreload = [\"true\"]\n",
                               "test = [\"true\"]\nreload = [\"sleep\", \"1000\"]\n"}) {
    declare(commands);
    const os::Deadline deadline(std::chrono::milliseconds{9'000});
    const auto ended = mesh({"push", "--timeout", "2s"});
    EXPECT_FALSE(deadline.passed()) << ended.err;
    EXPECT_EQ(ended.status.code, 1) << ended.err;
    EXPECT_NE(ended.err.find("[bus] "), std::string::npos) << ended.err;
    EXPECT_EQ(config(), before);
  }
  // What was cut off was not proved: the next push does it, whatever the file says.
  declare("");
  const auto next = mesh({"push", "--json"});
  EXPECT_EQ(next.status.code, 0) << next.err;
  EXPECT_NE(next.out.find("\"reloaded\":true"), std::string::npos) << next.out;
}

TEST_P(ExternalTest, CtrlCStopsACommandThatHangs) {
  introduce();
  const auto before = config();
  const auto mark = root() / "reached";
  declare(
      fmt::format("test = [\"sh\", \"-c\", \"touch {}; exec sleep 1000\"]\n"
                  "reload = [\"true\"]\n",
                  mark.string()));
  write(root() / "m/module.toml", "emits = [\"placed\", \"paid\"]\nconsumes = [\"m.placed\"]\n");
  os::SpawnOptions options;
  options.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "push"};
  options.directory = root().string();
  options.out = options.err = os::Output::discard();
  auto push = os::Process::spawn(options);
  ASSERT_TRUE(push.has_value());
  const os::Deadline deadline(std::chrono::milliseconds{30'000});
  while (!std::filesystem::exists(mark) && !deadline.passed()) {
    std::this_thread::yield();
  }
  push->signal(SIGINT);
  const auto ended = push->wait(std::chrono::milliseconds{9'000});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 130);
  EXPECT_EQ(config(), before);
}

TEST_P(ExternalTest, TheControllerWaitsForABusThatIsAway) {
  introduce();
  server_->kill();
  const auto gave_up = mesh({"controller", "--timeout", "2s"});
  EXPECT_EQ(gave_up.status.code, 69) << gave_up.err;
  EXPECT_NE(gave_up.err.find("waiting for the bus: "), std::string::npos) << gave_up.err;
}

INSTANTIATE_TEST_SUITE_P(Servers, ExternalTest, testing::ValuesIn(test::server_versions()),
                         [](const auto& each) {
                           return each.param == "2.10" ? "v2_10" : "vnewest";
                         });

}  // namespace
}  // namespace mesh
