#include "inventory/backup.h"

#include <stdio.h>

#include <array>
#include <cerrno>

#include "base/digest.h"
#include "inventory/archive.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "secrets/sealed_box.h"

namespace mesh::inventory {
namespace {

using secrets::SigningKey;

// A backup is: the first line, the recovery public key, the sealed archive, and the SHA-256 of all
// that (in hexadecimal), so that damage is told from a key of another mesh.
constexpr std::string_view kFamily = "mesh-backup ";
constexpr std::string_view kFirstLine = "mesh-backup 1\n";
constexpr std::size_t kDigest = 64;

constexpr const char* kDatabase = "inventory.db";
constexpr const char* kSealKey = "keys/seal.key";
constexpr const char* kSignKey = "keys/sign.key";
constexpr const char* kAuthority = "keys/ca.key";  // not in backups of earlier versions
constexpr const char* kLockFile = "mesh.lock";

void wipe_all(Archive& files) {
  for (auto& [name, bytes] : files) {
    secrets::wipe(bytes);
  }
}

std::unexpected<Error> damaged_backup() {
  return fail(Code::Corrupt, "the backup is damaged", "use another copy of it");
}

// The parts of a backup that is whole.
struct Parsed {
  std::string_view recovery_key;
  std::string_view sealed;
};

Result<Parsed> parse(std::string_view bytes) {
  if (!bytes.starts_with(kFamily)) {
    return fail(Code::InvalidArgument, "this is no backup of Mesh",
                "give a file that `mesh backup` wrote");
  }
  if (bytes.size() < kFirstLine.size() + secrets::kPublicKeyBytes + kDigest) {
    return damaged_backup();
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kDigest);
  if (sha256_hex(body) != bytes.substr(body.size())) {
    return damaged_backup();
  }
  if (!body.starts_with(kFirstLine)) {
    return fail(Code::Unsupported, "the backup was made by a newer Mesh",
                "restore it with the version that made it, or a later one");
  }
  const std::string_view rest = body.substr(kFirstLine.size());
  return Parsed{rest.substr(0, secrets::kPublicKeyBytes), rest.substr(secrets::kPublicKeyBytes)};
}

Result<Archive> open_backup(std::string_view bytes, const SigningKey& recovery_key) {
  MESH_TRY(const Parsed parsed, parse(bytes));
  if (parsed.recovery_key != recovery_key.public_key().bytes()) {
    return fail(Code::PermissionDenied, "the recovery key does not open this backup",
                "use the key that `mesh init` showed when this mesh was made");
  }
  MESH_TRY(const secrets::Secret packed, secrets::open_sealed(recovery_key, parsed.sealed));
  MESH_TRY(Archive files, unpack(packed.reveal()));
  for (const char* name : {kDatabase, kSealKey, kSignKey}) {
    if (!files.contains(name)) {
      wipe_all(files);
      return damaged_backup();
    }
  }
  return files;
}

Status write_files(const std::string& root, const Archive& files) {
  const StatePaths paths(root);
  MESH_CHECK(os::make_private_dir(paths.keys()));
  for (const auto& [name, path] :
       {std::pair(kDatabase, paths.database()), std::pair(kSealKey, paths.seal_key()),
        std::pair(kSignKey, paths.sign_key()), std::pair(kAuthority, paths.authority())}) {
    if (const auto found = files.find(name); found != files.end()) {
      MESH_CHECK(os::write_file_atomic(path, found->second, os::kPrivateFile));
    }
  }
  return {};
}

// Opened as it will be, and read from one end to the other. Closing it leaves one file.
Result<Identity> check_state(const std::string& root, const os::Clock& clock, os::Random& random) {
  MESH_TRY(State state, open_state(root, clock, random));
  MESH_CHECK(state.inventory.verify());
  return std::move(state.identity);
}

Result<Identity> unpack_beside(const std::string& beside, const Archive& files,
                               const os::Clock& clock, os::Random& random) {
  MESH_CHECK(write_files(beside, files));
  MESH_TRY(Identity identity, check_state(beside, clock, random));
  MESH_CHECK(os::sync_dir(beside));
  return identity;
}

Status check_free(const std::string& root) {
  if (os::exists(root) && !os::is_empty_dir(root)) {
    return fail(Code::Conflict, root + " holds something already",
                "move it away, then restore again");
  }
  return {};
}

// rename() replaces an empty directory and refuses one that has filled meanwhile.
Status move_into_place(const std::string& beside, const std::string& root) {
  if (::rename(beside.c_str(), root.c_str()) != 0) {
    return errno == ENOTEMPTY || errno == EEXIST ? check_free(root)
                                                 : Status(os::fail_errno(root, errno));
  }
  return os::sync_dir(os::dir_name(root));
}

// The directory in which the state is put together. A killed restore left it; a running one holds
// its lock.
Result<os::Lock> take_beside(const std::string& beside, const os::Clock& clock) {
  MESH_CHECK(os::make_private_dir(beside));
  MESH_TRY(os::Lock lock, lock_state(beside, "restore", clock));
  const StatePaths paths(beside);
  for (const std::string& path :
       {paths.database(), paths.database() + "-wal", paths.database() + "-shm", paths.keys()}) {
    MESH_CHECK(os::remove_tree(path));
  }
  return lock;
}

Result<Identity> put_back(const std::string& root, const Archive& files, const os::Clock& clock,
                          os::Random& random) {
  const std::string beside = root + ".restoring";
  MESH_CHECK(os::make_dirs(os::dir_name(root)));
  MESH_TRY(const os::Lock lock, take_beside(beside, clock));
  auto identity = unpack_beside(beside, files, clock, random);
  Status moved = identity ? move_into_place(beside, root) : Status();
  if (!identity || !moved) {
    static_cast<void>(os::remove_tree(beside).has_value());
  }
  MESH_CHECK(moved);
  return identity;
}

}  // namespace

Result<std::string> make_backup(State& state, std::string_view lock_file, os::Random& random) {
  MESH_CHECK(state.inventory.verify());
  Archive files;
  MESH_TRY(files[kDatabase], state.inventory.snapshot());
  files[kSealKey] = state.seal_key.bytes().reveal();
  files[kSignKey] = state.sign_key.seed().reveal();
  MESH_TRY(const auto authority, read_authority(state.paths));
  files[kAuthority] = authority.together().reveal();
  if (!lock_file.empty()) {
    files[kLockFile] = lock_file;
  }
  std::string packed = pack(files);
  wipe_all(files);
  std::string seed = random.bytes(secrets::kSeedBytes);
  auto sealed = secrets::seal_to(state.identity.recovery_key, packed, seed);
  secrets::wipe(packed);
  secrets::wipe(seed);
  MESH_CHECK(sealed);
  std::string backup = std::string(kFirstLine) + state.identity.recovery_key.bytes() + *sealed;
  return backup + sha256_hex(backup);
}

Result<Restored> restore_backup(const std::string& root, std::string_view bytes,
                                const SigningKey& recovery_key, const os::Clock& clock,
                                os::Random& random) {
  MESH_CHECK(check_free(root));
  MESH_TRY(Archive files, open_backup(bytes, recovery_key));
  auto identity = put_back(root, files, clock, random);
  std::string lock_file = files.contains(kLockFile) ? files[kLockFile] : std::string();
  wipe_all(files);
  MESH_CHECK(identity);
  return Restored{std::move(*identity), std::move(lock_file)};
}

}  // namespace mesh::inventory
