#include "builder/buildah.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "builder/failure.h"
#include "builder/logged_run.h"
#include "os/files.h"

namespace mesh::builder {

namespace {

constexpr os::Milliseconds kShort{60'000};
constexpr os::Milliseconds kTransfer{1'800'000};
constexpr std::size_t kMostOutput = std::size_t{4} << 20U;

/// buildah says so of arguments that it adds by itself; Mesh gives those that are used, and `mesh
/// check` names the others.
constexpr const char* kUnusedArguments = "[Warning] one or more build args were not consumed";

/// A name that nobody in this process has had.
std::string unique_name(std::string_view prefix) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}-{}-{}", prefix, ::getpid(), count.fetch_add(1));
}

/// Of `HOST[:PORT]`, without brackets.
std::string host_of(std::string_view address) {
  return std::string(address.starts_with('[') ? address.substr(1, address.find(']') - 1)
                                              : address.substr(0, address.find(':')));
}

/// The last line of what a program said that says something.
std::string last_words(const std::string& text) {
  std::string found;
  for (const auto line : split(text, '\n')) {
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      found = std::string(line);
    }
  }
  return printable(found, 400);
}

std::string without_prefix(const std::string& text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

bool has_value(const nlohmann::json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null() && !found->empty();
}

BaseConfig read_config(const nlohmann::json& config) {
  BaseConfig out;
  if (!config.is_object()) {
    return out;
  }
  if (const auto env = config.find("Env"); env != config.end() && env->is_array()) {
    for (const auto& item : *env) {
      const auto text = item.is_string() ? item.get<std::string>() : std::string();
      const auto equals = text.find('=');
      if (equals != std::string::npos) {
        out.env[text.substr(0, equals)] = text.substr(equals + 1);
      }
    }
  }
  if (const auto shell = config.find("Shell"); shell != config.end() && shell->is_array()) {
    for (const auto& item : *shell) {
      out.shell.push_back(item.is_string() ? item.get<std::string>() : std::string());
    }
  }
  if (const auto triggers = config.find("OnBuild");
      triggers != config.end() && triggers->is_array()) {
    for (const auto& item : *triggers) {
      out.triggers.push_back(item.is_string() ? item.get<std::string>() : std::string());
    }
  }
  out.needs_docker_format =
      has_value(config, "Healthcheck") || has_value(config, "OnBuild") || !out.shell.empty();
  return out;
}

}  // namespace

os::Environment Buildah::environment() const {
  auto out = settings_.environment;
  for (const char* name :
       {"BUILDAH_ISOLATION", "BUILDAH_FORMAT", "BUILDAH_LAYERS", "BUILDAH_RUNTIME",
        "STORAGE_DRIVER", "STORAGE_OPTS", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_REGISTRIES_CONF",
        "BUILDAH_HISTORY"}) {
    out.erase(name);
  }
  out["CONTAINERS_STORAGE_CONF"] = settings_.folder + "/storage.conf";
  out["CONTAINERS_CONF"] = settings_.folder + "/containers.conf";
  out["TMPDIR"] = settings_.folder + "/tmp";
  if (settings_.direct) {
    for (const char* name : {"NO_PROXY", "no_proxy"}) {
      auto& hosts = out[name];
      hosts += (hosts.empty() ? "" : ",") + host_of(settings_.registry);
    }
  }
  return out;
}

std::vector<std::string> Buildah::command(std::vector<std::string> words) const {
  std::vector<std::string> out{settings_.program, "--registries-conf",
                               settings_.folder + "/registries.conf", "--registries-conf-dir",
                               settings_.folder + "/registries.d"};
  if (!driver_.empty()) {
    out.insert(out.end(), {"--root", settings_.folder + "/storage", "--runroot",
                           settings_.folder + "/run", "--storage-driver", driver_});
    if (driver_ == "overlay") {
      // Otherwise a build that is killed leaves the storage mounted, and the state cannot be
      // removed.
      out.insert(out.end(), {"--storage-opt", "overlay.skip_mount_home=true"});
    }
  }
  out.insert(out.end(), std::make_move_iterator(words.begin()),
             std::make_move_iterator(words.end()));
  return out;
}

std::vector<std::string> Buildah::registry_flags() const {
  std::vector<std::string> out;
  if (settings_.insecure) {
    out.emplace_back("--tls-verify=false");
  } else if (!settings_.ca_file.empty()) {
    out.insert(out.end(), {"--cert-dir", settings_.folder + "/certs"});
  }
  if (!settings_.auth_file.empty()) {
    out.insert(out.end(), {"--authfile", settings_.auth_file});
  }
  return out;
}

Result<std::string> Buildah::ask(std::vector<std::string> words, const std::string& doing) const {
  os::RunOptions options;
  options.spawn.argv = command(std::move(words));
  options.spawn.environment = environment();
  options.spawn.directory = settings_.folder;
  options.most_output = kMostOutput;
  options.timeout = kTransfer;
  options.stop_fd = settings_.stop_fd;
  auto done = os::run(options);
  if (!done) {
    return within(doing, std::move(done).error());
  }
  if (!done->status.ok()) {
    return fail(Code::Unavailable,
                fmt::format("{}: {}", doing, without_prefix(last_words(done->err), "Error: ")));
  }
  return std::move(done->out);
}

Status Buildah::write_configuration() const {
  for (const char* folder : {"", "/tmp", "/certs", "/registries.d"}) {
    MESH_CHECK(os::make_private_dir(settings_.folder + folder));
  }
  MESH_CHECK(os::write_file_atomic(settings_.folder + "/containers.conf", "", os::kPrivateFile));
  MESH_CHECK(
      os::write_file_atomic(settings_.folder + "/storage.conf",
                            fmt::format("[storage]\ndriver = \"vfs\"\ngraphroot = \"{0}/storage\"\n"
                                        "runroot = \"{0}/run\"\n",
                                        settings_.folder),
                            os::kPrivateFile));
  MESH_CHECK(os::write_file_atomic(settings_.folder + "/policy.json",
                                   "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}\n",
                                   os::kPrivateFile));
  // Names are never completed, and no registry is asked but ours.
  MESH_CHECK(
      os::write_file_atomic(settings_.folder + "/registries.conf",
                            fmt::format("unqualified-search-registries = []\nshort-name-mode = "
                                        "\"enforcing\"\n[[registry]]\nprefix = "
                                        "\"{0}\"\nlocation = \"{0}\"\ninsecure = {1}\n",
                                        settings_.registry, settings_.insecure),
                            os::kPrivateFile));
  if (!settings_.ca_file.empty()) {
    MESH_TRY(const auto ca, os::read_file(settings_.ca_file, kMostOutput));
    MESH_CHECK(os::write_file_atomic(settings_.folder + "/certs/mesh.crt", ca, os::kPrivateFile));
  }
  return {};
}

Status Buildah::find_version() {
  os::RunOptions options;
  options.spawn.argv = {settings_.program, "--version"};
  options.spawn.environment = environment();
  options.timeout = kShort;
  auto done = os::run(options);
  if (!done && done.error().code == Code::NotFound) {
    return fail(
        Code::NotFound,
        fmt::format("there is no `{}` on this machine to build images with", settings_.program),
        "install it: apt install buildah");
  }
  if (!done) {
    return within("asking buildah for its version", std::move(done).error());
  }
  const auto version = read_version(done->out);
  if (!version) {
    return fail(Code::Unsupported, "this buildah does not say its version: " + printable(done->out),
                "Debian 12's buildah 1.28 and later ones are known");
  }
  version_ = *version;
  if (version_ < containerfile::BuilderVersion{1, 28}) {
    return fail(Code::Unsupported,
                fmt::format("buildah {}.{} is too old", version_.major, version_.minor),
                "Mesh builds with buildah 1.28 and later");
  }
  return {};
}

/// The storage driver that works here; once found it stays, since the storage is of its kind.
Status Buildah::find_driver() {
  const auto note = settings_.folder + "/driver";
  std::vector<std::string> candidates{"overlay", "vfs"};
  if (auto known = os::read_file(note, 64); known && !known->empty()) {
    candidates = {*known};
  }
  Error last;
  for (const auto& candidate : candidates) {
    driver_ = candidate;
    auto tried = ask({"images", "--quiet"}, "starting buildah");
    if (tried) {
      return os::write_file_atomic(note, candidate, os::kPrivateFile);
    }
    last = std::move(tried).error();
    if (last.code != Code::Unavailable) {
      break;
    }
  }
  last.code = last.code == Code::Unavailable ? Code::Unsupported : last.code;
  last.hint = ::geteuid() == 0
                  ? "`buildah images` shows the whole of it"
                  : "an ordinary user needs uidmap and subordinate ids: apt install uidmap; "
                    "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\"";
  return std::unexpected(std::move(last));
}

Result<Buildah> Buildah::open(BuildahSettings settings) {
  Buildah out(std::move(settings));
  MESH_CHECK(out.write_configuration());
  MESH_CHECK(out.find_version());
  MESH_CHECK(out.find_driver());
  MESH_CHECK(out.ask({"rm", "--all"}, "removing what a build left"));
  return out;
}

Result<BaseConfig> Buildah::pull(const std::string& reference, const std::string& platform) const {
  std::vector<std::string> words{
      "pull",       "--quiet", "--policy",           "missing",
      "--platform", platform,  "--signature-policy", settings_.folder + "/policy.json"};
  for (auto& flag : registry_flags()) {
    words.push_back(std::move(flag));
  }
  words.push_back(reference);
  auto pulled = ask(std::move(words), fmt::format("bringing {} to the builder", reference));
  if (!pulled) {
    auto error = std::move(pulled).error();
    error.code =
        error.code == Code::Unavailable && is_damage(error.message) ? Code::Corrupt : error.code;
    return std::unexpected(std::move(error));
  }
  MESH_TRY(const auto shown,
           ask({"inspect", "--type", "image", reference}, "looking at " + reference));
  const auto parsed = nlohmann::json::parse(shown, nullptr, /*allow_exceptions=*/false);
  const auto docker =
      parsed.is_object() ? parsed.value("Docker", nlohmann::json()) : nlohmann::json();
  return read_config(docker.is_object() ? docker.value("config", nlohmann::json())
                                        : nlohmann::json());
}

std::vector<std::string> Buildah::build_words(const BuildJob& job,
                                              const std::string& id_file) const {
  std::vector<std::string> words{"build",
                                 "--isolation=chroot",
                                 "--network=host",
                                 "--pull-never",
                                 "--identity-label=false",
                                 "--signature-policy",
                                 settings_.folder + "/policy.json",
                                 "--platform",
                                 job.platform,
                                 "--format",
                                 job.docker_format ? "docker" : "oci",
                                 job.cache_layers ? "--layers=true" : "--layers=false",
                                 "--force-rm",
                                 "--target",
                                 job.rewritten.target,
                                 "--iidfile",
                                 id_file,
                                 "--ignorefile",
                                 "/dev/null",
                                 "--file",
                                 job.file};
  for (const auto& [name, value] : job.args) {
    words.insert(words.end(), {"--build-arg", name + "=" + value});
  }
  for (const auto& [id, path] : job.secrets) {
    words.insert(words.end(), {"--secret", fmt::format("id={},src={}", id, path)});
  }
  if (!job.files.empty()) {
    words.insert(words.end(), {"--build-context",
                               fmt::format("{}={}", containerfile::kFilesContext, job.files)});
  }
  words.push_back(job.context);
  return words;
}

Result<Buildah::Built> Buildah::build(const BuildJob& job) const {
  const auto id_file = fmt::format("{}/tmp/{}", settings_.folder, unique_name("id"));
  StepWatcher watcher(job.rewritten);
  LoggedOptions options;
  options.argv = command(build_words(job, id_file));
  options.environment = environment();
  options.directory = settings_.folder;
  options.log = job.log;
  options.secrets = job.secret_values;
  options.left_out = kUnusedArguments;
  options.timeout = job.timeout;
  options.stop_fd = settings_.stop_fd;
  options.on_line = [&](std::string_view line) {
    watcher.take(line);
    if (job.on_line) {
      job.on_line(line);
    }
  };
  auto done = run_logged(options);
  if (!done) {
    return std::unexpected(std::move(done).error());
  }
  if (!done->status.ok()) {
    return Built{{}, watcher.failure(done->status.text(), std::move(done->last_lines))};
  }
  MESH_TRY(const auto id, os::read_file(id_file, 256));
  (void)os::remove_tree(id_file);
  return Built{without_prefix(id, "sha256:"), std::nullopt};
}

Result<std::string> Buildah::push_one(const std::string& image, const std::string& destination,
                                      bool list) const {
  const auto digest_file = fmt::format("{}/tmp/{}", settings_.folder, unique_name("digest"));
  std::vector<std::string> words = list ? std::vector<std::string>{"manifest", "push", "--all"}
                                        : std::vector<std::string>{"push"};
  words.insert(words.end(), {"--quiet", "--digestfile", digest_file, "--signature-policy",
                             settings_.folder + "/policy.json"});
  for (auto& flag : registry_flags()) {
    words.push_back(std::move(flag));
  }
  words.insert(words.end(), {image, "docker://" + destination});
  MESH_CHECK(ask(std::move(words), "pushing to " + destination));
  MESH_TRY(auto digest, os::read_file(digest_file, 256));
  (void)os::remove_tree(digest_file);
  while (!digest.empty() && digest.back() == '\n') {
    digest.pop_back();
  }
  return digest;
}

Result<std::string> Buildah::push(const std::vector<std::string>& images,
                                  const std::string& repository, const std::string& tag) const {
  const auto destination = fmt::format("{}/{}:{}", settings_.registry, repository, tag);
  if (images.size() == 1) {
    return push_one(images.front(), destination, /*list=*/false);
  }
  const auto list = "localhost/mesh-" + unique_name("list");
  MESH_CHECK(ask({"manifest", "create", list}, "making an index"));
  for (const auto& image : images) {
    MESH_CHECK(ask({"manifest", "add", list, image}, "making an index"));
  }
  auto digest = push_one(list, destination, /*list=*/true);
  (void)ask({"manifest", "rm", list}, "removing an index");
  return digest;
}

}  // namespace mesh::builder
