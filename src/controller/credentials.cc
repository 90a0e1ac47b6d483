#include "controller/credentials.h"

#include <algorithm>
#include <future>
#include <thread>

#include "secrets/credential.h"

namespace mesh::controller {

namespace {

using inventory::NewCredential;

/// Fewer hashes than this are not worth a thread of their own.
constexpr std::size_t kWorthAThread = 32;

struct Work {
  std::string principal;
  secrets::Secret random;
};

Result<std::vector<NewCredential>> hash_all(std::span<const Work> work) {
  std::vector<NewCredential> made;
  made.reserve(work.size());
  for (const auto& each : work) {
    MESH_TRY(auto credential, secrets::new_credential(each.random.reveal()));
    made.push_back({each.principal, std::move(credential.hash), std::move(credential.secret)});
  }
  return made;
}

/// Randomness is drawn here, on one thread: only the hashing is shared out.
std::vector<Work> draw(std::span<const std::string> users, const inventory::Hashes& hashes,
                       os::Random& random) {
  std::vector<Work> work;
  for (const auto& user : users) {
    if (!hashes.contains(user)) {
      auto bytes = random.bytes(secrets::kCredentialRandomBytes);
      work.push_back({user, secrets::Secret::take(bytes)});
    }
  }
  return work;
}

}  // namespace

std::vector<std::string> users_of(std::span<const broker::Account> accounts) {
  std::vector<std::string> users;
  for (const auto& account : accounts) {
    users.insert(users.end(), account.users.begin(), account.users.end());
  }
  std::ranges::sort(users);
  return users;
}

Result<std::vector<NewCredential>> missing_credentials(std::span<const std::string> users,
                                                       const inventory::Hashes& hashes,
                                                       os::Random& random) {
  const auto work = draw(users, hashes, random);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t share = std::max(kWorthAThread, (work.size() + cores - 1) / cores);
  std::vector<std::future<Result<std::vector<NewCredential>>>> parts;
  for (std::size_t at = 0; at < work.size(); at += share) {
    const auto part = std::span(work).subspan(at, std::min(share, work.size() - at));
    parts.push_back(std::async(std::launch::async, [part] { return hash_all(part); }));
  }
  std::vector<NewCredential> made;
  made.reserve(work.size());
  for (auto& part : parts) {
    MESH_TRY(auto some, part.get());
    std::ranges::move(some, std::back_inserter(made));
  }
  return made;
}

Result<std::vector<std::string>> issue_credentials(inventory::State& state,
                                                   std::span<const std::string> users,
                                                   const std::string& verb, Edges edges) {
  std::vector<std::string> names;
  MESH_TRY(const auto before, state.inventory.hashes());
  if (std::ranges::all_of(users, [&](const auto& user) { return before.contains(user); })) {
    return names;
  }
  MESH_TRY(const auto lock, inventory::lock_state(state.paths.root(), verb, edges.clock));
  // Another process may have issued them before the lock was ours.
  MESH_TRY(const auto hashes, state.inventory.hashes());
  MESH_TRY(const auto made, missing_credentials(users, hashes, edges.random));
  MESH_CHECK(state.inventory.add_credentials(made));
  for (const auto& credential : made) {
    names.push_back(credential.principal);
  }
  return names;
}

}  // namespace mesh::controller
