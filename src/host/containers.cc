#include "host/containers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "host/container_found.h"
#include "host/container_logs.h"
#include "os/files.h"

namespace mesh::host {

namespace {

constexpr int kKilled = 137;  // 128 and SIGKILL

bool runs(const engine::Inspected& inspected) {
  return state_of(inspected.state, inspected.started.has_value()) == converge::UnitState::Running;
}

bool is_gone(const Error& error) {
  return error.code == Code::NotFound;
}

}  // namespace

Containers::Containers(ContainersOptions options)
    : options_(std::move(options)),
      engine_(options_.engine),
      events_(options_.engine.socket, our_labels()) {}

std::string Containers::container_name(const converge::UnitName& name) const {
  return fmt::format("mesh-{}-{}-{}-{}-{}", options_.mesh.substr(0, 8), options_.node, name.module,
                     name.component, name.generation);
}

std::string Containers::volume_name(const std::string& module, const std::string& name) const {
  return fmt::format("mesh-{}-{}-{}-{}", options_.mesh.substr(0, 8), options_.node, module, name);
}

engine::Labels Containers::our_labels() const {
  return {{kMeshLabel, options_.mesh}, {kNodeLabel, options_.node}};
}

bool Containers::is_ours(const engine::Labels& labels) const {
  return std::ranges::all_of(our_labels(), [&](const auto& one) {
    const auto found = labels.find(one.first);
    return found != labels.end() && found->second == one.second;
  });
}

Result<engine::Inspected> Containers::find(const converge::UnitName& name) {
  MESH_TRY(auto out, engine_.inspect(container_name(name)));
  if (!is_ours(out.labels)) {
    return fail(Code::Conflict,
                fmt::format("the container {} is not of this mesh and node", out.name),
                fmt::format("rename or remove it: `podman rm {}`", out.id.substr(0, 12)));
  }
  return out;
}

void Containers::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  known_.erase(id);
}

Result<std::vector<Found>> Containers::list() {
  const bool quiet = events_.drain();
  if (!quiet) {
    const std::lock_guard lock(mutex_);
    known_.clear();
  }
  MESH_TRY(const auto engine, engine_.about());
  MESH_TRY(auto listed, engine_.list(our_labels()));
  std::erase_if(listed, [&](const auto& one) { return !is_ours(one.labels); });
  sweep_files(listed);
  std::vector<Found> out;
  for (const engine::Listed& one : listed) {
    auto found = look_at(one, engine.rootless);
    if (!found && is_gone(found.error())) {
      continue;  // it went between the two
    }
    MESH_CHECK(found);
    out.push_back(std::move(*found));
  }
  std::ranges::sort(out, {}, &Found::name);
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& known) {
    return std::ranges::find(out, known.first, &Found::id) == out.end();
  });
  return out;
}

/// An engine takes milliseconds for each `inspect`; one whose state is the listed one, and of which
/// no event has told since, is as it was.
Result<Found> Containers::look_at(const engine::Listed& listed, bool rootless) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(listed.id);
    if (known != known_.end() && known->second.state == listed.state) {
      return known->second.found;
    }
  }
  MESH_TRY(const auto inspected, engine_.inspect(listed.id));
  Found found = found_from(inspected, rootless);
  if (inspected.state == listed.state) {
    const std::lock_guard lock(mutex_);
    known_[listed.id] = {listed.state, inspected.check, found};
  }
  return found;
}

Result<bool> Containers::is_made(const converge::UnitName& name) {
  const auto there = find(name);
  if (!there) {
    return is_gone(there.error()) ? Result<bool>(false)
                                  : Result<bool>(std::unexpected(there.error()));
  }
  if (is_whole(there->state)) {
    return true;
  }
  MESH_CHECK(engine_.remove(there->id));
  return false;
}

Status Containers::create(const UnitSpec& spec) {
  const std::string name = container_name(spec.name);
  {
    const std::lock_guard lock(mutex_);
    making_.insert(name);
  }
  Status out = [&]() -> Status {
    MESH_TRY(const bool made, is_made(spec.name));
    MESH_TRY(auto wanted, container_spec(spec));
    return made ? Status() : make(wanted);
  }();
  const std::lock_guard lock(mutex_);
  if (swept_) {
    making_.clear();  // nobody asks any more
  }
  return out;
}

Status Containers::make(const engine::ContainerSpec& made) {
  const auto first = engine_.create(made);
  if (first || first.error().code != Code::Conflict) {
    return first ? Status() : Status(std::unexpected(first.error()));
  }
  // The name may be taken by a container that the engine itself knows nothing of (a crash or a
  // reboot left it in the storage alone): the words name its id, and the name is one of ours.
  const auto owner = engine_.inspect(made.name);
  if (owner && is_ours(owner->labels)) {
    return {};  // made by the request of which the answer was lost
  }
  const std::string id = owner ? "" : id_in(first.error().message);
  if (id.empty()) {
    return std::unexpected(first.error());
  }
  (void)engine_.remove(id);
  auto again = engine_.create(made);
  if (!again && again.error().code == Code::Conflict) {
    again.error().hint = fmt::format("`podman rm --storage {}` frees the name", id.substr(0, 12));
  }
  return again ? Status() : Status(std::unexpected(again.error()));
}

Status Containers::start(const converge::UnitName& name) {
  MESH_TRY(const auto there, find(name));
  if (runs(there)) {
    return {};
  }
  forget(there.id);
  auto started = engine_.start(there.id);
  if (started || started.error().code != Code::Internal) {
    return started;
  }
  // podman looks at the process that it started, and fails where that has ended by then.
  const auto now = find(name);
  const bool ran = now && !runs(*now) && now->error.empty() && now->started &&
                   (!there.started || *there.started < *now->started);
  return ran ? Status() : started;
}

Result<bool> Containers::stop(const converge::UnitName& name, os::Milliseconds grace) {
  const auto there = find(name);
  if (!there) {
    return is_gone(there.error()) ? Result<bool>(false)
                                  : Result<bool>(std::unexpected(there.error()));
  }
  if (!runs(*there)) {
    return false;
  }
  forget(there->id);
  MESH_CHECK(engine_.stop(there->id, grace));
  const auto ended = engine_.inspect(there->id);
  return ended && ended->exit_code == kKilled && !ended->out_of_memory;
}

Status Containers::remove(const converge::UnitName& name) {
  const auto there = find(name);
  if (!there && !is_gone(there.error())) {
    return std::unexpected(there.error());
  }
  if (there) {
    forget(there->id);
    if (runs(*there)) {
      // A forced removal may wait for the grace first. Where it has ended by now, all is well.
      (void)engine_.kill(there->id, "KILL");
    }
    const Status removed = engine_.remove(there->id);
    if (!removed && !is_gone(removed.error())) {
      return removed;
    }
  }
  return os::remove_tree(files_folder(container_name(name)));
}

Result<bool> Containers::has_image(const std::string& reference) {
  return engine_.has_image(reference);
}

Status Containers::pull(const std::string& reference, const PullAccess& access) {
  return engine_.pull(reference, {access.user, access.password});
}

Result<LogPiece> Containers::logs(const converge::UnitName& name, const LogCursor& cursor,
                                  std::size_t most) {
  MESH_TRY(const auto there, find(name));
  MESH_TRY(const auto query, log_query(cursor, most));
  MESH_TRY(auto lines, engine_.logs(there.id, query));
  MESH_TRY(const auto burst, whole_burst(lines, cursor, most));
  if (burst) {
    MESH_TRY(auto all, engine_.logs(there.id, *burst));
    return last_piece(std::move(all), most);
  }
  return cursor.empty() ? last_piece(std::move(lines), most)
                        : log_piece(std::move(lines), cursor, most);
}

Result<std::vector<std::string>> Containers::check_of(const converge::UnitName& name) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, known] : known_) {
      if (known.found.name == name) {
        return known.check;
      }
    }
  }
  MESH_TRY(const auto there, find(name));
  return there.check;
}

Result<int> Containers::execute(const converge::UnitName& name,
                                const std::vector<std::string>& command, os::Milliseconds timeout) {
  MESH_TRY(const auto engine, engine_.about());
  if (engine.name == "podman") {
    MESH_TRY(const auto check, check_of(name));
    if (check == command) {
      MESH_TRY(const bool healthy, engine_.check(container_name(name), timeout));
      return healthy ? 0 : 1;
    }
  }
  return engine_.execute(container_name(name), command, timeout);
}

Result<std::vector<std::string>> Containers::volumes() {
  MESH_TRY(const auto found, engine_.volumes(our_labels()));
  std::vector<std::string> out;
  for (const engine::Volume& volume : found) {
    if (is_ours(volume.labels)) {  // podman takes one label of several for enough
      out.push_back(volume.name);
    }
  }
  std::ranges::sort(out);
  return out;
}

Status Containers::remove_volume(const std::string& name) {
  MESH_TRY(const auto ours, volumes());
  return std::ranges::find(ours, name) == ours.end() ? Status() : engine_.remove_volume(name);
}

std::string Containers::about() {
  const auto engine = engine_.about();
  return engine ? engine->name + " " + engine->version : "";
}

}  // namespace mesh::host
