#include "inventory/inventory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/digest.h"
#include "base/text.h"
#include "inventory/migrate.h"
#include "inventory/parts.h"
#include "os/errno_error.h"
#include "os/fd.h"
#include "os/files.h"

namespace mesh::inventory {
namespace {

using secrets::PublicKey;

constexpr const char* kKeyCheck = "the key of this inventory";
constexpr const char* kKeyCheckPlace = "key-check";

Status configure(Database& database) {
  return database.execute(
      "PRAGMA journal_mode = WAL;"
      "PRAGMA synchronous = FULL;"
      "PRAGMA foreign_keys = ON;"
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA secure_delete = ON;");
}

// SQLite gives its -wal and -shm the mode of the file itself.
Status make_empty_file(const std::string& path) {
  const os::Fd fd(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, os::kPrivateFile));
  return fd.valid() ? Status() : Status(os::fail_errno(path, errno));
}

// SQLite keeps its journal beside the file, also for who only reads.
Status check_writable(const std::string& directory) {
  if (::access(directory.c_str(), W_OK) == 0) {
    return {};
  }
  const bool read_only = errno == EROFS;
  return fail(Code::PermissionDenied,
              directory + " cannot be written, and reading the inventory needs that too",
              read_only
                  ? "its file system is read-only: copy the directory and name it with --state"
                  : "run as the user who owns it, or make it writable: chmod u+w " + directory);
}

Status insert_identity(Database& database, const Identity& identity, std::string_view key_check) {
  MESH_TRY(Statement insert,
           database.prepare("INSERT INTO identity (one, mesh_id, name, signing_key, recovery_key,"
                            " created, key_check) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)"));
  return insert.bind(1, identity.mesh_id)
      .bind(2, identity.name)
      .bind_blob(3, identity.signing_key.bytes())
      .bind_blob(4, identity.recovery_key.bytes())
      .bind(5, identity.created)
      .bind_blob(6, key_check)
      .run();
}

Result<std::string> seal_for(const secrets::SealKey& key, const std::string& mesh_id,
                             std::string_view plain, const std::string& place, os::Random& random) {
  return secrets::seal(key, plain, mesh_id + "/" + place, random.bytes(secrets::kNonceBytes));
}

// Under another name, without a journal file of its own; it gets its name when it is whole.
Status write_new(const std::string& path, const Identity& identity, std::string_view key_check) {
  MESH_CHECK(make_empty_file(path));
  MESH_TRY(Database database, Database::open(path));
  MESH_CHECK(database.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = FULL"));
  MESH_CHECK(make_schema(database, migrations()));
  return database.transaction([&] { return insert_identity(database, identity, key_check); });
}

// The identity's id and its sealed check.
Result<std::string> check_key(Database& database, const secrets::SealKey& key) {
  MESH_TRY(Statement select, database.prepare("SELECT mesh_id, key_check FROM identity"));
  MESH_TRY(const bool row, select.step());
  if (!row) {
    return fail(Code::Corrupt, "the inventory holds no identity",
                "bring the last backup back with `mesh restore FILE`");
  }
  std::string mesh_id = select.text(0);
  const auto opened = secrets::open(key, select.blob(1), mesh_id + "/" + kKeyCheckPlace);
  if (!opened || opened->reveal() != kKeyCheck) {
    return fail(Code::PermissionDenied, "the key file does not belong to this inventory",
                "put the keys back that were made with it, or restore a backup");
  }
  return mesh_id;
}

Status verify_pages(Database& database) {
  MESH_TRY(Statement check, database.prepare("PRAGMA integrity_check(1)"));
  MESH_TRY(bool row, check.step());
  if (!row || check.text(0) != "ok") {
    return std::unexpected(sqlite_error(SQLITE_CORRUPT, row ? check.text(0) : "no answer"));
  }
  MESH_TRY(Statement references, database.prepare("PRAGMA foreign_key_check"));
  MESH_TRY(row, references.step());
  if (row) {
    return std::unexpected(sqlite_error(SQLITE_CORRUPT, "a reference leads nowhere"));
  }
  return {};
}

std::unexpected<Error> damaged(const std::string& what) {
  return std::unexpected(sqlite_error(SQLITE_CORRUPT, what));
}

// A page may be whole and what is in it not.
Status verify_sealed(const Inventory::Parts& parts, Database& database) {
  MESH_TRY(Statement select,
           database.prepare("SELECT 'credential/' || principal, sealed FROM credential UNION ALL "
                            "SELECT 'module-key/' || module, sealed FROM module_key UNION ALL "
                            "SELECT 'secret/' || module || '/' || name, sealed FROM secret"));
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return {};
    }
    const auto place = select.text(0);
    if (!parts.open(select.blob(1), place)) {
      return damaged("what is sealed as " + printable(place) + " does not open");
    }
  }
}

Status verify_hashes(Database& database) {
  MESH_TRY(Statement select, database.prepare("SELECT hash, bytes FROM blob"));
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return {};
    }
    if (sha256_hex(select.blob(1)) != select.text(0)) {
      return damaged("the bytes of an accepted file are not those that were accepted");
    }
  }
}

}  // namespace

Result<std::string> Inventory::Parts::seal(std::string_view plain, const std::string& place) const {
  return seal_for(key, mesh_id, plain, place, *random);
}

Result<secrets::Secret> Inventory::Parts::open(std::string_view sealed,
                                               const std::string& place) const {
  auto opened = secrets::open(key, sealed, mesh_id + "/" + place);
  if (!opened) {
    return within(place, std::move(opened).error());
  }
  return opened;
}

Inventory::Inventory(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Inventory::Inventory(Inventory&&) noexcept = default;
Inventory& Inventory::operator=(Inventory&&) noexcept = default;
Inventory::~Inventory() = default;

Result<Inventory> Inventory::create(const std::string& path, const secrets::SealKey& key,
                                    const Identity& identity, const os::Clock& clock,
                                    os::Random& random) {
  if (os::exists(path)) {
    return fail(Code::Conflict, path + " is there already");
  }
  MESH_TRY(const std::string key_check,
           seal_for(key, identity.mesh_id, kKeyCheck, kKeyCheckPlace, random));
  const std::string unfinished = path + ".new";
  MESH_CHECK(os::remove_tree(unfinished));
  MESH_CHECK(write_new(unfinished, identity, key_check));
  if (::rename(unfinished.c_str(), path.c_str()) != 0) {
    return os::fail_errno(path, errno);
  }
  MESH_CHECK(os::sync_dir(os::dir_name(path)));
  return open(path, key, clock, random);
}

Result<Inventory> Inventory::open(const std::string& path, const secrets::SealKey& key,
                                  const os::Clock& clock, os::Random& random) {
  MESH_CHECK(os::check_private_file(path));
  MESH_CHECK(check_writable(os::dir_name(path)));
  MESH_TRY(Database database, Database::open(path));
  MESH_CHECK(configure(database));
  MESH_CHECK(migrate(database, path, migrations()));
  MESH_TRY(std::string mesh_id, check_key(database, key));
  return Inventory(std::make_unique<Parts>(
      Parts{std::move(database), key.copy(), &clock, &random, std::move(mesh_id)}));
}

Result<Identity> Inventory::identity() {
  MESH_TRY(Statement select,
           parts_->database.prepare(
               "SELECT mesh_id, name, signing_key, recovery_key, created FROM identity"));
  MESH_CHECK(select.step());
  MESH_TRY(PublicKey signing_key, PublicKey::from_bytes(select.blob(2)));
  MESH_TRY(PublicKey recovery_key, PublicKey::from_bytes(select.blob(3)));
  return Identity{select.text(0), select.text(1), std::move(signing_key), std::move(recovery_key),
                  select.text(4)};
}

Result<std::optional<std::string>> Inventory::note(const std::string& name) {
  MESH_TRY(Statement select, parts_->database.prepare("SELECT value FROM note WHERE name = ?1"));
  MESH_TRY(const bool row, select.bind(1, name).step());
  return row ? std::optional(select.text(0)) : std::nullopt;
}

Status Inventory::set_note(const std::string& name, const std::string& value) {
  MESH_TRY(Statement upsert,
           parts_->database.prepare("INSERT INTO note (name, value) VALUES (?1, ?2) "
                                    "ON CONFLICT (name) DO UPDATE SET value = ?2"));
  return upsert.bind(1, name).bind(2, value).run();
}

Result<std::string> Inventory::snapshot() {
  return parts_->database.serialize();
}

Status Inventory::verify() {
  MESH_CHECK(verify_pages(parts_->database));
  MESH_CHECK(verify_sealed(*parts_, parts_->database));
  return verify_hashes(parts_->database);
}

}  // namespace mesh::inventory
