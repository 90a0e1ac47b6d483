#include "bus/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <mutex>
#include <sstream>

#include "bus/connection.h"
#include "bus/server_hello.h"
#include "os/files.h"
#include "os/managed_child.h"
#include "tests/contract/servers.h"
#include "tests/support/nats_server.h"

namespace mesh::bus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

void write_text(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

/// Waits until `holds`, at most 20 s.
template <class Condition>
bool soon(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    ::usleep(2000);
  }
  return true;
}

/// A server that nobody watches.
Result<os::ManagedChild> spawn_server(const ManagedServerOptions& wanted) {
  os::SpawnOptions options;
  options.argv = {wanted.program.path.string(), "-c", wanted.config.string()};
  options.directory = wanted.directory.string();
  return os::ManagedChild::spawn(std::move(options), wanted.log.string());
}

TEST(Version, IsRead) {
  EXPECT_EQ(parse_version("nats-server: v2.10.27\n"), (Version{2, 10, 27}));
  EXPECT_EQ(parse_version("2.15.1-preview.2"), (Version{2, 15, 1}));
  EXPECT_EQ(parse_version("v3.0.0")->text(), "3.0.0");
  for (const char* bad : {"", "nats-server", "v2", "v2.10", "2.x.1", "v2.10.", "99999999999.1.1"}) {
    EXPECT_FALSE(parse_version(bad)) << bad;
  }
  EXPECT_LT((Version{2, 9, 25}), kOldestServer);
  EXPECT_LT(kOldestServer, (Version{2, 10, 1}));
}

class ServerOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    port_ = test::free_port();
    program_ = test::server_program(GetParam());
    write_config("");
  }
  fs::path file(const char* name) const { return directory_.path() / name; }
  void write_config(const std::string& more) const {
    write_text(file("nats.conf"),
               fmt::format("listen: \"127.0.0.1:{}\"\nserver_name: one\njetstream {{ store_dir: "
                           "\"{}\" }}\n{}",
                           port_, file("js").string(), more));
  }
  ManagedServerOptions options() {
    auto program = examine_server(program_);
    EXPECT_TRUE(program) << program.error().message;
    ManagedServerOptions options;
    options.program = program ? *program : ServerProgram{};
    options.config = file("nats.conf");
    options.directory = directory_.path();
    options.log = file("nats.log");
    options.record = file("server.json");
    options.port = port_;
    options.first_pause = 10ms;
    options.last_pause = 100ms;
    options.say = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
    return options;
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  bool answers() const {
    ConnectOptions options;
    options.urls = {fmt::format("nats://127.0.0.1:{}", port_)};
    return Connection::connect(options).has_value();
  }

  test::TemporaryDirectory directory_;
  fs::path program_;
  int port_ = 0;
  std::mutex mutex_;
  std::string said_;
};

TEST_P(ServerOn, IsFound) {
  const auto named = find_server(program_.string(), "/nowhere");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_GE(named->version, kOldestServer);
  EXPECT_EQ(find_server("/nowhere/nats-server", "/nowhere").error().code, Code::NotFound);
  const auto silent = find_server("/bin/true", "/nowhere");
  EXPECT_EQ(silent.error().code, Code::Unsupported);
  EXPECT_EQ(silent.error().message,
            "/bin/true is not a nats-server: `-v` ended with exit code 0, without a word");
  EXPECT_EQ(find_server("/bin/echo", "/nowhere").error().message,
            "/bin/echo is not a nats-server: `-v` ended with exit code 0: -v");
  const auto refused = prove_config("/bin/false", "/nowhere/nats.conf", 10s);
  EXPECT_EQ(refused.error().message, "nats-server refuses the configuration, without a word");
  fs::create_directories(file("bin"));
  fs::create_directories(file("tools"));
  fs::create_symlink(program_, file("tools") / "nats-server");
  const auto beside = find_server(std::nullopt, file("bin"));
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_EQ(beside->path, file("tools") / "nats-server");
}

TEST_P(ServerOn, IsRefusedWhereItIsTooOld) {
  fs::create_directories(file("bin"));
  fs::create_directories(file("tools"));
  const fs::path old = file("tools") / "nats-server";
  write_text(old, "#!/bin/sh\necho 'nats-server: v2.9.25'\n");
  fs::permissions(old, fs::perms::owner_all);
  const auto found = examine_server(old);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::Unsupported);
  EXPECT_NE(found.error().message.find("2.9.25, too old"), std::string::npos);
}

TEST_P(ServerOn, JudgesAConfiguration) {
  const auto proof = prove_config(program_, file("nats.conf"), 10s);
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(proof->digest.starts_with("sha256:") && proof->digest.size() == 71,
            GetParam() != "2.10");
  write_config("foo_bar: 3\n");
  auto refused = prove_config(program_, file("nats.conf"), 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::InvalidArgument);
  EXPECT_EQ(refused.error().place.line, 4);
  EXPECT_EQ(refused.error().place.column, 1);
  EXPECT_EQ(refused.error().place.file_name(), file("nats.conf").string());
  EXPECT_NE(refused.error().message.find("unknown field \"foo_bar\""), std::string::npos)
      << refused.error().message;
  write_config("a: [ b\n}\n");
  refused = prove_config(program_, file("nats.conf"), 10s);
  ASSERT_FALSE(refused);
  EXPECT_GE(refused.error().place.line, 4);
  EXPECT_NE(refused.error().message.find("Parse error"), std::string::npos);
}

TEST_P(ServerOn, RunsAndStops) {
  auto server = ManagedServer::start(options());
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_TRUE(answers());
  const auto recorded = running_server(file("server.json"));
  ASSERT_TRUE(recorded && *recorded);
  EXPECT_EQ((*recorded)->port, port_);
  EXPECT_EQ((*recorded)->process, (*server)->record().process);
  EXPECT_EQ((*recorded)->id.size(), 56U);
  EXPECT_TRUE((*server)->stop());
  EXPECT_TRUE((*server)->stop());
  EXPECT_FALSE(answers());
  EXPECT_FALSE(fs::exists(file("server.json")));
  EXPECT_NE(os::read_file(file("nats.log").string(), 1 << 20)->find("Server is ready"),
            std::string::npos);
}

TEST_P(ServerOn, IsStartedAgainWhenItEnds) {
  auto server = ManagedServer::start(options());
  ASSERT_TRUE(server) << server.error().message;
  for (int round = 1; round <= 2; ++round) {
    const auto before = (*server)->record().process;
    ASSERT_EQ(::kill(before.pid, SIGKILL), 0);
    ASSERT_TRUE(soon([&] { return (*server)->restarts() == round; })) << said();
    EXPECT_NE((*server)->record().process, before);
    EXPECT_TRUE(answers());
  }
  EXPECT_NE(said().find("signal 9"), std::string::npos) << said();
}

TEST_P(ServerOn, KeepsTryingWhereItCannotStart) {
  auto server = ManagedServer::start(options());
  ASSERT_TRUE(server) << server.error().message;
  write_config("nonsense: 1\n");
  ASSERT_EQ(::kill((*server)->record().process.pid, SIGKILL), 0);
  ASSERT_TRUE(soon([&] { return said().find("unknown field \"nonsense\"") != std::string::npos; }))
      << said();
  write_config("");
  ASSERT_TRUE(soon([&] { return (*server)->restarts() == 1; })) << said();
  EXPECT_TRUE(answers());
}

TEST_P(ServerOn, TellsItsLastWords) {
  write_config("nonsense: 1\n");
  const auto server = ManagedServer::start(options());
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("unknown field \"nonsense\""), std::string::npos)
      << server.error().message;
  EXPECT_FALSE(fs::exists(file("server.json")));
}

TEST_P(ServerOn, EndsWithoutAWord) {
  auto silent = options();
  silent.program.path = "/bin/true";
  const auto server = ManagedServer::start(std::move(silent));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message, "nats-server ended (exit code 0), without a word");
  EXPECT_EQ(server.error().hint, "its log is " + file("nats.log").string());
}

TEST_P(ServerOn, RefusesATakenPort) {
  auto other = test::NatsServer::start(GetParam(), "");
  ASSERT_TRUE(other) << other.error().message;
  port_ = other->port();
  write_config("");
  const auto server = ManagedServer::start(options());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::Conflict);
}

TEST_P(ServerOn, IsTakenOverAfterACrash) {
  const ManagedServerOptions wanted = options();
  ServerRecord before;
  {
    // What a process leaves that ended without stopping its server.
    auto child = spawn_server(wanted);
    ASSERT_TRUE(child) << child.error().message;
    ASSERT_TRUE(soon([&] { return read_hello(wanted.host, port_, 1s).has_value(); }));
    const auto hello = read_hello(wanted.host, port_, 1s);
    ASSERT_TRUE(hello);
    before = {
        child->mark(),          wanted.host, port_, hello->version, wanted.program.path.string(),
        wanted.config.string(), hello->id};
    ASSERT_TRUE(write_record(wanted.record, before));
  }
  {
    auto server = ManagedServer::start(wanted);
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_EQ((*server)->record().process, before.process) << said();
    EXPECT_EQ((*server)->record().id, before.id);
    ASSERT_EQ(::kill(before.process.pid, SIGKILL), 0);
    ASSERT_TRUE(soon([&] { return (*server)->restarts() == 1; })) << said();
    EXPECT_NE((*server)->record().id, before.id);
  }
  EXPECT_FALSE(answers()) << "stopped with the object";
}

TEST_P(ServerOn, OfAnEarlierRunWithAnotherConfigurationIsReplaced) {
  ManagedServerOptions wanted = options();
  auto earlier = spawn_server(wanted);
  ASSERT_TRUE(earlier) << earlier.error().message;
  ASSERT_TRUE(soon([&] { return read_hello(wanted.host, port_, 1s).has_value(); }));
  ASSERT_TRUE(write_record(
      wanted.record, {earlier->mark(), wanted.host, port_, "2.9.0", "/old", "/old.conf", "old"}));
  auto server = ManagedServer::start(wanted);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_NE((*server)->record().process, earlier->mark());
  EXPECT_TRUE(earlier->ended());
}

TEST_P(ServerOn, ARecordOfADeadServerIsNone) {
  ServerRecord record;
  {
    auto server = ManagedServer::start(options());
    ASSERT_TRUE(server) << server.error().message;
    record = (*server)->record();
  }
  EXPECT_FALSE(*running_server(file("server.json")));
  ASSERT_TRUE(write_record(file("server.json"), record));
  EXPECT_FALSE(*running_server(file("server.json")));
  record.process.pid = ::getpid();  // alive, and another's
  ASSERT_TRUE(write_record(file("server.json"), record));
  EXPECT_FALSE(*running_server(file("server.json")));
  write_text(file("server.json"), "{}");
  EXPECT_EQ(running_server(file("server.json")).error().code, Code::Corrupt);
  auto again = ManagedServer::start(options());
  EXPECT_TRUE(again) << again.error().message;
}

TEST_P(ServerOn, IsStoppedWhileItIsBeingStarted) {
  auto server = ManagedServer::start(options());
  ASSERT_TRUE(server) << server.error().message;
  ASSERT_EQ(::kill((*server)->record().process.pid, SIGKILL), 0);
  EXPECT_TRUE((*server)->stop());
  EXPECT_FALSE(answers());
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
