#include "inventory/backup.h"

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "os/files.h"

namespace mesh::cli {

namespace {

constexpr std::size_t kLargestLock = 64U << 20U;

/// The bytes of mesh.lock beside mesh.toml; empty where there is none.
Result<std::string> lock_file(const controller::Location& location) {
  const auto path = location.root + "/mesh.lock";
  return os::exists(path) ? os::read_file(path, kLargestLock) : Result<std::string>("");
}

Result<Outcome> run_backup(Context& context, const Arguments& arguments) {
  const auto given = arguments.positional("FILE").value_or("");
  MESH_TRY(const auto file, os::file_to_replace(context.absolute(given)));
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto lock, lock_file(declared.location));
  MESH_TRY(const auto bytes, inventory::make_backup(state, lock, context.random));
  MESH_CHECK(os::write_file_atomic(file, bytes, os::kPrivateFile));
  Outcome outcome;
  outcome.text =
      fmt::format("wrote {} ({} bytes); only the recovery key opens it\n", given, bytes.size());
  outcome.document =
      Json{{"file", given}, {"bytes", bytes.size()}, {"mesh", state.identity.mesh_id}};
  return outcome;
}

}  // namespace

Verb backup_verb() {
  return {{.name = "backup",
           .summary = "writes the inventory, the keys and the lock into one encrypted file",
           .example = "mesh backup home.mesh-backup",
           .positionals = {{"FILE",
                            "the file to write; one that exists is replaced",
                            PositionalSpec::Count::One,
                            {}}},
           .options = {}},
          run_backup};
}

}  // namespace mesh::cli
