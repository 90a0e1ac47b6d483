#include "broker/missing.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::broker {

namespace {

/// A subject of the scheme in its parts: `mesh.<kind>.<owner>.<what>.<rest>`.
struct Parts {
  std::string_view kind;
  std::string_view owner;
  std::string_view what;
  std::string_view rest;
};

Parts parts(std::string_view subject) {
  Parts out;
  const auto tokens = split(subject, '.');
  if (tokens.size() < 4 || tokens[0] != "mesh") {
    return out;
  }
  out = {tokens[1], tokens[2], tokens[3], {}};
  const auto before = 8 + tokens[1].size() + tokens[2].size() + tokens[3].size();
  out.rest = subject.size() > before ? subject.substr(before) : std::string_view{};
  return out;
}

std::string of_module(const std::string& me, Direction direction, const Parts& p) {
  if (p.what == "tool" && direction == Direction::Publish) {
    return me == p.owner ? fmt::format("{} cannot call its own tools", me)
                         : fmt::format("{} would have to call {}.{}", me, p.owner, p.rest);
  }
  if (p.what == "tool") {
    return fmt::format("only instances of {} hear the calls of its tools", p.owner);
  }
  if (p.what == "event" && direction == Direction::Publish) {
    return me == p.owner ? fmt::format("{} would have to emit {}", me, p.rest)
                         : fmt::format("only instances of {} emit its events", p.owner);
  }
  if (p.what == "event") {
    return fmt::format("{} would have to consume {}.{}", me, p.owner, p.rest);
  }
  return {};
}

std::string of_seat(const std::string& me, Direction direction, const Parts& p) {
  if (p.what == "accept" && direction == Direction::Publish) {
    return fmt::format("{} would have to use {}.{}", me, p.owner, p.rest);
  }
  if (p.what == "accept") {
    return fmt::format("{} would have to hold {}, which would have to accept {}", me, p.owner,
                       p.rest);
  }
  if (p.what == "event" && direction == Direction::Publish) {
    return fmt::format("{} would have to hold {}, which would have to emit {}", me, p.owner,
                       p.rest);
  }
  if (p.what == "event") {
    return fmt::format("{} would have to consume {}:{}", me, p.owner, p.rest);
  }
  return {};
}

std::string of_node(Direction direction, const Parts& p) {
  const bool report = p.what == "report";
  if (direction == Direction::Publish) {
    return report ? fmt::format("only the node {} reports", p.owner)
                  : "only the controller declares and asks what a machine runs";
  }
  return report ? "only the controller hears reports"
                : fmt::format("only the node {} hears what the controller tells it", p.owner);
}

std::string of_the_bus(std::string_view subject) {
  if (subject.starts_with("$JS.API.CONSUMER.MSG.NEXT.") ||
      subject.starts_with("$JS.API.CONSUMER.INFO.") || subject.starts_with("$JS.ACK.") ||
      subject.starts_with("_DELIVER.")) {
    return "a consumer is there for the one principal that it is named after";
  }
  if (subject.starts_with("$JS.")) {
    return "only the controller makes, changes, reads and removes streams and consumers";
  }
  if (subject.starts_with("_INBOX.")) {
    return "an inbox is there for the one principal that it is named after";
  }
  if (subject.starts_with("mesh.retry.") || subject.starts_with("mesh.parked.")) {
    return "only the controller parks and retries";
  }
  return "no declaration grants it";
}

}  // namespace

std::string missing(const Principal& principal, Direction direction, std::string_view subject) {
  const auto p = parts(subject);
  std::string out;
  if (p.kind == "node") {
    out = of_node(direction, p);
  } else if (principal.kind == Kind::Module && p.kind == "mod") {
    out = of_module(*principal.module, direction, p);
  } else if (principal.kind == Kind::Module && p.kind == "seat") {
    out = of_seat(*principal.module, direction, p);
  } else if (principal.kind != Kind::Module && (p.kind == "mod" || p.kind == "seat")) {
    out = fmt::format("{} has what every {} has, and no declaration adds to it", principal.name,
                      principal.kind == Kind::Node ? "node" : "controller");
  }
  return out.empty() ? of_the_bus(subject) : out;
}

}  // namespace mesh::broker
