#include "tests/system/escape/attempts.h"

#include <fmt/format.h>

namespace mesh::test::escape {

namespace {

constexpr const char* kInbox = "_INBOX.two.thief.loot";
constexpr const char* kNext = "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_thief";
constexpr const char* kInfo = "$JS.API.CONSUMER.INFO.EVENTS.two_thief";
constexpr const char* kConsumed = "mesh.mod.audit.event.note.taken";

/// Sends without looking: a refusal is the server's matter, and what happened is seen elsewhere.
void send(RawClient& thief, const std::string& subject, const std::string& payload,
          const std::string& reply = {}) {
  if (thief.publish(subject, payload, reply) && thief.sync()) {
    return;
  }
}

void hear(RawClient& thief, const std::string& subject, const std::string& queue = {}) {
  if (thief.subscribe(subject, "loot", queue) && thief.sync()) {
    return;
  }
}

/// Pulls one message of its own consumer, which is sure to have one.
void pull(World& world, RawClient& thief, const std::string& how, const std::string& reply) {
  world.emit("two.audit", "mesh.mod.audit.event.note.taken", "a note for the thief");
  world.begin_again();
  send(thief, kNext, how, reply);
}

void with_header(World& world, RawClient& thief, const std::string& subject,
                 const std::string& lines, const std::string& payload,
                 const std::string& reply = kInbox) {
  hear(thief, std::string(kInbox));
  if (thief.publish_with_header(subject, "NATS/1.0\r\n" + lines + "\r\n", payload, reply) &&
      thief.sync()) {
    world.let_thief_hear(Milliseconds{100});
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Attempt> reading_attempts() {
  std::vector<Attempt> out;
  const auto subscription = [&](const std::string& subject, const std::string& queue = {},
                                bool out_in_one = false) {
    out.push_back({fmt::format("subscribe {} {}", subject, queue),
                   [=](World& world, RawClient& thief) {
                     hear(thief, subject, queue);
                     world.emit("two.shop", "mesh.mod.shop.event.order.placed",
                                fmt::format("{} order while listening", kSecret));
                     world.begin_again();
                   },
                   "", out_in_one});
  };
  for (const auto* subject : {">",
                              "*",
                              "mesh.>",
                              "mesh.mod.*.event.>",
                              "mesh.mod.shop.event.>",
                              "mesh.mod.shop.event.order.placed",
                              "mesh.mod.shop.event.*.placed",
                              "mesh.mod.*.tool.>",
                              "mesh.mod.audit.tool.search",
                              "mesh.seat.>",
                              "mesh.seat.printer.accept.print",
                              "mesh.node.one.declare",
                              "mesh.node.*.report",
                              "mesh.node.one.ask",
                              "_INBOX.>",
                              "_INBOX.two.audit.>",
                              "_INBOX.one.thief.>",
                              "_INBOX.controller.>",
                              "_DELIVER.>",
                              "_DELIVER.SEAT_PRINTER_worker",
                              "_DELIVER.one",
                              "$JS.>",
                              "$JS.ACK.>",
                              "$JS.API.>",
                              "$JS.EVENT.>",
                              "$SYS.>",
                              "$SRV.>",
                              "$KV.>",
                              "_R_.>",
                              "$O.>",
                              "$MQTT.>"}) {
    subscription(subject);
    subscription(subject, "queue");
  }
  const auto asking = [&](const std::string& subject, const std::string& payload) {
    out.push_back({"request " + subject, [=](World& world, RawClient& thief) {
                     hear(thief, std::string(kInbox));
                     send(thief, subject, payload, kInbox);
                     world.let_thief_hear(Milliseconds{100});
                   }});
  };
  asking("$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_audit", "1");
  asking("$JS.API.CONSUMER.MSG.NEXT.EVENTS.*", "1");
  asking("$JS.API.CONSUMER.MSG.NEXT.SEAT_PRINTER.SEAT_PRINTER_worker", "1");
  asking("$JS.API.CONSUMER.INFO.EVENTS.two_audit", "");
  asking("$JS.API.STREAM.INFO.EVENTS", "");
  asking("$JS.API.STREAM.MSG.GET.EVENTS", R"({"seq":1})");
  asking("$JS.API.DIRECT.GET.EVENTS", R"({"seq":1})");
  asking("$JS.API.DIRECT.GET.EVENTS.mesh.mod.shop.event.order.placed", "");
  asking("$JS.API.STREAM.NAMES", "");
  asking("$JS.API.CONSUMER.NAMES.EVENTS", "");
  asking("$JS.API.INFO", "");
  asking("$JS.mesh.API.INFO", "");
  asking("$SYS.REQ.SERVER.PING", "");
  asking("$SYS.REQ.SERVER.PING.VARZ", "");
  asking("$SYS.REQ.ACCOUNT.MESH.CONNZ", "");
  asking("$SYS.REQ.ACCOUNT.PING.CONNZ", "");
  asking("$SYS.REQ.USER.INFO", "");
  asking("$SYS.REQ.SERVER.PING.RELOAD", "");
  asking("$SRV.PING", "");
  asking("$SRV.INFO", "");
  asking("$KV.secrets.key", "");
  asking("$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.key", "");
  asking("mesh.mod.audit.tool.forbidden", "{}");
  asking("mesh.node.one.ask", "{}");
  return out;
}

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Attempt> redirected_attempts() {
  // Where the answer is sent instead of to the thief's inbox.
  const std::vector<std::string> targets = {
      "mesh.mod.shop.event.order.placed",
      kConsumed,
      "mesh.seat.printer.accept.print",
      "mesh.seat.printer.event.printed",
      "mesh.node.one.declare",
      "mesh.node.two.report",
      "mesh.node.one.ask",
      "mesh.retry.two.audit.mesh.mod.shop.event.order.placed",
      "mesh.parked.two",
      "_DELIVER.one",
      "_DELIVER.SEAT_PRINTER_worker",
      "_INBOX.two.audit.forged",
      "_INBOX.controller.forged",
      "$JS.API.STREAM.PURGE.PARKED",
      "$JS.API.CONSUMER.DELETE.EVENTS.two_audit",
      "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_audit",
      "mesh.mod.audit.tool.forbidden",
  };
  // In one account the server itself carries the answer there.
  std::vector<Attempt> out;
  for (const auto& target : targets) {
    const bool out_in_one = !target.starts_with("$");
    // Inside its own account it can make a sibling hear what looks like an event that both consume.
    const std::string listed = target == kConsumed ? "instances of one module" : "";
    // First, since a server that has once let the tool answer on a subject counts it as used.
    out.push_back({"a tool's answer to " + target,
                   [=](World& world, RawClient& thief) {
                     send(thief, "mesh.mod.audit.tool.search", "{}", target);
                     auto& audit = world.watcher("two.audit");
                     const auto call = audit.next(Milliseconds{2000}, "mesh.mod.audit.tool.>");
                     if (call && !call->reply.empty()) {
                       (void)audit.publish(call->reply, "an answer");
                       (void)audit.sync();
                     }
                   },
                   listed, out_in_one});
    out.push_back({"MSG.NEXT answered to " + target,
                   [=](World& world, RawClient& thief) { pull(world, thief, "1", target); }, listed,
                   out_in_one});
    out.push_back({"MSG.NEXT without waiting answered to " + target,
                   [=](World& world, RawClient& thief) {
                     pull(world, thief, R"({"batch":1,"no_wait":true})", target);
                   },
                   listed, out_in_one});
    out.push_back({"a stream's acknowledgement to " + target,
                   [=](World&, RawClient& thief) { send(thief, kOwnEvent, "loot", target); },
                   listed, true});
    out.push_back({"CONSUMER.INFO answered to " + target,
                   [=](World&, RawClient& thief) { send(thief, kInfo, "", target); }, listed,
                   out_in_one});
    out.push_back({"work given with the answer to " + target,
                   [=](World&, RawClient& thief) {
                     send(thief, "mesh.seat.mailer.accept.send", "mail", target);
                   },
                   listed, out_in_one});
    out.push_back({"an acknowledgement's acknowledgement to " + target,
                   [=](World&, RawClient& thief) {
                     send(thief, "$JS.ACK.EVENTS.two_thief.1.1.1.1.1", "+NXT", target);
                   },
                   listed});
    out.push_back({"a seat's CONSUMER.INFO answered to " + target,
                   [=](World&, RawClient& thief) {
                     send(thief, "$JS.API.CONSUMER.INFO.SEAT_GUARD.SEAT_GUARD_worker", "", target);
                   },
                   listed, out_in_one});
  }
  out.push_back({"MSG.NEXT answered to a sibling's MSG.NEXT",
                 [](World& world, RawClient& thief) {
                   pull(world, thief, "1", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.one_thief");
                 },
                 "instances of one module"});
  out.push_back({"an event's acknowledgement to a sibling's acknowledgements",
                 [](World&, RawClient& thief) {
                   send(thief, kOwnEvent, "loot", "$JS.ACK.EVENTS.one_thief.1.1.1.1.1");
                 },
                 "instances of one module"});
  out.push_back(
      {"MSG.NEXT answered to a sibling's tools",
       [](World& world, RawClient& thief) { pull(world, thief, "1", "mesh.mod.thief.tool.grab"); },
       "instances of one module"});
  for (const auto* reply :
       {"$JS.ACK.EVENTS.two_audit.1.1.1.1.1", "_R_.forged", "$SYS.REQ.USER.INFO"}) {
    out.push_back({std::string("a live event that asks for an answer on ") + reply,
                   [=](World&, RawClient& thief) { send(thief, kOwnEvent, "loot", reply); }});
  }
  return out;
}

std::vector<Attempt> header_attempts() {
  std::vector<Attempt> out;
  for (const auto* lines :
       {"Nats-Rollup: all\r\n", "Nats-Rollup: sub\r\n", "Nats-Expected-Stream: SEAT_PRINTER\r\n",
        "Nats-Expected-Last-Sequence: 1\r\n", "Nats-Expected-Last-Subject-Sequence: 1\r\n",
        "Nats-Expected-Last-Subject-Sequence-Subject: mesh.mod.shop.event.order.placed\r\n",
        "Nats-TTL: 1s\r\n",
        ("Nats-Schedule: @at 2020-01-01T00:00:00Z\r\nNats-Schedule-Target: "
         "mesh.mod.shop.event.order.placed\r\n"),
        "Nats-Incr: 1\r\n",
        "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\nNats-Batch-Commit: 1\r\n",
        "Nats-Trace-Dest: mesh.node.one.declare\r\n",
        "Nats-Trace-Dest: mesh.node.one.declare\r\nNats-Trace-Only: true\r\n",
        "Nats-Trace-Dest: mesh.mod.shop.event.order.placed\r\n",
        "Nats-Trace-Dest: _INBOX.two.thief.loot\r\n", "Nats-Stream-Source: EVENTS 1 > >\r\n",
        "Nats-Required-Api-Level: 0\r\n",
        ("traceparent: 00-11111111111111111111111111111111-2222222222222222-01\r\n"
         "Nats-Trace-Dest: mesh.node.one.declare\r\n")}) {
    for (const auto* subject :
         {kOwnEvent, "mesh.mod.audit.tool.search", kNext, "mesh.seat.mailer.accept.send"}) {
      out.push_back({fmt::format("{} with {}", subject, std::string_view(lines).substr(0, 24)),
                     [=](World& world, RawClient& thief) {
                       with_header(world, thief, subject, lines, "1");
                     }});
    }
  }
  return out;
}

std::vector<Attempt> api_attempts() {
  std::vector<Attempt> out;
  const auto calling = [&](const std::string& subject, const std::string& payload) {
    out.push_back({"publish " + subject, [=](World&, RawClient& thief) {
                     hear(thief, std::string(kInbox));
                     send(thief, subject, payload, kInbox);
                   }});
  };
  const std::string consumer =
      R"({"stream_name":"EVENTS","config":{"name":"x","durable_name":"x","ack_policy":"none","deliver_subject":"_INBOX.two.thief.loot"}})";
  calling("$JS.API.CONSUMER.CREATE.EVENTS", consumer);
  calling("$JS.API.CONSUMER.CREATE.EVENTS.x", consumer);
  calling("$JS.API.CONSUMER.CREATE.EVENTS.x.mesh.mod.shop.event.>", consumer);
  calling("$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.x", consumer);
  calling("$JS.API.CONSUMER.CREATE.EVENTS.two_thief", consumer);
  calling("$JS.API.CONSUMER.DELETE.EVENTS.two_audit", "");
  calling("$JS.API.CONSUMER.DELETE.EVENTS.two_thief", "");
  calling("$JS.API.CONSUMER.PAUSE.EVENTS.two_audit", R"({"pause_until":"2099-01-01T00:00:00Z"})");
  calling("$JS.API.CONSUMER.UNPIN.EVENTS.two_audit", "{}");
  calling("$JS.API.CONSUMER.RESET.EVENTS.two_audit", "{}");
  calling("$JS.API.CONSUMER.LEADER.STEPDOWN.EVENTS.two_audit", "");
  calling("$JS.API.STREAM.CREATE.x", R"({"name":"x","subjects":["mesh.mod.shop.event.>"]})");
  calling("$JS.API.STREAM.UPDATE.EVENTS", R"({"name":"EVENTS","subjects":["mesh.mod.thief.>"]})");
  for (const auto* verb :
       {"DELETE", "PURGE", "SNAPSHOT", "RESTORE", "PEER.REMOVE", "LEADER.STEPDOWN", "MSG.DELETE"}) {
    calling(fmt::format("$JS.API.STREAM.{}.EVENTS", verb), R"({"seq":1})");
    calling(fmt::format("$JS.API.STREAM.{}.SEAT_PRINTER", verb), R"({"seq":1})");
  }
  calling("$JS.API.META.LEADER.STEPDOWN", "");
  calling("$JS.API.SERVER.REMOVE", "{}");
  calling("$JS.API.ACCOUNT.PURGE.MESH", "");
  calling("$JS.API.ACCOUNT.STREAM.MOVE.MESH.EVENTS", "{}");
  for (const auto* payload : {"+ACK", "-NAK", "+TERM", "+WPI", "+NXT"}) {
    calling("$JS.ACK.EVENTS.two_audit.1.1.1.1.1", payload);
    calling("$JS.ACK.SEAT_PRINTER.SEAT_PRINTER_worker.1.1.1.1.1", payload);
    calling("$JS.ACK.NODES.one.1.1.1.1.1", payload);
    // The second shape of the subject, with the account's hash.
    calling("$JS.ACK._.znJdjy7f.EVENTS.two_audit.1.1.1.1.1", payload);
    calling("$JS.ACK.EVENTS.two_audit.EVENTS.two_thief.1.1.1", payload);
  }
  calling("$JS.FC.EVENTS.two_audit.x", "");
  calling("$JSC.R.x", "");
  calling("mesh.mod.shop.event.order.placed", "forged");
  calling("mesh.mod.audit.event.note.taken", "forged");
  calling("mesh.seat.printer.accept.print", "forged");
  calling("mesh.seat.printer.event.printed", "forged");
  calling("mesh.seat.mailer.event.sent", "forged");
  calling("mesh.retry.two.audit.mesh.mod.shop.event.order.placed", "forged");
  calling("mesh.parked.x", "forged");
  calling("mesh.void", "");
  calling("$KV.secrets.key", "forged");
  return out;
}

std::vector<Attempt> impersonating_attempts() {
  std::vector<Attempt> out;
  for (const auto* subject :
       {"mesh.node.one.declare", "mesh.node.two.declare", "mesh.node.one.report",
        "mesh.node.one.ask", "_DELIVER.one", "_DELIVER.SEAT_PRINTER_worker",
        "_INBOX.two.audit.forged", "_INBOX.one.thief.forged", "_INBOX.controller.forged",
        "_INBOX.node.one.forged", "$SYS.SERVER.X.SHUTDOWN", "$SYS.ACCOUNT.MESH.SERVER.CONNS",
        "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.two_audit"}) {
    out.push_back({std::string("publish ") + subject,
                   [=](World&, RawClient& thief) { send(thief, subject, "forged"); }});
  }
  const auto calling_audit = [](World& world) {
    auto shop = world.login("two.shop");
    (void)shop.request("mesh.mod.audit.tool.search", std::string(kSecret) + " question",
                       "_INBOX.two.shop.call", Milliseconds{150});
  };
  for (const auto* queue : {"", "audit", "thief"}) {
    out.push_back({fmt::format("queue-group theft of a tool, as \"{}\"", queue),
                   [=](World& world, RawClient& thief) {
                     hear(thief, "mesh.mod.audit.tool.search", queue);
                     hear(thief, "mesh.mod.audit.tool.>", queue);
                     calling_audit(world);
                     world.begin_again();
                   }});
  }
  out.push_back({"tool calls of its sibling",
                 [](World& world, RawClient& thief) {
                   hear(thief, "mesh.mod.thief.tool.>");
                   auto shop = world.login("two.shop");
                   (void)shop.request("mesh.mod.thief.tool.grab",
                                      std::string(kSecret) + " question", "_INBOX.two.shop.call",
                                      Milliseconds{150});
                   world.begin_again();
                 },
                 "instances of one module"});
  out.push_back({"all work of a seat that it holds, outside the deliver group",
                 [](World& world, RawClient& thief) {
                   hear(thief, "_DELIVER.SEAT_GUARD_worker");
                   world.emit("two.shop", "mesh.seat.guard.accept.watch",
                              std::string(kSecret) + " watch");
                   world.let_thief_hear(Milliseconds{1000});
                   world.begin_again();
                 },
                 "holders of one seat"});
  out.push_back({"acknowledging work of its seat that another holder has",
                 [](World& world, RawClient& thief) {
                   world.emit("two.shop", "mesh.seat.guard.accept.watch", "watch");
                   send(thief, "$JS.ACK.SEAT_GUARD.SEAT_GUARD_worker.1.1.1.1.1", "+TERM");
                   world.begin_again();
                 },
                 "holders of one seat"});
  return out;
}

}  // namespace mesh::test::escape
