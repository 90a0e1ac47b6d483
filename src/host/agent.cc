#include "host/agent.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/digest.h"
#include "base/json_text.h"
#include "base/version.h"
#include "engine/sockets.h"
#include "host/commands.h"
#include "host/containers.h"
#include "model/subjects.h"
#include "os/files.h"

namespace mesh::host {

namespace {

constexpr os::Milliseconds kReportEvery{30'000};
constexpr os::Milliseconds kReportAtMostEvery{1'000};
constexpr os::Milliseconds kAskToJoinEvery{500};
constexpr os::Milliseconds kAnsweredWithin{8'000};
constexpr std::size_t kMostConfig = 256U << 10U;
constexpr std::size_t kIncarnationBytes = 8;
constexpr std::size_t kMostLines = 1000;

std::string platform() {
  utsname name{};
  ::uname(&name);
  const std::string machine = name.machine;
  const auto architecture = machine == "x86_64"            ? std::string("amd64")
                            : machine == "aarch64"         ? std::string("arm64")
                            : machine.starts_with("armv7") ? std::string("arm/v7")
                                                           : machine;
  return "linux/" + architecture;
}

Result<Allowance> read_allowance(const AgentOptions& options) {
  auto text = os::read_file(options.config, kMostConfig);
  if (!text && text.error().code == Code::NotFound) {
    Allowance none;
    none.run = options.allow_run;
    return none;
  }
  if (!text) {
    return std::unexpected(std::move(text).error());
  }
  return Allowance::parse(*text, options.config);
}

std::string error_answer(const Error& error) {
  return nlohmann::json{{"error", {{"code", code_name(error.code)}, {"message", error.message}}}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Agent::Agent(AgentOptions options, Allowance allowance, Identity identity, Store store,
             os::Lock lock, std::unique_ptr<Mailbox> mailbox, const os::Clock& clock,
             os::Random& random)
    : options_(std::move(options)),
      allowance_(std::move(allowance)),
      identity_(std::move(identity)),
      store_(std::move(store)),
      lock_(std::move(lock)),
      mailbox_(std::move(mailbox)),
      clock_(clock),
      incarnation_(hex(random.bytes(kIncarnationBytes))) {}

Agent::~Agent() {
  uplink_.reset();
  machine_.reset();
}

void Agent::say(const std::string& line) const {
  if (options_.say) {
    options_.say(line);
  }
}

Result<std::unique_ptr<Agent>> Agent::open(AgentOptions options, const os::Clock& clock,
                                           os::Random& random) {
  MESH_TRY(auto identity, read_identity(options.state));
  MESH_TRY(auto lock, os::Lock::take(options.state + "/lock", "run", os::rfc3339(clock.now())));
  MESH_TRY(auto allowance, read_allowance(options));
  MESH_TRY(auto store, Store::open(options.state, identity));
  MESH_TRY(auto mailbox, Mailbox::make());
  auto agent = std::unique_ptr<Agent>(
      new Agent(std::move(options), std::move(allowance), std::move(identity), std::move(store),
                std::move(lock), std::move(mailbox), clock, random));
  if (!agent->store_.trouble().empty()) {
    agent->say(agent->store_.trouble());
  }
  return agent;
}

Status Agent::start_machine() {
  Drivers drivers;
  CommandsOptions commands;
  commands.state = options_.state;
  commands.mesh = identity_.mesh;
  commands.node = identity_.node;
  if (::geteuid() == 0) {
    commands.homes = fmt::format("/run/mesh/{}/{}", identity_.mesh, identity_.node);
  }
  MESH_TRY(drivers.commands, Commands::open(std::move(commands), clock_));
  ContainersOptions containers;
  containers.engine.socket = options_.engine.empty() ? engine::usual_socket() : options_.engine;
  containers.mesh = identity_.mesh;
  containers.node = identity_.node;
  containers.folder = options_.state + "/mounts";
  drivers.containers = std::make_unique<Containers>(std::move(containers));
  MachineOptions machine;
  machine.place = {options_.state + "/files", options_.checkout, {}};
  machine.allowance = allowance_;
  machine.say = options_.say;
  if (store_.current() && store_.current()->declaration.registry.login) {
    machine.pull = {identity_.node, std::string(identity_.password.reveal())};
  }
  MESH_CHECK(os::make_private_dir(machine.place.files));
  machine_ =
      std::make_unique<Machine>(std::move(machine), std::move(drivers), store_, *mailbox_, clock_);
  return {};
}

UplinkOptions Agent::uplink_options() const {
  UplinkOptions out{
      model::NodeName::parse(identity_.node).value(), identity_.urls, identity_.ca, {}};
  if (store_.current() && !store_.current()->declaration.bus.urls.empty()) {
    out.urls = store_.current()->declaration.bus.urls;
    out.ca = store_.current()->declaration.bus.ca;
  }
  out.passwords.emplace_back(identity_.password.reveal());
  if (identity_.former) {
    out.passwords.emplace_back(identity_.former->reveal());
  }
  return out;
}

void Agent::start_uplink() {
  Uplink::Handlers handlers;
  handlers.declared = [this](bus::Message message) {
    mailbox_->post([this, message = std::move(message)] { on_declared(message); });
  };
  if (machine_) {  // one that joins is about to end, and would take questions along
    handlers.asked = [this](bus::Message message) {
      mailbox_->post([this, message = std::move(message)] { on_asked(message); });
    };
  }
  handlers.link = [this](Result<std::size_t> link) {
    mailbox_->post([this, link = std::move(link)] { on_link(link); });
  };
  uplink_ = std::make_unique<Uplink>(uplink_options(), std::move(handlers));
}

void Agent::on_link(const Result<std::size_t>& link) {
  up_ = link.has_value();
  link_error_ = link ? std::nullopt : std::optional(link.error());
  say(link ? "the bus is connected" : link.error().message);
  // Once the new password is seen to work the one before is of no use to anybody.
  if (link && *link == 0 && identity_.former && identity_.joined) {
    identity_.former.reset();
    (void)write_identity(options_.state, identity_).has_value();
  }
  reported_.reset();
}

// Declarations.

void Agent::on_declared(const bus::Message& message) {
  const auto taken = take(message.data);
  if (!taken) {
    // One that came twice is no news; all others are.
    const auto envelope = declaration::open_envelope(message.data);
    const auto read =
        envelope ? declaration::read(envelope->bytes)
                 : Result<declaration::Declaration>(fail(Code::Corrupt, "it cannot be read"));
    const bool again = read && read->number == store_.number() && read->node == identity_.node &&
                       read->mesh == identity_.mesh;
    if (!again) {
      refused_ = declaration::Refusal{code_name(taken.error().code), taken.error().message};
      say("refused: " + taken.error().message);
    }
  }
  const bool kept = taken || (taken.error().code != Code::Resource);
  if (kept && !message.reply.empty() && message.reply.starts_with("$JS.ACK.")) {
    (void)uplink_->publish(message.reply, "+ACK").has_value();
  }
  if (taken) {
    (void)uplink_->flush().has_value();  // before the connection is made anew
    uplink_->change(uplink_options());
  }
  reported_.reset();
}

Status Agent::take(const std::string& envelope) {
  const declaration::Trust trust{identity_.mesh, identity_.node, identity_.controller,
                                 identity_.recovery, store_.number()};
  MESH_TRY(auto accepted, declaration::accept(envelope, trust));
  auto controller = accepted.controller;
  MESH_TRY(const auto opened, open_values(accepted.declaration, identity_));
  // What it changes of the identity is kept first: a kill between the two is repaired by the same
  // declaration coming again.
  MESH_CHECK(adopt(opened, controller));
  MESH_CHECK(store_.keep(envelope, std::move(accepted), identity_));
  refused_.reset();
  say(fmt::format("declaration {}", store_.number()));
  if (machine_) {
    machine_->declared();
  }
  return {};
}

Status Agent::adopt(const Opened& opened, const secrets::PublicKey& controller) {
  bool changed = !identity_.joined || identity_.controller != controller;
  identity_.joined = true;
  identity_.controller = controller;
  const auto password = opened.values.find(declaration::kNodePassword);
  if (password != opened.values.end() && !password->second.equals(identity_.password)) {
    identity_.former = std::move(identity_.password);
    identity_.password = password->second.copy();
    changed = true;
  }
  return changed ? write_identity(options_.state, identity_) : Status();
}

// Questions.

std::string Agent::answer(const std::string& question) {
  const auto asked = parse_json(question, {.bytes = 65536, .depth = 4});
  if (!asked || !asked->is_object()) {
    return error_answer({Code::InvalidArgument, "the question is no JSON object", "", {}});
  }
  const auto text = [&](const char* key) {
    const auto found = asked->find(key);
    return found != asked->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (text("ask") == "units") {
    return declaration::write(report());
  }
  if (text("ask") != "logs" || !machine_) {
    return error_answer({Code::Unsupported, "this mesh-host does not know that question", "", {}});
  }
  const auto most = asked->value("most", std::size_t{100});
  const auto piece =
      machine_->logs(text("module"), text("component"), text("cursor"), std::min(most, kMostLines));
  if (!piece) {
    return error_answer(piece.error());
  }
  return nlohmann::json{{"lines", piece->lines}, {"next", piece->next}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Agent::on_asked(const bus::Message& message) {
  if (!message.reply.empty()) {
    (void)uplink_->publish(message.reply, answer(message.data)).has_value();
  }
}

// Reports.

declaration::Report Agent::report() {
  declaration::Report out;
  out.mesh = identity_.mesh;
  out.node = identity_.node;
  out.incarnation = incarnation_;
  out.key = base64(identity_.key.public_key().bytes());
  out.number = store_.current() ? store_.number() : 0;
  out.platform = platform();
  out.version = MESH_VERSION;
  out.refused = refused_;
  if (machine_) {
    out.modules = machine_->modules();
    out.converged = machine_->converged() && store_.current().has_value();
    out.engine = machine_->engine();
  }
  if (!identity_.joined) {
    out.join =
        declaration::request_join(identity_.key, identity_.mesh, identity_.node, incarnation_);
  }
  return out;
}

void Agent::report_if_due(bool now) {
  const auto time = clock_.monotonic();
  const auto at_most = identity_.joined ? kReportAtMostEvery : kAskToJoinEvery;
  if (!up_ || (!now && time - reported_at_ < at_most)) {
    return;
  }
  auto made = report();
  const auto every = identity_.joined ? kReportEvery : kAskToJoinEvery;
  if (reported_ && *reported_ == made && time - reported_at_ < every) {
    return;
  }
  auto sent = made;
  sent.sequence = ++sequence_;
  sent.time = os::rfc3339(clock_.now());
  const auto node = model::NodeName::parse(identity_.node).value();
  if (uplink_->publish(model::report_subject(node), declaration::write(sent))) {
    reported_ = std::move(made);
    reported_at_ = time;
  }
}

// The loop.

void Agent::wait(const os::Interrupt& interrupt, os::Monotonic until) const {
  std::vector<pollfd> polled{{interrupt.descriptor(), POLLIN, 0},
                             {mailbox_->descriptor(), POLLIN, 0}};
  if (machine_) {
    machine_->add_to(polled);
  }
  const auto left = std::chrono::ceil<os::Milliseconds>(until - clock_.monotonic()).count();
  (void)::poll(polled.data(), polled.size(), static_cast<int>(std::clamp<long>(left, 0, 60'000)));
}

Status Agent::run(const os::Interrupt& interrupt) {
  MESH_CHECK(start_machine());
  start_uplink();
  while (!interrupt.requested()) {
    mailbox_->run();
    machine_->turn();
    report_if_due(false);
    auto until = std::min(machine_->next(), reported_at_ + kReportEvery);
    // What changed since the last report waits for its turn; nothing changes but by what wakes us.
    const auto turn = reported_at_ + kReportAtMostEvery;
    if (up_ && turn > clock_.monotonic()) {
      until = std::min(until, turn);
    }
    wait(interrupt, until);
  }
  return {};
}

Status Agent::join(const os::Interrupt& interrupt, os::Milliseconds timeout) {
  start_uplink();
  const os::Deadline deadline(timeout);
  const os::Deadline began(std::min(timeout, kAnsweredWithin));
  while (!identity_.joined) {
    mailbox_->run();
    if (interrupt.requested()) {
      return fail(Code::Interrupted, "interrupted: `mesh-host join` with the same token goes on");
    }
    if (link_error_ && link_error_->code == Code::PermissionDenied) {
      return fail(
          Code::PermissionDenied,
          "the bus refuses this token: it was used, has expired, or is not in force yet",
          "`mesh node list` says which; `mesh push` puts it in force, `mesh node add` makes "
          "another");
    }
    // One for the machine before it may still be on its way; one that is answered to this request
    // comes within seconds.
    if (refused_ && began.left() == os::Milliseconds{0}) {
      return fail(Code::Conflict, refused_->because,
                  "another machine has joined under this name: `mesh node remove` withdraws it");
    }
    if (deadline.passed()) {
      return link_error_ ? Status(std::unexpected(*link_error_))
                         : Status(fail(Code::Timeout, "no declaration came from the controller",
                                       "`mesh controller` or `mesh up` must run to answer joins"));
    }
    report_if_due(false);
    wait(interrupt, clock_.monotonic() + os::Milliseconds{200});
  }
  reported_.reset();
  report_if_due(true);
  (void)uplink_->flush().has_value();  // what is lost now comes again to `run`
  return {};
}

Status Agent::stop_all(StopAll how) {
  MESH_CHECK(start_machine());
  return machine_->stop_all(how);
}

Status begin_join(const std::string& state, const declaration::Token& token, const os::Clock& clock,
                  os::Random& random) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch());
  if (token.expires <= now.count()) {
    return fail(Code::InvalidArgument, "the join token has expired",
                "`mesh node add` makes another");
  }
  MESH_CHECK(os::make_private_dir(state));
  MESH_TRY(const auto lock, os::Lock::take(state + "/lock", "join", os::rfc3339(clock.now())));
  auto known = read_identity(state);
  if (known && known->joined) {
    return fail(
        Code::Conflict,
        fmt::format("this machine has joined mesh {} as {}", known->mesh, known->node),
        "another --state holds another node; this one's directory is removed by hand, after "
        "`mesh-host stop --all`");
  }
  const bool same = known && known->mesh == token.mesh && known->node == token.node &&
                    known->password.equals(token.password);
  if (same) {
    return {};
  }
  if (!known && known.error().code != Code::NotFound) {
    return std::unexpected(std::move(known).error());
  }
  MESH_TRY(const auto identity, Identity::from_token(token, random));
  return write_identity(state, identity);
}

}  // namespace mesh::host
