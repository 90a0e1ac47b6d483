#pragma once

// What a container says of the unit that it is. Included by the driver's sources alone.

#include <string>
#include <string_view>

#include "engine/container.h"
#include "host/driver.h"

namespace mesh::host {

inline constexpr const char* kMeshLabel = "mesh.id";
inline constexpr const char* kNodeLabel = "mesh.node";
inline constexpr const char* kModuleLabel = "mesh.module";
inline constexpr const char* kComponentLabel = "mesh.component";
inline constexpr const char* kGenerationLabel = "mesh.generation";
inline constexpr const char* kImageLabel = "mesh.image";
inline constexpr const char* kVolumeLabel = "mesh.volume";

/// An engine's word for a container's state. After a reboot podman calls those that ran `created`,
/// so `started`, whether it ever was, decides.
[[nodiscard]] converge::UnitState state_of(std::string_view word, bool started);

/// False of one that is on its way out, or that was never quite made.
[[nodiscard]] bool is_whole(std::string_view word);

/// `rootless`: the engine's own networks cannot be reached from this machine.
[[nodiscard]] Found found_from(const engine::Inspected& inspected, bool rootless);

/// The 64 hexadecimal digits of a container's id in an engine's words; empty where there are none.
[[nodiscard]] std::string id_in(std::string_view words);

}  // namespace mesh::host
