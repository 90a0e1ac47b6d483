// What the fake's containers do and say.

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/fake_engine.h"
#include "tests/support/fake_engine_words.h"

namespace mesh::test {

using nlohmann::json;

namespace {

std::string file_bytes(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The path of this machine that is seen at `path` in the container.
std::string behind(const json& body, const std::string& path) {
  std::string best;
  std::string out;
  for (const json& mount : body["HostConfig"]["Mounts"]) {
    const auto target = mount["Target"].get<std::string>();
    if (path.starts_with(target) && target.size() > best.size()) {
      best = target;
      out = mount["Source"].get<std::string>() + path.substr(target.size());
    }
  }
  return out;
}

}  // namespace

void fake_show(const json& body, const std::vector<std::string>& paths) {
  std::string environment;
  for (const json& one : body["Env"]) {
    environment += one.get<std::string>() + '\0';
  }
  std::ofstream(behind(body, "/out/environ"), std::ios::binary) << environment;
  for (std::size_t at = 0; at < paths.size(); ++at) {
    std::ofstream(behind(body, fmt::format("/out/{}", at)), std::ios::binary)
        << file_bytes(behind(body, paths[at]));
  }
}

std::vector<std::string> fake_command(const FakeContainer& container) {
  const json body = json::parse(container.body);
  auto out = body.value("Entrypoint", std::vector<std::string>{});
  for (const auto& one : body.value("Cmd", std::vector<std::string>{})) {
    out.push_back(one);
  }
  if (!out.empty() && out[0].ends_with("act")) {
    out.erase(out.begin());
  }
  return out;
}

static json ports_of(const json& body, bool runs) {
  json out = json::object();
  for (const auto& [port, places] : body["HostConfig"]["PortBindings"].items()) {
    for (json place : places) {
      if (place["HostPort"] == "") {
        place["HostPort"] = "49153";
      }
      out[port].push_back(place);
    }
  }
  return runs ? out : json::object();
}

json fake_inspect(const FakeContainer& container) {
  const json body = json::parse(container.body);
  const bool runs = container.state == "running";
  json mounts = json::array();
  for (const json& one : body["HostConfig"]["Mounts"]) {
    mounts.push_back({{"Type", one["Type"]},
                      {"Name", one["Source"]},
                      {"Source", one["Source"]},
                      {"Destination", one["Target"]},
                      {"RW", !one["ReadOnly"].get<bool>()}});
  }
  return {{"Id", container.id},
          {"Name", "/" + container.name},
          {"Config", {{"Image", body["Image"]}, {"Labels", body["Labels"]}}},
          {"HostConfig", {{"NetworkMode", body["HostConfig"]["NetworkMode"]}}},
          {"State",
           {{"Status", container.state},
            {"ExitCode", container.exit_code},
            {"OOMKilled", container.out_of_memory},
            {"Error", ""},
            {"Pid", runs ? 4242 : 0},
            {"StartedAt", container.started},
            {"FinishedAt", container.ended}}},
          {"NetworkSettings", {{"IPAddress", ""}, {"Ports", ports_of(body, runs)}}},
          {"Mounts", mounts}};
}

std::string fake_frame(const std::string& time, const std::string& line) {
  const std::string payload = time + " " + line + "\n";
  std::string out("\1\0\0\0", 4);
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>((payload.size() >> static_cast<unsigned>(shift)) & 0xffU);
  }
  return out + payload;
}

}  // namespace mesh::test
