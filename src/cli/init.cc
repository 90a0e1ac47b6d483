#include <filesystem>

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "model/templates.h"
#include "os/files.h"

namespace mesh::cli {

namespace {

namespace fs = std::filesystem;

/// Writes what is missing of a starting mesh; the paths that were written. mesh.toml comes last:
/// where it is there, all is.
Result<std::vector<std::string>> write_files(const std::string& root) {
  auto files = model::starting_mesh(model::mesh_name_from(fs::path(root).filename().string()));
  std::ranges::sort(
      files, {}, [](const auto& file) { return std::pair(file.path == "mesh.toml", file.path); });
  std::vector<std::string> written;
  for (const auto& file : files) {
    const auto path = root + "/" + file.path;
    if (os::exists(path)) {
      continue;
    }
    MESH_CHECK(os::make_dirs(os::dir_name(path)));
    MESH_CHECK(os::write_file_atomic(path, file.bytes, os::kOrdinaryFile));
    written.push_back(file.path);
  }
  std::ranges::sort(written);
  return written;
}

Outcome outcome_of(const inventory::Identity& identity, const controller::Location& location,
                   const std::vector<std::string>& written) {
  Outcome outcome;
  outcome.document =
      Json{{"mesh", identity.mesh_id}, {"name", identity.name}, {"root", location.root},
           {"state", location.state},  {"files", written},      {"recovery_key", nullptr}};
  for (const auto& file : written) {
    outcome.text += fmt::format("wrote {}\n", file);
  }
  return outcome;
}

std::string next_steps(const Arguments& arguments) {
  const auto directory = arguments.positional("DIR");
  return fmt::format("next: {}mesh check, then mesh up\n",
                     directory ? fmt::format("cd {}, ", *directory) : std::string());
}

Result<Outcome> existing_state(Context& context, const controller::Location& location,
                               const std::vector<std::string>& written) {
  MESH_TRY(const auto state, inventory::open_state(location.state, context.clock, context.random));
  MESH_CHECK(controller::ignore_state(location));
  auto outcome = outcome_of(state.identity, location, written);
  outcome.text += fmt::format("mesh {} has its state in {} already; nothing was done to it\n",
                              state.identity.mesh_id, location.state);
  return outcome;
}

Result<Outcome> run_init(Context& context, const Arguments& arguments) {
  MESH_CHECK(given_state(context));  // before anything is written
  context.directory = context.absolute(arguments.positional("DIR").value_or("."));
  MESH_CHECK(os::make_dirs(context.directory));
  std::vector<std::string> written;
  if (!os::exists(context.directory + "/mesh.toml")) {
    if (const auto around = controller::locate(os::dir_name(context.directory), {})) {
      context.say(fmt::format("warning: this makes a mesh of its own inside another: {}",
                              around->mesh_toml()));
    }
    MESH_TRY(written, write_files(context.directory));
  }
  MESH_TRY(const auto declared, declarations(context));
  if (inventory::state_exists(declared.location.state)) {
    return existing_state(context, declared.location, written);
  }
  MESH_TRY(const auto made, controller::make_state(declared.location, declared.mesh().name,
                                                   {context.clock, context.random}));
  auto outcome = outcome_of(made.state.identity, declared.location, written);
  outcome.document["recovery_key"] = std::string(made.recovery_text.reveal());
  outcome.text += controller::recovery_notice(made) + "\n" + next_steps(arguments);
  return outcome;
}

}  // namespace

Verb init_verb() {
  return {{.name = "init",
           .summary = "a starting mesh, with its id and keys; where mesh.toml exists, those alone",
           .example = "mesh init shop",
           .positionals = {{"DIR",
                            "the directory, made where it is missing (default: here)",
                            PositionalSpec::Count::Optional,
                            {}}},
           .options = {}},
          run_init};
}

}  // namespace mesh::cli
