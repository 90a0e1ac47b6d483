#include "os/machine_users.h"

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "os/files.h"
#include "os/lock.h"

namespace mesh::os {

namespace {

// Far above the users of a distribution (to 60,000) and of systemd's services, below its
// containers (524,288): nobody else hands these out.
constexpr std::uint32_t kFirstUser = 200'000;
constexpr std::size_t kLargestTable = 64U << 20U;
constexpr Milliseconds kLockWithin{10'000};
constexpr Milliseconds kBetweenTries{10};

Result<Lock> wait_for_lock(const std::string& path, const Clock& clock) {
  const Deadline deadline(kLockWithin);
  while (true) {
    auto lock = Lock::take(path, "up", rfc3339(clock.now()));
    if (lock || lock.error().code != Code::Conflict || deadline.passed()) {
      return lock;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Result<UserTable> read_table(const std::string& path) {
  UserTable taken;
  const auto text = read_file(path, kLargestTable);
  if (!text) {
    return text.error().code == Code::NotFound ? Result<UserTable>(taken)
                                               : std::unexpected(text.error());
  }
  const auto document = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    // Begun anew it would give out what belongs to somebody.
    return fail(Code::Corrupt, path + " cannot be read",
                "restore it, or remove it together with all that its users own");
  }
  for (const auto& [who, uid] : document.items()) {
    if (uid.is_number_unsigned()) {
      taken[uid.get<std::uint32_t>()] = who;
    }
  }
  return taken;
}

}  // namespace

std::uint32_t user_for(const UserTable& taken, const std::string& who) {
  std::uint32_t least = kFirstUser;
  for (const auto& [uid, owner] : taken) {
    if (owner == who) {
      return uid;
    }
    least += uid == least ? 1U : 0U;
  }
  return least;
}

Result<std::uint32_t> machine_user(const std::string& directory, const std::string& mesh_id,
                                   const std::string& instance, const Clock& clock) {
  const auto path = directory + "/users.json";
  const auto who = mesh_id + " " + instance;
  MESH_CHECK(make_dirs(directory, 0711));
  MESH_TRY(const auto lock, wait_for_lock(directory + "/users.lock", clock));
  MESH_TRY(auto taken, read_table(path));
  const auto uid = user_for(taken, who);
  if (!taken.contains(uid)) {
    taken[uid] = who;
    nlohmann::json document = nlohmann::json::object();
    for (const auto& [number, owner] : taken) {
      document[owner] = number;
    }
    MESH_CHECK(write_file_atomic(path, document.dump() + "\n", kPrivateFile));
  }
  return uid;
}

}  // namespace mesh::os
