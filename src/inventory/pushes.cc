#include <set>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "inventory/parts.h"

namespace mesh::inventory {
namespace {

constexpr const char* kPushColumns = "SELECT number, time, by, verb, digest, state FROM push ";

Push read_push(const Statement& row) {
  return {row.integer(0), row.text(1),
          row.text(2),    row.text(3),
          row.text(4),    row.text(5) == "recorded" ? PushState::Recorded : PushState::Intended};
}

Result<std::optional<Push>> first_push(Statement& select) {
  MESH_TRY(const bool row, select.step());
  return row ? std::optional(read_push(select)) : std::nullopt;
}

/// path -> hash
using Listing = std::map<std::string, std::string>;

// Of each path the latest change among the recorded pushes up to `number`, and of push `number`
// itself. (With MAX, SQLite gives the other columns of the row that has it.)
Result<Listing> listing(Database& database, std::int64_t number) {
  MESH_TRY(Statement select,
           database.prepare("SELECT path, hash, MAX(push) FROM file_change WHERE push = ?1 OR "
                            "(push < ?1 AND push IN "
                            "(SELECT number FROM push WHERE state = 'recorded')) "
                            "GROUP BY path"));
  select.bind(1, number);
  Listing files;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return files;
    }
    if (!select.is_null(1)) {
      files.emplace(select.text(0), select.text(1));
    }
  }
}

// Its credentials stay: the bus may have been told of them already.
Status give_up_unfinished(Database& database) {
  MESH_TRY(const std::int64_t unfinished,
           database.integer("SELECT COUNT(*) FROM push WHERE state = 'intended'"));
  if (unfinished == 0) {
    return {};
  }
  return database.execute(
      "DELETE FROM file_change WHERE push IN (SELECT number FROM push WHERE state = 'intended');"
      "DELETE FROM push_images WHERE push IN (SELECT number FROM push WHERE state = 'intended');"
      "UPDATE push SET state = 'given-up' WHERE state = 'intended';"
      "DELETE FROM blob WHERE hash NOT IN "
      "(SELECT hash FROM file_change WHERE hash IS NOT NULL) "
      "AND hash NOT IN (SELECT hash FROM push_images);");
}

Result<std::int64_t> next_number(Database& database, std::int64_t above) {
  MESH_TRY(const std::int64_t greatest, database.integer("SELECT MAX(number) FROM push"));
  return std::max(greatest, above) + 1;
}

Status insert_push(Inventory::Parts& parts, std::int64_t number, const Intent& intent) {
  MESH_TRY(Statement insert,
           parts.database.prepare("INSERT INTO push (number, time, by, verb, digest, state) "
                                  "VALUES (?1, ?2, ?3, ?4, ?5, 'intended')"));
  return insert.bind(1, number)
      .bind(2, parts.now())
      .bind(3, intent.by)
      .bind(4, intent.verb)
      .bind(5, intent.digest)
      .run();
}

/// Writes the changes of one push.
class ChangeWriter {
 public:
  static Result<ChangeWriter> make(Database& database, std::int64_t number) {
    MESH_TRY(Statement blob, database.prepare("INSERT INTO blob (hash, bytes) VALUES (?1, ?2) "
                                              "ON CONFLICT (hash) DO NOTHING"));
    MESH_TRY(Statement change,
             database.prepare("INSERT INTO file_change (path, push, hash) VALUES (?1, ?2, ?3)"));
    return ChangeWriter(std::move(blob), std::move(change), number);
  }
  Status has(const model::AcceptedFile& file, const std::string& hash) {
    MESH_CHECK(blob_.bind(1, hash).bind_blob(2, file.bytes).run());
    return change_.bind(1, file.path).bind(2, number_).bind(3, hash).run();
  }
  Status lacks(const std::string& path) {
    return change_.bind(1, path).bind(2, number_).bind_null(3).run();
  }

 private:
  ChangeWriter(Statement blob, Statement change, std::int64_t number)
      : blob_(std::move(blob)), change_(std::move(change)), number_(number) {}
  Statement blob_;
  Statement change_;
  std::int64_t number_;
};

// Nothing of push `number` is written yet, so its listing is that of the push before.
Status write_changes(Database& database, std::int64_t number,
                     std::span<const model::AcceptedFile> files) {
  MESH_TRY(Listing before, listing(database, number));
  MESH_TRY(ChangeWriter writer, ChangeWriter::make(database, number));
  for (const model::AcceptedFile& file : files) {
    const std::string hash = sha256_hex(file.bytes);
    const auto old = before.find(file.path);
    if (old == before.end() || old->second != hash) {
      MESH_CHECK(writer.has(file, hash));
    }
    if (old != before.end()) {
      before.erase(old);
    }
  }
  for (const auto& [path, hash] : before) {
    MESH_CHECK(writer.lacks(path));
  }
  return {};
}

Status write_images(Database& database, std::int64_t number, const std::vector<PushImage>& images) {
  if (images.empty()) {
    return {};
  }
  std::string text;
  for (const auto& image : std::set<PushImage>(images.begin(), images.end())) {
    text +=
        fmt::format("{} {} {}@{}\n", image.module, image.component, image.repository, image.digest);
  }
  const auto hash = sha256_hex(text);
  MESH_TRY(Statement blob, database.prepare("INSERT INTO blob (hash, bytes) VALUES (?1, ?2) "
                                            "ON CONFLICT (hash) DO NOTHING"));
  MESH_CHECK(blob.bind(1, hash).bind_blob(2, text).run());
  MESH_TRY(Statement row, database.prepare("INSERT INTO push_images (push, hash) VALUES (?1, ?2)"));
  return row.bind(1, number).bind(2, hash).run();
}

/// Nothing where the line is none of `write_images`.
std::optional<PushImage> read_image(std::string_view line) {
  const auto words = split(line, ' ');
  const auto at = words.size() == 3 ? words[2].find('@') : std::string_view::npos;
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return PushImage{std::string(words[0]), std::string(words[1]),
                   std::string(words[2].substr(0, at)), std::string(words[2].substr(at + 1))};
}

Status drop_credentials(Database& database, std::span<const std::string> gone) {
  MESH_TRY(Statement remove, database.prepare("DELETE FROM credential WHERE principal = ?1"));
  for (const std::string& principal : gone) {
    MESH_CHECK(remove.bind(1, principal).run());
  }
  return {};
}

Status set_recorded(Database& database, std::int64_t number) {
  MESH_TRY(Statement update, database.prepare("UPDATE push SET state = 'recorded' "
                                              "WHERE number = ?1 AND state <> 'given-up'"));
  MESH_CHECK(update.bind(1, number).run());
  if (database.changes() == 0) {
    return fail(Code::NotFound, fmt::format("push {} was given up or never intended", number),
                "run `mesh push` again");
  }
  return {};
}

}  // namespace

Result<std::int64_t> Inventory::intend(const Intent& intent) {
  Database& database = parts_->database;
  std::int64_t number = 0;
  MESH_CHECK(database.transaction([&]() -> Status {
    MESH_CHECK(give_up_unfinished(database));
    MESH_TRY(number, next_number(database, intent.above));
    MESH_CHECK(insert_push(*parts_, number, intent));
    MESH_CHECK(write_changes(database, number, intent.files));
    MESH_CHECK(write_images(database, number, intent.images));
    return parts_->insert_credentials(intent.credentials);
  }));
  return number;
}

Status Inventory::record(std::int64_t number, std::span<const std::string> gone) {
  Database& database = parts_->database;
  return database.transaction([&]() -> Status {
    MESH_CHECK(set_recorded(database, number));
    return drop_credentials(database, gone);
  });
}

Result<std::optional<Push>> Inventory::latest() {
  MESH_TRY(Statement select,
           parts_->database.prepare(std::string(kPushColumns) +
                                    "WHERE state = 'recorded' ORDER BY number DESC LIMIT 1"));
  return first_push(select);
}

Result<std::optional<Push>> Inventory::unfinished() {
  MESH_TRY(Statement select,
           parts_->database.prepare(std::string(kPushColumns) +
                                    "WHERE state = 'intended' ORDER BY number DESC LIMIT 1"));
  return first_push(select);
}

Result<std::optional<Push>> Inventory::push(std::int64_t number) {
  MESH_TRY(Statement select, parts_->database.prepare(std::string(kPushColumns) +
                                                      "WHERE number = ?1 AND state <> 'given-up'"));
  select.bind(1, number);
  return first_push(select);
}

Result<std::vector<Push>> Inventory::history(std::size_t most) {
  MESH_TRY(Statement select,
           parts_->database.prepare(std::string(kPushColumns) +
                                    "WHERE state = 'recorded' ORDER BY number DESC LIMIT ?1"));
  select.bind(1, static_cast<std::int64_t>(std::min<std::size_t>(most, INT32_MAX)));
  std::vector<Push> pushes;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return pushes;
    }
    pushes.push_back(read_push(select));
  }
}

Result<std::vector<model::AcceptedFile>> Inventory::files(std::int64_t number) {
  MESH_TRY(const Listing listed, listing(parts_->database, number));
  MESH_TRY(Statement select, parts_->database.prepare("SELECT bytes FROM blob WHERE hash = ?1"));
  std::vector<model::AcceptedFile> files;
  files.reserve(listed.size());
  for (const auto& [path, hash] : listed) {
    MESH_TRY(const bool row, select.bind(1, hash).step());
    if (!row) {
      return std::unexpected(sqlite_error(SQLITE_CORRUPT, "an accepted file is missing"));
    }
    files.push_back({path, std::string(select.blob(0))});
    select.reset();
  }
  return files;
}

Result<std::vector<PushImage>> Inventory::images(std::int64_t number) {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT bytes FROM push_images JOIN blob USING (hash) "
                                    "WHERE push = ?1"));
  MESH_TRY(const bool row, select.bind(1, number).step());
  std::vector<PushImage> out;
  for (const auto line : row ? split(select.blob(0), '\n') : std::vector<std::string_view>()) {
    if (line.empty()) {
      continue;
    }
    auto image = read_image(line);
    if (!image) {
      return std::unexpected(sqlite_error(SQLITE_CORRUPT, "the images of a push are damaged"));
    }
    out.push_back(*std::move(image));
  }
  return out;
}

}  // namespace mesh::inventory
