#include "builder/lock_file.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "oci/digest.h"
#include "oci/reference.h"

namespace mesh::builder {

namespace {

constexpr int kVersion = 1;
// Without it every tag is asked of upstream anew, and bases move: that is no way to mend it.
constexpr const char* kHint =
    "bring it back from git, as with `git checkout mesh.lock`: without it `mesh build` asks "
    "upstream "
    "what each tag means now, and bases may move";

Place place_in(const std::string& file, int line) {
  return {std::make_shared<const std::string>(file), line, 1};
}

/// The line of a text's byte, from 1.
int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n'));
}

Status add_image(const std::string& name, const nlohmann::json& value, const std::string& file,
                 LockFile& out) {
  const auto reference = oci::Reference::parse(name);
  const auto digest = value.is_string() ? oci::Digest::parse(value.get<std::string>())
                                        : Result<oci::Digest>(fail(Code::Corrupt, "no digest"));
  if (!reference || reference->digest() || !digest) {
    return fail(Code::Corrupt,
                fmt::format("{}: {} is locked to what is no digest", file, printable(name)), kHint,
                place_in(file, 1));
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
  const auto marks = text.starts_with("<<<<<<< ") ? 0 : text.find("\n<<<<<<< ");
  if (marks != std::string_view::npos) {
    return fail(Code::Corrupt, file + " has conflicts of a merge",
                "keep one of both sides, then `mesh build`",
                place_in(file, line_of(text, marks + (marks == 0 ? 0 : 1))));
  }
  const auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto version = parsed.is_object() ? parsed.find("version") : parsed.end();
  const auto images = parsed.is_object() ? parsed.find("images") : parsed.end();
  if (!parsed.is_object() || version == parsed.end() || !version->is_number_integer() ||
      images == parsed.end() || !images->is_object()) {
    return fail(Code::Corrupt, file + " is not a lock file of Mesh", kHint, place_in(file, 1));
  }
  if (version->get<int>() != kVersion) {
    return fail(Code::Corrupt, fmt::format("{} was written by another version of Mesh", file),
                "use that version, or bring back from git one that this version wrote",
                place_in(file, 1));
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
