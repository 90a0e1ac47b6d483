#include "oci/manifest_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/text.h"

namespace mesh::oci {

namespace {

using nlohmann::json;

constexpr std::string_view kDescriptorFields[] = {
    "mediaType", "digest", "size", "urls", "data", "annotations", "platform", "artifactType"};

std::unexpected<Error> bad_field(std::string_view key, std::string_view why) {
  return fail(Code::Corrupt, fmt::format("{}: {}", key, why));
}

/// A key as Go's decoder compares it: case does not count, and two signs beyond ASCII are letters.
std::string folded(std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key.substr(i).starts_with("\u017F")) {  // long s
      out += 's';
      i += 1;
    } else if (key.substr(i).starts_with("\u212A")) {  // the sign of Kelvin
      out += 'k';
      i += 2;
    } else {
      out += static_cast<char>(key[i] >= 'A' && key[i] <= 'Z' ? key[i] + ('a' - 'A') : key[i]);
    }
  }
  return out;
}

Result<std::uint64_t> size_field(const json& object) {
  const auto found = object.find("size");
  if (found == object.end()) {
    return bad_field("size", "it is missing");
  }
  if (!found->is_number_unsigned()) {
    const bool negative = found->is_number() && *found < 0;
    return bad_field("size", negative ? "it is negative" : "it is not a whole number");
  }
  const auto size = found->get<std::uint64_t>();
  if (size > kMostBlobBytes) {
    return bad_field("size", fmt::format("{} bytes are more than any registry holds", size));
  }
  return size;
}

Result<std::optional<Platform>> platform_field(const json& object) {
  if (!is_there(object, "platform")) {
    return std::optional<Platform>();
  }
  const json& platform = object["platform"];
  if (!platform.is_object()) {
    return bad_field("platform", "it is not an object");
  }
  Platform out;
  MESH_TRY(out.os, text_field(platform, "os"));
  MESH_TRY(out.architecture, text_field(platform, "architecture"));
  MESH_TRY(out.variant, text_field(platform, "variant"));
  MESH_TRY(out.os_version, text_field(platform, "os.version"));
  MESH_TRY(out.os_features, texts_field(platform, "os.features"));
  return std::optional(std::move(out));
}

/// `data` holds the content itself; it must be what the descriptor says.
Status read_data(const json& object, Descriptor& out) {
  if (!is_there(object, "data")) {
    return {};
  }
  MESH_TRY(const std::string text, text_field(object, "data"));
  auto data = from_base64(text);
  if (!data) {
    return bad_field("data", "it is not base 64");
  }
  if (data->size() != out.size || digest_of(*data, out.digest.algorithm()) != out.digest) {
    return bad_field("data", "it is not the content that the digest and the size name");
  }
  out.data = std::move(data);
  return {};
}

Result<Descriptor> read_descriptor(const json& object) {
  if (!object.is_object()) {
    return fail(Code::Corrupt, "it is not an object");
  }
  MESH_CHECK(check_spelling(object, kDescriptorFields));
  MESH_TRY(const std::string text, text_field(object, "digest"));
  auto digest = Digest::parse(text);
  if (!digest) {
    const bool other = digest.error().code == Code::Unsupported;
    return fail(other ? Code::Unsupported : Code::Corrupt, "digest: " + digest.error().message);
  }
  Descriptor out{"", std::move(*digest), {}, {}, {}, {}, {}, {}};
  MESH_TRY(const std::string type, text_field(object, "mediaType"));
  auto media_type = parse_media_type(type);
  if (!media_type) {
    return bad_field("mediaType", media_type.error().message);
  }
  out.media_type = std::move(*media_type);
  MESH_TRY(out.size, size_field(object));
  MESH_TRY(out.urls, texts_field(object, "urls"));
  MESH_TRY(out.annotations, map_field(object, "annotations"));
  MESH_TRY(out.artifact_type, text_field(object, "artifactType"));
  MESH_TRY(out.platform, platform_field(object));
  MESH_CHECK(read_data(object, out));
  return out;
}

/// A manifest is no larger than registries take them, wherever it is referred to.
Result<Descriptor> descriptor_at(const json& value, const std::string& where) {
  auto read = read_descriptor(value);
  if (!read) {
    return within(where, read.error());
  }
  const bool manifest = read->kind() == MediaKind::Index || read->kind() == MediaKind::Manifest;
  if (manifest && read->size > kMostManifestBytes) {
    return bad_field(where, fmt::format("size: a manifest of {} bytes, the most are {}",
                                        *read->size, kMostManifestBytes));
  }
  return read;
}

}  // namespace

bool is_there(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

Status check_spelling(const json& object, std::span<const std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    const std::string lower = folded(key);
    for (const std::string_view field : known) {
      if (key != field && lower == folded(field)) {
        return bad_field(printable(key, 60), fmt::format("the field is written \"{}\"", field));
      }
    }
  }
  return {};
}

Result<std::string> text_field(const json& object, const char* key) {
  if (!is_there(object, key)) {
    return std::string();
  }
  const json& value = object[key];
  return value.is_string() ? Result<std::string>(value.get<std::string>())
                           : Result<std::string>(bad_field(key, "it is not a text"));
}

Result<const json*> list_field(const json& object, const char* key) {
  if (!is_there(object, key)) {
    return nullptr;
  }
  const json& value = object[key];
  return value.is_array() ? Result<const json*>(&value)
                          : Result<const json*>(bad_field(key, "it is not a list"));
}

Result<std::map<std::string, std::string>> map_field(const json& object, const char* key) {
  std::map<std::string, std::string> out;
  if (!is_there(object, key)) {
    return out;
  }
  if (!object[key].is_object()) {
    return bad_field(key, "it is not an object");
  }
  for (const auto& [name, value] : object[key].items()) {
    if (!value.is_string()) {
      return bad_field(key, fmt::format("\"{}\" is not a text", printable(name, 60)));
    }
    out.emplace(name, value.get<std::string>());
  }
  return out;
}

Result<std::vector<std::string>> texts_field(const json& object, const char* key) {
  MESH_TRY(const json* list, list_field(object, key));
  std::vector<std::string> out;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (!(*list)[i].is_string()) {
      return bad_field(fmt::format("{}[{}]", key, i), "it is not a text");
    }
    out.push_back((*list)[i].get<std::string>());
  }
  return out;
}

Result<std::optional<Descriptor>> descriptor_field(const json& object, const char* key) {
  if (!is_there(object, key)) {
    return std::optional<Descriptor>();
  }
  MESH_TRY(auto read, descriptor_at(object[key], key));
  return std::optional(std::move(read));
}

Result<std::vector<Descriptor>> descriptors_field(const json& object, const char* key) {
  MESH_TRY(const json* list, list_field(object, key));
  std::vector<Descriptor> out;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    MESH_TRY(auto read, descriptor_at((*list)[i], fmt::format("{}[{}]", key, i)));
    out.push_back(std::move(read));
  }
  return out;
}

}  // namespace mesh::oci
