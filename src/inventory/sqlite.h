#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::inventory {

/// One prepared statement. Columns count from 0, parameters from 1, as SQLite counts them.
class Statement {
 public:
  Statement& bind(int index, std::int64_t value);
  /// Text, copied.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, const std::string& text) {
    return bind(index, std::string_view(text));
  }
  Statement& bind(int index, const char* text) { return bind(index, std::string_view(text)); }
  /// Bytes, borrowed until the statement has run.
  Statement& bind_blob(int index, std::string_view bytes);
  Statement& bind_null(int index);

  /// True where there is a row, whose columns can then be read; false at the end.
  [[nodiscard]] Result<bool> step();
  /// Runs a statement that gives no rows, and makes it ready to run again.
  [[nodiscard]] Status run();

  /// Ready to run again before its rows are at their end.
  void reset() { ::sqlite3_reset(statement_.get()); }

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  /// The bytes of a blob, alive until the next step.
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] std::unexpected<Error> failed() const;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// One connection. SQLite's codes become ours here and nowhere else.
class Database {
 public:
  /// Opens a file that exists. Errors: as `sqlite_error`.
  [[nodiscard]] static Result<Database> open(const std::string& path);
  /// Opens a database that lives in memory, filled with `bytes` (a whole database file).
  [[nodiscard]] static Result<Database> from_bytes(std::string_view bytes);

  /// Runs statements that give no rows and take no parameters.
  [[nodiscard]] Status execute(const char* sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  /// The first column of the first row of a statement without parameters.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view sql);

  /// How many rows the last INSERT, UPDATE or DELETE touched.
  [[nodiscard]] int changes() const { return ::sqlite3_changes(handle_.get()); }

  /// Does `work` in one transaction that takes the write lock at its beginning: all of it or
  /// nothing.
  template <class Work>
  [[nodiscard]] Status transaction(Work work) {
    MESH_CHECK(execute("BEGIN IMMEDIATE"));
    Status done = work();
    if (done) {
      done = execute("COMMIT");
    }
    if (!done) {
      static_cast<void>(execute("ROLLBACK").has_value());
    }
    return done;
  }

  /// The whole database as the bytes of a file, of one point in time.
  [[nodiscard]] Result<std::string> serialize();

 private:
  struct Close {
    void operator()(sqlite3* handle) const { ::sqlite3_close(handle); }
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
};

/// What a result code of SQLite is to us: Corrupt, PermissionDenied, Conflict (busy), Resource
/// (full, I/O) or Internal. `text` is SQLite's own.
[[nodiscard]] Error sqlite_error(int code, std::string_view text);

}  // namespace mesh::inventory
