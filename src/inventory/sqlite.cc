#include "inventory/sqlite.h"

#include <cstring>
#include <limits>

namespace mesh::inventory {
namespace {

constexpr int kBusyMilliseconds = 10000;

constexpr const char* kRestoreHint =
    "keep the damaged state directory aside and bring the last backup back with `mesh restore "
    "FILE`";

Error error_of(Code code, const std::string& what, std::string_view text, const char* hint) {
  return Error{code, what + " (" + std::string(text) + ")", hint, {}};
}

std::unexpected<Error> fail_handle(sqlite3* handle, int code) {
  return std::unexpected(
      sqlite_error(code, handle == nullptr ? ::sqlite3_errstr(code) : ::sqlite3_errmsg(handle)));
}

}  // namespace

Error sqlite_error(int code, std::string_view text) {
  if (code == SQLITE_IOERR_CORRUPTFS) {
    return error_of(Code::Corrupt, "the inventory is damaged", text, kRestoreHint);
  }
  switch (code & 255) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error_of(Code::Corrupt, "the inventory is damaged", text, kRestoreHint);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error_of(Code::Conflict, "another process keeps the inventory to itself", text,
                      "wait until it has ended, then do it again");
    case SQLITE_FULL:
      return error_of(Code::Resource, "no room for the inventory", text,
                      "make room on the disk, then do it again");
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return error_of(Code::Resource, "the inventory could not be read or written", text, "");
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return error_of(Code::PermissionDenied, "the inventory cannot be opened", text,
                      "run as the user who owns the state directory");
    default:
      return error_of(Code::Internal, "the inventory refused a statement", text, "");
  }
}

Result<Database> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = ::sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    return fail_handle(handle, code);
  }
  ::sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Result<Database> Database::from_bytes(std::string_view bytes) {
  MESH_TRY(Database database, open(":memory:"));
  // SQLite frees the copy; it must come from its own allocator.
  auto* copy = static_cast<unsigned char*>(::sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) {
    return fail_handle(nullptr, SQLITE_NOMEM);
  }
  std::memcpy(copy, bytes.data(), bytes.size());
  const int code = ::sqlite3_deserialize(
      database.handle_.get(), "main", copy, static_cast<sqlite3_int64>(bytes.size()),
      static_cast<sqlite3_int64>(bytes.size()), SQLITE_DESERIALIZE_FREEONCLOSE);
  if (code != SQLITE_OK) {
    return fail_handle(database.handle_.get(), code);
  }
  return database;
}

Status Database::execute(const char* sql) {
  const int code = ::sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return fail_handle(handle_.get(), code);
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = ::sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  if (code != SQLITE_OK) {
    return fail_handle(handle_.get(), code);
  }
  return Statement(statement);
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  MESH_TRY(Statement statement, prepare(sql));
  MESH_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Result<std::string> Database::serialize() {
  MESH_CHECK(execute("BEGIN"));  // one point in time, whatever others write
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      ::sqlite3_serialize(handle_.get(), "main", &size, 0), ::sqlite3_free);
  const int code = ::sqlite3_errcode(handle_.get());
  MESH_CHECK(execute("COMMIT"));
  if (bytes == nullptr || size <= 0) {
    return fail_handle(nullptr, code == SQLITE_OK ? SQLITE_NOMEM : code);
  }
  return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size));
}

// A parameter that cannot be bound stays NULL, and the table's NOT NULL refuses the row.
Statement& Statement::bind(int index, std::int64_t value) {
  ::sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  ::sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(), text.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);  // NOLINT: the macro casts as C does
  return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
  ::sqlite3_bind_blob64(statement_.get(), index, bytes.empty() ? "" : bytes.data(), bytes.size(),
                        SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_null(int index) {
  ::sqlite3_bind_null(statement_.get(), index);
  return *this;
}

std::unexpected<Error> Statement::failed() const {
  sqlite3* handle = ::sqlite3_db_handle(statement_.get());
  return fail_handle(handle, ::sqlite3_extended_errcode(handle));
}

Result<bool> Statement::step() {
  const int code = ::sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return failed();
  }
  return code == SQLITE_ROW;
}

Status Statement::run() {
  MESH_TRY(const bool row, step());
  static_cast<void>(row);
  ::sqlite3_reset(statement_.get());
  return {};
}

std::int64_t Statement::integer(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  return std::string(blob(column));
}

std::string_view Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(::sqlite3_column_blob(statement_.get(), column));
  return {data, static_cast<std::size_t>(::sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const {
  return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace mesh::inventory
