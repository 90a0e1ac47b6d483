#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <thread>

#include "os/files.h"
#include "os/poll.h"
#include "os/process_mark.h"

namespace mesh::os {
namespace {

using std::chrono::seconds;

RunOptions shell(const std::string& script) {
  RunOptions options;
  options.spawn.argv = {"/bin/sh", "-c", script};
  return options;
}

TEST(Run, GivesOutputErrorsAndExitCode) {
  const auto result = run(shell("echo out; echo err >&2; exit 3")).value();
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_EQ(result.status.text(), "exit code 3");
  EXPECT_FALSE(result.status.ok());
}

TEST(Run, TellsTheSignal) {
  const auto result = run(shell("kill -9 $$")).value();
  EXPECT_EQ(result.status.text(), "signal 9 (Killed)");
}

TEST(Run, GivesInputAndKeepsTheFirstBytesOfMuch) {
  auto options = shell("cat; head -c 3000000 /dev/zero");
  options.input = std::string(1000000, 'x');
  options.most_output = 1000000;
  const auto result = run(options).value();
  EXPECT_EQ(result.out, options.input);
  EXPECT_TRUE(result.truncated);
  EXPECT_TRUE(result.status.ok());
}

TEST(Run, NoShellReadsTheArguments) {
  RunOptions options;
  options.spawn.argv = {"echo", "$HOME; `id`", "*"};
  EXPECT_EQ(run(options).value().out, "$HOME; `id` *\n");
}

TEST(Run, EnvironmentAndDirectoryAreTheGivenOnes) {
  auto options = shell("pwd; env | sort");
  options.spawn.directory = "/usr";
  options.spawn.environment = Environment{{"PATH", "/usr/bin:/bin"}, {"A", "1 2"}};
  const std::string out = run(options).value().out;
  EXPECT_EQ(out.substr(0, out.find('\n')), "/usr");
  EXPECT_NE(out.find("\nA=1 2\n"), std::string::npos);
  EXPECT_EQ(out.find("HOME="), std::string::npos);
}

TEST(Run, WhatCannotStartSaysWhy) {
  RunOptions options;
  EXPECT_EQ(run(options).error().code, Code::InvalidArgument);
  options.spawn.argv = {"no-such-program-of-ours"};
  EXPECT_EQ(run(options).error().code, Code::NotFound);
  options.spawn.argv = {"/etc/passwd"};
  EXPECT_EQ(run(options).error().code, Code::PermissionDenied);
  options.spawn.argv = {"/bin/true"};
  options.spawn.directory = "/no/such";
  EXPECT_EQ(run(options).error().message, "/no/such: no such file or directory");
  options.spawn.directory.clear();
  options.spawn.argv = {"/bin/true", std::string("a\0b", 3)};
  EXPECT_EQ(run(options).error().code, Code::InvalidArgument);
}

TEST(Run, StopsAtItsDeadlineWithAllItStarted) {
  auto options = shell("sleep 1000 & echo $!; wait");
  options.timeout = Milliseconds(300);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(run(options).error().code, Code::Timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(8));
}

TEST(Run, StopsWhenAskedTo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  std::thread stopper([&] { writing.reset(); });
  auto options = shell("sleep 1000");
  options.stop_fd = reading.get();
  EXPECT_EQ(run(options).error().code, Code::Interrupted);
  stopper.join();
}

TEST(Run, ADaemonThatKeepsThePipeDoesNotHoldUsUp) {
  auto options = shell("setsid sleep 5 & echo started");
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(run(options).value().out, "started\n");
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(4));
}

TEST(Run, ChildrenHaveNoDescriptorsAndNoSignalMaskOfOurs) {
  const int leak = ::open("/dev/null", O_RDONLY);  // NOLINT: without O_CLOEXEC on purpose
  ::signal(SIGPIPE, SIG_IGN);
  const auto result =
      run(shell("ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  ::signal(SIGPIPE, SIG_DFL);
  ::close(leak);
  // 0, 1, 2 and the one with which ls reads the directory.
  EXPECT_EQ(result.value().out, "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Run, TakesAnotherIdentity) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "changing the user needs root";
  }
  auto options = shell("id -u; id -g; id -G");
  options.spawn.identity = Identity{12345, 23456};
  EXPECT_EQ(run(options).value().out, "12345\n23456\n23456\n");
}

TEST(Run, ManyThreadsStartManyPrograms) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < 10; ++j) {
        EXPECT_EQ(run(shell("echo " + std::to_string(i * 100 + j))).value().out,
                  std::to_string(i * 100 + j) + "\n");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

SpawnOptions quiet(const std::string& script) {
  SpawnOptions options = shell(script).spawn;
  options.out = Output::pipe();
  options.err = Output::discard();
  return options;
}

std::string first_bytes(Process& process) {
  std::array<char, 256> buffer{};
  EXPECT_TRUE(wait_readable(process.out().get(), seconds(10)));
  const ssize_t got = ::read(process.out().get(), buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

TEST(ProcessTest, PollsWaitsAndStops) {
  Process process =
      Process::spawn(quiet("trap 'exit 7' TERM; echo ready; sleep 1000 & wait")).value();
  EXPECT_EQ(first_bytes(process), "ready\n");
  EXPECT_FALSE(process.poll().has_value());
  EXPECT_EQ(process.wait(Milliseconds(10)).error().code, Code::Timeout);
  EXPECT_EQ(process.stop(seconds(5)).code, 7);
  EXPECT_EQ(process.poll()->code, 7);
}

TEST(ProcessTest, KillsWhatDoesNotListen) {
  Process process =
      Process::spawn(quiet("trap '' TERM; echo ready; while :; do sleep 1; done")).value();
  EXPECT_EQ(first_bytes(process), "ready\n");
  EXPECT_EQ(process.stop(Milliseconds(100)).signal, SIGKILL);
}

// What a leader leaves in its group ends with it.
TEST(ProcessTest, LeavesNoGrandchildren) {
  Process process = Process::spawn(quiet("sleep 1000 & echo $!")).value();
  const std::string text = first_bytes(process);
  pid_t grandchild = 0;
  std::from_chars(text.data(), text.data() + text.size(), grandchild);
  ASSERT_GT(grandchild, 0);
  ASSERT_TRUE(process.wait(seconds(10)).has_value());
  const Deadline deadline(seconds(10));
  while (mark_of(grandchild).has_value() && !deadline.passed()) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(mark_of(grandchild).has_value());
}

TEST(ProcessTest, AnOwnerThatGoesEndsIt) {
  ProcessMark mark;
  {
    const Process process = Process::spawn(quiet("sleep 1000")).value();
    mark = mark_of(process.pid()).value();
  }
  EXPECT_EQ(ProcessHandle::open(mark).error().code, Code::NotFound);
}

// The child of a killed parent ends too. The parent is a fork of this test.
TEST(ProcessTest, DiesWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    SpawnOptions options = quiet("sleep 1000");
    options.parent_death_signal = SIGKILL;
    Process process = Process::spawn(options).value();
    const pid_t pid = process.pid();
    static_cast<void>(!::write(ends[1], &pid, sizeof pid));
    for (;;) {
      ::pause();
    }
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ProcessHandle handle = ProcessHandle::open(mark_of(child).value()).value();
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(handle.wait_gone(seconds(10)).has_value());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ProcessTest, DetachedRunsOnAndCanBeFoundAgain) {
  pid_t pid = 0;
  {
    SpawnOptions options = quiet("sleep 1000");
    options.new_session = true;
    Process process = Process::spawn(options).value();
    pid = process.detach();
  }
  const ProcessMark mark = mark_of(pid).value();
  ProcessHandle handle = ProcessHandle::open(mark).value();
  EXPECT_EQ(handle.wait_gone(Milliseconds(10)).error().code, Code::Timeout);
  ProcessMark other = mark;
  ++other.started;
  EXPECT_EQ(ProcessHandle::open(other).error().code, Code::NotFound);
  ASSERT_TRUE(handle.signal(SIGKILL).has_value());
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(handle.wait_gone(seconds(10)).has_value());
}

}  // namespace
}  // namespace mesh::os
