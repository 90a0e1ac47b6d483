#include "inventory/parts.h"

namespace mesh::inventory {
namespace {

constexpr const char* kNodeColumns =
    "SELECT name, key, joined, expires, declared, content, platform FROM node ";

Result<NodeRecord> read_node(const Statement& row) {
  NodeRecord out;
  out.name = row.text(0);
  if (!row.is_null(1)) {
    MESH_TRY(out.key, secrets::PublicKey::from_bytes(row.blob(1)));
  }
  if (!row.is_null(2)) {
    out.joined = row.text(2);
  }
  if (!row.is_null(3)) {
    out.expires = row.integer(3);
  }
  out.declared = row.integer(4);
  out.content = row.text(5);
  out.platform = row.text(6);
  return out;
}

Status write_node(Database& database, const NodeRecord& node) {
  MESH_TRY(
      Statement upsert,
      database.prepare("INSERT INTO node (name, key, joined, expires, declared, content, platform) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET "
                       "key = excluded.key, joined = excluded.joined, "
                       "expires = excluded.expires, declared = excluded.declared, "
                       "content = excluded.content, platform = excluded.platform"));
  upsert.bind(1, node.name).bind(5, node.declared).bind(6, node.content).bind(7, node.platform);
  if (node.key) {
    upsert.bind_blob(2, node.key->bytes());
  } else {
    upsert.bind_null(2);
  }
  if (node.joined) {
    upsert.bind(3, *node.joined);
  } else {
    upsert.bind_null(3);
  }
  if (node.expires) {
    upsert.bind(4, *node.expires);
  } else {
    upsert.bind_null(4);
  }
  return upsert.run();
}

}  // namespace

Result<std::vector<NodeRecord>> Inventory::nodes() {
  MESH_TRY(Statement select, parts_->database.prepare(std::string(kNodeColumns) + "ORDER BY name"));
  std::vector<NodeRecord> out;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return out;
    }
    MESH_TRY(auto node, read_node(select));
    out.push_back(std::move(node));
  }
}

Result<std::optional<NodeRecord>> Inventory::node(const std::string& name) {
  MESH_TRY(Statement select,
           parts_->database.prepare(std::string(kNodeColumns) + "WHERE name = ?1"));
  MESH_TRY(const bool row, select.bind(1, name).step());
  if (!row) {
    return std::optional<NodeRecord>();
  }
  MESH_TRY(auto node, read_node(select));
  return std::optional(std::move(node));
}

Status Inventory::put_node(const NodeRecord& node) {
  return write_node(parts_->database, node);
}

Status Inventory::put_nodes(std::span<const NodeRecord> nodes) {
  Database& database = parts_->database;
  return database.transaction([&]() -> Status {
    for (const auto& node : nodes) {
      MESH_CHECK(write_node(database, node));
    }
    return {};
  });
}

Status Inventory::remove_node(const std::string& name) {
  MESH_TRY(Statement remove, parts_->database.prepare("DELETE FROM node WHERE name = ?1"));
  return remove.bind(1, name).run();
}

}  // namespace mesh::inventory
