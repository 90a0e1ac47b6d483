#include "controller/planning.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "controller/environment.h"
#include "controller/node_declarations.h"
#include "controller/observe.h"
#include "controller/recorded.h"
#include "controller/registry_link.h"
#include "controller/tls.h"
#include "model/subjects.h"
#include "os/files.h"
#include "plan/access_plan.h"
#include "plan/declaration_plan.h"
#include "plan/digest.h"

namespace mesh::controller {

namespace {

constexpr const char* kFloorsNote = "push.floors";
constexpr bus::Version kChangesMaxConsumers{2, 11, 0};

Result<std::map<std::string, std::uint64_t>> kept_floors(inventory::State& state) {
  MESH_TRY(const auto note, state.inventory.note(kFloorsNote));
  std::map<std::string, std::uint64_t> floors;
  const auto document = nlohmann::json::parse(note.value_or("{}"), nullptr, false);
  if (document.is_object()) {
    for (const auto& [name, floor] : document.items()) {
      if (floor.is_number_unsigned()) {
        floors[name] = floor.get<std::uint64_t>();
      }
    }
  }
  return floors;
}

std::optional<bus::Version> oldest_version(const BusLink& link) {
  std::optional<bus::Version> oldest;
  for (const auto& server : link.servers) {
    const auto version = bus::parse_version(server.version);
    if (version && (!oldest || *version < *oldest)) {
      oldest = version;
    }
  }
  return oldest;
}

/// A running server cannot change these: they stay as they are until it is started again. Returns
/// those that are declared otherwise.
std::vector<AfterRestart> keep_fixed_settings(broker::ServerSettings& settings, const BusLink& link,
                                              const BusFile& file,
                                              const inventory::StatePaths& paths) {
  std::vector<AfterRestart> later;
  if (!link.managed || file.in_force() == nullptr) {
    return later;
  }
  const auto keep = [&](const char* name, auto& field) {
    auto text = file.in_force()->setting(name);
    if (text.empty()) {
      return;
    }
    const auto declared = std::optional<std::string>(field).value_or("");
    if (!declared.empty() && text != declared) {
      later.push_back({name, text, declared});
    }
    field = std::move(text);
  };
  keep("listen", settings.listen);
  if (!later.empty() && file.in_force()->setting("tls.cert_file").empty()) {
    settings.tls.reset();  // it belongs to the address that comes later
  } else if (!later.empty()) {
    settings.tls = bus_tls(paths);
  }
  keep("server_name", settings.server_name);
  keep("jetstream.store_dir", settings.store_dir);
  return later;
}

void append(std::vector<plan::Change>& all, std::vector<plan::Change> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// What the file says beside accounts differs (another version of the server, say).
Status plan_settings(Plan& plan) {
  const bool complete = std::ranges::all_of(
      plan.shape.users, [&](const auto& user) { return plan.hashes.contains(user); });
  if (!plan.changes.empty() || !complete) {
    return {};
  }
  MESH_TRY(const auto text, bus_config_text(plan.settings, plan.shape, plan.hashes));
  if (text != plan.file.text) {
    plan::Change change;
    change.action = plan::Action::Update;
    change.kind = plan::Kind::Account;
    change.name = model::kSystemAccount;
    change.because.text = "the configuration's file is not as mesh writes it for this server";
    plan.changes.push_back(std::move(change));
  } else if (!plan.file.proved) {
    plan::Change change;
    change.action = plan::Action::Update;
    change.kind = plan::Kind::Account;
    change.name = model::kSystemAccount;
    change.because.text = "the server was not proved to run with this configuration";
    plan.changes.push_back(std::move(change));
  }
  return {};
}

Status plan_bus(inventory::State& state, const PlanRequest& request, BusLink& link, Steps& steps,
                Plan& plan) {
  MESH_TRY(plan.observed, observe(link.mesh, steps));
  plan::Hints hints;
  hints.mesh_id = state.identity.mesh_id;
  hints.adopt = request.adopt;
  hints.now = std::chrono::floor<std::chrono::seconds>(request.now);
  const auto version = oldest_version(link);
  hints.max_consumers_fixed = !version || *version < kChangesMaxConsumers;
  MESH_TRY(hints.floors, kept_floors(state));
  const auto questions = plan::questions(plan.wanted, plan.observed);
  MESH_TRY(hints.matching, count_matching(link.mesh, questions, steps));
  MESH_TRY(auto changes, plan::bus_plan(plan.wanted, plan.observed, hints));
  append(plan.changes, std::move(changes));
  return {};
}

Status plan_access(BusLink& link, Steps& steps, Plan& plan) {
  const plan::WantedAccess wanted{plan.shape.accounts, plan.shape.principals, plan.hashes};
  auto changes = plan::access_plan(wanted, plan.file.in_force(), {});
  const bool cuts = std::ranges::any_of(changes, [](const auto& change) {
    return change.kind == plan::Kind::User && change.action != plan::Action::Create;
  });
  if (cuts) {
    MESH_TRY(const auto connected, connected_users(link.system, steps));
    changes = plan::access_plan(wanted, plan.file.in_force(), connected);
  }
  plan.new_accounts = plan::accounts_grow(wanted, plan.file.in_force());
  append(plan.changes, std::move(changes));
  return {};
}

/// Images that the records know may have been taken out of the registry by others.
Status look_for_images(const PlanRequest& request, Plan& plan) {
  if (!request.ask_for_images) {
    return {};
  }
  const auto gone = request.ask_for_images(plan.images.known);
  if (!gone && gone.error().code == Code::Interrupted) {
    return std::unexpected(gone.error());
  }
  if (!gone) {
    plan.notes.push_back("whether the registry still has the images was not looked at: " +
                         gone.error().message);
    return {};
  }
  for (const auto& image : *gone) {
    const auto* module = request.mesh().module(image.module);
    Place place;
    if (module != nullptr) {
      const auto& components = module->file->components;
      const auto found = std::ranges::find_if(
          components, [&](const auto& one) { return one.name.text() == image.component; });
      place = found == components.end() ? Place{} : found->place;
    }
    plan.images.needed.push_back({image.module,
                                  image.component,
                                  {"the registry does not have it any more", std::move(place)},
                                  image.digest});
    std::erase(plan.images.known, image);
  }
  std::ranges::sort(plan.images.needed, {},
                    [](const auto& one) { return std::pair(one.module, one.component); });
  return {};
}

Status plan_needed_images(inventory::State& state, const PlanRequest& request, Steps& steps,
                          Plan& plan) {
  if (request.images != nullptr) {
    plan.images.known = *request.images;
    return {};
  }
  MESH_TRY(plan.images,
           plan_images(state.inventory, request.location, request.mesh(), steps.stop_descriptor()));
  MESH_CHECK(look_for_images(request, plan));
  for (const auto& need : plan.images.needed) {
    plan::Change change;
    change.action = plan::Action::Create;
    change.kind = plan::Kind::Image;
    change.name = need.module + "." + need.component;
    change.because = need.because;
    plan.changes.push_back(std::move(change));
  }
  return {};
}

Status plan_certificates(const inventory::StatePaths& paths, const PlanRequest& request,
                         Plan& plan) {
  for (const auto& [server, name] :
       {std::pair(Served::Bus, "bus"), std::pair(Served::Registry, "registry")}) {
    MESH_TRY(const auto due, certificate_due(paths, request.mesh(), server, request.now));
    if (!due || (server == Served::Registry && !needs_registry(request.mesh()))) {
      continue;
    }
    plan::Change change;
    change.action =
        os::exists(certificate_file(paths, server)) ? plan::Action::Replace : plan::Action::Create;
    change.kind = plan::Kind::Credential;
    change.name = fmt::format("certificate of the {}", name);
    change.because.text = *due;
    plan.changes.push_back(std::move(change));
  }
  return {};
}

/// What a node was told last and what it would be told now differ in more than its declaration
/// shows: an image, a secret, a credential, the contents of a file.
Status plan_contents(inventory::State& state, const PlanRequest& request, Plan& plan) {
  MESH_TRY(const auto composer, DeclarationComposer::make(state, request.mesh(), plan.images.known,
                                                          request.location.root));
  std::map<std::string, std::string> told;
  MESH_TRY(const auto records, state.inventory.nodes());
  for (const auto& record : records) {
    told[record.name] = record.content;
  }
  for (const auto& node : request.mesh().nodes) {
    const auto& name = node.name.text();
    const bool listed = std::ranges::any_of(plan.changes, [&](const auto& change) {
      return change.kind == plan::Kind::Declaration && change.name == name;
    });
    if (listed || composer.content(composer.compose(node)) == told[name]) {
      continue;
    }
    plan::Change change;
    change.action = told[name].empty() ? plan::Action::Create : plan::Action::Update;
    change.kind = plan::Kind::Declaration;
    change.name = name;
    change.because = {"an image, a file, a secret or a credential of it is another", node.place};
    plan.changes.push_back(std::move(change));
  }
  return {};
}

/// What the changes do not show of what will run: inputs of builds, images, what nodes are told
/// (files, secrets and credentials within it by their digests).
Result<std::vector<std::string>> contents_of(inventory::State& state, const PlanRequest& request,
                                             const Plan& plan) {
  std::vector<std::string> out;
  for (const auto& image : plan.images.known) {
    out.push_back(fmt::format("image {}/{} {}@{}", image.module, image.component, image.repository,
                              image.digest));
  }
  for (const auto& need : plan.images.needed) {
    out.push_back(fmt::format("build {}/{} {}", need.module, need.component, need.inputs));
  }
  MESH_TRY(const auto composer, DeclarationComposer::make(state, request.mesh(), plan.images.known,
                                                          request.location.root));
  for (const auto& node : request.mesh().nodes) {
    out.push_back(
        fmt::format("node {} {}", node.name.text(), composer.content(composer.compose(node))));
  }
  return out;
}

Status plan_declarations(inventory::State& state, const PlanRequest& request, Plan& plan) {
  MESH_TRY(const auto before, recorded_mesh(state.inventory));
  append(plan.changes, plan::declaration_plan(before ? &before->mesh : nullptr, request.mesh()));
  plan.number = before ? before->push.number : 0;
  // After a backup was restored a node may have been told more than these records know.
  MESH_TRY(const auto nodes, state.inventory.nodes());
  for (const auto& node : nodes) {
    plan.number = std::max(plan.number, node.declared);
  }
  return plan_contents(state, request, plan);
}

}  // namespace

std::string AfterRestart::text() const {
  return fmt::format(
      "the server goes on with {} = {}; {} takes effect when `mesh up` or `mesh "
      "controller` is started again",
      name, now, then);
}

std::vector<std::string> Plan::needs_yes() const {
  std::vector<std::string> out;
  for (const auto& change : changes) {
    if (!change.needs_yes.empty()) {
      out.push_back(fmt::format("{} {} {}: {}", plan::action_name(change.action),
                                plan::kind_name(change.kind), change.name, change.needs_yes));
    }
  }
  return out;
}

Result<Plan> make_plan(inventory::State& state, const PlanRequest& request, BusLink& link,
                       Steps& steps) {
  Plan plan;
  plan.shape = bus_shape(request.mesh());
  plan.wanted = broker::wanted(request.mesh(), state.identity.mesh_id);
  MESH_TRY(plan.hashes, state.inventory.hashes());
  MESH_TRY(plan.file, read_bus_file(state, request.mesh(), request.location.root));
  plan.settings = settings_for(state.paths, request.mesh(), link, plan.file, &plan.after_restart);
  MESH_CHECK(plan_access(link, steps, plan));
  MESH_CHECK(plan_bus(state, request, link, steps, plan));
  MESH_CHECK(plan_needed_images(state, request, steps, plan));
  MESH_CHECK(plan_declarations(state, request, plan));
  MESH_CHECK(plan_certificates(state.paths, request, plan));
  MESH_CHECK(plan_settings(plan));
  MESH_TRY(plan.unfinished, state.inventory.unfinished());
  if (!plan.changes.empty()) {
    plan.number = std::max(plan.number, plan.unfinished ? plan.unfinished->number : 0) + 1;
  }
  MESH_TRY(const auto contents, contents_of(state, request, plan));
  plan.digest = plan::plan_digest(request.reading.files, plan.observed, plan.file.text,
                                  plan.changes, contents);
  return plan;
}

broker::ServerSettings settings_for(const inventory::StatePaths& paths, const model::Mesh& mesh,
                                    const BusLink& link, const BusFile& file,
                                    std::vector<AfterRestart>* later) {
  auto settings = server_settings(mesh, paths, oldest_version(link));
  auto fixed = keep_fixed_settings(settings, link, file, paths);
  if (later != nullptr) {
    *later = std::move(fixed);
  }
  return settings;
}

Status check_pushable(inventory::State& state, const model::Mesh& mesh) {
  if (mesh.bus.managed && mesh.bus.replicas > 1) {
    return fail(
        Code::Unsupported,
        fmt::format("[bus] replicas = {} needs a cluster, and the managed bus is one server",
                    mesh.bus.replicas),
        "set replicas = 1, or use an external cluster", mesh.bus.place);
  }
  return check_secrets(state.inventory, mesh);
}

std::vector<std::string> not_held_to(const model::Mesh& mesh) {
  std::vector<std::string> out;
  for (const auto& module : mesh.modules) {
    for (const auto& component : module.file->components) {
      std::vector<std::string> keys;
      const auto add = [&](bool declared, const char* key) {
        if (declared) {
          keys.emplace_back(key);
        }
      };
      add(component.memory.has_value(), "memory");
      add(component.cpus.has_value(), "cpus");
      add(component.pids.has_value(), "pids");
      add(component.health.has_value(), "health");
      if (!keys.empty() && !component.run.empty()) {
        out.push_back(
            fmt::format("component {} of module {} declares {}: a command is not held to "
                        "that yet",
                        component.name.text(), module.name.text(), join(keys, ", ")));
      }
    }
  }
  return out;
}

Status keep_floors(inventory::State& state, const std::map<std::string, std::uint64_t>& floors) {
  return state.inventory.set_note(kFloorsNote, nlohmann::json(floors).dump());
}

}  // namespace mesh::controller
