#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "inventory/backup.h"
#include "os/files.h"
#include "secrets/recovery_key.h"

namespace mesh::cli {

namespace {

constexpr std::size_t kLargestBackup = std::size_t{2} << 30U;
constexpr std::size_t kLargestKeyText = 4096;

Result<secrets::Secret> recovery_bytes(Context& context, const Arguments& arguments) {
  if (const auto file = arguments.value("--recovery-key")) {
    MESH_TRY(auto text, os::read_file(context.absolute(*file), kLargestKeyText));
    return secrets::Secret::take(text);
  }
  if (context.console.in_is_terminal()) {
    context.say("type the recovery key (mesh-recovery-…) and end it with Ctrl-D");
  }
  MESH_TRY(auto text, context.console.in(kLargestKeyText));
  return secrets::Secret::take(text);
}

/// mesh.lock comes back only where there is none: the one that stands there is newer.
Status put_lock(const controller::Location& location, const std::string& bytes) {
  const auto path = location.root + "/mesh.lock";
  if (bytes.empty() || os::exists(path)) {
    return {};
  }
  return os::write_file_atomic(path, bytes, os::kOrdinaryFile);
}

Result<Outcome> run_restore(Context& context, const Arguments& arguments) {
  const auto given = arguments.positional("FILE").value_or("");
  MESH_TRY(const auto location, locate(context));
  if (inventory::state_exists(location.state)) {
    return fail(Code::Conflict, fmt::format("{} holds a mesh's state already", location.state),
                "move it away first, or restore into another with --state");
  }
  MESH_TRY(const auto bytes, os::read_file(context.absolute(given), kLargestBackup));
  MESH_TRY(const auto text, recovery_bytes(context, arguments));
  MESH_TRY(const auto key, secrets::from_recovery_text(text.reveal()));
  MESH_TRY(const auto restored,
           inventory::restore_backup(location.state, bytes, key, context.clock, context.random));
  MESH_CHECK(put_lock(location, restored.lock_file));
  MESH_CHECK(controller::ignore_state(location));
  Outcome outcome;
  outcome.text =
      fmt::format("restored mesh {} into {}\n", restored.identity.mesh_id, location.state);
  outcome.document = Json{{"mesh", restored.identity.mesh_id}, {"state", location.state}};
  return outcome;
}

}  // namespace

Verb restore_verb() {
  return {
      {.name = "restore",
       .summary = "brings back what `mesh backup` wrote",
       .example = "mesh restore home.mesh-backup < recovery-key.txt",
       .positionals = {{"FILE", "the backup", PositionalSpec::Count::One, {}}},
       .options = {{"--recovery-key", "FILE", "read the recovery key from FILE, not from stdin"}}},
      run_restore};
}

}  // namespace mesh::cli
