#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <string>

#include "inventory/inventory.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/random.h"
#include "secrets/seal.h"
#include "secrets/signing.h"

// For this room's tests alone.
namespace mesh::inventory::testing {

/// Bytes that look random and are the same in each run.
class CountingRandom : public os::Random {
 public:
  [[nodiscard]] std::string bytes(std::size_t count) override {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      out += static_cast<char>((state_ >> 33U) & 255U);
    }
    return out;
  }

 private:
  std::uint64_t state_ = 1;
};

inline os::WallTime start_of_tests() {
  return os::parse_rfc3339("2026-08-21T09:30:00Z").value();
}

inline secrets::SealKey test_key(char fill = 'k') {
  return secrets::SealKey::from_bytes(std::string(32, fill)).value();
}

inline Identity test_identity() {
  const auto sign = secrets::SigningKey::from_seed(std::string(32, 's')).value();
  const auto recovery = secrets::SigningKey::from_seed(std::string(32, 'r')).value();
  return {secrets::mesh_id(sign.public_key()), "home", sign.public_key(), recovery.public_key(),
          "2026-08-21T09:30:00Z"};
}

/// Calls `work` in a child process and kills it at a moment between 0 and 1.3 times what the work
/// takes when nobody disturbs it (`whole`): sometimes it is done by then.
template <class Work>
void kill_during(std::chrono::nanoseconds whole, std::mt19937& generator, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  const auto longest = static_cast<std::uint64_t>(whole.count()) * 13 / 10 + 1;
  const auto wait = (static_cast<std::uint64_t>(generator()) << 16U) % longest;
  // The moment is random on purpose, to be killed at: nothing is waited for.
  const timespec moment{static_cast<time_t>(wait / 1000000000U),
                        static_cast<long>(wait % 1000000000U)};
  ::nanosleep(&moment, nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

template <class Work>
std::chrono::nanoseconds time_of(Work work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - before;
}

/// A directory of its own for each test, gone after it; a clock that stands still.
class InventoryFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = os::make_temp_dir(::testing::TempDir(), "inventory-").value();
    path_ = dir_ + "/inventory.db";
  }
  void TearDown() override { EXPECT_TRUE(os::remove_tree(dir_).has_value()); }

  Inventory create() {
    return Inventory::create(path_, test_key(), test_identity(), clock_, random_).value();
  }
  Result<Inventory> reopen() { return Inventory::open(path_, test_key(), clock_, random_); }

  static NewCredential credential(const std::string& principal, const std::string& secret) {
    return {principal, "hash of " + principal, secrets::Secret(secret)};
  }
  static Intent intent(std::vector<model::AcceptedFile> files) {
    Intent intent;
    intent.by = "user@host";
    intent.verb = "push";
    intent.digest = "digest";
    intent.files = std::move(files);
    return intent;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  }

  std::string dir_;
  std::string path_;
  os::ManualClock clock_{start_of_tests()};
  CountingRandom random_;
};

}  // namespace mesh::inventory::testing
