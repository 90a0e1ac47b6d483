#include "controller/machine_users.h"

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "os/files.h"
#include "os/lock.h"

namespace mesh::controller {

namespace {

// Far above the users of a distribution (to 60,000) and of systemd's services, below its
// containers (524,288): nobody else hands these out.
constexpr std::uint32_t kFirstUser = 200'000;
constexpr std::size_t kLargestTable = 64U << 20U;
constexpr os::Milliseconds kLockWithin{10'000};
constexpr os::Milliseconds kBetweenTries{10};

Result<os::Lock> wait_for_lock(const std::string& path, Edges edges) {
  const os::Deadline deadline(kLockWithin);
  while (true) {
    auto lock = os::Lock::take(path, "up", os::rfc3339(edges.clock.now()));
    if (lock || lock.error().code != Code::Conflict || deadline.passed()) {
      return lock;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Result<UserTable> read_table(const std::string& path) {
  UserTable taken;
  const auto text = os::read_file(path, kLargestTable);
  if (!text) {
    return text.error().code == Code::NotFound ? Result<UserTable>(taken)
                                               : std::unexpected(text.error());
  }
  const auto document = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
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
                                   const std::string& instance, Edges edges) {
  const auto path = directory + "/users.json";
  const auto who = mesh_id + " " + instance;
  MESH_CHECK(os::make_dirs(directory, 0711));
  MESH_TRY(const auto lock, wait_for_lock(directory + "/users.lock", edges));
  MESH_TRY(auto taken, read_table(path));
  const auto uid = user_for(taken, who);
  if (!taken.contains(uid)) {
    taken[uid] = who;
    nlohmann::json document = nlohmann::json::object();
    for (const auto& [number, owner] : taken) {
      document[owner] = number;
    }
    MESH_CHECK(os::write_file_atomic(path, document.dump() + "\n", os::kPrivateFile));
  }
  return uid;
}

}  // namespace mesh::controller
