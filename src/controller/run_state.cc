#include "controller/run_state.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/process_table.h"

namespace mesh::controller {

namespace {

using nlohmann::json;

constexpr std::size_t kLargest = 64U << 20U;

json to_json(const ComponentState& one) {
  json out = {{"node", one.node},      {"module", one.module},     {"component", one.component},
              {"state", one.state},    {"restarts", one.restarts}, {"since", one.since},
              {"because", one.because}};
  if (one.process) {
    out["pid"] = one.process->pid;
    out["started"] = one.process->started;
  }
  return out;
}

ComponentState component_of(const json& one, const std::string& boot) {
  ComponentState out;
  out.node = one.value("node", "");
  out.module = one.value("module", "");
  out.component = one.value("component", "");
  out.state = one.value("state", "unknown");
  out.restarts = one.value("restarts", 0);
  out.since = one.value("since", "");
  out.because = one.value("because", "");
  if (one.contains("pid")) {
    out.process = {one.at("pid").get<pid_t>(), one.at("started").get<std::uint64_t>(), boot};
  }
  return out;
}

RunState state_of(const json& document) {
  RunState state;
  state.mark = {document.at("pid").get<pid_t>(), document.at("started").get<std::uint64_t>(),
                document.at("boot").get<std::string>()};
  state.number = document.at("number").get<std::int64_t>();
  state.since = document.value("since", "");
  for (const auto& one : document.at("components")) {
    state.components.push_back(component_of(one, state.mark.boot));
  }
  return state;
}

/// What was written last, whether or not its `mesh up` runs.
Result<std::optional<RunState>> last_state(const inventory::StatePaths& paths) {
  auto text = os::read_file(run_state_file(paths), kLargest);
  if (!text) {
    return text.error().code == Code::NotFound ? Result<std::optional<RunState>>(std::nullopt)
                                               : std::unexpected(std::move(text).error());
  }
  try {
    return state_of(json::parse(*text));
  } catch (const json::exception&) {
    return fail(Code::Corrupt, run_state_file(paths) + " cannot be read",
                "`mesh down` and `mesh up` write it anew");
  }
}

bool runs(const RunState& state) {
  const auto now = os::mark_of(state.mark.pid);
  return now && *now == state.mark;
}

}  // namespace

const ComponentState* RunState::find(const std::string& node, const std::string& module,
                                     const std::string& component) const {
  const auto found = std::ranges::find_if(components, [&](const auto& one) {
    return one.node == node && one.module == module && one.component == component;
  });
  return found == components.end() ? nullptr : &*found;
}

std::string run_state_file(const inventory::StatePaths& paths) {
  return paths.run() + "/up.json";
}

Result<std::optional<RunState>> read_run_state(const inventory::StatePaths& paths) {
  MESH_TRY(auto state, last_state(paths));
  return state && runs(*state) ? std::move(state) : std::nullopt;
}

Result<int> kill_leftovers(const inventory::StatePaths& paths) {
  const auto state = last_state(paths);
  int killed = 0;
  if (!state || !*state || runs(**state)) {
    return killed;  // where the file cannot be read nobody can tell
  }
  for (const auto& component : (*state)->components) {
    killed += component.process ? os::kill_group_of(*component.process) : 0;
  }
  MESH_CHECK(os::remove_tree(run_state_file(paths)));
  return killed;
}

Status write_run_state(const inventory::StatePaths& paths, const RunState& state) {
  json document = {{"pid", state.mark.pid},   {"started", state.mark.started},
                   {"boot", state.mark.boot}, {"number", state.number},
                   {"since", state.since},    {"components", json::array()}};
  for (const auto& one : state.components) {
    document["components"].push_back(to_json(one));
  }
  return os::write_file_atomic(run_state_file(paths), document.dump() + "\n", os::kPrivateFile);
}

}  // namespace mesh::controller
