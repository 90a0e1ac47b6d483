#include "os/managed_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "os/files.h"
#include "os/lock.h"
#include "tests/support/nats_server.h"

namespace mesh::os {
namespace {

using namespace std::chrono_literals;

/// A process that answers as soon as it has made a file, without a port.
class ManagedProcessTest : public testing::Test {
 protected:
  std::string file(const char* name) const { return (directory_.path() / name).string(); }

  ManagedOptions options() {
    ManagedOptions options;
    options.name = "sleeper";
    options.spawn.argv = {"sh", "-c", "touch ready; exec sleep 1000"};
    options.spawn.directory = directory_.path().string();
    options.log = file("log");
    options.record = file("server.json");
    options.host = "127.0.0.1";
    options.port = 1;
    options.start_lock = file("lock");
    options.stop_signal = SIGTERM;
    options.first_pause = options.last_pause = 10ms;
    options.last_words = [](std::string_view output) { return std::string(output); };
    options.hello = [this](Milliseconds) -> Result<ServerHello> {
      if (!exists(file("ready"))) {
        return fail(Code::Unavailable, "not there");
      }
      return ServerHello{"id", ""};
    };
    options.prepare = [this] { return remove_tree(file("ready")); };
    options.say = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
    return options;
  }

  template <class Condition>
  static bool soon(Condition holds) {
    const Deadline deadline(20s);
    while (!holds()) {
      if (deadline.passed()) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }

  bool was_said(const std::string& words) {
    const std::lock_guard lock(mutex_);
    return said_.find(words) != std::string::npos;
  }

  test::TemporaryDirectory directory_;
  std::mutex mutex_;
  std::string said_;
};

TEST_F(ManagedProcessTest, IsNotStartedAgainWhileAnotherHoldsTheLock) {
  auto process = ManagedProcess::start(options());
  ASSERT_TRUE(process) << process.error().message;
  auto lock = Lock::take(file("lock"), "other", "now");
  ASSERT_TRUE(lock) << "it is held for the start alone";
  ASSERT_EQ(::kill((*process)->record().process.pid, SIGKILL), 0);
  ASSERT_TRUE(soon([&] { return was_said("sleeper is not started yet"); }));
  EXPECT_EQ((*process)->restarts(), 0);
  EXPECT_FALSE(*running_server(file("server.json")));
  lock->release();
  ASSERT_TRUE(soon([&] { return (*process)->restarts() == 1; }));
  EXPECT_TRUE(*running_server(file("server.json")));
}

TEST_F(ManagedProcessTest, IsStoppedWhileAnotherHoldsTheLock) {
  auto process = ManagedProcess::start(options());
  ASSERT_TRUE(process) << process.error().message;
  const auto lock = Lock::take(file("lock"), "other", "now");
  ASSERT_TRUE(lock);
  ASSERT_EQ(::kill((*process)->record().process.pid, SIGKILL), 0);
  ASSERT_TRUE(soon([&] { return was_said("sleeper is not started yet"); }));
  EXPECT_TRUE((*process)->stop());
}

TEST_F(ManagedProcessTest, OneThatAnswersWithAnotherIdIsNotIt) {
  auto wanted = options();
  wanted.id = "mine";
  wanted.ready_within = 100ms;
  const auto process = ManagedProcess::start(std::move(wanted));
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, Code::Timeout);
  EXPECT_FALSE(exists(file("server.json")));
}

}  // namespace
}  // namespace mesh::os
