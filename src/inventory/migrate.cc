#include "inventory/migrate.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "os/files.h"

namespace mesh::inventory {
namespace {

constexpr std::array kMigrations = {
#include "inventory/schema_1.sql.h"
    ,
#include "inventory/schema_2.sql.h"
    ,
#include "inventory/schema_3.sql.h"
    ,
#include "inventory/schema_4.sql.h"
};

// `Mesh` in the file's header, so that `file` and we know whose database it is.
constexpr std::int64_t kApplication = 0x4d657368;

std::string written_by(Database& database) {
  auto statement = database.prepare("SELECT version FROM writer");
  const bool known = statement && statement->step().value_or(false);
  return known ? "Mesh " + printable(statement->text(0), 40) : "a newer Mesh";
}

std::unexpected<Error> newer(Database& database, const std::string& path, std::int64_t version) {
  const std::string writer = written_by(database);
  return fail(Code::Unsupported,
              fmt::format("{} was written by {} (schema {}), which is newer than this Mesh {}",
                          path, writer, version, MESH_VERSION),
              fmt::format("use {} or a later one", writer));
}

Status run_steps(Database& database, Migrations steps, std::size_t from) {
  for (const char* step : steps.subspan(from)) {
    MESH_CHECK(database.execute(step));
  }
  MESH_TRY(Statement writer, database.prepare("INSERT INTO writer (one, version) VALUES (1, ?1) "
                                              "ON CONFLICT (one) DO UPDATE SET version = ?1"));
  MESH_CHECK(writer.bind(1, MESH_VERSION).run());
  return database.execute(fmt::format("PRAGMA user_version = {}", steps.size()).c_str());
}

Status keep_copy(Database& database, const std::string& path, std::int64_t version) {
  MESH_TRY(const std::string bytes, database.serialize());
  return os::write_file_atomic(fmt::format("{}.v{}", path, version), bytes, os::kPrivateFile);
}

}  // namespace

Migrations migrations() {
  return kMigrations;
}

Status make_schema(Database& database, Migrations steps) {
  MESH_CHECK(database.execute(fmt::format("PRAGMA application_id = {}", kApplication).c_str()));
  return database.transaction([&] { return run_steps(database, steps, 0); });
}

Status migrate(Database& database, const std::string& path, Migrations steps) {
  MESH_TRY(const std::int64_t application, database.integer("PRAGMA application_id"));
  MESH_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (application != kApplication || version < 1) {
    return fail(Code::Corrupt, path + " is not an inventory of Mesh",
                "bring the last backup back with `mesh restore FILE`");
  }
  const auto wanted = static_cast<std::int64_t>(steps.size());
  if (version > wanted) {
    return newer(database, path, version);
  }
  if (version == wanted) {
    return {};
  }
  MESH_CHECK(keep_copy(database, path, version));
  return database.transaction([&]() -> Status {
    // Asked again under the write lock: another process may have been faster.
    MESH_TRY(const std::int64_t now, database.integer("PRAGMA user_version"));
    return now > wanted ? Status(newer(database, path, now))
                        : run_steps(database, steps, static_cast<std::size_t>(now));
  });
}

}  // namespace mesh::inventory
