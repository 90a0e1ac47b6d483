#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace mesh::model {

/// Most characters of a name. A name becomes a token of a subject, a DNS label and a file's name.
inline constexpr std::size_t kLongestName = 63;
/// Most tokens of an event's name.
inline constexpr std::size_t kMostEventTokens = 8;

/// Checks one name: `[a-z0-9]` and inner `-`, 1 to 63 characters. `what` says in the message whose
/// name it is (`node`, `module`, …). The hint is the nearest valid name, where there is one.
/// Errors: InvalidArgument.
[[nodiscard]] Status check_name(std::string_view what, std::string_view text);

/// The valid name nearest to `text`, or an empty string where nothing of it can be kept.
[[nodiscard]] std::string nearest_valid_name(std::string_view text);

/// A checked name. Made only by `parse`, so that whoever holds one need not check it again.
template <class Tag>
class Name {
 public:
  [[nodiscard]] static Result<Name> parse(std::string_view text) {
    MESH_CHECK(check_name(Tag::kWhat, text));
    return Name(std::string(text));
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  explicit Name(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

struct NodeTag {
  static constexpr std::string_view kWhat = "node";
};
struct ModuleTag {
  static constexpr std::string_view kWhat = "module";
};
struct SeatTag {
  static constexpr std::string_view kWhat = "seat";
};
struct ComponentTag {
  static constexpr std::string_view kWhat = "component";
};
struct ToolTag {
  static constexpr std::string_view kWhat = "tool";
};
struct VerbTag {
  static constexpr std::string_view kWhat = "verb";
};

/// (The reserved node names `node`, `controller` and `mesh` are refused where nodes are declared.)
using NodeName = Name<NodeTag>;
using ModuleName = Name<ModuleTag>;
using SeatName = Name<SeatTag>;
using ComponentName = Name<ComponentTag>;
using ToolName = Name<ToolTag>;
using VerbName = Name<VerbTag>;

/// An event's own name: one to eight names joined by `.`, as `order.placed`.
class EventName {
 public:
  [[nodiscard]] static Result<EventName> parse(std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const EventName&, const EventName&) = default;

 private:
  explicit EventName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// An event as a consumer names it: `module.event` or `seat:event`.
struct EventRef {
  enum class Source { Module, Seat };
  Source source = Source::Module;
  std::string owner;  // the module's or the seat's name, checked
  std::string event;  // the event's own name, checked

  /// Errors: InvalidArgument.
  [[nodiscard]] static Result<EventRef> parse(std::string_view text);
  /// As it is written: `shop.order.placed`, `telegram-sender:delivered`.
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const EventRef&, const EventRef&) = default;
};

/// Work given to a seat: `seat.verb`.
struct VerbRef {
  SeatName seat;
  VerbName verb;
  [[nodiscard]] static Result<VerbRef> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const VerbRef&, const VerbRef&) = default;
};

/// A tool that is called: `module.tool`.
struct ToolRef {
  ModuleName module;
  ToolName tool;
  [[nodiscard]] static Result<ToolRef> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const ToolRef&, const ToolRef&) = default;
};

/// A module on a node; its principal's name is `node.module`.
struct InstanceName {
  NodeName node;
  ModuleName module;
  [[nodiscard]] static Result<InstanceName> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const InstanceName&, const InstanceName&) = default;
};

}  // namespace mesh::model
