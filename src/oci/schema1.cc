#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json_text.h"
#include "oci/manifest.h"
#include "oci/manifest_fields.h"

namespace mesh::oci {

namespace {

std::unexpected<Error> bad_signatures(std::string_view why) {
  return fail(Code::Corrupt, fmt::format("the schema 1 manifest's signatures: {}", why));
}

std::optional<std::string> from_url_base64(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  return from_base64(text);
}

/// The text that one signature is over: the first `formatLength` bytes, and `formatTail`.
Result<std::string> payload_of(const nlohmann::json& signature, std::string_view bytes) {
  if (!signature.is_object()) {
    return bad_signatures("one is not an object");
  }
  MESH_TRY(const std::string text, text_field(signature, "protected"));
  const auto decoded = from_url_base64(text);
  if (!decoded) {
    return bad_signatures("\"protected\" is not base 64");
  }
  MESH_TRY(const auto header, parse_json(*decoded));
  if (!header.is_object() || !header.contains("formatLength") ||
      !header["formatLength"].is_number_unsigned()) {
    return bad_signatures("\"formatLength\" is missing");
  }
  const auto length = header["formatLength"].get<std::uint64_t>();
  MESH_TRY(const std::string tail_text, text_field(header, "formatTail"));
  const auto tail = from_url_base64(tail_text);
  if (length > bytes.size() || !tail) {
    return bad_signatures("they are of another text");
  }
  return std::string(bytes.substr(0, length)) + *tail;
}

}  // namespace

Result<std::string> schema1_payload(std::string_view bytes) {
  MESH_TRY(const auto root, parse_json(bytes));
  if (!root.is_object()) {
    return bad_signatures("the manifest is not an object");
  }
  MESH_TRY(const auto* signatures, list_field(root, "signatures"));
  if (signatures == nullptr) {
    return std::string(bytes);
  }
  std::optional<std::string> payload;
  for (const auto& signature : *signatures) {
    MESH_TRY(auto found, payload_of(signature, bytes));
    if (payload && *payload != found) {
      return bad_signatures("they are of different texts");
    }
    payload = std::move(found);
  }
  return payload ? Result<std::string>(std::move(*payload)) : bad_signatures("there are none");
}

}  // namespace mesh::oci
