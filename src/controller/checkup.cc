#include "controller/checkup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/server_program.h"
#include "controller/bus_config.h"
#include "controller/bus_file.h"
#include "model/addresses.h"
#include "os/fd.h"
#include "registry/server_program.h"

namespace mesh::controller {

namespace {

constexpr std::uint64_t kLittleDisk = 1ULL << 30U;  // bytes
constexpr std::int64_t kFirstYear = 1'700'000'000;  // seconds: no clock of a Mesh stands before

Finding ok(std::string name, std::string message) {
  return {std::move(name), Health::Ok, std::move(message), {}};
}

Finding bad(Health health, std::string name, std::string message, std::string hint) {
  return {std::move(name), health, std::move(message), std::move(hint)};
}

Finding check_state(const inventory::StatePaths& paths) {
  struct stat info{};
  if (::stat(paths.root().c_str(), &info) != 0) {
    return bad(Health::Error, "state", paths.root() + " cannot be read", "see its owner and mode");
  }
  if ((info.st_mode & 0077U) != 0) {
    return bad(Health::Error, "state", paths.root() + " is open to other users",
               "chmod 700 " + paths.root());
  }
  return ok("state", paths.root());
}

Finding check_records(inventory::State& state) {
  const auto done = state.inventory.verify();
  return done ? ok("inventory", "whole")
              : bad(Health::Error, "inventory", done.error().message, done.error().hint);
}

Finding check_program(const model::Mesh& mesh) {
  if (!mesh.bus.managed) {
    return ok("nats-server", "external");
  }
  const auto program = bus::find_server(mesh.bus.program, executable_directory());
  return program ? ok("nats-server",
                      fmt::format("{} is {}", program->path.string(), program->version.text()))
                 : bad(Health::Error, "nats-server", program.error().message, program.error().hint);
}

Finding check_clock(os::WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return seconds.count() > kFirstYear
             ? ok("clock", os::rfc3339(now))
             : bad(Health::Error, "clock", "it stands at " + os::rfc3339(now),
                   "set it: events would be of the wrong age");
}

Finding check_disk(const inventory::StatePaths& paths, const model::Mesh& mesh) {
  struct statvfs info{};
  if (::statvfs(paths.root().c_str(), &info) != 0) {
    return bad(Health::Warning, "disk", "how much is free is not known", {});
  }
  const auto free = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  const auto text = fmt::format("{} MiB free", free >> 20U);
  if (free < kLittleDisk) {
    return bad(Health::Error, "disk", text, "make room: the bus refuses events when it is full");
  }
  if (mesh.bus.managed && free < static_cast<std::uint64_t>(mesh.events.disk)) {
    return bad(Health::Warning, "disk",
               fmt::format("{}, and [events] disk may take {} MiB", text, mesh.events.disk >> 20),
               "make room, or lower `disk`");
  }
  return ok("disk", text);
}

/// True where something listens at the port of 127.0.0.1.
bool is_taken(int port) {
  const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* raw = &address;
  return ::connect(socket.get(), static_cast<const sockaddr*>(raw), sizeof address) == 0;
}

/// `what` is `bus` or `registry`, and `ours` whether it is what runs there.
Finding check_port(std::string name, std::string_view what, const std::string& listen, bool ours) {
  const auto address = model::parse_host_port(listen);
  if (ours || !address || !is_taken(address->port)) {
    return ok(std::move(name),
              listen + (ours ? fmt::format(" is the {}", what) : std::string(" is free")));
  }
  return bad(Health::Error, std::move(name), listen + " is taken by something else",
             fmt::format("end that, or give another [{}] listen", what));
}

Finding check_registry_program(const model::Mesh& mesh, bool needed) {
  if (!mesh.registry.managed) {
    return ok("docker-registry", "external");
  }
  const auto program = registry::find_registry(executable_directory());
  if (program) {
    return ok("docker-registry", fmt::format("{} is {}", program->path, program->version.text()));
  }
  return needed
             ? bad(Health::Error, "docker-registry", program.error().message, program.error().hint)
             : ok("docker-registry", "none is installed, and no component needs one");
}

Finding check_registry_answers(const RegistryStanding& registry) {
  if (registry.running) {
    return ok("registry", fmt::format("{} answers, {} images", registry.address, registry.images));
  }
  if (!registry.needed) {
    return ok("registry", "none runs, and no component is an image");
  }
  const auto& failure = registry.failure;
  return bad(Health::Error, "registry", failure ? failure->message : "it cannot be asked",
             failure ? failure->hint : std::string());
}

void check_registry(const model::Mesh& mesh, const RegistryStanding& registry,
                    std::vector<Finding>& out) {
  out.push_back(check_registry_program(mesh, registry.needed));
  if (mesh.registry.managed && (registry.needed || registry.running)) {
    out.push_back(check_port("registry port", "registry", mesh.registry.listen, registry.running));
  }
  out.push_back(check_registry_answers(registry));
}

void check_bus(const Standing& standing, std::vector<Finding>& out) {
  if (!standing.bus.running) {
    const auto& failure = standing.bus.failure;
    out.push_back(bad(Health::Error, "bus", failure ? failure->message : "it cannot be asked",
                      failure ? failure->hint : std::string()));
    return;
  }
  out.push_back(ok("bus", fmt::format("nats-server {}, {} streams, {} consumers",
                                      join(standing.bus.versions, ", "), standing.bus.streams,
                                      standing.bus.consumers)));
  for (const auto& consumer : standing.consumers) {
    if (consumer.stalled) {
      out.push_back(bad(Health::Warning, "consumer " + consumer.name,
                        fmt::format("it is stalled: {} messages are unacknowledged, as many as it "
                                    "may have",
                                    consumer.unacknowledged),
                        "see why its module does not acknowledge, or raise `in-flight`"));
    }
  }
}

Finding check_file(const BusFile& file, const Standing& standing) {
  if (!standing.bus.running || file.proved) {
    return ok("configuration", file.path);
  }
  return bad(Health::Warning, "configuration",
             file.path + " is not what the bus was proved to run with", "mesh push");
}

Finding check_pushed(const std::optional<inventory::Push>& unfinished) {
  return unfinished ? bad(Health::Warning, "push",
                          fmt::format("push {} was cut off", unfinished->number), "mesh push")
                    : ok("push", "none is unfinished");
}

}  // namespace

Result<std::vector<Finding>> check_up(inventory::State& state, const model::Mesh& mesh,
                                      const Location& location, os::WallTime now) {
  std::vector<Finding> out;
  MESH_TRY(const auto stands, standing(state, mesh, location.root, now));
  MESH_TRY(const auto file, read_bus_file(state, mesh, location.root));
  MESH_TRY(const auto unfinished, state.inventory.unfinished());
  out.push_back(check_state(state.paths));
  out.push_back(check_records(state));
  out.push_back(check_program(mesh));
  out.push_back(check_clock(now));
  out.push_back(check_disk(state.paths, mesh));
  if (mesh.bus.managed) {
    out.push_back(check_port("port", "bus", mesh.bus.listen_or_default(), stands.bus.running));
  }
  check_bus(stands, out);
  out.push_back(check_file(file, stands));
  out.push_back(check_pushed(unfinished));
  check_registry(mesh, stands.registry, out);
  return out;
}

}  // namespace mesh::controller
