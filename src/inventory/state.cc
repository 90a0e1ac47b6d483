#include "inventory/state.h"

#include <thread>

#include "base/digest.h"
#include "os/files.h"

namespace mesh::inventory {
namespace {

using secrets::SealKey;
using secrets::SigningKey;

constexpr std::size_t kMostKey = 4096;

constexpr std::size_t kMostAuthority = 65536;
constexpr const char* kAuthorityNote = "authority";  // the SHA-256 of its certificate

constexpr const char* kController = "controller";
constexpr const char* kInit = "init";
constexpr os::Milliseconds kPatience{15000};
constexpr os::Milliseconds kRetry{20};

struct Keys {
  SealKey seal;
  SigningKey sign;
};

Result<Keys> read_keys(const StatePaths& paths) {
  MESH_TRY(std::string seal_bytes, os::read_private_file(paths.seal_key(), kMostKey));
  auto seal = SealKey::from_bytes(seal_bytes);
  secrets::wipe(seal_bytes);
  MESH_TRY(std::string seed, os::read_private_file(paths.sign_key(), kMostKey));
  auto sign = SigningKey::from_seed(seed);
  secrets::wipe(seed);
  if (!seal || !sign) {
    return fail(Code::Corrupt, "a key file in " + paths.keys() + " is damaged",
                "bring the last backup back with `mesh restore FILE`");
  }
  return Keys{std::move(*seal), std::move(*sign)};
}

Result<secrets::Secret> write_key(const std::string& path, os::Random& random) {
  std::string bytes = random.bytes(secrets::kSeedBytes);
  secrets::Secret key = secrets::Secret::take(bytes);
  MESH_CHECK(os::write_file_atomic(path, key.reveal(), os::kPrivateFile));
  return key;
}

Result<Keys> make_keys(const StatePaths& paths, os::Random& random) {
  MESH_TRY(const secrets::Secret seal_bytes, write_key(paths.seal_key(), random));
  MESH_TRY(SealKey seal, SealKey::from_bytes(seal_bytes.reveal()));
  MESH_TRY(const secrets::Secret seed, write_key(paths.sign_key(), random));
  MESH_TRY(SigningKey sign, SigningKey::from_seed(seed.reveal()));
  return Keys{std::move(seal), std::move(sign)};
}

// Keys without an inventory are those of a state that was killed while it was made, or of one whose
// inventory was lost: using them again keeps the mesh's id, so that its bus stays its own.
Result<Keys> keys_of_new_state(const StatePaths& paths, os::Random& random) {
  if (os::exists(paths.seal_key()) && os::exists(paths.sign_key())) {
    return read_keys(paths);
  }
  return make_keys(paths, random);
}

Result<SigningKey> make_recovery_key(os::Random& random) {
  std::string seed = random.bytes(secrets::kSeedBytes);
  auto key = SigningKey::from_seed(seed);
  secrets::wipe(seed);
  return key;
}

// The controller looks after the bus under the lock, for moments and by itself, and a state is made
// in a moment: an operator's verb waits for either, the controller for nobody. (A lock that is free
// by now counts too.)
bool held_in_passing(const std::string& path, const std::string& verb) {
  const auto holder = os::Lock::holder(path);
  return verb != kController && (!holder || holder->verb == kController || holder->verb == kInit);
}

std::unexpected<Error> no_state(const std::string& root) {
  return fail(Code::NotFound, "no state of a mesh in " + root, "make it with `mesh init`");
}

/// Makes the authority where there is none. Of two that do so at once one is kept, by whoever links
/// it first.
Status make_authority(const StatePaths& paths, const std::string& mesh_id, const os::Clock& clock) {
  if (os::exists(paths.authority())) {
    return {};
  }
  MESH_TRY(const auto made, certificates::make_authority(mesh_id, clock.now()));
  const auto text = made.together();
  return os::write_new_file(paths.authority(), text.reveal(), os::kPrivateFile);
}

/// The certificate alone is a copy: made again where it is gone or another's.
Status copy_certificate(const StatePaths& paths, const certificates::Pair& authority) {
  const auto there = os::read_file(paths.authority_certificate(), kMostAuthority);
  return there && *there == authority.certificate
             ? Status()
             : os::write_file_atomic(paths.authority_certificate(), authority.certificate,
                                     os::kPrivateFile);
}

/// Machines trust the authority: once it is known, no other takes its place unasked.
Status check_authority(const StatePaths& paths, Inventory& inventory, const std::string& mesh_id,
                       const os::Clock& clock) {
  MESH_TRY(const auto known, inventory.note(kAuthorityNote));
  if (known && !os::exists(paths.authority())) {
    return fail(Code::Corrupt, paths.authority() + " is missing",
                "put it back, or bring the last backup back with `mesh restore FILE`");
  }
  MESH_CHECK(make_authority(paths, mesh_id, clock));
  MESH_TRY(const auto authority, read_authority(paths));
  const std::string digest = sha256_hex(authority.certificate);
  if (known && *known != digest) {
    return fail(Code::Corrupt, paths.authority() + " is not the authority of this mesh",
                "put the file back that was made with it, or restore a backup");
  }
  MESH_CHECK(known ? Status() : inventory.set_note(kAuthorityNote, digest));
  return copy_certificate(paths, authority);
}

Result<State> open_with(StatePaths paths, Keys keys, const os::Clock& clock, os::Random& random) {
  MESH_TRY(Inventory inventory, Inventory::open(paths.database(), keys.seal, clock, random));
  MESH_TRY(Identity identity, inventory.identity());
  if (identity.signing_key != keys.sign.public_key()) {
    return fail(Code::Corrupt, paths.sign_key() + " is not the key of this mesh",
                "put the key back that was made with it, or restore a backup");
  }
  MESH_CHECK(check_authority(paths, inventory, identity.mesh_id, clock));
  return State{std::move(paths), std::move(keys.seal), std::move(keys.sign), std::move(inventory),
               std::move(identity)};
}

}  // namespace

Result<certificates::Pair> read_authority(const StatePaths& paths) {
  MESH_TRY(std::string text, os::read_private_file(paths.authority(), kMostAuthority));
  auto pair = certificates::read_pair(text);
  secrets::wipe(text);
  if (!pair) {
    return fail(Code::Corrupt, paths.authority() + " is damaged",
                "bring the last backup back with `mesh restore FILE`");
  }
  return pair;
}

bool state_exists(const std::string& root) {
  return os::exists(StatePaths(root).database());
}

Result<NewState> create_state(const std::string& root, const std::string& mesh_name,
                              const os::Clock& clock, os::Random& random) {
  StatePaths paths(root);
  MESH_CHECK(os::make_private_dir(root));
  MESH_TRY(const os::Lock lock, lock_state(root, kInit, clock));
  if (state_exists(root)) {
    return fail(Code::Conflict, root + " holds a mesh's state already");
  }
  MESH_CHECK(os::make_private_dir(paths.keys()));
  MESH_TRY(Keys keys, keys_of_new_state(paths, random));
  MESH_TRY(const SigningKey recovery, make_recovery_key(random));
  const Identity identity{secrets::mesh_id(keys.sign.public_key()), mesh_name,
                          keys.sign.public_key(), recovery.public_key(), os::rfc3339(clock.now())};
  MESH_CHECK(Inventory::create(paths.database(), keys.seal, identity, clock, random));
  MESH_TRY(State state, open_with(std::move(paths), std::move(keys), clock, random));
  return NewState{std::move(state), secrets::recovery_text(recovery)};
}

Result<State> open_state(const std::string& root, const os::Clock& clock, os::Random& random) {
  StatePaths paths(root);
  if (!state_exists(root)) {
    return no_state(root);
  }
  for (const std::string& path : {paths.seal_key(), paths.sign_key()}) {
    if (!os::exists(path)) {
      return fail(Code::Corrupt, path + " is missing",
                  "put it back, or bring the last backup back with `mesh restore FILE`");
    }
  }
  MESH_TRY(Keys keys, read_keys(paths));
  return open_with(std::move(paths), std::move(keys), clock, random);
}

Result<os::Lock> lock_state(const std::string& root, const std::string& verb,
                            const os::Clock& clock) {
  const std::string path = StatePaths(root).lock();
  const os::Deadline deadline(kPatience);
  for (;;) {
    auto lock = os::Lock::take(path, verb, os::rfc3339(clock.now()));
    const bool held = !lock && lock.error().code == Code::Conflict;
    if (!held || deadline.passed() || !held_in_passing(path, verb)) {
      return lock;
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace mesh::inventory
