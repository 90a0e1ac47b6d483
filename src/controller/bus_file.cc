#include "controller/bus_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "bus/server_program.h"
#include "controller/tls.h"
#include "os/files.h"
#include "os/process.h"

namespace mesh::controller {

namespace {

constexpr const char* kProvedNote = "bus.proved";
constexpr std::size_t kLargestConfig = 1U << 30U;
constexpr std::chrono::milliseconds kCommandTimeout{120'000};
// 10,000 modules reload in 2.8 s on an idle machine; a busy one takes much longer.
constexpr std::chrono::milliseconds kReloadTimeout{120'000};
// A command that ended well and was not heeded: the server refused the file in its own log.
constexpr std::chrono::milliseconds kHeeded{30'000};
constexpr std::chrono::milliseconds kAnswer{5'000};
// What puts the old file in force again has this, also where the deadline has passed.
constexpr std::chrono::milliseconds kPutBack{10'000};

std::string config_path(const inventory::State& state, const model::Mesh& mesh,
                        const std::string& root) {
  if (mesh.bus.managed) {
    return state.paths.bus_config();
  }
  return (std::filesystem::path(root) / mesh.bus.config.value_or("nats.conf")).string();
}

/// What the server was proved to run with: the configuration, and the certificate that it reads
/// with it.
std::string proof_mark(const inventory::StatePaths& paths, const std::string& text) {
  const auto certificate = certificate_mark(paths, Served::Bus);
  return sha256_hex(text) + (certificate.empty() ? "" : " " + certificate);
}

/// How long a command may take, and what stops it before.
struct Bounds {
  os::Milliseconds timeout;
  int stop_fd = -1;
};

Bounds bounds_of(const Steps& steps) {
  return {at_most(kCommandTimeout, steps), steps.stop_descriptor()};
}

Status run_command(const std::vector<std::string>& argv, const std::string& directory,
                   const char* what, Bounds bounds) {
  os::RunOptions options;
  options.spawn.argv = argv;
  options.spawn.directory = directory;
  options.timeout = bounds.timeout;
  options.stop_fd = bounds.stop_fd;
  auto result = os::run(options);
  if (!result) {
    return within(fmt::format("[bus] {} ({})", what, argv.front()), std::move(result).error());
  }
  if (!result->status.ok()) {
    return fail(Code::PermissionDenied,
                with_words(fmt::format("[bus] {} ended with {}", what, result->status.text()),
                           result->err.empty() ? result->out : result->err, 400),
                fmt::format("run it by hand: {}", printable(join(argv, " "))));
  }
  return {};
}

/// The mode of an external server's file stays what its owner made it: the server may run as
/// another user.
mode_t mode_for(const std::string& path, bool managed) {
  struct stat info{};
  return !managed && ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777U : os::kPrivateFile;
}

}  // namespace

Status remember_proved(inventory::State& state, const std::string& text) {
  return state.inventory.set_note(kProvedNote, proof_mark(state.paths, text));
}

Result<BusFile> read_bus_file(inventory::State& state, const model::Mesh& mesh,
                              const std::string& root) {
  BusFile file;
  file.path = config_path(state, mesh, root);
  auto text = os::read_file(file.path, kLargestConfig);
  if (!text && text.error().code == Code::NotFound) {
    return file;
  }
  if (!text) {
    return std::unexpected(std::move(text).error());
  }
  file.exists = true;
  file.text = std::move(*text);
  if (auto view = broker::read_view(file.text)) {
    file.view = std::move(*view);
  }
  MESH_TRY(const auto proved, state.inventory.note(kProvedNote));
  file.proved = proved && *proved == proof_mark(state.paths, file.text);
  return file;
}

Result<std::string> BusFileSwap::prove_managed(const BusLink& link, const std::string& text) {
  const auto candidate = file_.path + ".new";
  MESH_CHECK(steps_.next("prove the bus configuration"));
  MESH_CHECK(os::write_file_atomic(candidate, text, os::kPrivateFile));
  auto proof =
      bus::prove_config(link.managed->program, candidate, at_most(kCommandTimeout, steps_));
  if (!proof) {
    proof.error().code = Code::PermissionDenied;  // its fault is not the operator's files
    return within("the bus refuses the new configuration; the old one stays in force",
                  std::move(proof).error());
  }
  MESH_CHECK(os::remove_tree(candidate));
  return std::move(proof->digest);
}

Status BusFileSwap::write(const std::string& text) {
  MESH_CHECK(steps_.next("replace the bus configuration"));
  MESH_TRY(const auto path, os::file_to_replace(file_.path));
  return os::write_file_atomic(path, text, mode_for(path, mesh_.bus.managed));
}

Status BusFileSwap::test_external() {
  if (mesh_.bus.test.empty()) {
    return {};
  }
  MESH_CHECK(steps_.next("run [bus] test"));
  return run_command(mesh_.bus.test, root_, "test", bounds_of(steps_));
}

Status BusFileSwap::remember(const std::string& text) {
  MESH_CHECK(steps_.next("keep what was proved"));
  return remember_proved(state_, text);
}

Status BusFileSwap::reload_by_command(BusLink& link, bool twice) {
  bus::SystemAccount system(link.system, at_most(kAnswer, steps_));
  for (int round = 0; round < (twice ? 2 : 1); ++round) {
    MESH_TRY(const auto before, system.servers(link.servers.size()));
    MESH_CHECK(run_command(mesh_.bus.reload, root_, "reload", bounds_of(steps_)));
    const os::Deadline deadline(kHeeded);
    for (const auto& server : before) {
      while (true) {
        const auto now = system.server(server.id);
        if (now && now->config_load_time != server.config_load_time) {
          break;
        }
        MESH_CHECK(steps_.next("wait for the reload of server " + server.name));
        if (deadline.passed()) {
          return fail(Code::Timeout,
                      fmt::format("server {} did not read its configuration again "
                                  "within {} s of [bus] reload",
                                  server.name, kHeeded.count() / 1000),
                      "its log says why");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
      }
    }
  }
  return {};
}

Status BusFileSwap::reload(BusLink& link, bool twice, const std::string& digest) {
  MESH_CHECK(steps_.next("reload the bus"));
  if (by_command()) {
    return reload_by_command(link, twice);
  }
  auto states = bus::SystemAccount(link.system, at_most(kAnswer, steps_))
                    .reload_all(twice, at_most(kReloadTimeout, steps_), digest);
  if (!states) {
    return std::unexpected(std::move(states).error());
  }
  return {};
}

Result<Reloaded> BusFileSwap::put(BusLink& link, const std::string& text, bool twice) {
  std::string digest;
  if (mesh_.bus.managed) {
    MESH_TRY(digest, prove_managed(link, text));
  }
  MESH_CHECK(write(text));
  if (auto tested = mesh_.bus.managed ? Status() : test_external(); !tested) {
    MESH_CHECK(restore_file());
    tested.error().message += "; the old configuration is in force";
    return std::unexpected(std::move(tested).error());
  }
  if (auto done = reload(link, twice, digest); !done) {
    return std::unexpected(undone(link, std::move(done).error()));
  }
  MESH_CHECK(remember(text));
  Reloaded out;
  if (!mesh_.bus.managed && mesh_.bus.test.empty()) {
    out.proved = false;
    out.note = "[bus] has no `test`: that the server accepts the file was not proved beforehand";
  }
  return out;
}

Status BusFileSwap::restore_file() {
  MESH_TRY(const auto path, os::file_to_replace(file_.path));
  return file_.exists ? os::write_file_atomic(path, file_.text, mode_for(path, mesh_.bus.managed))
                      : os::remove_tree(path);
}

/// Where a [bus] reload was cut off, by the operator or the deadline, it is not run once more: the
/// next push does.
Error BusFileSwap::undone(BusLink& link, Error error) {
  const bool cut_off =
      by_command() && (error.code == Code::Interrupted || steps_.left().count() == 0);
  Status back = cut_off ? restore_file() : put_back(link);
  if (cut_off && back) {
    back = remember_proved(state_, "");
  }
  if (!back) {
    error.message += "; the old file is back, but the bus was not told: " + back.error().message;
  } else {
    error.message += cut_off ? "; the old file is back, and the next push has it read"
                             : "; the old configuration is in force";
  }
  return error;
}

Status BusFileSwap::tell_of_old(BusLink& link) {
  if (by_command()) {
    return run_command(mesh_.bus.reload, root_, "reload", {kPutBack, -1});
  }
  auto states = bus::SystemAccount(link.system).reload_all(false, kReloadTimeout);
  return states ? Status() : std::unexpected(std::move(states).error());
}

Status BusFileSwap::put_back(BusLink& link) {
  MESH_CHECK(restore_file());
  if (!file_.exists) {
    return {};
  }
  if (auto told = tell_of_old(link); !told) {
    MESH_CHECK(remember_proved(state_, ""));
    return told;
  }
  return file_.proved ? remember_proved(state_, file_.text) : Status();
}

Status BusFileSwap::put_unconnected(const std::string& text) {
  MESH_CHECK(write(text));
  Status done = test_external();
  if (done && mesh_.bus.reload.empty()) {
    return fail(Code::Unavailable,
                "wrote " + file_.path + ", and [bus] has no `reload` to put it in force",
                "include that file in the server's configuration, reload the server, and "
                "push again");
  }
  if (done) {
    done = run_command(mesh_.bus.reload, root_, "reload", bounds_of(steps_));
  }
  if (!done) {
    MESH_CHECK(restore_file());
    done.error().message += "; the old file is back";
  }
  return done;
}

}  // namespace mesh::controller
