#include "inventory/parts.h"

namespace mesh::inventory {
namespace {

constexpr const char* kColumns =
    "SELECT module, component, key, registry, repository, digest, platforms, time FROM built ";

BuiltRecord read_built(const Statement& row) {
  return {row.text(0), row.text(1), row.text(2), row.text(3),
          row.text(4), row.text(5), row.text(6), row.text(7)};
}

}  // namespace

Result<std::optional<BuiltRecord>> Inventory::built(const std::string& registry,
                                                    const std::string& module,
                                                    const std::string& component,
                                                    const std::string& key) {
  MESH_TRY(Statement select,
           parts_->database.prepare(
               std::string(kColumns) +
               "WHERE module = ?1 AND component = ?2 AND key = ?3 AND registry = ?4"));
  MESH_TRY(const bool row,
           select.bind(1, module).bind(2, component).bind(3, key).bind(4, registry).step());
  return row ? std::optional(read_built(select)) : std::nullopt;
}

Result<std::vector<BuiltRecord>> Inventory::built_images() {
  MESH_TRY(Statement select,
           parts_->database.prepare(std::string(kColumns) +
                                    "ORDER BY module, component, time DESC, key"));
  std::vector<BuiltRecord> out;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return out;
    }
    out.push_back(read_built(select));
  }
}

Status Inventory::record_built(const BuiltRecord& record) {
  MESH_TRY(Statement upsert, parts_->database.prepare(
                                 "INSERT INTO built (module, component, key, registry, repository, "
                                 "digest, platforms, time) "
                                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (module, "
                                 "component, key, registry) DO UPDATE "
                                 "SET repository = excluded.repository, digest = excluded.digest, "
                                 "platforms = excluded.platforms, time = excluded.time"));
  return upsert.bind(1, record.module)
      .bind(2, record.component)
      .bind(3, record.key)
      .bind(4, record.registry)
      .bind(5, record.repository)
      .bind(6, record.digest)
      .bind(7, record.platforms)
      .bind(8, parts_->now())
      .run();
}

}  // namespace mesh::inventory
