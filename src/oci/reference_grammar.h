#pragma once

#include <string_view>

#include "base/result.h"

/// The productions of the distribution project's reference grammar, each with its refusals.
namespace mesh::oci::grammar {

inline constexpr std::size_t kLongestPath = 255;

/// 64 lower-case hexadecimal digits: docker takes such a name for an image's id.
[[nodiscard]] bool is_identifier(std::string_view text);

/// host [":" port]; host is a domain name, an IPv4 address, or an IPv6 address in brackets. The
/// error's text goes after `"…" is not an image reference: `.
[[nodiscard]] Status check_domain(std::string_view domain);

/// path-component ["/" path-component]*, at most kLongestPath bytes.
[[nodiscard]] Status check_path(std::string_view path);

/// A word character, then up to 127 of these, `.` and `-`.
[[nodiscard]] Status check_tag(std::string_view tag);

}  // namespace mesh::oci::grammar
