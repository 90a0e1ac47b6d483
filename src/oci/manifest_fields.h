#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "oci/manifest.h"

/// The fields of manifests and descriptors. All errors are Corrupt and begin with the field's name,
/// except that of a digest whose algorithm is not known (Unsupported). A field that is null counts
/// as not there: Go writes empty lists so.
namespace mesh::oci {

inline constexpr std::string_view kManifestFields[] = {
    "schemaVersion", "mediaType", "artifactType", "config",     "layers",
    "manifests",     "subject",   "annotations",  "signatures", "fsLayers"};

[[nodiscard]] bool is_there(const nlohmann::json& object, const char* key);

/// Refuses a key that is one of `known` but for its case. Go's readers (the registries) take it for
/// that field, others do not.
[[nodiscard]] Status check_spelling(const nlohmann::json& object,
                                    std::span<const std::string_view> known);

/// The text of a field; empty where it is not there.
[[nodiscard]] Result<std::string> text_field(const nlohmann::json& object, const char* key);
/// A list, or null where it is not there.
[[nodiscard]] Result<const nlohmann::json*> list_field(const nlohmann::json& object,
                                                       const char* key);
/// A map of texts.
[[nodiscard]] Result<std::map<std::string, std::string>> map_field(const nlohmann::json& object,
                                                                   const char* key);
[[nodiscard]] Result<std::vector<std::string>> texts_field(const nlohmann::json& object,
                                                           const char* key);
[[nodiscard]] Result<std::optional<Descriptor>> descriptor_field(const nlohmann::json& object,
                                                                 const char* key);
[[nodiscard]] Result<std::vector<Descriptor>> descriptors_field(const nlohmann::json& object,
                                                                const char* key);

}  // namespace mesh::oci
