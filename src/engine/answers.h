#pragma once

// What the engine's answers mean: text in, values out. Included by this room alone.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "engine/container.h"
#include "engine/engine.h"

namespace mesh::engine {

/// What podman 4.3 says of a log where it looks just as a line is being written.
inline constexpr std::string_view kHalfWritten = "is not a valid container log line";

/// The code of what an engine says went wrong. The words decide where the status says only that
/// something did (500), and for what every status may hide: a full disk.
[[nodiscard]] Code code_of(int status, std::string_view words);

/// The error of an answer that is no success: `subject: the engine's words`.
[[nodiscard]] Error error_of(const std::string& subject, int status, std::string_view body);

/// Nothing for the time that stands for never.
[[nodiscard]] std::optional<os::WallTime> time_of(const nlohmann::json& text);

/// Members that are missing or of another kind are read as empty: engines leave out what they like.
[[nodiscard]] Inspected inspected_from(const nlohmann::json& answer);
[[nodiscard]] std::vector<Listed> listed_from(const nlohmann::json& answer);
[[nodiscard]] std::vector<Volume> volumes_from(const nlohmann::json& answer);
[[nodiscard]] Volume volume_from(const nlohmann::json& answer);
[[nodiscard]] About about_from(const nlohmann::json& version, const nlohmann::json& info);

/// The body of a request that creates a container. Errors: InvalidArgument (what the API cannot
/// carry: a NUL, bytes that are not UTF-8).
[[nodiscard]] Result<std::string> create_body(const ContainerSpec& spec, const About& about,
                                              bool without_health_check);

/// `{"label":["a=b"]}`, escaped for a query.
[[nodiscard]] std::string label_filter(const Labels& labels);

/// The member of an object, or null where it is none or has none of that name.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* name);
[[nodiscard]] std::string text_member(const nlohmann::json& object, const char* name);

}  // namespace mesh::engine
