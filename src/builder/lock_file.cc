#include "builder/lock_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "oci/digest.h"
#include "oci/reference.h"

namespace mesh::builder {

namespace {

constexpr int kVersion = 1;
constexpr const char* kHint = "bring it back from git, or remove it: `mesh build` makes it again";

Status add_image(const std::string& name, const nlohmann::json& value, const std::string& file,
                 LockFile& out) {
  const auto reference = oci::Reference::parse(name);
  const auto digest = value.is_string() ? oci::Digest::parse(value.get<std::string>())
                                        : Result<oci::Digest>(fail(Code::Corrupt, "no digest"));
  if (!reference || reference->digest() || !digest) {
    return fail(Code::Corrupt,
                fmt::format("{}: {} is locked to what is no digest", file, printable(name)), kHint);
  }
  out.images[name] = digest->text();
  return {};
}

}  // namespace

Result<LockFile> LockFile::parse(std::string_view text, const std::string& file) {
  LockFile out;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return out;
  }
  if (text.starts_with("<<<<<<< ") || text.find("\n<<<<<<< ") != std::string_view::npos) {
    return fail(Code::Corrupt, file + " has conflicts of a merge",
                "keep one of both sides, then `mesh build`");
  }
  const auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto version = parsed.is_object() ? parsed.find("version") : parsed.end();
  const auto images = parsed.is_object() ? parsed.find("images") : parsed.end();
  if (!parsed.is_object() || version == parsed.end() || !version->is_number_integer() ||
      images == parsed.end() || !images->is_object()) {
    return fail(Code::Corrupt, file + " is not a lock file of Mesh", kHint);
  }
  if (version->get<int>() != kVersion) {
    return fail(Code::Unsupported, fmt::format("{} was written by another version of Mesh", file),
                "use that version, or remove the file: `mesh build` makes it again");
  }
  for (const auto& [name, value] : images->items()) {
    MESH_CHECK(add_image(name, value, file, out));
  }
  return out;
}

std::string LockFile::text() const {
  nlohmann::ordered_json out;
  out["version"] = kVersion;
  out["images"] = nlohmann::ordered_json::object();
  for (const auto& [name, digest] : images) {
    out["images"][name] = digest;
  }
  return out.dump(2) + "\n";
}

}  // namespace mesh::builder
