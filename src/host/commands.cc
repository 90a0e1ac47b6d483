#include "host/commands.h"

#include <sys/epoll.h>

#include <cerrno>

#include <fmt/format.h>

#include "host/command_units.h"
#include "os/errno_error.h"
#include "os/log_reader.h"

namespace mesh::host {

Commands::Commands(std::unique_ptr<Units> units) : units_(std::move(units)) {}
Commands::~Commands() = default;

Result<std::unique_ptr<Commands>> Commands::open(CommandsOptions options, const os::Clock& clock) {
  if (options.homes.empty()) {
    options.homes = options.state + "/homes";
  }
  os::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) {
    return os::fail_errno("cannot watch commands", errno);
  }
  auto units = std::make_unique<Units>(std::move(options), clock, std::move(epoll));
  MESH_CHECK(units->prepare());
  return std::unique_ptr<Commands>(new Commands(std::move(units)));
}

Result<std::vector<Found>> Commands::list() {
  return units_->list();
}

Status Commands::create(const UnitSpec& spec) {
  return units_->create(spec);
}

Status Commands::start(const converge::UnitName& name) {
  return units_->start(name);
}

Result<bool> Commands::stop(const converge::UnitName& name, os::Milliseconds grace) {
  return units_->stop(name, grace);
}

Status Commands::remove(const converge::UnitName& name) {
  return units_->remove(name);
}

Result<bool> Commands::has_image(const std::string& /*reference*/) {
  return false;
}

Status Commands::pull(const std::string& reference, const PullAccess& /*access*/) {
  return fail(Code::Unsupported, reference + ": commands have no images");
}

Result<LogPiece> Commands::logs(const converge::UnitName& name, const LogCursor& cursor,
                                std::size_t most) {
  MESH_CHECK(units_->spec_of(name));
  MESH_TRY(auto read, os::read_log(units_->files(name).log(), cursor, most));
  return LogPiece{std::move(read.lines), std::move(read.next)};
}

Result<int> Commands::execute(const converge::UnitName& name,
                              const std::vector<std::string>& command, os::Milliseconds timeout) {
  return units_->execute(name, command, timeout);
}

Result<std::vector<std::string>> Commands::volumes() {
  return std::vector<std::string>();
}

Status Commands::remove_volume(const std::string& name) {
  return fail(Code::Unsupported, name + ": commands have no volumes");
}

int Commands::changes() const {
  return units_->keepers().descriptor();
}

bool Commands::separate() const {
  return units_->homes().separate();
}

std::vector<std::string> Commands::not_held(const declaration::Component& component) const {
  std::vector<std::string> out;
  const auto& cgroups = units_->cgroups();
  const auto note = [&](bool asked, const char* key, const char* controller) {
    if (const auto why = cgroups.missing(controller); asked && !why.empty()) {
      out.push_back(fmt::format("{}: {}", key, why));
    }
  };
  note(component.memory.has_value(), "memory", "memory");
  note(component.cpus.has_value(), "cpus", "cpu");
  // With a user of its own the kernel counts the module's processes by that.
  note(component.pids.has_value() && !separate(), "pids", "pids");
  return out;
}

}  // namespace mesh::host
