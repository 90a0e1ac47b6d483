#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/place.h"
#include "model/declarations.h"

namespace mesh::broker {

/// Keys of the metadata that streams and consumers carry.
inline constexpr const char* kMeshIdKey = "mesh.id";
/// Of a consumer: the delays of the n-th negative acknowledgement as `1s,5s,30s`, the last for all
/// that follow. It is no field of the consumer: the server would replace the ack wait by its first.
inline constexpr const char* kBackoffKey = "mesh.backoff";

/// A stream as it should be: the configuration of `$JS.API.STREAM.CREATE`, and why. What a server
/// of 2.10 or 2.15 echoes of it is equal but for what it adds itself. Its `sources` say no start:
/// the raiser gives a source that is not there yet its `opt_start_time` (never `opt_start_seq`: a
/// server that starts again with an empty queue takes *that* up again and gives all work once more;
/// measured on both) and keeps the one of a source that is there.
struct WantedStream {
  std::string name;
  nlohmann::json config;
  Because because;
};

/// A consumer as it should be. `config` holds what stays the same for ever; where an instance's
/// starts is decided at its first raise from `from` (of all its events the earliest), so its config
/// has no `deliver_policy`. Those of seats and nodes have theirs.
struct WantedConsumer {
  std::string stream;
  std::string name;
  nlohmann::json config;
  model::From from;
  std::string module;  // the module whose instance it is; empty for seats and nodes
  Because because;
};

/// Every stream and consumer that the declarations imply, sorted by stream and name.
struct Wanted {
  std::vector<WantedStream> streams;
  std::vector<WantedConsumer> consumers;
};

/// `mesh_id` goes into the metadata of each as `mesh.id`.
[[nodiscard]] Wanted wanted(const model::Mesh& mesh, const std::string& mesh_id);

/// The earlier of two starts: `all` before any age, a greater age before a smaller, `new` last.
[[nodiscard]] model::From earliest(model::From a, model::From b);

}  // namespace mesh::broker
