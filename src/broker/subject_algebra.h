#pragma once

#include <span>
#include <string_view>

/// Questions about subjects with the wildcards `*` and `>`, exactly as nats-server answers them.
namespace mesh::broker {

/// True where every subject that `inner` stands for is matched by `outer`.
[[nodiscard]] bool includes(std::string_view outer, std::string_view inner);

/// True where at least one subject is matched by both.
[[nodiscard]] bool overlaps(std::string_view a, std::string_view b);

/// True where every subject that `inner` stands for is matched by at least one of `outers`.
[[nodiscard]] bool covers(std::span<const std::string_view> outers, std::string_view inner);

/// True for a subject that a subscription may name: tokens not empty, no white space or control
/// character, `*` and `>` only as whole tokens, `>` only last.
[[nodiscard]] bool is_subject(std::string_view text);

}  // namespace mesh::broker
