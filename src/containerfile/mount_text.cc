#include "containerfile/mount_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "containerfile/lines.h"

namespace mesh::containerfile {

namespace {

constexpr std::size_t kLongestCacheName = 100;

/// `path` without `.`, `..` and doubled slashes; `..` never leads above the top.
std::string tidied(std::string_view path) {
  std::vector<std::string> parts;
  for (const auto part : split(path, '/')) {
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != "." && part != "..") {
      parts.emplace_back(part);
    }
  }
  return join(parts, "/");
}

/// The builder would read these signs otherwise, whatever stands around them.
Result<std::string> spelled(std::string_view key, std::string text) {
  const bool strange = std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) < ' ' ||
           std::string_view(",\"'\\$`").find(c) != std::string_view::npos;
  });
  if (strange) {
    return fail(Code::InvalidArgument,
                fmt::format("`{}={}` of --mount has a sign that the builder reads otherwise", key,
                            printable(text, 80)),
                "do without , ' \" \\ $ ` and control characters in a mount");
  }
  return text;
}

class MountWriter {
 public:
  MountWriter(const Mount& mount, const std::string& from, const Variables& variables,
              const ContextPaths& paths)
      : mount_(mount), from_(from), variables_(variables), paths_(paths) {}

  Result<std::string> write() {
    if (mount_.type.find('$') != std::string::npos) {
      return fail(Code::InvalidArgument, "the type of a mount is a variable",
                  "write the type itself");
    }
    for (const auto& field : mount_.fields) {
      MESH_CHECK(add_field(field));
    }
    if (mount_.type == "cache" && mount_.id.empty()) {
      // Without an id the builder makes a path of the target.
      MESH_TRY(const auto target, value("target", mount_.target));
      if (target != "/" + tidied(target)) {
        add("id", cache_name(target));
      }
    }
    return std::move(out_);
  }

 private:
  void add(std::string_view key, const std::string& value) {
    out_ += fmt::format("{}{}={}", out_.empty() ? "" : ",", key, value);
  }

  Status add_field(const std::string& field) {
    const auto equals = field.find('=');
    const auto key = ascii_lower(field.substr(0, equals));
    if (equals == std::string::npos) {
      out_ += (out_.empty() ? "" : ",") + key;
      return {};
    }
    if (key == "from") {
      // Of scratch: that is what a cache starts with anyway.
      if (!from_.empty()) {
        add(key, from_);
      }
      return {};
    }
    if (key == "source" || key == "src") {
      return add_source();
    }
    if (key == "id") {
      MESH_TRY(const auto id, expanded(mount_.id));
      if (mount_.type == "cache") {
        add(key, cache_name(id));
        return {};
      }
      MESH_TRY(const auto plain, value(key, mount_.id));
      add(key, plain);
      return {};
    }
    MESH_TRY(const auto plain, value(key, field.substr(equals + 1)));
    add(key == "size" ? "tmpfs-size" : key, plain);  // buildah's name for it
    return {};
  }

  Status add_source() {
    MESH_TRY(const auto source, value("source", mount_.source));
    if (mount_.type == "secret") {
      add("id", source);  // another word for it, which buildah does not know
    } else if (mount_.type == "bind" && from_.empty() && paths_) {
      MESH_TRY(const auto real, paths_(tidied(source)));
      MESH_TRY(const auto plain, spelled("source", real));
      add("source", "/" + plain);
    } else {
      add("source", "/" + tidied(source));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> expanded(const std::string& text) const {
    MESH_TRY(auto out, variables_.value(text));
    return std::move(out.text);
  }

  [[nodiscard]] Result<std::string> value(std::string_view key, const std::string& text) const {
    MESH_TRY(auto out, expanded(text));
    return spelled(key, std::move(out));
  }

  const Mount& mount_;
  const std::string& from_;
  const Variables& variables_;
  const ContextPaths& paths_;
  std::string out_;
};

}  // namespace

Result<std::string> mount_text(const Mount& mount, const std::string& from,
                               const Variables& variables, const ContextPaths& paths) {
  return MountWriter(mount, from, variables, paths).write();
}

Result<std::string> source_to_copy(const Mount& mount, const Variables& variables) {
  MESH_TRY(const auto value, variables.value(mount.source));
  MESH_TRY(const auto plain, spelled("source", value.text));
  if (plain.find_first_of("*?[") != std::string::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("the source {} of --mount is a pattern for COPY", printable(plain)),
                "mount the folder that it is in");
  }
  return "/" + tidied(plain);
}

std::string cache_name(std::string_view id) {
  const bool plain = !id.empty() && id.size() <= kLongestCacheName && id.front() != '.' &&
                     id.front() != '-' && std::ranges::all_of(id, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
                     });
  return plain ? std::string(id) : "mesh-" + sha256_hex(id);
}

bool is_whole(std::string_view source) {
  return tidied(source).empty();
}

}  // namespace mesh::containerfile
