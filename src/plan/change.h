#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/place.h"

/// What a push would do, as a list; `mesh plan` prints it and `mesh push` applies the same list.
namespace mesh::plan {

enum class Action { Create, Update, Move, Replace, Delete };
enum class Kind { Account, User, Grant, Credential, Stream, Consumer, Image, Declaration };

[[nodiscard]] const char* action_name(Action action);
[[nodiscard]] const char* kind_name(Kind kind);

enum class Request {
  CreateStream,
  UpdateStream,
  DeleteStream,
  CreateConsumer,
  UpdateConsumer,
  DeleteConsumer,
};

/// One request to the bus that changes something. Where `config` is not null, the answer's config
/// must say the same (config_diff.h).
struct Operation {
  Request request = Request::CreateStream;
  std::string stream;
  std::string consumer;  // empty for a stream
  nlohmann::json config;
};

/// One change. `operations` are done in their order before anything is taken away; `cleanup` at the
/// very end of the push, when all that is new is there and proved.
struct Change {
  Action action = Action::Create;
  Kind kind = Kind::Stream;
  std::string name;  // `two.shop`, `EVENTS`, `EVENTS.two_shop`, `two.shop publish SUBJECT`
  Because because;
  std::optional<std::uint64_t> redelivered;
  std::optional<std::uint64_t> skipped;
  std::vector<std::string> disconnected;  // principals
  std::vector<std::string> restarted;     // node.module.component
  std::string needs_yes;                  // why it is not done unasked; empty: it is
  std::vector<Operation> operations;
  std::vector<Operation> cleanup;
};

[[nodiscard]] nlohmann::json to_json(const Because& because);
/// An entry of `changes` of `mesh plan --json`.
[[nodiscard]] nlohmann::json to_json(const Change& change);
/// One line for people: `create consumer EVENTS.two_shop: two.shop consumes …`.
[[nodiscard]] std::string to_text(const Change& change);

}  // namespace mesh::plan
