#include "registry/credentials.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "os/files.h"
#include "os/process.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kMostAuthFile = std::size_t{4} << 20U;
constexpr os::Milliseconds kHelperTimeout{30'000};

}  // namespace

std::vector<std::string> Credentials::files() const {
  const auto variable = [&](const char* name) { return services_.variable(name).value_or(""); };
  if (const std::string named = variable("REGISTRY_AUTH_FILE"); !named.empty()) {
    return {named};
  }
  std::vector<std::string> out;
  if (const std::string run = variable("XDG_RUNTIME_DIR"); !run.empty()) {
    out.push_back(run + "/containers/auth.json");
  }
  const std::string home = variable("HOME");
  std::string config = variable("XDG_CONFIG_HOME");
  if (config.empty() && !home.empty()) {
    config = home + "/.config";
  }
  if (!config.empty()) {
    out.push_back(config + "/containers/auth.json");
  }
  if (const std::string docker = variable("DOCKER_CONFIG"); !docker.empty()) {
    out.push_back(docker + "/config.json");
  } else if (!home.empty()) {
    out.push_back(home + "/.docker/config.json");
  }
  return out;
}

Status Credentials::load() {
  if (loaded_) {
    return {};
  }
  for (const std::string& path : files()) {
    const Result<std::string> bytes = os::read_file(path, kMostAuthFile);
    if (!bytes && bytes.error().code == Code::NotFound) {
      continue;
    }
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    MESH_TRY(oci::AuthFile file, oci::AuthFile::parse(*bytes, path));
    files_.push_back({path, std::move(file)});
  }
  loaded_ = true;
  return {};
}

Credentials::Answer Credentials::run_helper(const oci::Helper& helper) {
  const std::string program = "docker-credential-" + helper.name;
  os::RunOptions options;
  options.spawn.argv = {program, "get"};
  options.input = helper.server;
  options.timeout = kHelperTimeout;
  auto ran = os::run(options);
  if (!ran && ran.error().code == Code::NotFound) {
    return std::optional<oci::CredentialSource>();
  }
  if (!ran && ran.error().code == Code::Timeout) {
    // To the caller one that hangs is one that fails.
    return fail(
        Code::Unavailable,
        fmt::format("{} did not answer within {} s", program, kHelperTimeout.count() / 1000),
        "run it by hand: echo SERVER | " + program + " get");
  }
  if (!ran) {
    return within("credentials for " + helper.server, std::move(ran).error());
  }
  const int status = ran->status.ok() ? 0 : std::max(ran->status.code, 1);
  MESH_TRY(auto answer, oci::read_helper_answer(ran->out, status, helper));
  return std::optional(std::move(answer));
}

const Credentials::Answer& Credentials::ask(const oci::Helper& helper) {
  const std::string key = helper.name + " " + helper.server;
  auto known = answers_.find(key);
  if (known == answers_.end()) {
    known = answers_.emplace(key, run_helper(helper)).first;
  }
  return known->second;
}

Result<Credentials::Known> Credentials::find_in(const std::string& file, const std::string& domain,
                                                const std::string& path) {
  MESH_TRY(const std::string bytes, os::read_private_file(file, kMostAuthFile));
  MESH_TRY(const oci::AuthFile read, oci::AuthFile::parse(bytes, file));
  return Known{read.sources(domain, path), file, {}};
}

Result<Credentials::Known> Credentials::find(const std::string& domain, const std::string& path) {
  MESH_CHECK(load());
  Known out;
  for (const auto& [name, file] : files_) {
    for (const auto& source : file.sources(domain, path)) {
      const auto* helper = std::get_if<oci::Helper>(&source);
      if (helper == nullptr) {
        out.sources.push_back(source);
        continue;
      }
      const Answer& answer = ask(*helper);
      if (!answer && answer.error().code != Code::NotFound) {
        return within(name, answer.error());
      }
      if (answer && *answer) {
        out.sources.push_back(**answer);
      } else if (answer) {
        out.missing.push_back(
            fmt::format("docker-credential-{}, which {} names", helper->name, name));
      }
    }
    if (!out.sources.empty()) {
      out.file = name;
      break;
    }
  }
  return out;
}

}  // namespace mesh::registry
