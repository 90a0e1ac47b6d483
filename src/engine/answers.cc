#include "engine/answers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "base/url.h"

namespace mesh::engine {

using nlohmann::json;

namespace {

struct Words {
  std::string_view part;
  Code code;
};

// In this order: the first that is found decides.
constexpr std::array kAnyStatus{
    Words{"no space left on device", Code::Resource},
    Words{"disk quota exceeded", Code::Resource},
    Words{"cannot allocate memory", Code::Resource},
};
constexpr std::array kServerError{
    Words{"already in use", Code::Conflict},  // a name, an address
    Words{"port is already allocated", Code::Conflict},
    Words{"no such container", Code::NotFound},
    Words{"no such image", Code::NotFound},
    Words{"image not known", Code::NotFound},
    Words{"manifest unknown", Code::NotFound},
    Words{"manifest for", Code::NotFound},
    Words{"name unknown", Code::NotFound},
    Words{"executable file not found", Code::NotFound},
    Words{"no such file or directory", Code::NotFound},
    Words{"unauthorized", Code::PermissionDenied},
    Words{"authentication required", Code::PermissionDenied},
    Words{"access to the resource is denied", Code::PermissionDenied},
    Words{"permission denied", Code::PermissionDenied},
    Words{"operation not permitted", Code::PermissionDenied},
    Words{kHalfWritten, Code::Unavailable},
    Words{"connection refused", Code::Unavailable},
    Words{"connection reset", Code::Unavailable},
    Words{"no such host", Code::Unavailable},
    Words{"i/o timeout", Code::Unavailable},
    Words{"network is unreachable", Code::Unavailable},
    Words{"no route to host", Code::Unavailable},
    Words{"unexpected eof", Code::Unavailable},
    Words{"tls handshake", Code::Unavailable},
};

std::optional<Code> named_in(std::string_view lower, auto& table) {
  const auto found = std::ranges::find_if(
      table, [&](const Words& one) { return lower.find(one.part) != std::string_view::npos; });
  return found == std::end(table) ? std::nullopt : std::optional(found->code);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::int64_t number_member(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool flag_member(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}

Labels labels_from(const json& object) {
  Labels out;
  if (object.is_object()) {
    for (const auto& [name, value] : object.items()) {
      out[name] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  return out;
}

std::string without_slash(const std::string& name) {
  return name.starts_with('/') ? name.substr(1) : name;
}

int number_of(std::string_view text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// `{"80/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8080"}]}`
std::vector<Published> ports_from(const json& object) {
  std::vector<Published> out;
  if (!object.is_object()) {
    return out;
  }
  for (const auto& [port, places] : object.items()) {
    if (!places.is_array()) {
      continue;
    }
    for (const json& place : places) {
      out.push_back({number_of(port), port.ends_with("/udp"), text_member(place, "HostIp"),
                     number_of(text_member(place, "HostPort"))});
    }
  }
  return out;
}

std::vector<Mount> mounts_from(const json& array) {
  std::vector<Mount> out;
  if (!array.is_array()) {
    return out;
  }
  for (const json& one : array) {
    const bool volume = text_member(one, "Type") == "volume";
    const json& writable = member(one, "RW");
    out.push_back({volume ? Mount::Kind::Volume : Mount::Kind::Bind,
                   text_member(one, volume ? "Name" : "Source"), text_member(one, "Destination"),
                   writable.is_boolean() && !writable.get<bool>()});
  }
  return out;
}

/// `["CMD", word…]`; a shell's command or none at all is no list of words.
std::vector<std::string> check_from(const json& health_check) {
  std::vector<std::string> out;
  const json& test = member(health_check, "Test");
  if (test.is_array()) {
    for (const json& word : test) {
      out.push_back(word.is_string() ? word.get<std::string>() : "");
    }
  }
  if (out.empty() || out[0] != "CMD") {
    return {};
  }
  out.erase(out.begin());
  return out;
}

/// Of the first network that gave it one.
std::string address_from(const json& settings) {
  std::string own = text_member(settings, "IPAddress");
  const json& networks = member(settings, "Networks");
  if (own.empty() && networks.is_object()) {
    for (const auto& [name, network] : networks.items()) {
      own = own.empty() ? text_member(network, "IPAddress") : own;
    }
  }
  return own;
}

}  // namespace

const json& member(const json& object, const char* name) {
  static const json kNothing;
  if (!object.is_object()) {
    return kNothing;
  }
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string text_member(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

Code code_of(int status, std::string_view words) {
  const std::string lower = lowered(words);
  if (const auto code = named_in(lower, kAnyStatus)) {
    return *code;
  }
  switch (status) {
    case 400:
      return Code::InvalidArgument;
    case 401:
    case 403:
      return Code::PermissionDenied;
    case 404:
      return Code::NotFound;
    case 409:
      return Code::Conflict;
    case 501:
      return Code::Unsupported;
    default:
      return named_in(lower, kServerError).value_or(Code::Internal);
  }
}

Error error_of(const std::string& subject, int status, std::string_view body) {
  std::string words(body);
  if (const auto answer = parse_json(body)) {
    words = text_member(*answer, "message");
  }
  Error out{code_of(status, words), with_words(subject, words, 600), "", {}};
  if (out.code == Code::Resource) {
    out.hint = "free space on this machine's disk; `podman system df` shows what the engine takes";
  }
  return out;
}

std::optional<os::WallTime> time_of(const json& text) {
  if (!text.is_string() || text.get<std::string>().starts_with("0001-")) {
    return std::nullopt;
  }
  const auto time = os::parse_rfc3339(text.get<std::string>());
  return time ? std::optional(*time) : std::nullopt;
}

Inspected inspected_from(const json& answer) {
  const json& state = member(answer, "State");
  const json& config = member(answer, "Config");
  const json& settings = member(answer, "NetworkSettings");
  Inspected out;
  out.id = text_member(answer, "Id");
  out.name = without_slash(text_member(answer, "Name"));
  out.image = text_member(config, "Image");
  out.state = text_member(state, "Status");
  out.labels = labels_from(member(config, "Labels"));
  out.exit_code = static_cast<int>(number_member(state, "ExitCode"));
  out.out_of_memory = flag_member(state, "OOMKilled");
  out.error = text_member(state, "Error");
  out.pid = number_member(state, "Pid");
  out.started = time_of(member(state, "StartedAt"));
  out.ended = time_of(member(state, "FinishedAt"));
  out.network = text_member(member(answer, "HostConfig"), "NetworkMode");
  out.address = address_from(settings);
  out.ports = ports_from(member(settings, "Ports"));
  out.mounts = mounts_from(member(answer, "Mounts"));
  out.check = check_from(member(config, "Healthcheck"));
  return out;
}

std::vector<Listed> listed_from(const json& answer) {
  std::vector<Listed> out;
  if (!answer.is_array()) {
    return out;
  }
  for (const json& one : answer) {
    const json& names = member(one, "Names");
    const bool named = names.is_array() && !names.empty() && names[0].is_string();
    out.push_back({text_member(one, "Id"), named ? without_slash(names[0].get<std::string>()) : "",
                   text_member(one, "State"), labels_from(member(one, "Labels"))});
  }
  return out;
}

Volume volume_from(const json& answer) {
  return {text_member(answer, "Name"), labels_from(member(answer, "Labels"))};
}

std::vector<Volume> volumes_from(const json& answer) {
  std::vector<Volume> out;
  const json& volumes = member(answer, "Volumes");
  if (volumes.is_array()) {
    for (const json& one : volumes) {
      out.push_back(volume_from(one));
    }
  }
  return out;
}

std::string label_filter(const Labels& labels) {
  json wanted = json::array();
  for (const auto& [name, value] : labels) {
    wanted.push_back(name + "=" + value);
  }
  return url_escaped(json{{"label", wanted}}.dump());
}

}  // namespace mesh::engine
