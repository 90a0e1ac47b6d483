#include "controller/sources.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "os/clock.h"

namespace mesh::controller {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kRequest{5000};
constexpr std::chrono::milliseconds kWait{5000};
constexpr std::chrono::milliseconds kPause{20};

/// A source that has not heard from its origin yet has been active for -1.
bool at_work(const json& info) {
  const auto sources = info.find("sources");
  return sources == info.end() || std::ranges::all_of(*sources, [](const json& source) {
           const auto active = source.find("active");
           return active != source.end() && active->is_number_integer() && *active >= 0;
         });
}

Result<bool> sources_at_work(bus::Connection& mesh, const std::string& stream, Steps& steps) {
  MESH_TRY(const auto answer,
           mesh.request("$JS.API.STREAM.INFO." + stream, "", at_most(kRequest, steps)));
  const auto info = json::parse(answer.data, nullptr, false);
  return info.is_object() && at_work(info);
}

}  // namespace

Status wait_for_sources(bus::Connection& mesh, std::span<const std::string> streams, Steps& steps) {
  const os::Deadline deadline(at_most(kWait, steps));
  for (const auto& stream : streams) {
    MESH_CHECK(steps.next("wait for what feeds " + stream));
    MESH_TRY(bool there, sources_at_work(mesh, stream, steps));
    while (!there && !deadline.passed()) {
      std::this_thread::sleep_for(kPause);
      MESH_TRY(there, sources_at_work(mesh, stream, steps));
    }
    if (!there) {
      steps.say("what feeds " + stream + " is not at work yet");
    }
  }
  return {};
}

}  // namespace mesh::controller
