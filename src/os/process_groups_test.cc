#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/files.h"
#include "os/folder_copy.h"
#include "os/pidfd.h"
#include "os/poll.h"
#include "os/process.h"
#include "os/process_table.h"
#include "os/signal_queue.h"
#include "tests/support/nats_server.h"

namespace mesh::os {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::IsEmpty;

TEST(Sessions, AllOfOneIsKilledWhateverItsGroup) {
  SpawnOptions options;
  // A shell with job control gives each command a group of its own.
  options.argv = {"/bin/sh", "-c", "set -m; sleep 1301 & sleep 1302 & echo up; exec sleep 1303"};
  options.new_session = true;
  options.out = Output::pipe();
  auto process = Process::spawn(options).value();
  ASSERT_TRUE(wait_readable(process.out().get(), seconds(10)));
  const auto mark = mark_of(process.pid()).value();
  auto other = mark;
  other.started += 1;
  EXPECT_EQ(kill_session_of(other), 0);
  EXPECT_THAT(children_of(::getpid()), Contains(process.pid()));
  EXPECT_GE(kill_session_of(mark), 3);
  EXPECT_EQ(process.wait(seconds(5)).value().signal, SIGKILL);
  for (const auto* duration : {"1301", "1302", "1303"}) {
    EXPECT_THAT(processes_with_arguments(std::vector<std::string>{"sleep", duration}), IsEmpty());
  }
}

TEST(SignalQueue, TellsTheValueThatCameWithASignal) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    auto queue = SignalQueue::open({SIGUSR1, SIGUSR2}).value();
    EXPECT_FALSE(queue.next().has_value());
    const auto self = open_pidfd(::getpid());
    ASSERT_TRUE(signal_pidfd(self.get(), SIGUSR1, 4711));
    ASSERT_TRUE(wait_readable(queue.descriptor(), seconds(5)));
    const auto valued = queue.next();
    ASSERT_TRUE(valued.has_value());
    EXPECT_EQ(valued->number, SIGUSR1);
    EXPECT_EQ(valued->value, 4711);
    ::kill(::getpid(), SIGUSR2);
    ASSERT_TRUE(wait_readable(queue.descriptor(), seconds(5)));
    const auto plain = queue.next();
    EXPECT_EQ(plain->number, SIGUSR2);
    EXPECT_FALSE(plain->value.has_value());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(FolderCopy, LeavesOutWhatIsNotTheModulesAndFollowsNoLink) {
  const mesh::test::TemporaryDirectory directory;
  const auto from = directory.path().string() + "/from";
  const auto to = directory.path().string() + "/to";
  ASSERT_TRUE(make_dirs(from + "/.git"));
  ASSERT_TRUE(make_dirs(from + "/state"));
  ASSERT_TRUE(make_dirs(from + "/sub"));
  ASSERT_TRUE(write_file_atomic(from + "/sub/run.sh", "x", 0755));
  std::filesystem::create_symlink("/etc/passwd", from + "/link");
  ASSERT_TRUE(copy_folder(from, to, from + "/state"));
  EXPECT_FALSE(exists(to + "/.git"));
  EXPECT_FALSE(exists(to + "/state"));
  EXPECT_EQ(std::filesystem::read_symlink(to + "/link"), "/etc/passwd");
  struct stat info{};
  ASSERT_EQ(::stat((to + "/sub/run.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0755U);
  if (::geteuid() == 0) {
    ASSERT_TRUE(give_folder(to, {199'999, 199'999}));
    ASSERT_EQ(::lstat((to + "/link").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 199'999U);
    ASSERT_EQ(::stat("/etc/passwd", &info), 0);
    EXPECT_EQ(info.st_uid, 0U);
  }
  EXPECT_FALSE(copy_folder(from + "/none", to, {}));
}

}  // namespace
}  // namespace mesh::os
