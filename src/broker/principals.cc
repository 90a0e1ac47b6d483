#include "broker/principals.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/subjects.h"

namespace mesh::broker {

namespace {

using SeatsByName = std::map<std::string_view, const model::Seat*>;

void add(std::vector<Grant>& grants, std::string subject, std::string text, const Place& place) {
  grants.push_back(Grant{std::move(subject), Because{std::move(text), place}});
}

/// By subject; of two grants of one subject the reason that sorts first is kept, so that the order
/// of declarations never shows.
void sort_and_unite(std::vector<Grant>& grants) {
  const auto key = [](const Grant& g) {
    const auto& place = g.because.place;
    return std::tie(g.subject, place.file_name(), place.line, place.column, g.because.text);
  };
  std::sort(grants.begin(), grants.end(),
            [&](const Grant& a, const Grant& b) { return key(a) < key(b); });
  const auto same = [](const Grant& a, const Grant& b) { return a.subject == b.subject; };
  grants.erase(std::unique(grants.begin(), grants.end(), same), grants.end());
}

/// What it may do with a durable consumer of `stream` that is pushed to it or pulled by it.
void grant_consumer(Principal& p, const std::string& stream, const std::string& consumer,
                    const std::string& why, const Place& place) {
  add(p.publish, model::ack_subject(stream, consumer), "acknowledges what it takes: " + why, place);
  add(p.publish, model::consumer_info_subject(stream, consumer), "looks at its consumer: " + why,
      place);
}

void grant_seat(Principal& p, const model::Seat& seat, const Place& place) {
  const auto why = "holds " + seat.name.text();
  const auto stream = model::seat_stream(seat.name);
  const auto consumer = model::seat_consumer(seat.name);
  grant_consumer(p, stream, consumer, why, place);
  add(p.subscribe, model::deliver_subject(consumer), "hears its work: " + why, place);
  for (const auto& verb : seat.accepts) {
    add(p.subscribe, model::accept_subject(seat.name, verb.value),
        fmt::format("{}, which accepts {}", why, verb.value.text()), place);
  }
  for (const auto& event : seat.emits) {
    add(p.publish, model::event_subject(seat.name, event.value),
        fmt::format("{}, which emits {}", why, event.value.text()), place);
  }
}

void grant_declared(Principal& p, const model::Module& module, const SeatsByName& seats) {
  const auto& file = *module.file;
  for (const auto& event : file.emits) {
    add(p.publish, model::event_subject(module.name, event.value), "emits " + event.value.text(),
        event.place);
  }
  for (const auto& use : file.uses) {
    add(p.publish, model::accept_subject(use.value.seat, use.value.verb),
        "uses " + use.value.text(), use.place);
  }
  for (const auto& call : file.calls) {
    add(p.publish, model::tool_subject(call.value.module, call.value.tool),
        "calls " + call.value.text(), call.place);
  }
  for (const auto& consume : file.consumes) {
    add(p.subscribe, model::event_subject(consume.event), "consumes " + consume.event.text(),
        consume.place);
  }
  for (const auto& held : file.holds) {
    if (const auto seat = seats.find(held.value.text()); seat != seats.end()) {
      grant_seat(p, *seat->second, held.place);
    }
  }
}

Principal instance(const model::Module& module, const model::NodeName& node,
                   const SeatsByName& seats) {
  const model::InstanceName name{node, module.name};
  Principal p;
  p.name = name.text();
  p.kind = Kind::Module;
  p.node = node.text();
  p.module = module.name.text();
  p.account = module.name.text();
  p.allow_responses = true;
  const auto why = fmt::format("[modules.{}] is on node {}", module.name.text(), node.text());
  const auto consumer = model::instance_consumer(name);
  grant_consumer(p, model::kEvents, consumer, why, module.place);
  add(p.publish, model::next_subject(model::kEvents, consumer), "pulls its own consumer: " + why,
      module.place);
  add(p.subscribe, model::inbox_prefix(name) + ".>", "hears its own inbox: " + why, module.place);
  add(p.subscribe, model::tools_subject(module.name), "answers its own tools: " + why,
      module.place);
  grant_declared(p, module, seats);
  sort_and_unite(p.publish);
  sort_and_unite(p.subscribe);
  return p;
}

Principal machine(const model::Node& node) {
  const auto& name = node.name;
  Principal p;
  p.name = name.text();
  p.kind = Kind::Node;
  p.node = name.text();
  p.account = model::node_account(name);
  p.allow_responses = true;
  const auto why = fmt::format("[nodes.{}] is declared", name.text());
  grant_consumer(p, model::kNodes, name.text(), why, node.place);
  add(p.publish, model::report_subject(name), "reports what it runs: " + why, node.place);
  add(p.subscribe, model::deliver_subject(name.text()), "is pushed its declaration: " + why,
      node.place);
  add(p.subscribe, model::inbox_prefix(name) + ".>", "hears its own inbox: " + why, node.place);
  add(p.subscribe, model::declare_subject(name), "hears its declaration: " + why, node.place);
  add(p.subscribe, model::ask_subject(name), "answers the controller: " + why, node.place);
  sort_and_unite(p.publish);
  sort_and_unite(p.subscribe);
  return p;
}

Principal controller(const model::Mesh& mesh) {
  const std::string why = "the controller raises and watches the whole mesh";
  Principal p;
  p.name = model::kController;
  p.kind = Kind::Controller;
  p.account = model::kMeshAccount;
  add(p.publish, ">", why, mesh.place);
  add(p.subscribe, ">", why, mesh.place);
  return p;
}

Principal controller_tools(const model::Mesh& mesh) {
  Principal p;
  p.name = model::kControllerTools;
  p.kind = Kind::Controller;
  p.account = model::kToolsAccount;
  add(p.publish, model::kEveryTool, "the controller calls tools for the operator", mesh.place);
  add(p.publish, model::kEveryAsk, "the controller asks machines what they run", mesh.place);
  add(p.subscribe, std::string(model::kControllerToolsInbox) + ".>",
      "the controller hears answers in its own inbox", mesh.place);
  return p;
}

}  // namespace

std::vector<Principal> principals(const model::Mesh& mesh) {
  SeatsByName seats;
  for (const auto& seat : mesh.seats) {
    seats.emplace(seat.name.text(), &seat);
  }
  std::vector<Principal> out;
  out.push_back(controller(mesh));
  out.push_back(controller_tools(mesh));
  for (const auto& node : mesh.nodes) {
    out.push_back(machine(node));
  }
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      out.push_back(instance(module, node, seats));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Principal& a, const Principal& b) { return a.name < b.name; });
  return out;
}

}  // namespace mesh::broker
