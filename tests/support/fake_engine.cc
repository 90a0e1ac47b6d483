#include "tests/support/fake_engine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "tests/support/fake_engine_words.h"

namespace mesh::test {

using nlohmann::json;

namespace {

HttpReply json_reply(const json& body, int status = 200) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = body.dump()};
}

HttpReply refusal(int status, const std::string& message) {
  return json_reply({{"message", message}}, status);
}

HttpReply no_container(const std::string& id) {
  return refusal(404, "No such container: " + id);
}

bool has_labels(const json& labels, const HttpRequest& request) {
  const json filters = json::parse(query_value(request.target, "filters", "{}"));
  if (!filters.contains("label")) {
    return true;
  }
  return std::ranges::all_of(filters["label"], [&](const json& one) {
    const auto text = one.get<std::string>();
    const auto equals = text.find('=');
    const auto found = labels.find(text.substr(0, equals));
    return found != labels.end() && *found == text.substr(equals + 1);
  });
}

}  // namespace

FakeEngine::FakeEngine() {
  come_back();
}
FakeEngine::~FakeEngine() = default;

std::string FakeEngine::socket() const {
  return (directory_.path() / "engine.sock").string();
}

void FakeEngine::leave() {
  server_.reset();
  std::filesystem::remove(socket());
}

void FakeEngine::come_back() {
  server_ = std::make_unique<ScriptedHttp>(
      [this](const HttpRequest& request) { return handle(request); }, socket());
}

HttpReply FakeEngine::handle(const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  std::string path = unescaped(request.path());
  if (path.starts_with("/v1.")) {
    path = path.substr(path.find('/', 1));
  }
  const std::string line = request.method + " " + path;
  requests_.push_back(line);
  const auto trouble = trouble_of(line);
  if (!trouble) {
    return route(request, path);
  }
  switch (*trouble) {
    case Trouble::Refused:
      return refusal(500, "the fake was told to refuse this");
    case Trouble::DiskFull:
      return refusal(500, "write /var/lib/fake: no space left on device");
    case Trouble::Hangs:
      return {.hangs = true};
    case Trouble::Dropped:
      return {.dropped = true};
    case Trouble::AnswerLost:
      static_cast<void>(route(request, path));
      return {.dropped = true};
  }
  return refusal(500, "no such trouble");
}

std::optional<Trouble> FakeEngine::trouble_of(const std::string& line) {
  std::optional<Trouble> out;
  for (Fault& fault : faults_) {
    if (line.find(fault.part) != std::string::npos && --fault.left == 0) {
      out = fault.what;
    }
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.left <= 0; });
  const bool writes = line.starts_with("POST") && line.find("/stop") == std::string::npos &&
                      line.find("/kill") == std::string::npos;
  return disk_full_ && writes ? std::optional(Trouble::DiskFull) : out;
}

HttpReply FakeEngine::route(const HttpRequest& request, const std::string& path) {
  Words words;
  for (const auto part : split(std::string_view(path).substr(1), '/')) {
    words.emplace_back(part);
  }
  if (path == "/version") {
    return json_reply({{"Version", "1.0"},
                       {"ApiVersion", "1.41"},
                       {"MinAPIVersion", "1.24"},
                       {"Components", {{{"Name", "Fake Engine"}, {"Version", "1.0"}}}}});
  }
  if (path == "/info") {
    return json_reply({{"SecurityOptions", {"name=seccomp"}}});
  }
  if (path == "/events") {
    return {.streams = true};
  }
  if (path == "/networks/bridge") {
    return json_reply({{"IPAM", {{"Config", {{{"Gateway", "10.99.0.1"}}}}}}});
  }
  if (words[0] == "containers") {
    return containers_route(request, words);
  }
  if (words[0] == "images") {
    return images_route(request, path);
  }
  if (words[0] == "volumes") {
    return volumes_route(request, words);
  }
  return words[0] == "exec" ? exec(request) : refusal(501, "the fake cannot do this: " + path);
}

HttpReply FakeEngine::containers_route(const HttpRequest& request, const Words& words) {
  if (words.size() == 2 && words[1] == "create") {
    return create(request);
  }
  if (words.size() == 2 && words[1] == "json") {
    return list(request);
  }
  if (const auto taken = std::ranges::find(taken_, words[1], [](auto& one) { return one.second; });
      taken != taken_.end() && request.method == "DELETE") {
    taken_.erase(taken);
    return {.status = 204};
  }
  FakeContainer* const container = find(words[1]);
  if (container == nullptr) {
    return no_container(words[1]);
  }
  if (request.method == "DELETE") {
    tell(*container, "destroy");
    containers_.erase(container->name);
    return {.status = 204};
  }
  const std::string what = words.size() > 2 ? words[2] : "";
  if (what == "json") {
    return json_reply(fake_inspect(*container));
  }
  if (what == "start") {
    return start(*container);
  }
  if (what == "stop") {
    return stop(*container);
  }
  if (what == "logs") {
    return log_of(request, *container);
  }
  if (what == "kill") {
    if (container->state != "running") {
      return refusal(409, "Container is not running");
    }
    ended(*container, kFakeKilled);
    return {.status = 204};
  }
  if (what == "exec" && container->state != "running") {
    return refusal(409, "container is not running");
  }
  return what == "exec" ? exec(request) : refusal(501, "the fake cannot do this: " + what);
}

HttpReply FakeEngine::create(const HttpRequest& request) {
  const std::string name = query_value(request.target, "name", "");
  const json body = json::parse(request.body);
  if (!images_.contains(body["Image"].get<std::string>())) {
    return refusal(404, "No such image: " + body["Image"].get<std::string>());
  }
  const auto there = containers_.find(name);
  if (const auto taken = taken_.find(name); taken != taken_.end() || there != containers_.end()) {
    const std::string id = taken != taken_.end() ? taken->second : there->second.id;
    return refusal(409, fmt::format("the container name \"{}\" is already in use by {}. You have "
                                    "to remove that container to be able to reuse that name",
                                    name, id));
  }
  FakeContainer made;
  made.id = sha256_hex(fmt::format("container {}", ++counter_));
  made.name = name;
  made.body = request.body;
  made.started = made.ended = "0001-01-01T00:00:00Z";
  tell(containers_[name] = made, "create");
  return json_reply({{"Id", made.id}, {"Warnings", json::array()}}, 201);
}

HttpReply FakeEngine::list(const HttpRequest& request) const {
  json out = json::array();
  for (const auto& [name, container] : containers_) {
    const json labels = json::parse(container.body).value("Labels", json::object());
    if (has_labels(labels, request)) {
      out.push_back({{"Id", container.id},
                     {"Names", {"/" + name}},
                     {"State", container.state},
                     {"Labels", labels}});
    }
  }
  return json_reply(out);
}

HttpReply FakeEngine::start(FakeContainer& container) {
  if (container.state == "running") {
    return {.status = 304};
  }
  const json body = json::parse(container.body);
  container.state = "running";
  container.started = now();
  ++container.starts;
  tell(container, "start");
  const auto words = fake_command(container);
  const std::string verb = words.empty() ? "forever" : words[0];
  if (verb == "exit") {
    ended(container, std::stoi(words.at(1)));
  } else if (verb == "say") {
    for (int line = 1; line <= std::stoi(words.at(1)); ++line) {
      container.log.emplace_back(now(), fmt::format("line {}", line));
    }
  } else if (verb == "show") {
    fake_show(body, {words.begin() + 1, words.end()});
    ended(container, 0);
  } else if (verb == "eat") {
    container.out_of_memory = true;
    ended(container, kFakeKilled);
  }
  return {.status = 204};
}

HttpReply FakeEngine::stop(FakeContainer& container) {
  if (container.state != "running") {
    return {.status = 304};
  }
  const auto words = fake_command(container);
  ended(container, !words.empty() && words[0] == "deaf" ? kFakeKilled : 0);
  return {.status = 204};
}

HttpReply FakeEngine::log_of(const HttpRequest& request, const FakeContainer& container) const {
  const std::string since = query_value(request.target, "since", "");
  const std::string tail = query_value(request.target, "tail", "");
  const std::size_t size = container.log.size();
  const std::size_t first = tail.empty() ? 0 : size - std::min(size, std::stoul(tail));
  std::string out;
  for (std::size_t at = first; at < size; ++at) {
    const auto& [time, line] = container.log[at];
    if (since.empty() || seconds_of(time) >= std::stoll(since)) {
      out += fake_frame(time, line);
    }
  }
  return {.status = 200, .body = out};
}

HttpReply FakeEngine::exec(const HttpRequest& request) {
  const std::string path = request.path();
  if (path.find("/containers/") != std::string::npos) {
    const auto words = json::parse(request.body).value("Cmd", std::vector<std::string>{});
    const std::string id = fmt::format("exec{}", ++counter_);
    execs_[id] = words.size() > 2 && words[1] == "exit" ? std::stoi(words[2]) : 0;
    return json_reply({{"Id", id}}, 201);
  }
  if (path.ends_with("/start")) {
    return {.status = 200};
  }
  const auto part = path.substr(path.find("/exec/") + 6);
  const auto found = execs_.find(part.substr(0, part.find('/')));
  return found == execs_.end() ? refusal(404, "No such exec instance")
                               : json_reply({{"ExitCode", found->second}, {"Running", false}});
}

HttpReply FakeEngine::images_route(const HttpRequest& request, const std::string& path) {
  if (request.method == "POST") {
    return pull(request);
  }
  const std::string prefix = "/images/";
  const std::string name = path.substr(prefix.size(), path.rfind('/') - prefix.size());
  return images_.contains(name) ? json_reply({{"Id", sha256_hex(name)}, {"Config", json::object()}})
                                : refusal(404, "No such image: " + name);
}

/// As engines do, errors stand in a stream that began well.
HttpReply FakeEngine::pull(const HttpRequest& request) {
  const std::string reference = query_value(request.target, "fromImage", "");
  const auto found = upstream_.find(reference);
  std::string trouble;
  if (found == upstream_.end()) {
    trouble = "manifest unknown: manifest unknown";
  } else if (!found->second.empty() &&
             from_base64(request.header("x-registry-auth")).value_or("").find(found->second) ==
                 std::string::npos) {
    trouble = "unauthorized: authentication required";
  }
  std::string out = json{{"status", "Pulling from fake"}}.dump() + "\r\n";
  if (trouble.empty()) {
    images_.insert(reference);
    out += json{{"status", "Download complete"}}.dump() + "\r\n";
  } else {
    out += json{{"errorDetail", {{"message", trouble}}}, {"error", trouble}}.dump() + "\r\n";
  }
  return {.status = 200, .body = out};
}

HttpReply FakeEngine::volumes_route(const HttpRequest& request, const Words& words) {
  if (request.method == "POST") {
    const json body = json::parse(request.body);
    const auto name = body["Name"].get<std::string>();
    volumes_.try_emplace(name, request.body);
    return json_reply(json::parse(volumes_[name]), 201);
  }
  if (request.method == "DELETE") {
    for (const auto& [name, container] : containers_) {
      if (container.body.find("\"" + words[1] + "\"") != std::string::npos) {
        return refusal(409, "volume is in use - [" + container.id + "]");
      }
    }
    return volumes_.erase(words[1]) > 0 ? HttpReply{.status = 204} : refusal(404, "no such volume");
  }
  json out = json::array();
  for (const auto& [name, text] : volumes_) {
    const json body = json::parse(text);
    if (has_labels(body.value("Labels", json::object()), request)) {
      out.push_back(body);
    }
  }
  return json_reply({{"Volumes", out}});
}

FakeContainer* FakeEngine::find(const std::string& id) {
  for (auto& [name, container] : containers_) {
    if (name == id || container.id == id) {
      return &container;
    }
  }
  return nullptr;
}

void FakeEngine::ended(FakeContainer& container, int code) {
  container.state = "exited";
  container.exit_code = code;
  container.ended = now();
  tell(container, "die");
}

void FakeEngine::tell(const FakeContainer& container, const char* what) {
  if (server_ != nullptr) {
    server_->publish(json{{"status", what}, {"id", container.id}}.dump() + "\n");
  }
}

/// Three of the fake's events share a second, so that cursors have something to tell apart.
std::string FakeEngine::now() {
  return rfc3339_of(kFakeEpoch + static_cast<std::int64_t>(++counter_ / 3));
}

}  // namespace mesh::test
