#include "controller/local_hosts.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "controller/nodes.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/process_mark.h"
#include "os/programs.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr os::Milliseconds kFirstDelay{1'000};
constexpr os::Milliseconds kLastDelay{30'000};
constexpr os::Milliseconds kSteady{60'000};  // it ran for so long: the delay begins anew
constexpr os::Milliseconds kLookElsewhere{30'000};
constexpr os::Milliseconds kAgentEnds{15'000};
constexpr os::Milliseconds kInviteWithin{60'000};
constexpr os::Milliseconds kShowWithin{10'000};
constexpr os::Milliseconds kStopTick{20};
constexpr std::size_t kMostLog = 4U << 20U;
constexpr std::size_t kMostWords = 400;
constexpr std::size_t kMostRecord = 65536;

/// What may run of this machine's nodes: with which engine, and below which state (a copy of the
/// directory is not where it runs).
struct Record {
  std::string engine;
  bool running = false;  // something may run; false once all of it was stopped
};

std::string record_file(const inventory::StatePaths& paths) {
  return paths.hosts() + "/local.json";
}

Status write_record(const inventory::StatePaths& paths, const Record& record) {
  MESH_CHECK(os::make_private_dir(paths.hosts()));
  const nlohmann::json document = {
      {"engine", record.engine}, {"running", record.running}, {"state", paths.root()}};
  return os::write_file_atomic(record_file(paths), document.dump() + "\n", os::kPrivateFile);
}

/// Nothing where no node ever ran here.
std::optional<Record> read_record(const inventory::StatePaths& paths) {
  const auto text = os::read_file(record_file(paths), kMostRecord);
  const auto document = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!document.is_object() || document.value("state", "") != paths.root()) {
    return std::nullopt;
  }
  return Record{document.value("engine", ""), document.value("running", true)};
}

/// The nodes that this machine has a state of.
std::vector<std::string> known_nodes(const inventory::StatePaths& paths) {
  std::vector<std::string> out;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(paths.hosts(), missing)) {
    if (entry.is_directory() && model::NodeName::parse(entry.path().filename().string())) {
      out.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(out);
  return out;
}

/// Ends the mesh-host that holds the state, whoever started it.
void end_holder(const std::string& directory) {
  const auto holder = os::Lock::holder(directory + "/lock");
  const auto mark =
      holder ? os::mark_of(holder->pid) : Result<os::ProcessMark>(fail(Code::NotFound, "nobody"));
  auto handle = mark ? os::ProcessHandle::open(*mark)
                     : Result<os::ProcessHandle>(std::unexpected(mark.error()));
  if (!handle) {
    return;
  }
  (void)handle->signal(SIGTERM).has_value();
  if (!handle->wait_gone(kAgentEnds)) {
    (void)handle->signal(SIGKILL).has_value();
    (void)handle->wait_gone(kAgentEnds).has_value();
  }
}

/// A pipe whose reading end gives `bytes`. They must fit into it: 64 KiB, and a token is smaller.
Result<os::Fd> filled_pipe(const std::string& bytes) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Code::Resource, "no pipe: too many open files");
  }
  os::Fd reading(ends[0]);
  const os::Fd writing(ends[1]);
  const auto size = static_cast<ssize_t>(bytes.size());
  if (::fcntl(writing.get(), F_SETFL, O_NONBLOCK) != 0 ||
      ::write(writing.get(), bytes.data(), bytes.size()) != size) {
    return fail(Code::Resource, "the join token does not fit into a pipe");
  }
  return reading;
}

/// The public key (base64) of the machine that the state at `directory` is of; empty: of none.
std::string machine_key(const std::string& program, const std::string& directory) {
  os::RunOptions options;
  options.spawn.argv = {program, "show", "--state", directory};
  options.timeout = kShowWithin;
  const auto shown = os::run(options);
  if (!shown || !shown->status.ok()) {
    return {};
  }
  const auto document = nlohmann::json::parse(shown->out, nullptr, false);
  return document.is_object() ? document.value("key", "") : std::string();
}

}  // namespace

Result<std::string> mesh_host_program() {
  std::error_code missing;
  const auto own = fs::read_symlink("/proc/self/exe", missing).string();
  if (auto beside = os::dir_name(own) + "/mesh-host"; os::is_program(beside)) {
    return beside;
  }
  auto found = os::program_on_path("mesh-host");
  if (found.empty()) {
    return fail(Code::NotFound, "mesh-host is neither beside mesh nor on PATH",
                "it runs the modules of each node: install it, or build it (`./dev build`)");
  }
  return found;
}

std::vector<std::string> LocalHost::words(std::vector<std::string> verb) const {
  verb.insert(verb.begin(), options_.program);
  verb.insert(verb.end(), {"--state", directory_, "--checkout", options_.checkout, "--allow-run"});
  if (!options_.engine.empty()) {
    verb.insert(verb.end(), {"--engine", options_.engine});
  }
  return verb;
}

std::string LocalHost::log_file() const {
  return directory_ + ".log";
}

Status LocalHost::spawn(std::vector<std::string> verb, const std::string& input) {
  os::Fd given;
  if (!input.empty()) {
    MESH_TRY(given, filled_pipe(input));
  }
  const auto size = os::read_file(log_file(), kMostLog);
  const bool anew = !size && size.error().code == Code::Resource;
  const os::Fd log(::open(log_file().c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0), 0600));
  os::SpawnOptions options;
  options.argv = words(std::move(verb));
  options.out = os::Output::discard();
  options.err = log.valid() ? os::Output::to_fd(log.get()) : os::Output::discard();
  options.in = given.valid() ? given.get() : -1;
  options.new_session = true;  // Ctrl-C in the terminal is for `mesh up`, which ends it in order
  MESH_TRY(auto process, os::Process::spawn(options));
  process_.emplace(std::move(process));
  return {};
}

std::string LocalHost::last_words() const {
  const auto text = os::read_file(log_file(), kMostLog);
  if (!text) {
    return {};
  }
  std::string error;
  std::size_t at = 0;
  while (at < text->size()) {
    const auto end = std::min(text->find('\n', at), text->size());
    const auto line = std::string_view(*text).substr(at, end - at);
    if (line.starts_with("error: ")) {
      error = printable(line.substr(7), kMostWords);
    }
    at = end + 1;
  }
  return error;
}

void LocalHost::back_off(const std::string& why, os::Monotonic now) {
  stage_ = Stage::Waiting;
  delay_ = now - started_ > kSteady ? kFirstDelay : std::clamp(delay_ * 2, kFirstDelay, kLastDelay);
  due_ = now + delay_;
  say(why);
}

void LocalHost::elsewhere(const std::string& why) {
  stage_ = Stage::Elsewhere;
  due_ = started_ + kLookElsewhere;
  say(why);
}

void LocalHost::say(const std::string& why) {
  const auto line = fmt::format("{}: {}", node_, why);
  if (line != said_) {
    said_ = line;
    say_(line);
  }
}

Status LocalHost::join(inventory::State& state, const Location& location, const model::Mesh& mesh,
                       Edges edges) {
  // What an earlier machine of this name left here is over: its key was withdrawn.
  if (os::exists(directory_ + "/identity.json")) {
    end_holder(directory_);
    begin_stop({});
    if (process_) {
      (void)process_->wait(kInviteWithin).has_value();
      process_.reset();
    }
    MESH_CHECK(os::remove_tree(directory_));
  }
  MESH_CHECK(os::make_private_dir(directory_));
  TimedSteps steps(kInviteWithin);
  MESH_TRY(const auto invitation, invite_node(state, location, mesh, node_, edges, steps));
  if (!invitation.note.empty()) {
    return fail(Code::Unavailable, invitation.note);
  }
  MESH_CHECK(spawn({"join", "-"}, std::string(invitation.token.reveal())));
  stage_ = Stage::Joining;
  return {};
}

Status LocalHost::start(inventory::State& state, const Location& location, const model::Mesh& mesh,
                        Edges edges) {
  started_ = edges.clock.monotonic();
  MESH_TRY(const auto record, state.inventory.node(node_));
  if (record && record->key) {
    if (machine_key(options_.program, directory_) != base64(record->key->bytes())) {
      elsewhere("another machine is this node");
      return {};
    }
    end_holder(directory_);
    MESH_CHECK(spawn({"run"}));
    stage_ = Stage::Running;
    return {};
  }
  if (record && record->expires && !os::exists(directory_)) {
    elsewhere("a machine is invited to be this node, and is waited for");
    return {};
  }
  return join(state, location, mesh, edges);
}

void LocalHost::tick(inventory::State& state, const Location& location, const model::Mesh& mesh,
                     Edges edges) {
  const auto now = edges.clock.monotonic();
  if (process_) {
    const auto ended = process_->poll();
    if (!ended) {
      return;
    }
    process_.reset();
    if (stage_ == Stage::Joining && ended->ok()) {
      stage_ = Stage::Waiting;
      due_ = now;
    } else {
      const auto why = last_words();
      back_off(
          fmt::format("mesh-host ended with {}{}", ended->text(), why.empty() ? "" : ": " + why),
          now);
    }
  }
  if (now >= due_) {
    if (const auto done = start(state, location, mesh, edges); !done) {
      back_off(done.error().message, now);
    }
  }
}

void LocalHost::end_agent() {
  if (!process_) {
    return;
  }
  process_->signal(SIGTERM);
  if (!process_->wait(kAgentEnds)) {
    process_->signal(SIGKILL);
    (void)process_->wait(kAgentEnds).has_value();
  }
  process_.reset();
  stage_ = Stage::Waiting;
}

void LocalHost::begin_stop(StopHow how) {
  if (process_) {  // it waits for graces
    process_->signal(SIGKILL);
    (void)process_->wait(kAgentEnds).has_value();
    process_.reset();
  }
  std::vector<std::string> verb{"stop", "--all"};
  if (how.volumes) {
    verb.emplace_back("--volumes");
  }
  if (how.now) {
    verb.emplace_back("--now");
  }
  if (const auto spawned = spawn(std::move(verb)); !spawned) {
    say_(fmt::format("{}: {}", node_, spawned.error().message));
  }
}

std::optional<Status> LocalHost::has_stopped() {
  if (!process_) {
    return Status();
  }
  const auto ended = process_->poll();
  if (!ended) {
    return std::nullopt;
  }
  process_.reset();
  if (ended->ok()) {
    return Status();
  }
  return Status(fail(Code::Unavailable,
                     fmt::format("not everything of {} could be stopped: {}", node_, last_words()),
                     "`mesh down` tries again"));
}

namespace {

/// Waits for each `stop`; the first failure.
template <class Hosts>
Status wait_for_stops(Hosts& hosts, const os::Interrupt* interrupt) {
  Status first;
  bool hurried = false;
  std::vector<LocalHost*> open;
  for (auto& host : hosts) {
    open.push_back(&host);
  }
  while (!open.empty()) {
    std::erase_if(open, [&](LocalHost* host) {
      auto done = host->has_stopped();
      if (done && !*done && first) {
        first = std::move(*done);
      }
      return done.has_value();
    });
    if (interrupt != nullptr && interrupt->insisted() && !std::exchange(hurried, true)) {
      for (auto* host : open) {
        host->begin_stop({.volumes = false, .now = true});
      }
    }
    std::vector<pollfd> polled;
    for (const auto* host : open) {
      polled.push_back({host->descriptor(), POLLIN, 0});
    }
    (void)::poll(polled.data(), polled.size(), static_cast<int>(kStopTick.count()));
  }
  return first;
}

}  // namespace

LocalHosts::LocalHosts(inventory::State& state, Location location, Edges edges,
                       LocalHostsOptions options, Say say)
    : state_(state),
      location_(std::move(location)),
      edges_(edges),
      options_(std::move(options)),
      say_(std::move(say)) {
  for (const auto& node : known_nodes(state.paths)) {
    end_holder(state.paths.hosts() + "/" + node);
  }
}

LocalHosts::~LocalHosts() {
  for (auto& [node, host] : hosts_) {
    host.end_agent();
  }
}

Status LocalHosts::follow(model::Mesh mesh) {
  MESH_CHECK(write_record(state_.paths, {options_.engine, true}));
  mesh_ = std::move(mesh);
  std::vector<std::string> gone;
  for (auto& [node, host] : hosts_) {
    if (mesh_->node(node) == nullptr) {
      gone.push_back(node);
    }
  }
  for (const auto& node : gone) {
    auto& host = hosts_.at(node);
    host.end_agent();
    host.begin_stop({});
    say_(fmt::format("{} is not declared any more: what ran of it stops", node));
    while (!host.has_stopped()) {
      pollfd ended{host.descriptor(), POLLIN, 0};
      (void)::poll(&ended, 1, static_cast<int>(kStopTick.count()));
    }
    hosts_.erase(node);
    MESH_CHECK(os::remove_tree(state_.paths.hosts() + "/" + node));
  }
  for (const auto& node : mesh_->nodes) {
    const auto name = node.name.text();
    hosts_.try_emplace(name, name, state_.paths.hosts() + "/" + name, options_, say_);
  }
  return {};
}

void LocalHosts::tick() {
  for (auto& [node, host] : hosts_) {
    host.tick(state_, location_, *mesh_, edges_);
  }
}

std::vector<std::string> LocalHosts::nodes() const {
  std::vector<std::string> out;
  for (const auto& [node, host] : hosts_) {
    if (host.stage() != LocalHost::Stage::Elsewhere) {
      out.push_back(node);
    }
  }
  return out;
}

void LocalHosts::add_to(std::vector<pollfd>& polled) const {
  for (const auto& [node, host] : hosts_) {
    if (host.descriptor() >= 0) {
      polled.push_back({host.descriptor(), POLLIN, 0});
    }
  }
}

Status LocalHosts::stop(const os::Interrupt& interrupt) {
  for (auto& [node, host] : hosts_) {
    host.end_agent();
  }
  std::vector<LocalHost> ending;
  for (auto& [node, host] : hosts_) {
    if (os::exists(state_.paths.hosts() + "/" + node + "/identity.json")) {
      host.begin_stop({});
      ending.push_back(std::move(host));
    }
  }
  hosts_.clear();
  MESH_CHECK(wait_for_stops(ending, &interrupt));
  return write_record(state_.paths, {options_.engine, false});
}

Result<bool> stop_local_hosts(const inventory::StatePaths& paths, bool volumes) {
  const auto nodes = known_nodes(paths);
  const auto record = read_record(paths);
  if (nodes.empty() || !record || (!record->running && !volumes)) {
    return false;
  }
  LocalHostsOptions options;
  MESH_TRY(options.program, mesh_host_program());
  options.engine = record->engine;
  const Say quiet = [](std::string_view) {};
  std::vector<LocalHost> hosts;
  for (const auto& node : nodes) {
    const auto directory = paths.hosts() + "/" + node;
    if (os::exists(directory + "/identity.json")) {
      end_holder(directory);
      hosts.emplace_back(node, directory, options, quiet)
          .begin_stop({.volumes = volumes, .now = false});
    }
  }
  MESH_CHECK(wait_for_stops(hosts, nullptr));
  MESH_CHECK(write_record(paths, {record->engine, false}));
  return !hosts.empty();
}

}  // namespace mesh::controller
