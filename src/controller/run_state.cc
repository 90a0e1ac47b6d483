#include "controller/run_state.h"

#include <nlohmann/json.hpp>

#include "os/files.h"

namespace mesh::controller {

namespace {

using nlohmann::json;

constexpr std::size_t kLargest = 64U << 20U;

RunState state_of(const json& document) {
  RunState state;
  state.mark = {document.at("pid").get<pid_t>(), document.at("started").get<std::uint64_t>(),
                document.at("boot").get<std::string>()};
  state.number = document.at("number").get<std::int64_t>();
  state.since = document.value("since", "");
  for (const auto& one : document.at("nodes")) {
    state.nodes.push_back(
        {one.value("name", ""), one.value("state", ""), one.value("because", "")});
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

std::string run_state_file(const inventory::StatePaths& paths) {
  return paths.run() + "/up.json";
}

Result<std::optional<RunState>> read_run_state(const inventory::StatePaths& paths) {
  MESH_TRY(auto state, last_state(paths));
  return state && runs(*state) ? std::move(state) : std::nullopt;
}

Status write_run_state(const inventory::StatePaths& paths, const RunState& state) {
  json document = {{"pid", state.mark.pid},   {"started", state.mark.started},
                   {"boot", state.mark.boot}, {"number", state.number},
                   {"since", state.since},    {"nodes", json::array()}};
  for (const auto& one : state.nodes) {
    document["nodes"].push_back(
        {{"name", one.name}, {"state", one.state}, {"because", one.because}});
  }
  return os::write_file_atomic(run_state_file(paths), document.dump() + "\n", os::kPrivateFile);
}

}  // namespace mesh::controller
