#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "base/url.h"
#include "engine/answers.h"
#include "engine/engine.h"
#include "engine/streams.h"
#include "os/files.h"
#include "os/pidfd.h"

namespace mesh::engine {

using nlohmann::json;

namespace {

constexpr int kMostLogAttempts = 10;
constexpr std::size_t kLargestCgroupFile = 65536;

/// RFC 4648 section 5, which is what the header wants.
std::string base64_url(std::string_view bytes) {
  std::string out = base64(bytes);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

std::string login_header(const std::string& reference, const Login& login) {
  return base64_url(json{{"username", login.user},
                         {"password", login.password},
                         {"serveraddress", reference.substr(0, reference.find('/'))}}
                        .dump());
}

bool on_loopback(std::string_view reference) {
  return reference.starts_with("127.") || reference.starts_with("localhost") ||
         reference.starts_with("[::1]");
}

/// docker asks registries on this machine in plain HTTP by itself; podman does only where it is
/// told to, which its own API alone can.
std::string pull_target(const About& about, const std::string& reference) {
  const std::string escaped = url_escaped(reference);
  if (about.name == "podman" && on_loopback(reference)) {
    return fmt::format("/v4.0.0/libpod/images/pull?tlsVerify=false&reference={}", escaped);
  }
  return fmt::format("/v{}/images/create?fromImage={}", about.api, escaped);
}

}  // namespace

Result<std::vector<LogLine>> Engine::logs(const std::string& id, const LogQuery& query) {
  std::string target =
      fmt::format("/containers/{}/logs?stdout=true&stderr=true&timestamps=true", url_escaped(id));
  if (query.since) {
    target += "&since=" + url_escaped(*query.since);
  }
  if (query.tail) {
    target += fmt::format("&tail={}", *query.tail);
  }
  MESH_TRY(auto made, call("GET", target, "the log of container " + printable(id)));
  for (int attempt = 1;; ++attempt) {
    LogSink sink(query);
    made.request.sink = &sink;
    const auto answer = ask(made);
    if (answer || sink.full()) {
      return sink.take_lines();
    }
    const bool half = answer.error().message.find(kHalfWritten) != std::string::npos;
    if (!half || attempt == kMostLogAttempts) {
      return std::unexpected(answer.error());
    }
  }
}

Status Engine::pull(const std::string& reference, const Login& login) {
  MESH_TRY(const auto engine, about());
  PullSink sink;
  Call made{plain("POST", pull_target(engine, reference)), "pulling " + printable(reference, 300)};
  made.request.sink = &sink;
  made.request.limits.answer = options_.pull_within;
  made.request.limits.overall = options_.pull_within;
  made.request.limits.stall = os::Milliseconds{0};
  if (!login.password.empty()) {
    made.request.headers.add("X-Registry-Auth", login_header(reference, login));
  }
  MESH_CHECK(ask(made));
  if (!sink.trouble().empty()) {
    return std::unexpected(error_of(made.subject, 500, json{{"message", sink.trouble()}}.dump()));
  }
  return {};
}

Result<bool> Engine::check(const std::string& id, os::Milliseconds timeout) {
  MESH_TRY(const auto engine, about());
  const std::string subject = "the health check of container " + printable(id);
  if (engine.name != "podman") {
    return fail(Code::Unsupported, subject + ": only podman can run it when asked");
  }
  Call made{plain("GET", fmt::format("/v4.0.0/libpod/containers/{}/healthcheck", url_escaped(id))),
            subject};
  made.request.limits.answer = timeout;
  made.request.limits.overall = timeout;
  MESH_TRY(const auto answer, ask_json(made));
  return text_member(answer, "Status") == "healthy";
}

Result<int> Engine::execute(const std::string& id, const std::vector<std::string>& command,
                            os::Milliseconds timeout) {
  const std::string subject = "a command in container " + printable(id);
  MESH_TRY(auto made, call("POST", fmt::format("/containers/{}/exec", url_escaped(id)), subject));
  made.request.headers.add("Content-Type", "application/json");
  made.request.body = json{{"Cmd", command}, {"AttachStdout", true}, {"AttachStderr", true}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
  MESH_TRY(const auto exec, ask_json(made));
  const std::string exec_id = text_member(exec, "Id");

  MESH_TRY(auto run, call("POST", fmt::format("/exec/{}/start", exec_id), subject));
  run.request.headers.add("Content-Type", "application/json");
  run.request.body = R"({"Detach":false,"Tty":false})";
  DropSink sink;
  run.request.sink = &sink;
  run.request.limits.answer = timeout;
  run.request.limits.overall = timeout;
  run.request.limits.stall = os::Milliseconds{0};
  const auto ran = ask(run);
  if (!ran) {
    if (ran.error().code == Code::Timeout) {
      kill_exec(exec_id, id);
    }
    return std::unexpected(ran.error());
  }
  MESH_TRY(const auto look, call("GET", fmt::format("/exec/{}/json", exec_id), subject));
  MESH_TRY(const auto ended, ask_json(look));
  const json& code = member(ended, "ExitCode");
  return code.is_number_integer() ? code.get<int>() : 0;
}

/// The API cannot end what `exec` began. Its process is killed where it is surely the one: of a pid
/// that the engine names, in a control group that bears the container's id.
void Engine::kill_exec(const std::string& exec, const std::string& container) {
  const auto inspected = inspect(container);
  const auto look = call("GET", fmt::format("/exec/{}/json", exec), "exec");
  const auto answer = look ? ask_json(*look) : Result<json>(std::unexpected(look.error()));
  if (!inspected || !answer || !member(*answer, "Pid").is_number_integer()) {
    return;
  }
  const auto pid = member(*answer, "Pid").get<pid_t>();
  if (pid <= 1) {
    return;
  }
  const os::Fd process = os::open_pidfd(pid);
  const auto group = os::read_file(fmt::format("/proc/{}/cgroup", pid), kLargestCgroupFile);
  if (process.valid() && group && group->find(inspected->id) != std::string::npos) {
    (void)os::signal_pidfd(process.get(), SIGKILL);
  }
}

}  // namespace mesh::engine
