#include <fmt/format.h>

#include "inventory/parts.h"

namespace mesh::inventory {
namespace {

std::string place_of(const std::string& principal) {
  return "credential/" + principal;
}

}  // namespace

Status Inventory::Parts::insert_credentials(std::span<const NewCredential> credentials) {
  MESH_TRY(Statement upsert,
           database.prepare("INSERT INTO credential (principal, hash, sealed, issued) "
                            "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (principal) DO UPDATE "
                            "SET hash = excluded.hash, sealed = excluded.sealed,"
                            " issued = excluded.issued"));
  const std::string time = now();
  for (const NewCredential& credential : credentials) {
    MESH_TRY(const std::string sealed,
             seal(credential.secret.reveal(), place_of(credential.principal)));
    MESH_CHECK(upsert.bind(1, credential.principal)
                   .bind(2, credential.hash)
                   .bind_blob(3, sealed)
                   .bind(4, time)
                   .run());
  }
  return {};
}

Result<Hashes> Inventory::hashes() {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT principal, hash FROM credential ORDER BY principal"));
  Hashes hashes;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return hashes;
    }
    hashes.emplace_hint(hashes.end(), select.text(0), select.text(1));
  }
}

Result<secrets::Secret> Inventory::credential_secret(const std::string& principal) {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT sealed FROM credential WHERE principal = ?1"));
  MESH_TRY(const bool row, select.bind(1, principal).step());
  if (!row) {
    return fail(Code::NotFound, "no credential was issued to " + principal, "run `mesh push`");
  }
  return parts_->open(select.blob(0), place_of(principal));
}

Status Inventory::add_credentials(std::span<const NewCredential> credentials) {
  return parts_->database.transaction([&] { return parts_->insert_credentials(credentials); });
}

Status Inventory::rename_credential(const std::string& from, const std::string& to) {
  MESH_TRY(auto secret, credential_secret(from));
  MESH_TRY(auto known, hashes());
  std::vector<NewCredential> renamed;
  renamed.push_back({to, known[from], std::move(secret)});
  return parts_->database.transaction([&]() -> Status {
    MESH_CHECK(parts_->insert_credentials(renamed));
    MESH_TRY(Statement remove,
             parts_->database.prepare("DELETE FROM credential WHERE principal = ?1"));
    return remove.bind(1, from).run();
  });
}

}  // namespace mesh::inventory
