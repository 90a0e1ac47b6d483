#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "inventory/parts.h"
#include "model/env.h"

namespace mesh::inventory {
namespace {

constexpr std::size_t kModuleKeyBytes = 32;

std::string place_of(const SecretName& name) {
  return "secret/" + name.module + "/" + name.name;
}

std::string shown(const SecretName& name) {
  return name.module.empty() ? printable(name.name)
                             : printable(name.name) + " of module " + printable(name.module);
}

Result<std::optional<secrets::Secret>> lookup(Inventory::Parts& parts, const SecretName& name) {
  MESH_TRY(Statement select,
           parts.database.prepare("SELECT sealed FROM secret WHERE module = ?1 AND name = ?2"));
  MESH_TRY(const bool row, select.bind(1, name.module).bind(2, name.name).step());
  if (!row) {
    return std::optional<secrets::Secret>();
  }
  MESH_TRY(secrets::Secret value, parts.open(select.blob(0), place_of(name)));
  return std::optional(std::move(value));
}

Result<std::optional<secrets::Secret>> stored_key(Inventory::Parts& parts,
                                                  const std::string& module) {
  MESH_TRY(Statement select,
           parts.database.prepare("SELECT sealed FROM module_key WHERE module = ?1"));
  MESH_TRY(const bool row, select.bind(1, module).step());
  if (!row) {
    return std::optional<secrets::Secret>();
  }
  MESH_TRY(secrets::Secret key, parts.open(select.blob(0), "module-key/" + module));
  return std::optional(std::move(key));
}

}  // namespace

Status Inventory::set_secret(const SecretName& name, const secrets::Secret& value) {
  MESH_CHECK(model::parse_secret_name(name.name));  // what no declaration can name serves nobody
  if (value.size() > kLargestSecret) {
    return fail(Code::InvalidArgument, fmt::format("the value of {} has {} bytes, more than 65536",
                                                   shown(name), value.size()));
  }
  MESH_TRY(const std::string sealed, parts_->seal(value.reveal(), place_of(name)));
  MESH_TRY(Statement upsert,
           parts_->database.prepare(
               "INSERT INTO secret (module, name, bytes, sealed, set_at) "
               "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (module, name) DO UPDATE "
               "SET bytes = excluded.bytes, sealed = excluded.sealed, set_at = excluded.set_at"));
  return upsert.bind(1, name.module)
      .bind(2, name.name)
      .bind(3, static_cast<std::int64_t>(value.size()))
      .bind_blob(4, sealed)
      .bind(5, parts_->now())
      .run();
}

Status Inventory::remove_secret(const SecretName& name) {
  MESH_TRY(Statement remove,
           parts_->database.prepare("DELETE FROM secret WHERE module = ?1 AND name = ?2"));
  MESH_CHECK(remove.bind(1, name.module).bind(2, name.name).run());
  if (parts_->database.changes() == 0) {
    return fail(Code::NotFound, "no secret " + shown(name) + " is set",
                "`mesh secret list` shows those that are");
  }
  return {};
}

Result<std::vector<SecretInfo>> Inventory::secrets() {
  MESH_TRY(Statement select,
           parts_->database.prepare(
               "SELECT module, name, bytes, set_at FROM secret ORDER BY module, name"));
  std::vector<SecretInfo> infos;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return infos;
    }
    infos.push_back({{select.text(0), select.text(1)},
                     static_cast<std::size_t>(select.integer(2)),
                     select.text(3)});
  }
}

Result<std::string> Inventory::secrets_mark() {
  // What is sealed begins with a random nonce, so that equal values are sealed differently.
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT module, name, substr(sealed, 1, 32) FROM secret "
                                    "ORDER BY module, name"));
  std::string all;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return sha256_hex(all);
    }
    all += fmt::format("{}\n{}\n{}\n", select.text(0), select.text(1), sha256_hex(select.blob(2)));
  }
}

Result<secrets::Secret> Inventory::find_secret(const std::string& module, const std::string& name) {
  for (const std::string& owner : {module, std::string()}) {
    MESH_TRY(auto value, lookup(*parts_, {owner, name}));
    if (value) {
      return std::move(*value);
    }
  }
  return fail(Code::NotFound, "the secret " + shown({module, name}) + " is not set",
              fmt::format("set it with `mesh secret set {}{}{}`, its value on stdin", module,
                          module.empty() ? "" : " ", name));
}

Result<secrets::Secret> Inventory::module_key(const std::string& module) {
  MESH_TRY(auto stored, stored_key(*parts_, module));
  if (stored) {
    return std::move(*stored);
  }
  std::string bytes = parts_->random->bytes(kModuleKeyBytes);
  MESH_TRY(const std::string sealed, parts_->seal(bytes, "module-key/" + module));
  secrets::wipe(bytes);
  // Whoever comes first makes it; the other reads what the first made.
  MESH_TRY(Statement insert,
           parts_->database.prepare("INSERT INTO module_key (module, sealed, made) "
                                    "VALUES (?1, ?2, ?3) ON CONFLICT (module) DO NOTHING"));
  MESH_CHECK(insert.bind(1, module).bind_blob(2, sealed).bind(3, parts_->now()).run());
  MESH_TRY(stored, stored_key(*parts_, module));
  return stored ? Result<secrets::Secret>(std::move(*stored))
                : fail(Code::Internal, "a module's key was not kept");
}

Result<std::map<SecretName, std::string>> Inventory::secret_marks() {
  MESH_TRY(Statement select, parts_->database.prepare("SELECT module, name, sealed FROM secret"));
  std::map<SecretName, std::string> out;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return out;
    }
    // What is sealed twice is never the same bytes.
    out[{select.text(0), select.text(1)}] = sha256_hex(select.blob(2));
  }
}

}  // namespace mesh::inventory
