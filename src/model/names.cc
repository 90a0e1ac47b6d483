#include "model/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

std::string reason(std::string_view text) {
  if (text.empty()) {
    return "is empty";
  }
  if (text.size() > kLongestName) {
    return fmt::format("has {} characters, at most {} are allowed", text.size(), kLongestName);
  }
  return "may have a-z, 0-9 and inner - only";
}

}  // namespace

std::string nearest_valid_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char lower = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    if (is_letter_or_digit(lower)) {
      out.push_back(lower);
    } else if (!out.empty() && out.back() != '-') {
      out.push_back('-');
    }
  }
  out.resize(std::min(out.size(), kLongestName));
  while (!out.empty() && out.back() == '-') {
    out.pop_back();
  }
  return out;
}

Status check_name(std::string_view what, std::string_view text) {
  if (is_name(text)) {
    return {};
  }
  const std::string near = nearest_valid_name(text);
  return fail(Code::InvalidArgument,
              fmt::format("{} name \"{}\" {}", what, printable(text), reason(text)),
              near.empty() ? "" : fmt::format("\"{}\" would do", near));
}

namespace {

bool is_event_name(std::string_view text) {
  for (std::size_t tokens = 1; tokens <= kMostEventTokens; ++tokens) {
    const auto dot = text.find('.');
    if (!is_name(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
  return false;
}

}  // namespace

Result<EventName> EventName::parse(std::string_view text) {
  if (is_event_name(text)) {
    return EventName(std::string(text));
  }
  const auto tokens = split(text, '.');
  if (tokens.size() > kMostEventTokens) {
    return fail(Code::InvalidArgument,
                fmt::format("event name \"{}\" has {} parts, at most {} are "
                            "allowed",
                            printable(text), tokens.size(), kMostEventTokens));
  }
  std::string hint;
  for (const auto token : tokens) {
    const std::string near = nearest_valid_name(token);
    if (!near.empty()) {
      hint += (hint.empty() ? "" : ".") + near;
    }
  }
  return fail(Code::InvalidArgument,
              fmt::format("event name \"{}\" may have a-z, 0-9 and inner - only, in at most {} "
                          "parts of at most {} characters joined by .",
                          printable(text), kMostEventTokens, kLongestName),
              hint.empty() ? "" : fmt::format("\"{}\" would do", hint));
}

Result<EventRef> EventRef::parse(std::string_view text) {
  const auto colon = text.find(':');
  const auto at = colon == std::string_view::npos ? text.find('.') : colon;
  if (at == std::string_view::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" does not say whose event it is", printable(text)),
                "write MODULE.EVENT for a module's event, SEAT:EVENT for a seat's");
  }
  const bool seat = colon != std::string_view::npos;
  MESH_CHECK(check_name(seat ? "seat" : "module", text.substr(0, at)));
  MESH_TRY(const auto event, EventName::parse(text.substr(at + 1)));
  return EventRef{seat ? Source::Seat : Source::Module, std::string(text.substr(0, at)),
                  event.text()};
}

std::string EventRef::text() const {
  return owner + (source == Source::Seat ? ":" : ".") + event;
}

Result<VerbRef> VerbRef::parse(std::string_view text) {
  const auto at = text.find('.');
  if (at == std::string_view::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not of the form SEAT.VERB", printable(text)));
  }
  MESH_TRY(auto seat, SeatName::parse(text.substr(0, at)));
  MESH_TRY(auto verb, VerbName::parse(text.substr(at + 1)));
  return VerbRef{std::move(seat), std::move(verb)};
}

std::string VerbRef::text() const {
  return seat.text() + "." + verb.text();
}

Result<ToolRef> ToolRef::parse(std::string_view text) {
  const auto at = text.find('.');
  if (at == std::string_view::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not of the form MODULE.TOOL", printable(text)));
  }
  MESH_TRY(auto module, ModuleName::parse(text.substr(0, at)));
  MESH_TRY(auto tool, ToolName::parse(text.substr(at + 1)));
  return ToolRef{std::move(module), std::move(tool)};
}

std::string ToolRef::text() const {
  return module.text() + "." + tool.text();
}

Result<InstanceName> InstanceName::parse(std::string_view text) {
  const auto at = text.find('.');
  if (at == std::string_view::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not of the form NODE.MODULE", printable(text)));
  }
  MESH_TRY(auto node, NodeName::parse(text.substr(0, at)));
  MESH_TRY(auto module, ModuleName::parse(text.substr(at + 1)));
  return InstanceName{std::move(node), std::move(module)};
}

std::string InstanceName::text() const {
  return node.text() + "." + module.text();
}

}  // namespace mesh::model
