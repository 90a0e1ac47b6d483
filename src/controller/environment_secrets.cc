#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "controller/bus_link.h"
#include "controller/environment.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr mode_t kReadOnly = 0400;
constexpr std::size_t kLargestCa = 65536;

Error with_place(Error error, const Place& place) {
  if (error.code == Code::NotFound) {
    error.code = Code::InvalidArgument;  // it is the declaration that cannot be carried out
  }
  error.place = place;
  return error;
}

/// What one part needs: declared variables that are secrets, and the component's files.
std::vector<NeededSecret> needed_by(const Part& part) {
  std::vector<NeededSecret> needed;
  const auto& module = part.module->name.text();
  for (const auto& [name, value] : declared_variables(part)) {
    if (value.secret) {
      needed.push_back({module, value.text, value.place, name});
    }
  }
  if (part.component != nullptr) {
    for (const auto& secret : part.component->secrets) {
      needed.push_back({module, secret.value, secret.place, {}});
    }
  }
  return needed;
}

/// The parts of a module on a node: one for each component, or one without.
std::vector<Part> parts_of(const model::Mesh& mesh, const model::Module& module,
                           const model::NodeName& name) {
  const auto* node = mesh.node(name.text());
  std::vector<Part> parts;
  for (const auto& component : module.file->components) {
    parts.push_back({node, &module, &component});
  }
  if (parts.empty()) {
    parts.push_back({node, &module, nullptr});
  }
  return parts;
}

bool by_name(const NeededSecret& a, const NeededSecret& b) {
  return std::tie(a.module, a.name, a.place.file_name(), a.place.line) <
         std::tie(b.module, b.name, b.place.file_name(), b.place.line);
}

bool same_name(const NeededSecret& a, const NeededSecret& b) {
  return a.module == b.module && a.name == b.name;
}

Result<secrets::Secret> find(inventory::Inventory& inventory, const NeededSecret& needed) {
  auto found = inventory.find_secret(needed.module, needed.name);
  if (!found) {
    return std::unexpected(with_place(std::move(found).error(), needed.place));
  }
  if (!needed.variable.empty() && found->reveal().find('\0') != std::string_view::npos) {
    return fail(
        Code::InvalidArgument,
        fmt::format("the secret {} of module {} holds a NUL byte, and the variable {} would "
                    "end there",
                    needed.name, needed.module, needed.variable),
        fmt::format("take it as a file: secrets = [\"{}\"] in the component", needed.name),
        needed.place);
  }
  return found;
}

std::unexpected<Error> not_set(const std::vector<NeededSecret>& missing) {
  std::vector<std::string> names;
  std::vector<std::string> verbs;
  for (const auto& one : missing) {
    names.push_back(fmt::format("{} of module {}", one.name, one.module));
    verbs.push_back(fmt::format("`mesh secret set {} {}`", one.module, one.name));
  }
  return fail(Code::InvalidArgument,
              fmt::format("{} secrets are not set: {}", names.size(), join(names, ", ")),
              fmt::format("set each, its value on stdin: {}", join(verbs, ", ")),
              missing.front().place);
}

Status write_private(const std::string& path, std::string_view bytes) {
  return os::write_file_atomic(path, bytes, kReadOnly);
}

/// A secret that is declared no more must not lie around.
Status remove_others(const std::string& directory, const std::set<std::string>& wanted) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    if (!wanted.contains(entry.path().filename().string())) {
      MESH_CHECK(os::remove_tree(entry.path().string()));
    }
  }
  return {};
}

/// Returns a digest of what was written.
Result<std::string> write_secrets(inventory::Inventory& inventory, const Part& part,
                                  const PartFiles& files) {
  MESH_CHECK(os::make_private_dir(files.secrets()));
  std::set<std::string> wanted;
  std::string digests;
  if (part.component != nullptr) {
    for (const auto& secret : part.component->secrets) {
      MESH_TRY(const auto value,
               find(inventory, {part.module->name.text(), secret.value, secret.place, {}}));
      MESH_CHECK(write_private(files.secrets() + "/" + secret.value, value.reveal()));
      wanted.insert(secret.value);
      digests += fmt::format("{} {}\n", secret.value, sha256_hex(value.reveal()));
    }
  }
  MESH_CHECK(remove_others(files.secrets(), wanted));
  return sha256_hex(digests);
}

/// Returns a digest of the files that hold secrets.
Result<std::string> write_files(inventory::State& state, const Part& part, const PartFiles& files) {
  MESH_TRY(const auto password, state.inventory.credential_secret(part.instance().text()));
  MESH_TRY(const auto key, state.inventory.module_key(part.module->name.text()));
  MESH_CHECK(os::make_private_dir(state.paths.environments()));
  MESH_CHECK(os::make_private_dir(files.directory()));
  MESH_CHECK(write_private(files.password(), password.reveal()));
  MESH_CHECK(write_private(files.key(), key.reveal()));
  MESH_CHECK(write_private(files.tools(), tools_document(*part.module)));
  MESH_TRY(const auto authority, os::read_file(state.paths.authority_certificate(), kLargestCa));
  MESH_CHECK(write_private(files.authority(), authority));
  return write_secrets(state.inventory, part, files);
}

}  // namespace

std::vector<NeededSecret> needed_secrets(const model::Mesh& mesh) {
  std::vector<NeededSecret> all;
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      for (const auto& part : parts_of(mesh, module, node)) {
        std::ranges::move(needed_by(part), std::back_inserter(all));
      }
    }
  }
  std::ranges::sort(all, by_name);
  std::vector<NeededSecret> once;
  for (auto& needed : all) {
    if (once.empty() || !same_name(once.back(), needed)) {
      once.push_back(std::move(needed));
    } else if (once.back().variable.empty()) {
      once.back() = std::move(needed);
    }
  }
  return once;
}

Status check_secrets(inventory::Inventory& inventory, const model::Mesh& mesh) {
  std::vector<NeededSecret> missing;
  Status first;
  for (const auto& needed : needed_secrets(mesh)) {
    auto found = inventory.find_secret(needed.module, needed.name);
    if (!found && found.error().code == Code::NotFound) {
      missing.push_back(needed);
    } else if (auto fit = find(inventory, needed); !fit && first) {
      first = std::unexpected(std::move(fit).error());
    }
  }
  if (missing.size() > 1) {
    return not_set(missing);
  }
  return missing.empty() ? first
                         : Status(std::unexpected(find(inventory, missing.front()).error()));
}

Result<PreparedEnvironment> prepare_environment(inventory::State& state, const model::Mesh& mesh,
                                                const Part& part, const std::string& root) {
  const PartFiles files(state.paths, part);
  PreparedEnvironment prepared;
  MESH_TRY(prepared.secret_files, write_files(state, part, files));
  prepared.variables = mesh_variables(mesh, part, files, root);
  if (mesh.bus.managed && mesh.bus.advertise.empty() && !part.node->bus) {
    // A changed `listen` is in force when the server starts again: until then it is where it was.
    if (const auto address = bus_address(mesh, state.paths)) {
      prepared.variables["MESH_BUS"] = address->urls.front();
      prepared.variables.erase("MESH_CA_FILE");
      if (!address->ca_pem.empty()) {
        prepared.variables["MESH_CA_FILE"] = files.authority();
      }
    }
  }
  for (const auto& [name, value] : declared_variables(part)) {
    if (!value.secret) {
      prepared.variables.emplace(name, value.text);
      continue;
    }
    MESH_TRY(const auto secret,
             find(state.inventory, {part.module->name.text(), value.text, value.place, name}));
    prepared.variables.emplace(name, secret.reveal());
    prepared.secret.insert(name);
  }
  return prepared;
}

Result<Variables> shown_variables(const PartFiles& files, const PreparedEnvironment& prepared) {
  auto shown = prepared.variables;
  if (!prepared.secret.empty() || os::exists(files.variables())) {
    MESH_CHECK(os::make_private_dir(files.variables()));
    MESH_CHECK(remove_others(files.variables(), prepared.secret));
  }
  for (const auto& name : prepared.secret) {
    const auto path = files.variables() + "/" + name;
    MESH_CHECK(write_private(path, prepared.variables.at(name)));
    shown[name] = path;
  }
  return shown;
}

}  // namespace mesh::controller
