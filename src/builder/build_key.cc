#include "builder/build_key.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace mesh::builder {

namespace {

/// Counts up where the same inputs give another image than before.
constexpr int kWayOfBuilding = 2;

}  // namespace

std::string build_key(const KeyParts& parts) {
  // The digest of the bytes stands for them, since they need not be UTF-8.
  nlohmann::ordered_json args = nlohmann::ordered_json::array();
  for (const auto& [name, value] : parts.args) {
    args.push_back({name, sha256_hex(value)});
  }
  const nlohmann::ordered_json all{kWayOfBuilding,  parts.context, sha256_hex(parts.containerfile),
                                   parts.target,    args,          parts.secrets,
                                   parts.platforms, parts.bases};
  return sha256_hex(all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace mesh::builder
