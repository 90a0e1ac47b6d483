#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

/// What the bus answered when it was asked what it holds.
namespace mesh::plan {

struct ObservedStream {
  std::string name;
  nlohmann::json config;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first = 0;  // sequences; 0 where nothing was ever stored
  std::uint64_t last = 0;
  std::string last_time = {};  // of that message, RFC 3339, by the server's clock
};

/// A pair of sequences: in the stream, and the count of deliveries of the consumer.
struct Position {
  std::uint64_t stream = 0;
  std::uint64_t consumer = 0;
};

struct ObservedConsumer {
  std::string stream;
  std::string name;
  nlohmann::json config;
  Position delivered;
  Position ack_floor;
  std::uint64_t waiting = 0;         // num_pending: matching messages not delivered yet
  std::uint64_t unacknowledged = 0;  // num_ack_pending
};

/// Everything in the account, also what Mesh did not make.
struct Observed {
  std::vector<ObservedStream> streams;
  std::vector<ObservedConsumer> consumers;

  /// The object of that name, or nullptr. The pointers live as long as this value is unchanged.
  [[nodiscard]] const ObservedStream* stream(std::string_view name) const;
  [[nodiscard]] const ObservedConsumer* consumer(std::string_view stream,
                                                 std::string_view name) const;
  /// Puts both lists into their order (by name; by stream and name), which the questions above and
  /// `bus_plan` need.
  void sort();
};

/// One entry of `$JS.API.STREAM.LIST`, or the answer of INFO, CREATE and UPDATE.
/// Errors: Corrupt where a part is missing or of another type.
[[nodiscard]] Result<ObservedStream> observed_stream(const nlohmann::json& info);
/// The same of a consumer.
[[nodiscard]] Result<ObservedConsumer> observed_consumer(const nlohmann::json& info);

/// The `mesh.id` in an object's metadata, or an empty string.
[[nodiscard]] std::string mesh_id_of(const nlohmann::json& config);

/// Messages that a consumer which takes over at the acknowledged floor is given although they were
/// delivered already: at most (exact where none was delivered twice before).
[[nodiscard]] std::uint64_t redelivered_after(const ObservedConsumer& consumer);

}  // namespace mesh::plan
