#include "host/allowance.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/text.h"

namespace mesh::host {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "host.toml";
constexpr std::size_t kLargestAllowance = 65536;

Place allowance_place(const std::string& file, const toml::source_position& at) {
  return {std::make_shared<const std::string>(file), static_cast<int>(at.line),
          static_cast<int>(at.column)};
}

/// One key after the other out of the table; the first that is wrong is kept.
class AllowanceReader {
 public:
  AllowanceReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

  void flag(const char* key, bool& out) {
    if (const toml::node* node = take(key)) {
      const auto value = node->value_exact<bool>();
      value ? void(out = *value) : wrong(*node, key, "true or false");
    }
  }

  void texts(const char* key, std::vector<std::string>& out) {
    const toml::node* const node = take(key);
    if (node == nullptr) {
      return;
    }
    const toml::array* const array = node->as_array();
    if (array == nullptr) {
      wrong(*node, key, "a list of strings");
      return;
    }
    for (const toml::node& one : *array) {
      const auto value = one.value_exact<std::string>();
      value ? void(out.push_back(*value)) : wrong(one, key, "a list of strings");
    }
  }

  /// A list of absolute paths, as they are compared later.
  void paths(const char* key, std::vector<std::string>& out) {
    texts(key, out);
    for (std::string& path : out) {
      if (!path.starts_with('/')) {
        wrong(*table_.get(key), key, "absolute paths");
      }
      path = fs::path(path).lexically_normal().string();
    }
  }

  [[nodiscard]] Status done() {
    for (const auto& [key, value] : table_) {
      const std::string name(key.str());
      if (!failed_ && std::ranges::find(known_, name) == known_.end()) {
        const std::string close = nearest(name, known_);
        failed_ = Error{Code::InvalidArgument, fmt::format("unknown key `{}`", printable(name)),
                        close.empty() ? "the keys are " + join(known_, ", ")
                                      : fmt::format("did you mean `{}`?", close),
                        allowance_place(file_, value.source().begin)};
      }
    }
    return failed_ ? Status(std::unexpected(*failed_)) : Status();
  }

 private:
  const toml::node* take(const char* key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  void wrong(const toml::node& node, const char* key, const char* wanted) {
    if (!failed_) {
      failed_ = Error{Code::InvalidArgument, fmt::format("`{}` must be {}", key, wanted), "",
                      allowance_place(file_, node.source().begin)};
    }
  }

  const toml::table& table_;
  const std::string& file_;
  std::vector<std::string> known_;
  std::optional<Error> failed_;
};

Status refused(std::string what, std::string_view key, const std::string& value) {
  return fail(Code::PermissionDenied,
              fmt::format("{}, which this machine does not allow", std::move(what)),
              fmt::format("{} of the machine would allow it with `{} = {}`", kFile, key, value));
}

std::string listed(const std::string& text) {
  return fmt::format("[\"{}\"]", text);
}

bool is_within(const fs::path& path, const fs::path& root) {
  const fs::path from_root = path.lexically_relative(root);
  return !from_root.empty() && *from_root.begin() != "..";
}

/// The path with its symbolic links followed as far as it exists.
fs::path real_path(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(path, failed);
  return failed ? fs::path() : real;
}

/// A path is judged as it is written and by where it leads: a module that may write below an
/// allowed path could have put a symbolic link to `/` there.
bool path_allowed(const std::string& path, const std::vector<std::string>& roots) {
  const fs::path written = fs::path(path).lexically_normal();
  const fs::path real = real_path(written);
  return std::ranges::any_of(roots, [&](const std::string& root) {
    return is_within(written, root) && !real.empty() && is_within(real, real_path(root));
  });
}

/// `/dev/x:/dev/y:rwm` -> `/dev/x`, without `.` and `..`.
std::string device_of(const std::string& device) {
  return fs::path(device.substr(0, device.find(':'))).lexically_normal().string();
}

std::string capability_of(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out.starts_with("CAP_") ? out.substr(4) : out;
}

Status check_volumes(const declaration::Component& component, const Allowance& allowance) {
  for (const declaration::Volume& volume : component.volumes) {
    if (volume.is_path() && !path_allowed(volume.source, allowance.paths)) {
      return refused(fmt::format("`volumes` of component {} mounts {} of the machine",
                                 component.name, printable(volume.source)),
                     "paths", listed(printable(volume.source)));
    }
  }
  return {};
}

Status check_devices(const declaration::Component& component, const Allowance& allowance) {
  for (const std::string& device : component.devices) {
    const std::string path = device_of(device);
    if (!allowance.privileged &&
        std::ranges::find(allowance.devices, path) == allowance.devices.end()) {
      return refused(
          fmt::format("`devices` of component {} asks for {}", component.name, printable(path)),
          "devices", listed(printable(path)));
    }
  }
  return {};
}

Status check_capabilities(const declaration::Component& component, const Allowance& allowance) {
  for (const std::string& capability : component.capabilities) {
    const std::string wanted = capability_of(capability);
    const bool named =
        wanted != "ALL" && std::ranges::any_of(allowance.capabilities, [&](const auto& one) {
          return capability_of(one) == wanted;
        });
    if (named || allowance.privileged) {
      continue;
    }
    auto what = fmt::format("`capabilities` of component {} asks for {}", component.name,
                            printable(wanted));
    return wanted == "ALL" ? refused(std::move(what), "privileged", "true")
                           : refused(std::move(what), "capabilities", listed(printable(wanted)));
  }
  return {};
}

}  // namespace

Result<Allowance> Allowance::parse(std::string_view text, const std::string& file) {
  if (text.size() > kLargestAllowance || !is_utf8(text)) {
    return fail(Code::InvalidArgument, "the file is no TOML text of at most 64 KiB", "",
                {std::make_shared<const std::string>(file)});
  }
  try {
    const toml::table table = toml::parse(text);
    Allowance out;
    AllowanceReader reader(table, file);
    reader.flag("privileged", out.privileged);
    reader.paths("paths", out.paths);
    reader.flag("host-network", out.host_network);
    reader.paths("devices", out.devices);
    reader.texts("capabilities", out.capabilities);
    reader.flag("run", out.run);
    MESH_CHECK(reader.done());
    return out;
  } catch (const toml::parse_error& error) {
    return fail(Code::InvalidArgument, printable(error.description()), "",
                allowance_place(file, error.source().begin));
  }
}

Status check_allowed(const declaration::Component& component, const Allowance& allowance) {
  if (!component.run.empty() && !allowance.run) {
    return refused(
        fmt::format("`run` of component {} runs a command on the machine itself", component.name),
        "run", "true");
  }
  if (component.network == "host" && component.run.empty() && !allowance.host_network) {
    return refused(fmt::format("`network` of component {} is the machine's own", component.name),
                   "host-network", "true");
  }
  MESH_CHECK(check_volumes(component, allowance));
  MESH_CHECK(check_devices(component, allowance));
  return check_capabilities(component, allowance);
}

}  // namespace mesh::host
