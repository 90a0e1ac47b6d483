#include "controller/node_declarations.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/digest.h"
#include "controller/bus_link.h"
#include "controller/environment.h"
#include "controller/mirroring.h"
#include "controller/tls.h"
#include "declaration/envelope.h"
#include "model/addresses.h"
#include "os/files.h"
#include "secrets/sealed_box.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kLargestCa = 256U << 10U;

declaration::Health health_of(const model::Health& health) {
  using Kind = declaration::Health::Kind;
  return {health.kind == model::Health::Kind::Http  ? Kind::Http
          : health.kind == model::Health::Kind::Tcp ? Kind::Tcp
                                                    : Kind::Command,
          health.http,
          health.command,
          health.port,
          health.interval,
          health.timeout,
          health.retries,
          health.start};
}

declaration::Restart restart_of(model::Restart restart) {
  switch (restart) {
    case model::Restart::Always:
      return declaration::Restart::Always;
    case model::Restart::OnFailure:
      return declaration::Restart::OnFailure;
    case model::Restart::Never:
      break;
  }
  return declaration::Restart::Never;
}

/// The mesh with its bus where the managed server still is, if that is not where mesh.toml says: a
/// changed `listen` is in force when the server starts again. (`advertise` is somebody else's
/// word.)
std::optional<model::Mesh> with_running_bus(const model::Mesh& mesh,
                                            const inventory::StatePaths& paths) {
  if (!mesh.bus.managed || !mesh.bus.advertise.empty()) {
    return std::nullopt;
  }
  const auto address = bus_address(mesh, paths);
  const auto declared = model::parse_host_port(mesh.bus.listen_or_default());
  if (!address || !address->managed || !declared) {
    return std::nullopt;
  }
  const bool everywhere = declared->host == "0.0.0.0" || declared->host == "::";
  const auto& running = *address->managed;
  const auto& host = everywhere ? declared->host : running.host;
  if (running.port == declared->port && host == declared->host) {
    return std::nullopt;
  }
  auto out = mesh;
  const bool v6 = host.find(':') != std::string::npos;
  out.bus.listen = fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), host, running.port);
  return out;
}

/// What needs nothing but the component itself.
void copy_plain(const model::Component& from, declaration::Component& to) {
  to.name = from.name.text();
  to.run = from.run;
  to.command = from.command;
  to.entrypoint = from.entrypoint;
  to.user = from.user;
  to.files = from.file_bytes;
  for (const auto& port : from.ports) {
    to.ports.push_back({port.address, port.host, port.container, port.udp});
  }
  for (const auto& volume : from.volumes) {
    to.volumes.push_back({volume.source, volume.target, volume.read_only});
  }
  to.devices = from.devices;
  to.network = from.network;
  to.capabilities = from.capabilities;
  to.read_only = from.read_only;
  to.tmpfs = from.tmpfs;
  to.memory = from.memory;
  to.cpus = from.cpus;
  to.pids = from.pids;
  to.init = from.init;
  to.grace = from.grace;
  to.log_size = from.log_size;
  to.restart = restart_of(from.restart);
  to.after = from.after;
  if (from.health) {
    to.health = health_of(*from.health);
  }
}

/// Names of a module's secrets, as its components use them.
std::vector<std::string> sealed_names(const declaration::Module& module) {
  std::vector<std::string> out{module.password.name, module.key.name};
  for (const auto& component : module.components) {
    for (const auto& [file, sealed] : component.secrets) {
      out.push_back(sealed.name);
    }
    for (const auto& [name, value] : component.env) {
      if (value.sealed) {
        out.push_back(value.sealed->name);
      }
    }
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

/// The secret that a sealed name is of, where it is of one: `shop/secret/STRIPE_KEY`.
std::string secret_of(const std::string& module, const std::string& name) {
  const auto prefix = declaration::secret_name(module, "");
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

}  // namespace

Result<std::string> node_ca(const inventory::StatePaths& paths, const std::string& root,
                            bool own_tls, const std::optional<std::string>& ca) {
  if (own_tls) {
    return os::read_file(paths.authority_certificate(), kLargestCa);
  }
  return ca ? os::read_file((std::filesystem::path(root) / *ca).string(), kLargestCa)
            : Result<std::string>(std::string());
}

Result<DeclarationComposer> DeclarationComposer::make(inventory::State& state,
                                                      const model::Mesh& mesh,
                                                      std::vector<inventory::PushImage> images,
                                                      const std::string& root) {
  DeclarationComposer out(state, mesh, std::move(images), root);
  out.former_ = with_running_bus(mesh, state.paths);
  MESH_TRY(out.hashes_, state.inventory.hashes());
  MESH_TRY(out.marks_, state.inventory.secret_marks());
  MESH_TRY(out.bus_ca_, node_ca(state.paths, root, mesh.bus.tls(), mesh.bus.ca));
  if (!out.images_.empty()) {
    MESH_TRY(out.registry_ca_, node_ca(state.paths, root, mesh.registry.tls(), mesh.registry.ca));
  }
  return out;
}

std::string DeclarationComposer::image_of(const model::Node& node, const std::string& module,
                                          const std::string& component) const {
  const auto found = std::ranges::find_if(images_, [&](const auto& image) {
    return image.module == module && image.component == component;
  });
  if (found == images_.end()) {
    return "not/there/yet";
  }
  return fmt::format("{}/{}@{}", node.registry.value_or(registry_address(mesh_.registry)),
                     found->repository, found->digest);
}

declaration::Component DeclarationComposer::component_of(const model::Node& node,
                                                         const model::Module& module,
                                                         const model::Component& component) const {
  declaration::Component out;
  copy_plain(component, out);
  const auto& name = module.name.text();
  if (component.run.empty()) {
    out.image = image_of(node, name, out.name);
  }
  for (const auto& [variable, value] : declared_variables({&node, &module, &component})) {
    out.env[variable] =
        value.secret
            ? declaration::Value{{},
                                 declaration::Sealed{declaration::secret_name(name, value.text)}}
            : declaration::Value{value.text, std::nullopt};
  }
  for (const auto& secret : component.secrets) {
    out.secrets[secret.value] = {declaration::secret_name(name, secret.value)};
  }
  return out;
}

declaration::Module DeclarationComposer::module_of(const model::Node& node,
                                                   const model::Module& module) const {
  const Part part{&node, &module, nullptr};
  const auto variables = mesh_variables(mesh_, part, PartFiles(state_.paths, part), root_);
  declaration::Module out;
  out.name = module.name.text();
  out.path = module.path;
  out.user = variables.at("MESH_USER");
  out.inbox = variables.at("MESH_INBOX");
  out.consumer = variables.at("MESH_CONSUMER");
  out.seats = variables.at("MESH_SEATS");
  out.tools = tools_document(module);
  out.password = {declaration::password_name(out.name)};
  out.key = {declaration::key_name(out.name)};
  for (const auto& component : module.file->components) {
    out.components.push_back(component_of(node, module, component));
  }
  return out;
}

declaration::Declaration DeclarationComposer::compose(const model::Node& node) const {
  declaration::Declaration out;
  out.mesh = state_.identity.mesh_id;
  out.node = node.name.text();
  for (const auto& module : mesh_.modules) {
    const bool here = std::ranges::find(module.on, node.name) != module.on.end();
    if (here && !module.file->components.empty()) {
      out.modules.push_back(module_of(node, module));
    }
  }
  const auto machine = machine_hosts();
  out.bus.urls = dialled_urls(mesh_, node, machine);
  if (former_ && !node.bus) {
    auto now = dialled_urls(*former_, node, machine);
    out.bus.urls.insert(out.bus.urls.begin(), now.begin(), now.end());
  }
  out.bus.ca = bus_ca_;
  if (!images_.empty()) {
    out.registry.address = node.registry.value_or(registry_address(mesh_.registry));
    out.registry.insecure = mesh_.registry.insecure;
    out.registry.ca = registry_ca_;
    out.registry.login = mesh_.registry.managed && mesh_.registry.tls();
  }
  return out;
}

std::string DeclarationComposer::mark_of(const std::string& module, const std::string& name) const {
  for (const auto& owner : {module, std::string()}) {
    const auto found = marks_.find({owner, name});
    if (found != marks_.end()) {
      return found->second;
    }
  }
  return {};
}

std::string DeclarationComposer::content(const declaration::Declaration& declaration) const {
  auto text = write(declaration);
  for (const auto& module : declaration.modules) {
    const auto hash = hashes_.find(module.user);
    text += fmt::format("\n{} {}", module.user, hash == hashes_.end() ? "" : hash->second);
    for (const auto& name : sealed_names(module)) {
      if (const auto secret = secret_of(module.name, name); !secret.empty()) {
        text += fmt::format("\n{} {}", name, mark_of(module.name, secret));
      }
    }
  }
  return sha256_hex(text);
}

Result<declaration::Values> DeclarationComposer::values(
    const declaration::Declaration& declaration) {
  declaration::Values out;
  for (const auto& module : declaration.modules) {
    for (const auto& name : sealed_names(module)) {
      const auto secret = secret_of(module.name, name);
      auto value = name == module.password.name ? state_.inventory.credential_secret(module.user)
                   : name == module.key.name    ? state_.inventory.module_key(module.name)
                                                : state_.inventory.find_secret(module.name, secret);
      if (!value) {
        return std::unexpected(std::move(value).error());
      }
      out.insert_or_assign(name, *std::move(value));
    }
  }
  return out;
}

Result<std::string> DeclarationComposer::envelope(declaration::Declaration declaration,
                                                  std::int64_t number,
                                                  const secrets::PublicKey& key,
                                                  const secrets::Secret& password,
                                                  os::Random& random) {
  MESH_TRY(auto opened, values(declaration));
  if (!password.empty()) {
    opened.insert_or_assign(declaration::kNodePassword, password.copy());
  }
  declaration.number = number;
  constexpr std::size_t kSeed = 32;
  MESH_TRY(declaration.sealed,
           secrets::seal_to(key, declaration::write_values(opened).reveal(), random.bytes(kSeed)));
  auto out = declaration::seal_envelope(state_.sign_key, declaration);
  if (out.size() > declaration::kLargest) {
    return fail(Code::Resource,
                fmt::format("the declaration of node {} has {} bytes, and may have {}",
                            declaration.node, out.size(), declaration::kLargest),
                "declare smaller `files` and schemas, or fewer modules on the node");
  }
  return out;
}

}  // namespace mesh::controller
