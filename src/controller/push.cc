#include "controller/push.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "broker/verify.h"
#include "bus/jetstream.h"
#include "bus/system.h"
#include "controller/apply.h"
#include "controller/credentials.h"
#include "controller/node_declarations.h"
#include "controller/prove_principals.h"
#include "controller/registry_access.h"
#include "controller/registry_link.h"
#include "controller/tls.h"
#include "model/subjects.h"
#include "registry/collect.h"

namespace mesh::controller {

namespace {

constexpr bus::Milliseconds kReload{120'000};
constexpr bus::Milliseconds kIntroduced{3'000};

/// One push; its parts in the order in which they happen.
class Push {
 public:
  Push(inventory::State& state, const Location& location, const model::Reading& reading,
       const PushOptions& options, Edges edges, Steps& steps)
      : state_(state),
        location_(location),
        reading_(reading),
        options_(options),
        edges_(edges),
        steps_(steps) {}

  Result<PushReport> run() {
    MESH_CHECK(check_pushable(state_, mesh()));
    MESH_TRY(const auto lock,
             inventory::lock_state(state_.paths.root(), options_.verb, edges_.clock));
    MESH_TRY(auto link, connect());
    const PlanRequest request{location_,
                              reading_,
                              options_.adopt,
                              edges_.clock.now(),
                              options_.images ? &*options_.images : nullptr,
                              options_.ask_for_images};
    MESH_TRY(auto plan, make_plan(state_, request, link, steps_));
    MESH_CHECK(check_plan(plan));
    report_.digest = plan.digest;
    report_.number = plan.number;
    report_.changes = plan.changes;
    report_.notes = not_held_to(mesh());
    std::ranges::copy(plan.notes, std::back_inserter(report_.notes));
    report_.after_restart = plan.after_restart;
    count(plan);
    if (plan.changes.empty()) {
      MESH_CHECK(serve_registry());  // one that was cut off may not have come so far
      MESH_CHECK(finish_unfinished(plan));
      return std::move(report_);
    }
    MESH_CHECK(bring_images(plan));
    MESH_CHECK(intend(plan));
    MESH_CHECK(act(link, plan));
    MESH_CHECK(record(plan));
    return std::move(report_);
  }

 private:
  [[nodiscard]] const model::Mesh& mesh() const { return *reading_.mesh; }

  Result<BusLink> connect() {
    MESH_CHECK(steps_.next("connect to the bus"));
    auto link = connect_bus(state_, mesh(), location_.root, at_most(kBusTimeout, steps_));
    const bool unknown =
        !link && !mesh().bus.managed &&
        (link.error().code == Code::PermissionDenied || link.error().code == Code::NotFound);
    if (!unknown) {
      return link;
    }
    MESH_TRY(auto file, read_bus_file(state_, mesh(), location_.root));
    if (file.in_force() != nullptr && file.in_force()->user(model::kController) != nullptr) {
      return fail(
          link.error().code,
          fmt::format("{} names this mesh's users, and the bus does not know them", file.path),
          "restart the server with that file included: it takes over a system account only "
          "when it starts");
    }
    MESH_CHECK(introduce(std::move(file)));
    return connect_introduced();
  }

  /// An external server that does not know the controller yet gets a file with the controller
  /// alone.
  Status introduce(BusFile file) {
    model::Mesh bare;
    bare.name = mesh().name;
    bare.bus = mesh().bus;
    const auto shape = bus_shape(bare);
    MESH_TRY(auto hashes, state_.inventory.hashes());
    MESH_TRY(const auto made, missing_credentials(shape.users, hashes, edges_.random));
    MESH_CHECK(steps_.next("keep the controller's credentials"));
    MESH_CHECK(state_.inventory.add_credentials(made));
    for (const auto& credential : made) {
      hashes[credential.principal] = credential.hash;
    }
    MESH_TRY(const auto text,
             bus_config_text(server_settings(bare, state_.paths, std::nullopt), shape, hashes));
    steps_.say("the bus does not know this mesh yet: giving it the controller's users");
    return BusFileSwap(state_, mesh(), location_.root, std::move(file), steps_)
        .put_unconnected(text);
  }

  Result<BusLink> connect_introduced() {
    const os::Deadline deadline(kIntroduced);
    while (true) {
      auto link = connect_bus(state_, mesh(), location_.root, at_most(kBusTimeout, steps_));
      if (link || link.error().code == Code::Unsupported) {
        return link;
      }
      if (deadline.passed()) {
        return fail(
            Code::Unavailable, "the bus does not know this mesh's users yet",
            fmt::format("restart the server with {} included, and push again: it takes over "
                        "a system account only when it starts",
                        mesh().bus.config.value_or("the file of [bus] config")));
      }
      MESH_CHECK(steps_.next("wait until the bus knows the controller"));
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  }

  Status check_plan(const Plan& plan) const {
    if (options_.digest && *options_.digest != plan.digest) {
      return fail(Code::Conflict,
                  fmt::format("the plan is another by now ({}): nothing was done", plan.digest),
                  "look at `mesh plan` again");
    }
    const auto reasons = plan.needs_yes();
    if (!reasons.empty() && !options_.yes) {
      return fail(Code::Conflict, "this push would lose what is held: " + join(reasons, "; "),
                  "nothing was done; `mesh push --yes` does it");
    }
    return {};
  }

  void count(const Plan& plan) {
    report_.machines = mesh().nodes.size();
    report_.modules =
        static_cast<std::size_t>(std::ranges::count_if(mesh().modules, [](const auto& module) {
          return !module.file->consumes.empty() && !module.on.empty();
        }));
    (void)plan;
  }

  /// All is as declared, and a push that did it was killed before it could say so.
  Status finish_unfinished(const Plan& plan) {
    if (!plan.unfinished) {
      return {};
    }
    MESH_TRY(const auto files, state_.inventory.files(plan.unfinished->number));
    const bool same = std::ranges::equal(files, reading_.files, [](const auto& a, const auto& b) {
      return a.path == b.path && a.bytes == b.bytes;
    });
    if (!same) {
      return {};
    }
    report_.number = plan.unfinished->number;
    return record(plan);
  }

  Status bring_images(const Plan& plan) {
    images_ = plan.images.known;
    if (plan.images.needed.empty()) {
      return {};
    }
    if (!options_.bring_images) {
      return fail(Code::Unsupported, "there are images to bring, and nobody to do it");
    }
    MESH_TRY(images_, options_.bring_images(steps_));
    return options_.digest ? check_contexts(plan) : Status();
  }

  /// A plan that was named is of these files: those that were built must not be others.
  Status check_contexts(const Plan& plan) {
    MESH_TRY(const auto now,
             plan_images(state_.inventory, location_, mesh(), steps_.stop_descriptor()));
    for (const auto& [name, context] : plan.images.contexts) {
      const auto found = now.contexts.find(name);
      if (found == now.contexts.end() || found->second != context) {
        return fail(Code::Conflict,
                    fmt::format("the files of {} changed while its image was built: nothing else "
                                "was done",
                                name),
                    "look at `mesh plan` again");
      }
    }
    return {};
  }

  Status intend(Plan& plan) {
    MESH_CHECK(keep_floors_of(plan));
    inventory::Intent intent;
    intent.by = options_.by;
    intent.verb = options_.verb;
    intent.digest = plan.digest;
    intent.above = plan.number - 1;
    intent.files = reading_.files;
    intent.images = images_;
    MESH_TRY(intent.credentials, missing_credentials(plan.shape.users, plan.hashes, edges_.random));
    for (const auto& credential : intent.credentials) {
      plan.hashes[credential.principal] = credential.hash;
    }
    MESH_CHECK(steps_.next("keep what is intended"));
    MESH_TRY(report_.number, state_.inventory.intend(intent));
    return {};
  }

  /// Floors of consumers that are made again, which a kill between the two would lose.
  Status keep_floors_of(const Plan& plan) {
    const auto floors = plan::floors_at_risk(plan.changes, plan.observed);
    if (floors.empty()) {
      return {};
    }
    MESH_CHECK(steps_.next("keep the consumers' positions"));
    return keep_floors(state_, floors);
  }

  Status act(BusLink& link, const Plan& plan) {
    MESH_TRY(const auto text, composed(plan));
    BusFileSwap swap(state_, mesh(), location_.root, plan.file, steps_);
    MESH_TRY(const bool renewed, renew(Served::Bus));
    const bool changes = text != plan.file.text || !plan.file.proved || renewed;
    if (changes) {
      const bool twice = plan.new_accounts || !plan.file.proved;
      MESH_TRY(const auto reloaded, swap.put(link, text, twice));
      report_.reloaded = true;
      MESH_CHECK(look_up_again(link));
      if (!reloaded.proved) {
        report_.notes.push_back(reloaded.note);
      }
    }
    auto done = raise_and_prove(link, plan);
    if (!done && changes) {
      auto error = std::move(done).error();
      auto back = swap.put_back(link);
      error.message +=
          back ? "; the old configuration is in force again"
               : "; and the old configuration could not be put back: " + back.error().message;
      return std::unexpected(std::move(error));
    }
    MESH_CHECK(done);
    MESH_CHECK(serve_registry());
    MESH_CHECK(declare(link));
    return clean_up(link.mesh, plan.changes, steps_, report_.writes);
  }

  Result<bool> renew(Served server) {
    MESH_CHECK(steps_.next("see whether a certificate is due"));
    return renew_certificate(state_.paths, mesh(), server, edges_.clock.now());
  }

  /// Who may log in to a registry beyond loopback, and its certificate, which it reads only when it
  /// starts.
  Status serve_registry() {
    MESH_CHECK(steps_.next("bring the registry's logins up to date"));
    MESH_CHECK(write_registry_access(state_, mesh()));
    if (needs_registry(mesh())) {
      MESH_CHECK(renew(Served::Registry));
    }
    MESH_TRY(const bool shown, registry_shows_certificate(state_));
    if (shown) {
      return {};
    }
    steps_.say("the registry is started again, to show its new certificate");
    MESH_CHECK(registry::restart_server(registry_paths(state_.paths),
                                        state_.paths.authority_certificate(),
                                        steps_.stop_descriptor()));
    return remember_registry_certificate(state_);
  }

  /// After a reload a managed server may speak TLS, or speak it no more.
  Status look_up_again(BusLink& link) const {
    if (link.managed) {
      MESH_TRY(auto address, bus_address(mesh(), state_.paths));
      link.urls = std::move(address.urls);
      link.ca_pem = std::move(address.ca_pem);
    }
    return {};
  }

  /// Tells each node what it is to run, where that is another than it was told last.
  Status declare(BusLink& link) {
    MESH_TRY(auto composer, DeclarationComposer::make(state_, mesh(), images_, location_.root));
    MESH_TRY(const auto known, state_.inventory.nodes());
    bus::JetStream jetstream(link.mesh, at_most(kBusTimeout, steps_));
    for (const auto& node : mesh().nodes) {
      const auto& name = node.name.text();
      const auto found = std::ranges::find(known, name, &inventory::NodeRecord::name);
      auto record = found == known.end() ? inventory::NodeRecord{} : *found;
      record.name = name;
      auto plain = composer.compose(node);
      auto content = composer.content(plain);
      if (record.content != content) {
        record.declared = report_.number;
        record.content = std::move(content);
        MESH_CHECK(send_declaration(composer, std::move(plain), record, jetstream));
        nodes_.push_back(record);
      }
      if (record.key) {
        report_.declared[name] = record.declared;
      }
    }
    return {};
  }

  Status send_declaration(DeclarationComposer& composer, declaration::Declaration plain,
                          const inventory::NodeRecord& record, bus::JetStream& jetstream) {
    if (!record.key) {
      return {};
    }
    MESH_CHECK(steps_.next("declare to node " + record.name));
    MESH_TRY(const auto envelope,
             composer.envelope(std::move(plain), record.declared, *record.key, {}, edges_.random));
    MESH_TRY(const auto name, model::NodeName::parse(record.name));
    if (auto stored = jetstream.store(model::declare_subject(name), envelope); !stored) {
      return within("declare to node " + record.name, std::move(stored).error());
    }
    return {};
  }

  Result<std::string> composed(const Plan& plan) {
    MESH_TRY(auto text, bus_config_text(plan.settings, plan.shape, plan.hashes));
    const auto problems = broker::verify(text, plan.shape.principals, plan.file.path);
    if (!problems.empty()) {
      return fail(Code::Internal,
                  "the composed configuration does not say what the records imply: " +
                      model::to_text(problems.front()),
                  "nothing was changed; this is a defect of mesh");
    }
    return text;
  }

  Status raise_and_prove(BusLink& link, const Plan& plan) {
    MESH_CHECK(raise(link.mesh, plan.changes, steps_, report_.writes));
    const auto fresh = fresh_principals(plan);
    auto proved = prove_principals(state_, mesh(), location_.root, link, fresh, steps_);
    const bool deaf = !proved && (proved.error().code == Code::Unavailable ||
                                  proved.error().code == Code::Timeout);
    if (deaf && mesh().bus.managed) {
      MESH_CHECK(bus::SystemAccount(link.system).reload_all(false, at_most(kReload, steps_)));
      proved = prove_principals(state_, mesh(), location_.root, link, fresh, steps_);
    }
    return proved;
  }

  /// Those that could not connect before, or not with this password; all of them where it is not
  /// known how far a push came that was cut off.
  [[nodiscard]] std::vector<broker::Principal> fresh_principals(const Plan& plan) const {
    std::set<std::string> names;
    for (const auto& change : plan.changes) {
      if (change.kind == plan::Kind::User && change.action != plan::Action::Delete) {
        names.insert(change.name);
      }
    }
    const bool all = !plan.file.proved || plan.unfinished;
    std::vector<broker::Principal> out;
    std::ranges::copy_if(plan.shape.principals, std::back_inserter(out),
                         [&](const auto& one) { return all || names.contains(one.name); });
    return out;
  }

  Status record(const Plan& plan) {
    std::vector<std::string> gone;
    for (const auto& [principal, hash] : plan.hashes) {
      // A name with `/` is no principal's: a credential that a node does not have yet.
      if (!std::ranges::binary_search(plan.shape.users, principal) &&
          principal.find('/') == std::string::npos) {
        gone.push_back(principal);
      }
    }
    MESH_CHECK(steps_.next("record the push"));
    MESH_CHECK(state_.inventory.put_nodes(nodes_));
    MESH_CHECK(forget_nodes());
    MESH_CHECK(state_.inventory.record(report_.number, gone));
    return keep_floors(state_, {});
  }

  /// A node that is not declared any more has no user on the bus either.
  Status forget_nodes() {
    MESH_TRY(const auto known, state_.inventory.nodes());
    for (const auto& node : known) {
      if (mesh().node(node.name) == nullptr) {
        MESH_CHECK(state_.inventory.remove_node(node.name));
      }
    }
    return {};
  }

  inventory::State& state_;
  const Location& location_;
  const model::Reading& reading_;
  const PushOptions& options_;
  Edges edges_;
  Steps& steps_;
  std::vector<inventory::PushImage> images_;  // of all components that are images
  std::vector<inventory::NodeRecord> nodes_;  // that are told something new
  PushReport report_;
};

}  // namespace

Result<PushReport> push(inventory::State& state, const Location& location,
                        const model::Reading& reading, const PushOptions& options, Edges edges,
                        Steps& steps) {
  return Push(state, location, reading, options, edges, steps).run();
}

std::string operator_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host[0] = '\0';
  }
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const auto uid = ::getuid();
  const bool known =
      ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return fmt::format("{}@{}", known ? entry.pw_name : std::to_string(uid).c_str(), host.data());
}

}  // namespace mesh::controller
