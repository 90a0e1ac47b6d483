#include "tests/system/escape/world.h"

#include <stdexcept>

#include <fmt/format.h>

#include "broker/compose.h"
#include "broker/objects.h"
#include "broker/subject_algebra.h"
#include "model/read.h"
#include "tests/support/map_files.h"
#include "tests/support/one_account.h"

namespace mesh::test::escape {

namespace {

// The thief has every kind of grant: it emits, consumes, uses a seat, holds another, calls and
// offers tools, and has a sibling on the other node.
constexpr const char* kMesh = R"(
mesh = "escape"
[delivery]
within = "10m"
[nodes.one]
[nodes.two]
[seats.mailer]
accepts = ["send"]
emits = ["sent"]
within = "10m"
[seats.printer]
accepts = ["print"]
emits = ["printed"]
within = "10m"
[seats.guard]
accepts = ["watch"]
emits = ["seen"]
within = "10m"
[modules.audit]
path = "audit"
on = ["two"]
[modules.mail]
path = "mail"
on = ["one"]
[modules.shop]
path = "shop"
on = ["two"]
[modules.thief]
path = "thief"
on = ["one", "two"]
each = true
)";

const std::map<std::string, std::string> kFiles = {
    {"mesh.toml", kMesh},
    {"audit/module.toml", R"(
emits = ["note.taken"]
consumes = ["shop.order.placed", "thief.loot.found"]
[tools.search]
description = "Finds"
)"},
    {"mail/module.toml", R"(
holds = ["mailer", "printer", "guard"]
)"},
    {"shop/module.toml", R"(
emits = ["order.placed"]
uses = ["mailer.send", "printer.print", "guard.watch"]
consumes = ["printer:printed"]
calls = ["audit.search", "thief.grab"]
)"},
    {"thief/module.toml", R"(
emits = ["loot.found"]
consumes = ["audit.note.taken"]
holds = ["guard"]
uses = ["mailer.send"]
calls = ["audit.search"]
[tools.grab]
description = "Grabs"
)"},
};

template <class T>
T must(Result<T> result, const std::string& what) {
  if (!result) {
    throw std::runtime_error(what + ": " + result.error().message);
  }
  return std::move(*result);
}

void must(const Status& status, const std::string& what) {
  if (!status) {
    throw std::runtime_error(what + ": " + status.error().message);
  }
}

std::string password_of(const std::string& user) {
  return "pw-of-" + user;
}

}  // namespace

World::World(const std::string& version, Layout layout) {
  compose(layout);
  server_ = std::make_unique<NatsServer>(
      must(NatsServer::start(version, "listen: \"127.0.0.1:@PORT@\"\n" + config_), "server"));
  controller_ = std::make_unique<RawClient>(login("controller"));
  raise();
  watch();
  seed();
}

void World::compose(Layout layout) {
  const MapFiles files(kFiles);
  const auto reading = model::read_mesh(files);
  if (!reading.mesh) {
    throw std::runtime_error(model::to_text(reading.problems.at(0)));
  }
  principals_ = broker::principals(*reading.mesh);
  auto accounts = broker::accounts(*reading.mesh, principals_);
  if (layout == Layout::OneAccount) {
    accounts = in_one_account(accounts);
  }
  broker::Hashes hashes;
  for (const auto& account : accounts) {
    for (const auto& user : account.users) {
      hashes[user] = password_of(user);  // plain: the layout is what is attacked here
    }
  }
  broker::ServerSettings settings;
  settings.store_dir = "@DIR@/jetstream";
  settings.server_name = "escape";
  config_ = must(broker::compose(settings, accounts, principals_, hashes), "compose");
  const auto wanted = broker::wanted(*reading.mesh, "0123456789abcdef");
  for (const auto& stream : wanted.streams) {
    streams_[stream.name] = stream.config;
  }
  for (const auto& consumer : wanted.consumers) {
    consumers_[consumer.stream][consumer.name] = consumer.config;
  }
}

RawClient World::login(const std::string& principal) const {
  return must(RawClient::connect(server_->port(), principal, password_of(principal)), principal);
}

nlohmann::json World::api(const std::string& subject, const std::string& body) {
  static int counter = 0;
  const auto answer = must(controller_->request("$JS.API." + subject, body,
                                                fmt::format("_INBOX.controller.ask.{}", ++counter)),
                           subject);
  return nlohmann::json::parse(answer.payload);
}

void World::raise() {
  for (const auto& [name, config] : streams_.items()) {
    const auto answer = api("STREAM.CREATE." + name, config.dump());
    if (answer.contains("error")) {
      throw std::runtime_error(name + ": " + answer.dump());
    }
  }
  for (const auto& [stream, consumers] : consumers_.items()) {
    for (const auto& [name, config] : consumers.items()) {
      nlohmann::json body = {{"stream_name", stream}, {"config", config}};
      body["config"]["name"] = name;
      body["config"]["durable_name"] = name;
      const auto answer = api("CONSUMER.DURABLE.CREATE." + stream + "." + name, body.dump());
      if (answer.contains("error")) {
        throw std::runtime_error(name + ": " + answer.dump());
      }
    }
  }
}

void World::watch() {
  for (const auto& principal : principals_) {
    if (principal.name == kThief) {
      continue;
    }
    auto client = login(principal.name);
    const auto hear = [&](const std::string& subject, const std::string& queue = {}) {
      must(client.subscribe(subject, subject, queue), subject);
    };
    if (principal.name == "controller") {
      for (const auto* subject :
           {"mesh.>", "_DELIVER.>", "_INBOX.>", "$JS.ACK.>", "$JS.API.>", "$KV.>", "$SRV.>"}) {
        hear(subject);
      }
    } else {
      for (const auto& grant : principal.subscribe) {
        // A holder takes its work as one of the deliver group, as the contract says.
        const bool work = grant.subject.starts_with("_DELIVER.SEAT_");
        hear(grant.subject, work ? grant.subject.substr(std::string("_DELIVER.").size()) : "");
      }
    }
    must(client.sync(), principal.name);
    watchers_.emplace(principal.name, std::move(client));
  }
}

void World::seed() {
  for (int i = 0; i < 3; ++i) {
    emit("two.shop", "mesh.mod.shop.event.order.placed", fmt::format("{} order {}", kSecret, i));
    emit("two.shop", "mesh.seat.printer.accept.print", fmt::format("{} page {}", kSecret, i));
  }
  emit("two.audit", "mesh.mod.audit.event.note.taken", "a note for the thief");
  emit("two.audit", "mesh.mod.audit.event.note.taken", "another note");
  emit("controller", "mesh.node.one.declare", fmt::format("{} declaration", kSecret));
}

void World::emit(const std::string& principal, const std::string& subject,
                 const std::string& payload, const std::string& header) {
  auto client = login(principal);
  const std::string inbox =
      principal == "controller" ? "_INBOX.controller.emit" : "_INBOX." + principal + ".emit";
  must(client.subscribe(inbox, "ack"), inbox);
  must(header.empty() ? client.publish(subject, payload, inbox)
                      : client.publish_with_header(subject, header, payload, inbox),
       subject);
  const auto answer = must(client.next(Milliseconds{5000}, "ack"), subject);
  if (answer.payload.find("\"seq\"") == std::string::npos) {
    throw std::runtime_error(subject + ": " + answer.payload + answer.header);
  }
}

RawClient& World::begin() {
  thief_ = std::make_unique<RawClient>(login(kThief));
  thief_heard_.clear();
  begin_again();
  return *thief_;
}

void World::begin_again() {
  for (auto& [name, client] : watchers_) {
    must(client.sync(), name);
    (void)client.take();
  }
  before_ = state();
}

/// Whether a message on `subject` is the thief's to cause: what it may publish, its inbox, its
/// tools.
bool World::thief_may(const std::string& subject) const {
  const auto thief = std::ranges::find(principals_, kThief, &broker::Principal::name);
  const auto matches = [&](const broker::Grant& grant) {
    return broker::includes(grant.subject, subject);
  };
  return std::ranges::any_of(thief->publish, matches) || subject.starts_with("_INBOX.two.thief.") ||
         subject.starts_with("mesh.mod.thief.tool.");
}

/// What an attempt may not change, by name: each subject's count, each stream's and consumer's
/// configuration, and how far each consumer but the thief's own is.
std::map<std::string, std::string> World::state() {
  std::map<std::string, std::string> out;
  const auto names = api("STREAM.NAMES");
  for (const auto& stream : names.at("streams")) {
    const auto name = stream.get<std::string>();
    const auto info = api("STREAM.INFO." + name, R"({"subjects_filter":">"})");
    out["configuration of stream " + name] = info.at("config").dump();
    const auto subjects = info.at("state").value("subjects", nlohmann::json::object());
    for (const auto& [subject, count] : subjects.items()) {
      if (!thief_may(subject)) {
        out["messages of " + subject] = count.dump();
      }
    }
    const auto consumers = api("CONSUMER.LIST." + name);
    for (const auto& consumer : consumers.at("consumers")) {
      const auto of = fmt::format("{} of {}", consumer.at("name").get<std::string>(), name);
      out["configuration of consumer " + of] = consumer.at("config").dump();
      // The thief pulls the first, holds the second's seat and may give work to the third's.
      static const std::set<std::string> kMayMove = {"two_thief of EVENTS",
                                                     "SEAT_GUARD_worker of SEAT_GUARD",
                                                     "SEAT_MAILER_worker of SEAT_MAILER"};
      if (!kMayMove.contains(of)) {
        out["position of consumer " + of] =
            fmt::format("delivered {} acknowledged {} pending {}",
                        consumer.at("delivered").at("stream_seq").dump(),
                        consumer.at("ack_floor").at("stream_seq").dump(),
                        consumer.at("num_ack_pending").dump());
      }
    }
  }
  return out;
}

namespace {

/// What the world itself asks and emits, as the controller that listens to everything hears it.
/// Whether the thief asked the same is seen by its answer.
bool own_doing(const std::string& subject) {
  return subject.starts_with("_INBOX.controller.ask.") || subject == "_INBOX.controller.emit" ||
         subject.starts_with("$JS.API.STREAM.INFO.") ||
         subject.starts_with("$JS.API.CONSUMER.LIST.") || subject == "$JS.API.STREAM.NAMES";
}

/// An answer of the JetStream API that the thief has no right to: any but its own consumer's.
bool foreign_answer(const std::string& payload) {
  return payload.find("io.nats.jetstream.api.v1.") != std::string::npos &&
         payload.find("\"error\"") == std::string::npos &&
         payload.find("consumer_info_response") == std::string::npos;
}

}  // namespace

void World::heard_by_others(std::set<std::string>& found) {
  for (auto& [name, client] : watchers_) {
    const auto heard = must(client.settle(), name);
    for (const auto& message : heard.messages) {
      // A redirected delivery keeps its subject and arrives on a subscription to another.
      const bool redirected =
          !message.sid.starts_with("_DELIVER.") && !broker::includes(message.sid, message.subject);
      const bool own = name == "controller" && own_doing(message.subject);
      if (redirected || (!thief_may(message.subject) && !own)) {
        found.insert(fmt::format("{} heard {} on {}", name, message.subject, message.sid));
      }
    }
  }
}

void World::let_thief_hear(Milliseconds at_most) {
  if (auto message = thief_->next(at_most)) {
    thief_heard_.push_back(std::move(*message));
  }
}

void World::read_by_thief(std::set<std::string>& found) {
  if (const auto heard = thief_->settle()) {  // if not, the server cut it off
    thief_heard_.insert(thief_heard_.end(), heard->messages.begin(), heard->messages.end());
  }
  for (const auto& message : thief_heard_) {
    if ((message.payload + message.header).find(kSecret) != std::string::npos) {
      found.insert("the thief read a secret on " + message.subject);
    }
    if (foreign_answer(message.payload)) {
      found.insert("the thief read " + message.payload.substr(0, 60));
    }
  }
}

std::set<std::string> World::effects() {
  std::set<std::string> found;
  // An event through the stream and back: what the attempt set in motion inside the server is done.
  emit("controller", "mesh.mod.thief.event.loot.found", "a mark");
  const auto after = state();
  read_by_thief(found);
  heard_by_others(found);
  for (const auto& [what, value] : after) {
    const auto was = before_.find(what);
    if (was == before_.end()) {
      found.insert(what + " appeared");
    } else if (was->second != value) {
      found.insert(what + " changed");
    }
  }
  for (const auto& [what, value] : before_) {
    if (!after.contains(what)) {
      found.insert(what + " disappeared");
    }
  }
  return found;
}

}  // namespace mesh::test::escape
