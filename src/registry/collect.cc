#include "registry/collect.h"

#include <csignal>

#include <fmt/format.h>

#include "base/text.h"
#include "os/lock.h"
#include "os/poll.h"
#include "os/process.h"
#include "os/server_record.h"

namespace mesh::registry {
namespace {

constexpr os::Milliseconds kLockWithin{60'000};  // while it is being started, another has it
constexpr os::Milliseconds kEndsWithin{30'000};
constexpr os::Milliseconds kBackWithin{60'000};
constexpr os::Milliseconds kBetween{50};
constexpr os::Milliseconds kAnswersWithin{1000};

Result<os::Lock> hold(const ServerPaths& paths, int stop_fd) {
  const os::Deadline deadline(kLockWithin);
  for (;;) {
    auto lock =
        os::Lock::take(paths.lock(), "registry prune", os::rfc3339(os::SystemClock().now()));
    if (lock || lock.error().code != Code::Conflict || deadline.passed()) {
      return lock;
    }
    if (os::wait_readable(stop_fd, kBetween)) {
      return fail(Code::Interrupted, "interrupted while waiting for the registry");
    }
  }
}

Status end_process(const os::ServerRecord& record) {
  MESH_TRY(auto process, os::ProcessHandle::open(record.process));
  MESH_CHECK(process.signal(SIGTERM));
  return process.wait_gone(kEndsWithin);
}

Status run_collector(const os::ServerRecord& record, const ServerPaths& paths,
                     os::Milliseconds timeout, int stop_fd) {
  os::RunOptions options;
  options.spawn.argv = {record.program, "garbage-collect", paths.config()};
  options.spawn.environment = os::Environment{};  // REGISTRY_… would override the configuration
  options.spawn.directory = paths.root();
  options.spawn.parent_death_signal = SIGKILL;
  options.timeout = timeout;
  options.stop_fd = stop_fd;
  MESH_TRY(const auto ran, os::run(options));
  if (!ran.status.ok()) {
    std::string_view words = ran.err;
    words = words.substr(0, words.find_last_not_of(" \n") + 1);
    return fail(
        Code::Internal,
        with_words(fmt::format("docker-registry garbage-collect ended with {}", ran.status.text()),
                   words.substr(words.rfind('\n') + 1), 500));
  }
  return {};
}

Status wait_for_server(const ServerPaths& paths, const os::ServerRecord& before,
                       const std::string& ca_file, int stop_fd) {
  const os::Deadline deadline(kBackWithin);
  while (!deadline.passed()) {
    MESH_TRY(const auto now, os::running_server(paths.record()));
    if (now && now->process != before.process &&
        registry_hello(now->host, now->port, kAnswersWithin, ca_file)) {
      return {};
    }
    if (os::wait_readable(stop_fd, kBetween)) {
      return fail(Code::Interrupted, "interrupted while waiting for the registry");
    }
  }
  return fail(
      Code::Unavailable,
      fmt::format("the registry was not started again within {} s", kBackWithin.count() / 1000),
      "see what `mesh controller` or `mesh up` says");
}

}  // namespace

Status end_server(const ServerPaths& paths) {
  MESH_TRY(const auto record, os::running_server(paths.record()));
  return record ? end_process(*record) : Status();
}

Status restart_server(const ServerPaths& paths, const std::string& ca_file, int stop_fd) {
  MESH_TRY(const auto record, os::running_server(paths.record()));
  if (!record) {
    return {};
  }
  MESH_CHECK(end_process(*record));
  return wait_for_server(paths, *record, ca_file, stop_fd);
}

Status collect_garbage(const ServerPaths& paths, const std::string& ca_file,
                       os::Milliseconds timeout, int stop_fd) {
  MESH_TRY(auto lock, hold(paths, stop_fd));
  MESH_TRY(const auto record, os::running_server(paths.record()));
  if (!record) {
    return fail(Code::Unavailable, "the registry does not run",
                "start it with `mesh controller` or `mesh up`");
  }
  MESH_CHECK(end_process(*record));
  auto collected = run_collector(*record, paths, timeout, stop_fd);
  lock.release();
  MESH_CHECK(wait_for_server(paths, *record, ca_file, stop_fd));
  return collected;
}

}  // namespace mesh::registry
