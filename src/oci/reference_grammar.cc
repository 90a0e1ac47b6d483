#include "oci/reference_grammar.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::oci::grammar {

namespace {

constexpr std::size_t kIdentifierLength = 64;
constexpr std::size_t kLongestTag = 128;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_alphanumeric(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_domain_character(char c) {
  return is_alphanumeric(c) || is_upper(c) || c == '-';
}
bool is_tag_character(char c) {
  return is_domain_character(c) || c == '_' || c == '.';
}
bool is_ipv6_character(char c) {
  return is_digit(c) || c == ':' || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::unexpected<Error> refuse(std::string why, std::string hint = {}) {
  return fail(Code::InvalidArgument, std::move(why), std::move(hint));
}

Status check_port(std::string_view port) {
  if (port.empty()) {
    return refuse("the port after the colon is missing", "write the port, or leave the colon out");
  }
  if (!std::all_of(port.begin(), port.end(), is_digit)) {
    return refuse(fmt::format("port \"{}\" is not a number", printable(port, 40)),
                  "a tag stands at the end, after the last slash");
  }
  return {};
}

Status check_ipv6_domain(std::string_view domain) {
  const auto close = domain.find(']');
  if (close == std::string_view::npos) {
    return refuse("the bracket of its IPv6 address is not closed", "write it as [::1]:5000/name");
  }
  const std::string_view address = domain.substr(1, close - 1);
  if (address.find('%') != std::string_view::npos) {
    return refuse("an IPv6 address with a zone (%…) is not allowed", "leave the zone out");
  }
  if (address.find(':') == std::string_view::npos ||
      !std::all_of(address.begin(), address.end(), is_ipv6_character)) {
    return refuse(fmt::format("\"[{}]\" is not an IPv6 address", printable(address, 60)),
                  "only hexadecimal digits and colons stand in the brackets");
  }
  const std::string_view rest = domain.substr(close + 1);
  if (rest.empty()) {
    return {};
  }
  return rest.front() == ':' ? check_port(rest.substr(1))
                             : Status(refuse("after an IPv6 address only a port may stand"));
}

Status check_domain_component(std::string_view part) {
  if (part.empty()) {
    return refuse("its registry has an empty part between two dots, or at an end");
  }
  const auto bad = std::find_if_not(part.begin(), part.end(), is_domain_character);
  if (bad != part.end()) {
    return refuse(
        fmt::format("\"{}\" cannot stand in a registry's name", printable({bad, bad + 1})),
        *bad == '_' ? "host names have no underscore" : "");
  }
  if (part.front() == '-' || part.back() == '-') {
    return refuse(fmt::format("\"{}\" begins or ends with a dash", printable(part, 70)));
  }
  return {};
}

/// What is between two alphanumeric runs: one period, one or two underscores, any dashes.
bool is_separator(std::string_view text) {
  return text == "." || text == "_" || text == "__" ||
         text.find_first_not_of('-') == std::string_view::npos;
}

Status check_component_characters(std::string_view part) {
  if (std::any_of(part.begin(), part.end(), is_upper)) {
    return refuse(fmt::format("\"{}\" has upper-case letters", printable(part, 70)),
                  "repository names are in lower case");
  }
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  const auto bad = std::find_if_not(part.begin(), part.end(), fits);
  if (bad != part.end()) {
    return refuse(
        fmt::format("\"{}\" cannot stand in a repository's name", printable({bad, bad + 1})));
  }
  return {};
}

Status check_component(std::string_view part) {
  if (part.empty()) {
    return refuse("a part of its name is empty", "take the extra slash away");
  }
  MESH_CHECK(check_component_characters(part));
  if (!is_alphanumeric(part.front()) || !is_alphanumeric(part.back())) {
    return refuse(fmt::format("\"{}\" begins or ends with a separator", printable(part, 70)),
                  "each part begins and ends with a letter or digit");
  }
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t from = std::min(part.find_first_of("._-", at), part.size());
    const std::size_t to = std::min(part.find_first_not_of("._-", from), part.size());
    if (!is_separator(part.substr(from, to - from))) {
      return refuse(fmt::format("\"{}\" cannot separate in a name", part.substr(from, to - from)),
                    "separators are one period, one or two underscores, or dashes");
    }
    at = to;
  }
  return {};
}

}  // namespace

bool is_identifier(std::string_view text) {
  const auto fits = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return text.size() == kIdentifierLength && std::all_of(text.begin(), text.end(), fits);
}

Status check_domain(std::string_view domain) {
  if (domain.starts_with('[')) {
    return check_ipv6_domain(domain);
  }
  const auto colon = domain.find(':');
  if (colon != domain.rfind(':')) {
    return refuse("its registry is an IPv6 address without brackets",
                  "put the address in brackets: [::1]/name, or [::1]:5000/name with a port");
  }
  for (const std::string_view part : split(domain.substr(0, colon), '.')) {
    MESH_CHECK(check_domain_component(part));
  }
  return colon == std::string_view::npos ? Status() : check_port(domain.substr(colon + 1));
}

Status check_path(std::string_view path) {
  if (path.empty()) {
    return refuse("it names no repository", "write the name after the registry: registry/name");
  }
  for (const std::string_view part : split(path, '/')) {
    MESH_CHECK(check_component(part));
  }
  if (path.size() > kLongestPath) {
    return refuse(
        fmt::format("its name has {} characters, the most are {}", path.size(), kLongestPath));
  }
  return {};
}

Status check_tag(std::string_view tag) {
  if (tag.empty()) {
    return refuse("the tag after the colon is empty", "write the tag, or leave the colon out");
  }
  const auto bad = std::find_if_not(tag.begin(), tag.end(), is_tag_character);
  if (bad != tag.end()) {
    return refuse(fmt::format("\"{}\" cannot stand in a tag", printable({bad, bad + 1})),
                  "a tag has letters, digits, `_`, `.` and `-`");
  }
  if (tag.front() == '.' || tag.front() == '-') {
    return refuse(fmt::format("its tag begins with \"{}\"", tag.front()),
                  "a tag begins with a letter, a digit or `_`");
  }
  if (tag.size() > kLongestTag) {
    return refuse(
        fmt::format("its tag has {} characters, the most are {}", tag.size(), kLongestTag));
  }
  return {};
}

}  // namespace mesh::oci::grammar
