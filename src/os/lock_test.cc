#include "os/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "os/files.h"

namespace mesh::os {
namespace {

class LockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = make_temp_dir(::testing::TempDir(), "lock-").value();
    path_ = dir_ + "/lock";
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(dir_).has_value()); }
  std::string dir_;
  std::string path_;
};

TEST_F(LockTest, ExcludesAndNamesTheHolder) {
  auto held = Lock::take(path_, "push", "2026-08-21T09:30:00Z");
  ASSERT_TRUE(held.has_value());
  const auto refused = Lock::take(path_, "rollback", "2026-08-21T09:31:00Z");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(refused.error().message,
            fmt::format("`push` (process {}) is at work since 2026-08-21T09:30:00Z", ::getpid()));
  EXPECT_EQ(Lock::holder(path_)->verb, "push");
  held->release();
  EXPECT_FALSE(Lock::holder(path_).has_value());
  EXPECT_TRUE(Lock::take(path_, "push", "now").has_value());
}

TEST_F(LockTest, NamesAHolderThatWritesItsNameAMomentLater) {
  const Fd held(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(held.get(), F_OFD_SETLK, &lock), 0);
  const std::string ended = "999999999\nrollback\nyesterday\n";
  ASSERT_EQ(::pwrite(held.get(), ended.data(), ended.size(), 0), std::ssize(ended));
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const auto name = fmt::format("{}\npush\ntoday\n", ::getpid());
    static_cast<void>(!::ftruncate(held.get(), 0));
    static_cast<void>(!::pwrite(held.get(), name.data(), name.size(), 0));
  });
  const auto refused = Lock::take(path_, "push", "now");
  slow.join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            fmt::format("`push` (process {}) is at work since today", ::getpid()));
}

TEST_F(LockTest, TheKernelReleasesItWithAKilledProcess) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = Lock::take(path_, "push", "now");
    static_cast<void>(!::write(ends[1], lock ? "1" : "0", 1));
    for (;;) {
      ::pause();
    }
  }
  char taken = 0;
  ASSERT_EQ(::read(ends[0], &taken, 1), 1);
  EXPECT_EQ(taken, '1');
  EXPECT_EQ(Lock::take(path_, "push", "later").error().code, Code::Conflict);
  EXPECT_EQ(Lock::holder(path_)->pid, child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Lock::take(path_, "push", "later").has_value());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(LockTest, RefusesALinkAndAMissingDirectory) {
  ASSERT_EQ(::symlink("/dev/null", path_.c_str()), 0);
  EXPECT_FALSE(Lock::take(path_, "push", "now").has_value());
  EXPECT_EQ(Lock::take(dir_ + "/no/lock", "push", "now").error().code, Code::NotFound);
}

TEST_F(LockTest, WhatStandsInTheFileIsShownSafely) {
  ASSERT_TRUE(write_file_atomic(path_, "1\n\x1b[2Jbad\nnow\n", 0600).has_value());
  const auto held = Lock::take(path_,
                               "a\x1b"
                               "b",
                               "now");
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(Lock::holder(path_)->verb, "a\\x1bb");
}

}  // namespace
}  // namespace mesh::os
