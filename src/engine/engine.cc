#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"
#include "base/url.h"
#include "engine/answers.h"
#include "http/loop.h"

namespace mesh::engine {

using nlohmann::json;

namespace {

constexpr std::size_t kLargestAnswer = std::size_t{16} << 20U;
constexpr int kNotModified = 304;
/// The version whose fields are used; an engine that has left it behind is asked in its oldest.
constexpr const char* kOurApi = "1.41";
constexpr os::Milliseconds kConnectWithin{5'000};

/// `1.41` as a number that can be compared.
int api_number(std::string_view text) {
  const auto dot = text.find('.');
  const auto number = [](std::string_view digits) {
    int out = 0;
    for (const char c : digits) {
      out = c >= '0' && c <= '9' && out < 100'000 ? out * 10 + (c - '0') : out;
    }
    return out;
  };
  return number(text.substr(0, dot)) * 1000 +
         (dot == std::string_view::npos ? 0 : number(text.substr(dot + 1)));
}

std::string api_of(const json& version) {
  std::string newest = text_member(version, "ApiVersion");
  const std::string oldest = text_member(version, "MinAPIVersion");
  if (api_number(newest) < api_number(kOurApi)) {
    return newest;
  }
  return api_number(oldest) > api_number(kOurApi) ? oldest : kOurApi;
}

/// A reference stands in paths as it is, so it may hold nothing that would lead elsewhere.
Status check_reference(const std::string& reference) {
  const bool fits = std::ranges::all_of(reference, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("./:@_-[]+").find(c) != std::string_view::npos;
  });
  if (reference.empty() || !fits || reference.find("..") != std::string::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("{} is no reference of an image", printable(reference)));
  }
  return {};
}

std::string container(const std::string& id) {
  return "container " + printable(id);
}

}  // namespace

About about_from(const json& version, const json& info) {
  About out{"docker", text_member(version, "Version"), api_of(version), false};
  const json& parts = member(version, "Components");
  if (parts.is_array() && !parts.empty() && text_member(parts[0], "Name").starts_with("Podman")) {
    out.name = "podman";
  }
  const json& options = member(info, "SecurityOptions");
  out.rootless =
      options.is_array() && std::ranges::any_of(options, [](const json& one) {
        return one.is_string() && one.get<std::string>().find("rootless") != std::string::npos;
      });
  return out;
}

Engine::Engine(EngineOptions options) : options_(std::move(options)) {}

http::Request Engine::plain(std::string method, std::string_view target) const {
  http::Request out;
  out.method = std::move(method);
  out.url = fmt::format("http://localhost{}", target);
  out.unix_socket = options_.socket;
  out.most_body = kLargestAnswer;
  out.limits.connect = kConnectWithin;
  out.limits.answer = options_.answer_within;
  out.limits.overall = options_.answer_within;
  return out;
}

Result<http::Response> Engine::fetch(const http::Request& request) {
  const os::SystemClock clock;
  http::Loop loop(clock, {.idle = {}, .stop_fd = options_.stop_fd, .timeout = {}});
  std::optional<http::Fetched> got;
  loop.spawn([&] { got = loop.fetch(request); });
  MESH_CHECK(loop.run());
  if (*got) {
    return std::move(**got);
  }
  Error error = std::move(got->error().error);
  if (got->error().stage == http::Failure::Stage::Connect) {
    error.hint =
        "start the engine (`systemctl enable --now podman.socket`), or name its socket with "
        "`--engine`";
  }
  if (error.code == Code::Unavailable) {
    const std::lock_guard lock(mutex_);
    about_.reset();  // it may come back as another one
  }
  return std::unexpected(std::move(error));
}

Result<http::Response> Engine::ask(const Call& call) {
  auto response = fetch(call.request);
  if (!response) {
    return within(call.subject, std::move(response).error());
  }
  if (!response->ok() && response->status != kNotModified) {
    return std::unexpected(error_of(call.subject, response->status, response->body));
  }
  return response;
}

Result<json> Engine::ask_json(const Call& call) {
  MESH_TRY(const auto response, ask(call));
  auto out = parse_json(response.body, {.bytes = kLargestAnswer, .depth = 64});
  if (!out) {
    return within(call.subject + ": the engine's answer", std::move(out).error());
  }
  return out;
}

Result<About> Engine::look() {
  MESH_TRY(const auto version, ask_json({plain("GET", "/version"), "the engine"}));
  const std::string api = api_of(version);
  MESH_TRY(const auto info, ask_json({plain("GET", fmt::format("/v{}/info", api)), "the engine"}));
  return about_from(version, info);
}

Result<About> Engine::about() {
  {
    const std::lock_guard lock(mutex_);
    if (about_) {
      return *about_;
    }
  }
  MESH_TRY(auto found, look());
  const std::lock_guard lock(mutex_);
  about_ = found;
  return found;
}

Result<Engine::Call> Engine::call(std::string method, std::string_view target,
                                  std::string subject) {
  MESH_TRY(const auto engine, about());
  return Call{plain(std::move(method), fmt::format("/v{}{}", engine.api, target)),
              std::move(subject)};
}

Result<std::vector<Listed>> Engine::list(const Labels& labels) {
  MESH_TRY(const auto made, call("GET", "/containers/json?all=true&filters=" + label_filter(labels),
                                 "the list of containers"));
  MESH_TRY(const auto answer, ask_json(made));
  return listed_from(answer);
}

Result<Inspected> Engine::inspect(const std::string& id) {
  MESH_TRY(const auto made,
           call("GET", fmt::format("/containers/{}/json", url_escaped(id)), container(id)));
  MESH_TRY(const auto answer, ask_json(made));
  return inspected_from(answer);
}

Result<bool> Engine::checks_health(const std::string& image) {
  MESH_CHECK(check_reference(image));
  MESH_TRY(const auto made, call("GET", fmt::format("/images/{}/json", image), "image " + image));
  MESH_TRY(const auto answer, ask_json(made));
  const json& check = member(member(answer, "Config"), "Healthcheck");
  const json& test = member(check, "Test");
  return test.is_array() && !test.empty();
}

Result<std::string> Engine::create(const ContainerSpec& spec) {
  MESH_TRY(const auto engine, about());
  MESH_TRY(const bool checks, checks_health(spec.image));
  MESH_TRY(auto made, call("POST", "/containers/create?name=" + url_escaped(spec.name),
                           "making " + container(spec.name)));
  MESH_TRY(made.request.body, create_body(spec, engine, checks));
  made.request.headers.add("Content-Type", "application/json");
  MESH_TRY(const auto answer, ask_json(made));
  return text_member(answer, "Id");
}

Status Engine::start(const std::string& id) {
  MESH_TRY(const auto made, call("POST", fmt::format("/containers/{}/start", url_escaped(id)),
                                 "starting " + container(id)));
  MESH_CHECK(ask(made));
  return {};
}

Status Engine::stop(const std::string& id, os::Milliseconds grace) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace);
  MESH_TRY(auto made,
           call("POST", fmt::format("/containers/{}/stop?t={}", url_escaped(id), seconds.count()),
                "stopping " + container(id)));
  made.request.limits.answer += seconds;
  made.request.limits.overall += seconds;
  MESH_CHECK(ask(made));
  return {};
}

Status Engine::kill(const std::string& id, const std::string& signal) {
  MESH_TRY(const auto made,
           call("POST", fmt::format("/containers/{}/kill?signal={}", url_escaped(id), signal),
                "killing " + container(id)));
  MESH_CHECK(ask(made));
  return {};
}

Result<int> Engine::wait(const std::string& id, os::Milliseconds timeout) {
  MESH_TRY(auto made, call("POST", fmt::format("/containers/{}/wait", url_escaped(id)),
                           "waiting for " + container(id)));
  made.request.limits.answer = timeout;
  made.request.limits.overall = timeout;
  MESH_TRY(const auto answer, ask_json(made));
  const json& code = member(answer, "StatusCode");
  return code.is_number_integer() ? code.get<int>() : 0;
}

Status Engine::remove(const std::string& id) {
  // What image-declared volumes hold goes with the container (`v`); named ones stay.
  MESH_TRY(const auto made,
           call("DELETE", fmt::format("/containers/{}?force=true&v=true", url_escaped(id)),
                "removing " + container(id)));
  MESH_CHECK(ask(made));
  return {};
}

Result<std::string> Engine::gateway() {
  MESH_TRY(const auto engine, about());
  const char* const network = engine.name == "podman" ? "podman" : "bridge";
  MESH_TRY(const auto made, call("GET", fmt::format("/networks/{}", network),
                                 fmt::format("the network {}", network)));
  MESH_TRY(const auto answer, ask_json(made));
  const json& configs = member(member(answer, "IPAM"), "Config");
  std::string out =
      configs.is_array() && !configs.empty() ? text_member(configs[0], "Gateway") : "";
  if (out.empty()) {
    return fail(Code::NotFound, fmt::format("the network {} has no gateway", network));
  }
  return out;
}

Result<bool> Engine::has_image(const std::string& reference) {
  MESH_CHECK(check_reference(reference));
  MESH_TRY(const auto made,
           call("GET", fmt::format("/images/{}/json", reference), "image " + printable(reference)));
  const auto answer = ask(made);
  if (answer) {
    return true;
  }
  return answer.error().code == Code::NotFound ? Result<bool>(false)
                                               : Result<bool>(std::unexpected(answer.error()));
}

Result<Volume> Engine::create_volume(const Volume& volume) {
  MESH_TRY(auto made, call("POST", "/volumes/create", "making volume " + printable(volume.name)));
  made.request.headers.add("Content-Type", "application/json");
  made.request.body = json{{"Name", volume.name}, {"Labels", volume.labels}}.dump();
  MESH_TRY(const auto answer, ask_json(made));
  return volume_from(answer);
}

Result<std::vector<Volume>> Engine::volumes(const Labels& labels) {
  MESH_TRY(const auto made,
           call("GET", "/volumes?filters=" + label_filter(labels), "the list of volumes"));
  MESH_TRY(const auto answer, ask_json(made));
  return volumes_from(answer);
}

Status Engine::remove_volume(const std::string& name) {
  MESH_TRY(const auto made, call("DELETE", fmt::format("/volumes/{}", url_escaped(name)),
                                 "removing volume " + printable(name)));
  const auto answer = ask(made);
  return answer || answer.error().code == Code::NotFound ? Status()
                                                         : Status(std::unexpected(answer.error()));
}

}  // namespace mesh::engine
