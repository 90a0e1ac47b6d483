#include "controller/checkup.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/server_program.h"
#include "controller/bus_config.h"
#include "controller/bus_file.h"
#include "controller/prune.h"
#include "controller/registry_link.h"
#include "controller/steps.h"
#include "controller/tls.h"
#include "model/addresses.h"
#include "os/dial.h"
#include "registry/server_program.h"

namespace mesh::controller {

namespace {

constexpr std::uint64_t kLittleDisk = 1ULL << 30U;  // bytes
constexpr os::Milliseconds kDial{1000};
constexpr std::chrono::days kAuthorityNearEnd{365};
constexpr std::int64_t kFirstYear = 1'700'000'000;  // seconds: no clock of a Mesh stands before

Finding ok(std::string name, std::string message) {
  return {std::move(name), Health::Ok, std::move(message), {}};
}

Finding bad(Health health, std::string name, std::string message, std::string hint) {
  return {std::move(name), health, std::move(message), std::move(hint)};
}

Finding bad(std::string name, const Error& error) {
  return bad(Health::Error, std::move(name), error.message, error.hint);
}

Finding not_looked_at(std::string name, const std::string& why) {
  return bad(Health::Warning, std::move(name), "not looked at: " + why, {});
}

Finding check_state(const inventory::StatePaths& paths) {
  const auto& root = paths.root();
  struct stat info{};
  if (::stat(root.c_str(), &info) != 0) {
    const bool missing = errno == ENOENT;
    return missing
               ? bad(Health::Warning, "state", root + " is not there yet", "`mesh init` makes it")
               : bad(Health::Error, "state", root + " cannot be read", "see its owner and mode");
  }
  if ((info.st_mode & 0077U) != 0) {
    return bad(Health::Error, "state", root + " is open to other users", "chmod 700 " + root);
  }
  if (::access(root.c_str(), W_OK) != 0) {
    const bool read_only = errno == EROFS;
    return bad(Health::Error, "state", root + " cannot be written",
               read_only ? "its file system is read-only: mount it writable"
                         : "run as the user who owns it");
  }
  return ok("state", root);
}

Finding check_records(Result<inventory::State>& state) {
  if (!state) {
    return bad("inventory", state.error());
  }
  const auto done = state->inventory.verify();
  return done ? ok("inventory", "whole") : bad("inventory", done.error());
}

Finding check_program(const model::Mesh& mesh, os::Milliseconds within) {
  if (!mesh.bus.managed) {
    return ok("nats-server", "external");
  }
  const auto program = bus::find_server(mesh.bus.program, executable_directory(), within);
  return program ? ok("nats-server",
                      fmt::format("{} is {}", program->path.string(), program->version.text()))
                 : bad("nats-server", program.error());
}

Finding check_clock(os::WallTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return seconds.count() > kFirstYear
             ? ok("clock", os::rfc3339(now))
             : bad(Health::Error, "clock", "it stands at " + os::rfc3339(now),
                   "set it: events would be of the wrong age");
}

Finding check_disk(const Location& location, const model::Mesh& mesh) {
  struct statvfs info{};
  if (::statvfs(location.state.c_str(), &info) != 0 &&
      ::statvfs(location.root.c_str(), &info) != 0) {
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

bool is_taken(const model::HostPort& address) {
  return os::dial(address.host, address.port, os::Deadline(kDial)).has_value();
}

/// `what` is `bus` or `registry`, whose record is `record`. Whether it answers is another question:
/// its process holds the port also where it hangs.
Finding check_port(std::string name, std::string_view what, const std::string& listen,
                   const std::string& record) {
  const auto address = model::parse_host_port(listen);
  const auto server = os::running_server(record);
  if (address && server && *server && (*server)->port == address->port) {
    return ok(std::move(name),
              fmt::format("{} is the {}, process {}", listen, what, (*server)->process.pid));
  }
  if (!address || !is_taken(*address)) {
    return ok(std::move(name), listen + " is free");
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

Finding check_registry_answers(const model::Mesh& mesh, const RegistryStanding& registry) {
  const auto listen = model::parse_host_port(mesh.registry.listen);
  if (registry.running && mesh.registry.managed && listen && !model::is_loopback(listen->host) &&
      mesh.registry.insecure) {
    return bad(Health::Warning, "registry",
               mesh.registry.listen +
                   " has no TLS and asks for no login: whoever reaches it may "
                   "push and delete",
               "leave `insecure` out of [registry], listen on 127.0.0.1, or keep others away from "
               "that address");
  }
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

void check_certificate(const inventory::StatePaths& paths, Served server, const std::string& what,
                       os::WallTime now, std::vector<Finding>& out) {
  const auto name = what + " certificate";
  const auto end = certificate_end(paths, server);
  if (!end) {
    out.push_back(
        bad(Health::Warning, name,
            end.error().code == Code::NotFound ? "there is none yet" : end.error().message,
            "mesh push makes one"));
    return;
  }
  const auto text = "it ends " + os::rfc3339(*end);
  if (*end < now) {
    out.push_back(bad(Health::Error, name, "it ended " + os::rfc3339(*end),
                      "end `mesh controller` or `mesh up` and start it again: that renews it"));
  } else if (is_certificate_old(paths, server, now)) {
    out.push_back(bad(Health::Warning, name, text, "mesh push renews it"));
  } else {
    out.push_back(ok(name, text));
  }
}

/// The authority itself is renewed by nobody: whoever trusts it must be told of another.
void check_authority(const inventory::StatePaths& paths, os::WallTime now,
                     std::vector<Finding>& out) {
  const auto authority = inventory::read_authority(paths);
  const auto facts = authority ? certificates::read_facts(authority->certificate)
                               : Result<certificates::Facts>(std::unexpected(authority.error()));
  if (!facts) {
    out.push_back(bad("authority", facts.error()));
    return;
  }
  const auto text = "the mesh's certificate authority ends " + os::rfc3339(facts->until);
  out.push_back(facts->until - now < kAuthorityNearEnd
                    ? bad(Health::Warning, "authority", text,
                          "make a new mesh before, and let the machines join that")
                    : ok("authority", text));
}

void check_certificates(const inventory::StatePaths& paths, const model::Mesh& mesh,
                        os::WallTime now, std::vector<Finding>& out) {
  const bool registry = mesh.registry.tls() && needs_registry(mesh);
  if (mesh.bus.tls()) {
    check_certificate(paths, Served::Bus, "bus", now, out);
  }
  if (registry) {
    check_certificate(paths, Served::Registry, "registry", now, out);
  }
  if (mesh.bus.tls() || registry) {
    check_authority(paths, now, out);
  }
}

/// Images that nothing names; nothing to say where the registry holds nothing.
Finding check_unused(inventory::State& state, const model::Mesh& mesh, const Location& location,
                     const RegistryStanding& registry) {
  constexpr std::size_t kMostShown = 5;
  if (!mesh.registry.managed && !registry.running) {
    return bad(Health::Warning, "unused images",
               fmt::format("not known: {} does not answer", registry.address),
               "start it, or correct `advertise` of [registry]");
  }
  const auto report = prunable(state, mesh, location, false);
  if (!report) {
    return bad(Health::Warning, "unused images", report.error().message, report.error().hint);
  }
  const auto& unused = report->plan.unused;
  if (unused.empty()) {
    return ok("unused images", "none");
  }
  std::vector<std::string> shown;
  for (const auto& image : unused) {
    if (shown.size() == kMostShown) {
      shown.emplace_back("…");
      break;
    }
    shown.push_back(image.repository + "@" + image.digest);
  }
  return bad(
      Health::Warning, "unused images",
      fmt::format("{}, {} MiB: {}", unused.size(), report->plan.frees >> 20U, join(shown, ", ")),
      "`mesh registry prune` shows them all, with --yes it removes them");
}

void check_registry(const model::Mesh& mesh, const RegistryStanding& registry,
                    const inventory::StatePaths& paths, std::vector<Finding>& out) {
  if (mesh.registry.managed && (registry.needed || registry.running)) {
    out.push_back(check_port("registry port", "registry", mesh.registry.listen,
                             registry_paths(paths).record()));
  }
  out.push_back(check_registry_answers(mesh, registry));
}

void check_bus(const Standing& standing, std::vector<Finding>& out) {
  if (!standing.bus.running) {
    const auto& failure = standing.bus.failure;
    out.push_back(failure ? bad("bus", *failure)
                          : bad(Health::Error, "bus", "it cannot be asked", {}));
    return;
  }
  out.push_back(ok("bus", fmt::format("nats-server {}, {}, {}", join(standing.bus.versions, ", "),
                                      counted(standing.bus.streams, "stream"),
                                      counted(standing.bus.consumers, "consumer"))));
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

Finding check_file(const BusFile& file, const model::Mesh& mesh, bool bus_runs) {
  if (!file.exists) {
    return bus_runs || !mesh.bus.managed
               ? bad(Health::Warning, "configuration", file.path + " is not there", "mesh push")
               : ok("configuration", file.path + " is not there yet: the bus never ran");
  }
  if (!file.view) {
    return bad(Health::Error, "configuration",
               file.path + " is not what mesh writes: it cannot be read",
               "mesh push writes it anew");
  }
  if (!bus_runs || file.proved) {
    return ok("configuration", file.path);
  }
  return bad(Health::Warning, "configuration",
             file.path + " is not what the bus was proved to run with", "mesh push");
}

Finding check_file(inventory::State& state, const model::Mesh& mesh, const std::string& root,
                   bool bus_runs) {
  const auto file = read_bus_file(state, mesh, root);
  return file ? check_file(*file, mesh, bus_runs) : bad("configuration", file.error());
}

Finding check_pushed(inventory::State& state) {
  const auto unfinished = state.inventory.unfinished();
  if (!unfinished) {
    return bad("push", unfinished.error());
  }
  return *unfinished ? bad(Health::Warning, "push",
                           fmt::format("push {} was cut off", (*unfinished)->number), "mesh push")
                     : ok("push", "none is unfinished");
}

/// What only the records can tell.
void check_with_records(inventory::State& state, const model::Mesh& mesh, const Location& location,
                        os::WallTime now, os::Milliseconds timeout, std::vector<Finding>& out) {
  const auto stands = standing(state, mesh, location.root, now, timeout);
  if (stands) {
    check_bus(*stands, out);
  } else {
    out.push_back(bad("bus", stands.error()));
  }
  out.push_back(check_file(state, mesh, location.root, stands && stands->bus.running));
  out.push_back(check_pushed(state));
  check_certificates(state.paths, mesh, now, out);
  if (stands) {
    check_registry(mesh, stands->registry, state.paths, out);
    if (stands->registry.needed || stands->registry.running) {
      out.push_back(check_unused(state, mesh, location, stands->registry));
    }
  }
}

}  // namespace

std::vector<Finding> check_up(const Location& location, const model::Mesh& mesh, Edges edges,
                              os::Milliseconds timeout) {
  const os::Deadline deadline(timeout);
  const inventory::StatePaths paths(location.state);
  auto state = inventory::open_state(location.state, edges.clock, edges.random);
  std::vector<Finding> out;
  out.push_back(check_state(paths));
  if (inventory::state_exists(location.state) || state) {
    out.push_back(check_records(state));
  }
  out.push_back(check_program(mesh, at_most(bus::kVersionWithin, deadline)));
  out.push_back(check_clock(edges.clock.now()));
  out.push_back(check_disk(location, mesh));
  if (mesh.bus.managed) {
    out.push_back(
        check_port("port", "bus", mesh.bus.listen_or_default(), server_record_file(paths)));
  }
  out.push_back(check_registry_program(mesh, needs_registry(mesh)));
  if (state) {
    check_with_records(*state, mesh, location, edges.clock.now(), deadline.left(), out);
    return out;
  }
  for (const auto* name : {"bus", "configuration", "push", "registry"}) {
    out.push_back(not_looked_at(name, "that needs the inventory"));
  }
  return out;
}

}  // namespace mesh::controller
