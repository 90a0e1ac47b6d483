#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/place.h"
#include "model/declarations.h"

namespace mesh::broker {

/// A stream as it should be: the configuration of `$JS.API.STREAM.CREATE`, and why.
struct WantedStream {
  std::string name;
  nlohmann::json config;
  Because because;
};

/// A consumer as it should be. `config` holds what stays the same for ever; where it starts is
/// decided at its first raise from `from` (of all its events the earliest).
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

}  // namespace mesh::broker
