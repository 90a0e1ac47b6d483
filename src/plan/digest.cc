#include "plan/digest.h"

#include "base/digest.h"

namespace mesh::plan {

using nlohmann::json;

std::string plan_digest(std::span<const model::AcceptedFile> files, const Observed& observed,
                        std::string_view config_in_force, std::span<const Change> changes,
                        std::span<const std::string> contents) {
  json all = {{"files", json::array()},     {"streams", json::array()},
              {"consumers", json::array()}, {"changes", json::array()},
              {"contents", json::array()},  {"config", sha256_hex(config_in_force)}};
  for (const auto& file : files) {
    all["files"].push_back({file.path, sha256_hex(file.bytes)});
  }
  for (const auto& stream : observed.streams) {
    all["streams"].push_back(stream.config);
  }
  for (const auto& consumer : observed.consumers) {
    all["consumers"].push_back({consumer.stream, consumer.name, consumer.config});
  }
  for (const auto& change : changes) {
    all["changes"].push_back(to_json(change));
  }
  for (const auto& line : contents) {
    all["contents"].push_back(sha256_hex(line));
  }
  return sha256_hex(all.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace mesh::plan
