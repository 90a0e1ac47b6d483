#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "inventory/inventory.h"
#include "inventory/sqlite.h"
#include "inventory/state.h"
#include "inventory/test_support.h"

namespace mesh::inventory {
namespace {

// What a push of these tests is: after push N the file `n` says N and principal `p.N` has a
// credential.
class Crash : public testing::InventoryFixture {
 protected:
  static Intent numbered(std::int64_t number) {
    Intent one = intent({{"n", std::to_string(number)}, {"large", std::string(300000, 'x')}});
    one.files.push_back({"also", fmt::format("{:0>20000}", number)});
    for (int i = 0; i < 50; ++i) {
      one.credentials.push_back(credential(fmt::format("p.{}.{}", number, i), "s"));
    }
    return one;
  }

  // In a child that is killed from outside: pushes without end.
  [[noreturn]] void push_for_ever() {
    os::SystemRandom random;
    Inventory inventory = Inventory::open(path_, testing::test_key(), clock_, random).value();
    for (;;) {
      const auto latest = inventory.latest().value();
      const auto number = inventory.intend(numbered((latest ? latest->number : 0) + 1));
      if (!number || !inventory.record(*number, {}).has_value()) {
        ::_exit(1);
      }
    }
  }

  // Each push is there whole, or not at all.
  void expect_whole(Inventory& inventory) {
    ASSERT_TRUE(inventory.verify().has_value());
    const Hashes hashes = inventory.hashes().value();
    auto pushes = inventory.history(1000000).value();
    if (const auto unfinished = inventory.unfinished().value()) {
      pushes.push_back(*unfinished);
    }
    for (const Push& push : pushes) {
      const auto files = inventory.files(push.number).value();
      ASSERT_EQ(files.size(), 3U) << push.number;
      EXPECT_EQ(files[2].path, "n");
      const std::string said = files[2].bytes;
      EXPECT_TRUE(hashes.contains("p." + said + ".0"));
      EXPECT_TRUE(hashes.contains("p." + said + ".49"));
    }
  }
};

TEST_F(Crash, KilledAnywhereTheRecordsAreWhole) {
  create();
  std::mt19937 generator(11);  // NOLINT: the same moments in each run
  for (int round = 0; round < 25; ++round) {
    testing::kill_during(std::chrono::milliseconds(60), generator, [this] { push_for_ever(); });
    Inventory inventory = reopen().value();
    expect_whole(inventory);
  }
  // And the next push continues.
  Inventory inventory = reopen().value();
  const std::int64_t number = inventory.intend(numbered(1000000)).value();
  ASSERT_TRUE(inventory.record(number, {}).has_value());
  EXPECT_EQ(inventory.latest().value()->number, number);
  EXPECT_EQ(inventory.unfinished().value(), std::nullopt);
}

// A disk that is full at any byte: the push fails as Resource and the records are as before. (A
// limit on the size of files stands for the disk.)
TEST_F(Crash, AFullDiskLosesNothing) {
  create();
  int refused = 0;
  for (rlim_t room = 0; room < 600000; room += 20000) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{room, room};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      auto inventory = reopen();
      const auto number =
          inventory ? inventory->intend(numbered(1)) : std::unexpected(inventory.error());
      ::_exit(number ? 0 : static_cast<int>(number.error().code) + 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << room;
    if (WEXITSTATUS(status) != 0) {
      EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Code::Resource) + 1) << room;
      ++refused;
    }
    Inventory inventory = reopen().value();
    expect_whole(inventory);
    EXPECT_EQ(inventory.unfinished().value().has_value(), WEXITSTATUS(status) == 0) << room;
    if (WEXITSTATUS(status) == 0) {
      break;
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_TRUE(reopen().value().unfinished().value().has_value());
}

// Making a state, killed anywhere: what is left is no state, or a whole one.
TEST_F(Crash, AStateThatWasKilledWhileItWasMadeIsMadeAgain) {
  std::mt19937 generator(5);  // NOLINT: the same moments in each run
  const std::string root = dir_ + "/.mesh";
  const auto make = [&] {
    os::SystemRandom random;
    EXPECT_TRUE(create_state(root, "home", clock_, random).has_value());
  };
  const auto whole = testing::time_of(make);
  int made = 0;
  for (int round = 0; round < 30; ++round) {
    if (state_exists(root)) {
      State state = open_state(root, clock_, random_).value();
      EXPECT_TRUE(state.inventory.verify().has_value());
      EXPECT_EQ(state.identity.mesh_id, secrets::mesh_id(state.sign_key.public_key()));
      ++made;
      ASSERT_TRUE(os::remove_tree(root).has_value());
    }
    testing::kill_during(whole, generator, make);
  }
  ASSERT_TRUE(os::remove_tree(StatePaths(root).database()).has_value());
  make();
  RecordProperty("made", made);
}

TEST_F(Crash, AKilledPushGivesItsLockBack) {
  ASSERT_TRUE(create_state(dir_ + "/.mesh", "home", clock_, random_).has_value());
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = lock_state(dir_ + "/.mesh", "push", clock_);
    static_cast<void>(!::write(ends[1], lock ? "1" : "0", 1));
    for (;;) {
      ::pause();
    }
  }
  char taken = 0;
  ASSERT_EQ(::read(ends[0], &taken, 1), 1);
  const auto refused = lock_state(dir_ + "/.mesh", "push", clock_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(refused.error().message,
            fmt::format("`push` (process {}) is at work since 2026-08-21T09:30:00Z", child));
  // Reading verbs do not wait for it.
  EXPECT_TRUE(
      open_state(dir_ + "/.mesh", clock_, random_).value().inventory.history(1).has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lock_state(dir_ + "/.mesh", "push", clock_).has_value());
  ::close(ends[0]);
  ::close(ends[1]);
}

// The controller holds the lock for moments, and an operator's verb waits for it.
TEST_F(Crash, AVerbWaitsForTheControllerAndTheControllerForNobody) {
  ASSERT_TRUE(create_state(dir_ + "/.mesh", "home", clock_, random_).has_value());
  auto held = lock_state(dir_ + "/.mesh", "controller", clock_);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(lock_state(dir_ + "/.mesh", "controller", clock_).error().code, Code::Conflict);
  std::thread controller([&] { held->release(); });
  EXPECT_TRUE(lock_state(dir_ + "/.mesh", "push", clock_).has_value());
  controller.join();
}

// Several verbs find no state at once: one makes it, the others are told that it is there.
TEST_F(Crash, OneOfManyMakesTheState) {
  const std::string root = dir_ + "/.mesh";
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      os::SystemRandom random;
      const auto made = create_state(root, "home", clock_, random);
      const bool late = !made && made.error().code == Code::Conflict && state_exists(root);
      ::_exit(made ? 0 : late ? 10 : 1);
    }
    children.push_back(child);
  }
  std::map<int, int> codes;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ++codes[WEXITSTATUS(status)];
  }
  EXPECT_EQ(codes, (std::map<int, int>{{0, 1}, {10, 5}}));
}

}  // namespace
}  // namespace mesh::inventory
