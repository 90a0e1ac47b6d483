#include "registry/credentials.h"

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
    files_.push_back(std::move(file));
  }
  loaded_ = true;
  return {};
}

Result<oci::CredentialSource> Credentials::ask(const oci::Helper& helper) {
  const std::string key = helper.name + " " + helper.server;
  if (const auto known = answers_.find(key); known != answers_.end()) {
    return known->second;
  }
  os::RunOptions options;
  options.spawn.argv = {"docker-credential-" + helper.name, "get"};
  options.input = helper.server;
  options.timeout = kHelperTimeout;
  auto ran = os::run(options);
  if (!ran) {
    return within("credentials for " + helper.server, std::move(ran).error());
  }
  const int status = ran->status.ok() ? 0 : std::max(ran->status.code, 1);
  MESH_TRY(auto answer, oci::read_helper_answer(ran->out, status, helper));
  answers_.emplace(key, answer);
  return answer;
}

Result<std::vector<oci::CredentialSource>> Credentials::find_in(const std::string& file,
                                                                const std::string& domain,
                                                                const std::string& path) {
  MESH_TRY(const std::string bytes, os::read_private_file(file, kMostAuthFile));
  MESH_TRY(const oci::AuthFile read, oci::AuthFile::parse(bytes, file));
  return read.sources(domain, path);
}

Result<std::vector<oci::CredentialSource>> Credentials::find(const std::string& domain,
                                                             const std::string& path) {
  MESH_CHECK(load());
  std::vector<oci::CredentialSource> out;
  for (const auto& file : files_) {
    for (const auto& source : file.sources(domain, path)) {
      const auto* helper = std::get_if<oci::Helper>(&source);
      if (helper == nullptr) {
        out.push_back(source);
        continue;
      }
      auto answer = ask(*helper);
      if (answer) {
        out.push_back(std::move(*answer));
      } else if (answer.error().code != Code::NotFound) {
        return std::unexpected(std::move(answer).error());
      }
    }
    if (!out.empty()) {
      break;
    }
  }
  return out;
}

}  // namespace mesh::registry
