#include "broker/expected_shares.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/subjects.h"

namespace mesh::broker {
namespace {

constexpr int kAccountToken = 3;  // in mesh.mod.<account>.event.…, counted from 1

/// What a subject is for, which says from whose account it comes.
enum class Sort {
  MeshOwn,  // JetStream, the streams' subjects, reports: MESH answers or stores it
  Tool,     // mesh.mod.<module>.tool.…: the module's account
  Event,    // an event, of a module or a seat
  Pushed,   // _DELIVER.… and declarations, which MESH sends
  Local,    // inboxes, own tools, own questions, a seat's work: nothing of it crosses accounts
};

Sort sort_of_published(const std::vector<std::string_view>& tokens) {
  const bool of_module = tokens.size() > 3 && tokens[0] == "mesh" && tokens[1] == "mod";
  return of_module && tokens[3] == "tool" ? Sort::Tool : Sort::MeshOwn;
}

Sort sort_of_heard(const std::vector<std::string_view>& tokens) {
  if (tokens[0] == "_DELIVER") {
    return Sort::Pushed;
  }
  if (tokens.size() < 4 || tokens[0] != "mesh") {
    return Sort::Local;
  }
  if (tokens[1] == "node") {
    return tokens[3] == "declare" ? Sort::Pushed : Sort::Local;
  }
  return tokens[3] == "event" ? Sort::Event : Sort::Local;
}

using AccountsBySubject = std::map<std::string_view, std::set<std::string_view>>;

/// Which accounts publish and hear each event.
struct Events {
  AccountsBySubject emitters;
  AccountsBySubject hearers;
};

bool contains(const AccountsBySubject& all, std::string_view subject, std::string_view account) {
  const auto found = all.find(subject);
  return found != all.end() && found->second.contains(account);
}

Events events_of(std::span<const Principal> principals) {
  Events events;
  for (const Principal& principal : principals) {
    if (principal.kind != Kind::Module) {
      continue;
    }
    for (const Grant& grant : principal.publish) {
      events.emitters[grant.subject].insert(principal.account);
    }
    for (const Grant& grant : principal.subscribe) {
      if (sort_of_heard(split(grant.subject, '.')) == Sort::Event) {
        events.hearers[grant.subject].insert(principal.account);
      }
    }
  }
  return events;
}

/// A live event comes from every other account that emits it. Two holders of a seat that both emit
/// and hear one event take it from neither side: the server refuses such a circle.
void import_event(std::map<std::string, Shares>& all, const Events& events,
                  const std::string& account, const std::string& subject) {
  const auto emitters = events.emitters.find(subject);
  if (emitters == events.emitters.end()) {
    return;
  }
  const bool emits_itself = emitters->second.contains(account);
  for (const std::string_view emitter : emitters->second) {
    if (emitter == account || (emits_itself && contains(events.hearers, subject, emitter))) {
      continue;
    }
    all[account].imports.insert({Share::Stream, std::string(emitter), subject, {}});
    all[std::string(emitter)].exports.insert({Share::Stream, subject, false, {}});
  }
}

void expect_of_grants(std::map<std::string, Shares>& all, const Events& events,
                      const Principal& principal) {
  Shares& own = all[principal.account];
  for (const Grant& grant : principal.publish) {
    const std::vector<std::string_view> tokens = split(grant.subject, '.');
    const bool tool = sort_of_published(tokens) == Sort::Tool;
    std::string source = tool ? std::string(tokens[2]) : model::kMeshAccount;
    if (source != principal.account) {
      own.imports.insert({Share::Service, std::move(source), grant.subject, {}});
    }
  }
  for (const Grant& grant : principal.subscribe) {
    const Sort sort = sort_of_heard(split(grant.subject, '.'));
    if (sort == Sort::Pushed) {
      own.imports.insert({Share::Stream, model::kMeshAccount, grant.subject, {}});
    } else if (sort == Sort::Event) {
      import_event(all, events, principal.account, grant.subject);
    }
  }
}

/// What a principal answers is offered by its account and called from TOOLS.
void expect_answers(std::map<std::string, Shares>& all, const Principal& principal) {
  const std::string answered = principal.kind == Kind::Node
                                   ? "mesh.node." + principal.name + ".ask"
                                   : "mesh.mod." + principal.account + ".tool.>";
  Shares& own = all[principal.account];
  own.exports.insert({Share::Service, answered, false, {}});
  own.imports.insert({Share::Service, model::kMeshAccount, model::kVoid, "$JS.API.INFO"});
  all[model::kToolsAccount].imports.insert({Share::Service, principal.account, answered, {}});
}

std::set<Export> mesh_exports() {
  return {{Share::Service, "$JS.ACK.>", false, {}},
          {Share::Service, "$JS.API.CONSUMER.INFO.*.*", false, {}},
          {Share::Service, "$JS.API.CONSUMER.MSG.NEXT.EVENTS.*", true, {}},
          {Share::Service, "mesh.mod.*.event.>", false, kAccountToken},
          {Share::Service, "mesh.node.*.report", false, {}},
          {Share::Service, "mesh.seat.*.accept.*", false, {}},
          {Share::Service, "mesh.seat.*.event.>", false, {}},
          {Share::Service, "mesh.void", false, {}},
          {Share::Stream, "_DELIVER.*", false, {}},
          {Share::Stream, "mesh.node.*.declare", false, {}}};
}

}  // namespace

std::map<std::string, Shares> expected_shares(std::span<const Principal> principals) {
  std::map<std::string, Shares> all;
  all[model::kMeshAccount].exports = mesh_exports();
  all[model::kToolsAccount] = {};
  all[model::kSystemAccount] = {};
  const Events events = events_of(principals);
  for (const Principal& principal : principals) {
    if (principal.kind == Kind::Controller) {
      continue;
    }
    expect_answers(all, principal);
    expect_of_grants(all, events, principal);
  }
  return all;
}

}  // namespace mesh::broker
