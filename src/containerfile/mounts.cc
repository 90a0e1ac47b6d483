#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/instruction.h"

namespace mesh::containerfile {

namespace {

const std::vector<std::string>& mount_types() {
  static const std::vector<std::string> kTypes{"bind", "cache", "tmpfs", "secret", "ssh"};
  return kTypes;
}

const std::vector<std::string>& mount_keys() {
  static const std::vector<std::string> kKeys{
      "type",        "from", "source", "target",    "readonly", "id",  "sharing",
      "required",    "size", "mode",   "uid",       "gid",      "src", "dst",
      "destination", "ro",   "rw",     "readwrite", "env"};
  return kKeys;
}

/// The fields between commas; a field in double quotes may hold commas.
std::vector<std::string> comma_fields(std::string_view text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[i++];
    } else if (text[i] == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += text[i];
    }
  }
  return fields;
}

class MountReader {
 public:
  MountReader(const Flag& flag, std::vector<Problem>& problems)
      : flag_(flag), problems_(problems) {}

  Mount read() {
    mount_.fields = comma_fields(flag_.value.value_or(""));
    for (const auto& field : mount_.fields) {
      read_field(field);
    }
    check_whole();
    std::ranges::sort(mount_.keys);
    return std::move(mount_);
  }

 private:
  void problem(std::string code, std::string message, std::string hint) {
    problems_.push_back({true, std::move(code), std::move(message), std::move(hint), flag_.spot});
  }

  void read_field(const std::string& field) {
    const auto equals = field.find('=');
    const auto key = ascii_lower(field.substr(0, equals));
    const bool has_value = equals != std::string::npos;
    const std::string value = has_value ? field.substr(equals + 1) : std::string();
    if (std::ranges::find(mount_keys(), key) == mount_keys().end()) {
      const auto meant = nearest(key, mount_keys());
      problem("unknown-mount-key", fmt::format("--mount has no `{}`", printable(key)),
              meant.empty() ? "" : fmt::format("did you mean `{}`?", meant));
      return;
    }
    mount_.keys.push_back(key);
    const bool alone =
        key == "ro" || key == "readonly" || key == "rw" || key == "readwrite" || key == "required";
    if (!has_value && !alone) {
      problem("bad-mount", fmt::format("`{}` of --mount has no value", key),
              fmt::format("write `{}=…`", key));
    }
    set(key, value, !has_value || value == "true" || value == "1");
  }

  void set(const std::string& key, const std::string& value, bool on) {
    if (key == "type") {
      set_type(ascii_lower(value));
    } else if (key == "from") {
      set_from(value);
    } else if (key == "source" || key == "src") {
      mount_.source = value;
    } else if (key == "target" || key == "dst" || key == "destination") {
      mount_.target = value;
    } else if (key == "id") {
      mount_.id = value;
    } else if (key == "rw" || key == "readwrite") {
      mount_.writable = on;
    } else if (key == "ro" || key == "readonly") {
      mount_.writable = !on;
    } else if (key == "required") {
      mount_.required = on;
    }
  }

  void set_type(std::string type) {
    if (type.find('$') == std::string::npos &&
        std::ranges::find(mount_types(), type) == mount_types().end()) {
      problem("unknown-mount-type",
              fmt::format("there is no mount of the type `{}`", printable(type)),
              "the types are bind, cache, tmpfs, secret and ssh");
    }
    mount_.type = std::move(type);
  }

  void set_from(const std::string& value) {
    const auto dollar = value.find('$');
    if (dollar != std::string::npos && dollar + 1 != value.size()) {
      problem("variable-in-from", "`from` of --mount takes no variable",
              "name a stage for it: FROM $IMAGE AS name, and from=name");
      return;
    }
    mount_.from = value;
  }

  void check_whole() {
    if (mount_.type == "secret" && mount_.id.empty() && mount_.source.empty() &&
        mount_.target.empty()) {
      problem("bad-mount", "a secret mount names no secret", "write --mount=type=secret,id=NAME");
    }
    if (mount_.type == "secret" && !mount_.from.empty()) {
      problem("bad-mount", "a secret mount has no `from`", "leave `from` out");
    }
    if ((mount_.type == "bind" || mount_.type == "cache" || mount_.type == "tmpfs") &&
        mount_.target.empty()) {
      problem("bad-mount", fmt::format("a {} mount has no target", mount_.type),
              "write target=/PATH");
    }
  }

  const Flag& flag_;
  std::vector<Problem>& problems_;
  Mount mount_;
};

}  // namespace

void read_mounts(Instruction& run, std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < run.flags.size(); ++i) {
    if (run.flags[i].name == "mount" && run.flags[i].value) {
      run.mounts.push_back(MountReader(run.flags[i], problems).read());
      run.mounts.back().flag = i;
    }
  }
}

}  // namespace mesh::containerfile
