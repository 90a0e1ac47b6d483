#include "broker/accounts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/subjects.h"

namespace mesh::broker {

namespace {

constexpr int kConnections = 64;      // of each instance: its processes, and a deploy's overlap
constexpr int kSubscriptions = 1000;  // of each connection
constexpr int kNodeConnections = 16;  // a host has one; the rest is for reconnects
constexpr int kNodeSubscriptions = 100;
constexpr int kPayload = 1 << 20;

constexpr std::string_view kModulePrefix = "mesh.mod.";
constexpr std::string_view kSeatPrefix = "mesh.seat.";

/// The `index`-th token of `subject`.
std::string_view token(std::string_view subject, int index) {
  for (; index > 0; --index) {
    subject.remove_prefix(std::min(subject.size(), subject.find('.') + 1));
  }
  return subject.substr(0, subject.find('.'));
}

/// Where work and seat events come from: who holds a seat, and who hears which event of it.
class Seats {
 public:
  explicit Seats(const model::Mesh& mesh) {
    for (const auto& module : mesh.modules) {
      for (const auto& held : module.file->holds) {
        holders_[held.value.text()].insert(module.name.text());
      }
    }
    for (const auto& module : mesh.modules) {
      for (const auto& consume : module.file->consumes) {
        if (holds(module.name.text(), consume.event)) {
          hearing_holders_.emplace(module.name.text(), model::event_subject(consume.event));
        }
      }
    }
  }

  /// The accounts from which `hearer` takes a seat's event live. A holder that hears the event
  /// itself takes it only from holders that do not: nats-server refuses a file in which two
  /// accounts take one subject from each other, and (its search never forgets an account) also most
  /// files without such a circle. Measured on 2.10.27 and 2.15.1; see
  /// docs/decisions/0007.
  [[nodiscard]] std::vector<std::string> emitters(const std::string& hearer,
                                                  const std::string& subject) const {
    std::vector<std::string> out;
    const auto all = holders_.find(token(subject, 2));
    if (all == holders_.end()) {
      return out;
    }
    const bool holder = all->second.contains(hearer);
    for (const auto& other : all->second) {
      if (other != hearer && !(holder && hearing_holders_.contains({other, subject}))) {
        out.push_back(other);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] bool holds(const std::string& module, const model::EventRef& event) const {
    const auto all = holders_.find(event.owner);
    return event.source == model::EventRef::Source::Seat && all != holders_.end() &&
           all->second.contains(module);
  }

  std::map<std::string, std::set<std::string>, std::less<>> holders_;
  std::set<std::pair<std::string, std::string>> hearing_holders_;  // module, event's subject
};

Export service(std::string subject) {
  return {Share::Service, std::move(subject), false, {}};
}
Export stream(std::string subject) {
  return {Share::Stream, std::move(subject), false, {}};
}

Import from(std::string account, Share share, std::string subject) {
  return {share, std::move(account), std::move(subject), {}};
}

/// Without an import of its own on `$JS.API.INFO` the server gives an account one of `$JS.API.>`
/// from the system account, and CONSUMER.INFO is answered by that one.
Import shadow_of_jetstream() {
  return {Share::Service, model::kMeshAccount, model::kVoid, "$JS.API.INFO"};
}

Account mesh_account(const model::Mesh& mesh) {
  Account a;
  a.name = model::kMeshAccount;
  a.jetstream = true;
  a.users = {model::kController};
  // Few and wide: each export costs the server time for every other (see accounts.h).
  a.exports = {service("$JS.ACK.>"),
               service("$JS.API.CONSUMER.INFO.*.*"),
               {Share::Service, model::next_subject(model::kEvents, "*"), true, {}},
               {Share::Service, model::kEveryModuleEvent, false, 3},
               service(model::kEveryReport),
               service(model::kEveryAccept),
               service(model::kEverySeatEvent),
               service(model::kVoid),
               stream(model::deliver_subject("*")),
               stream(model::kEveryDeclare)};
  a.because = {"JetStream and the controller", mesh.place};
  return a;
}

Account system_account(const model::Mesh& mesh) {
  Account a;
  a.name = model::kSystemAccount;
  a.users = {model::kControllerSystem};
  a.because = {"figures and reloads, for the controller alone", mesh.place};
  return a;
}

Account tools_account(const model::Mesh& mesh) {
  Account a;
  a.name = model::kToolsAccount;
  a.users = {model::kControllerTools};
  for (const auto& module : mesh.modules) {
    a.imports.push_back(
        from(module.name.text(), Share::Service, model::tools_subject(module.name)));
  }
  for (const auto& node : mesh.nodes) {
    a.imports.push_back(
        from(model::node_account(node.name), Share::Service, model::ask_subject(node.name)));
  }
  a.because = {"the controller's calls of tools and machines", mesh.place};
  return a;
}

Account node_account(const model::Node& node) {
  const std::string mesh = model::kMeshAccount;
  const auto& name = node.name;
  Account a;
  a.name = model::node_account(name);
  a.exports = {service(model::ask_subject(name))};
  a.imports = {from(mesh, Share::Service, model::ack_subject(model::kNodes, name.text())),
               from(mesh, Share::Service, model::consumer_info_subject(model::kNodes, name.text())),
               from(mesh, Share::Service, model::report_subject(name)),
               from(mesh, Share::Stream, model::deliver_subject(name.text())),
               from(mesh, Share::Stream, model::declare_subject(name)),
               shadow_of_jetstream()};
  a.limits = {kNodeConnections, kNodeSubscriptions, kPayload};
  a.because = {fmt::format("[nodes.{}] is declared", name.text()), node.place};
  return a;
}

Account module_account(const model::Module& module) {
  const int instances = std::max(1, static_cast<int>(module.on.size()));
  Account a;
  a.name = module.name.text();
  a.exports = {service(model::tools_subject(module.name))};
  a.imports = {shadow_of_jetstream()};
  a.limits = {kConnections * instances, kSubscriptions * instances, kPayload};
  a.because = {fmt::format("[modules.{}] is declared", module.name.text()), module.place};
  return a;
}

/// What a module's account needs for its users' grants: each import is made from one grant.
class Needs {
 public:
  explicit Needs(const Seats& seats) : seats_(seats) {}

  void of_publish(Account& account, const std::string& subject) const {
    const bool module = subject.starts_with(kModulePrefix);
    const bool tool = module && token(subject, 3) == "tool";
    std::string source = tool ? std::string(token(subject, 2)) : model::kMeshAccount;
    if (source != account.name) {
      account.imports.push_back(from(std::move(source), Share::Service, subject));
    }
  }

  void of_subscribe(Account& account, const std::string& subject) const {
    if (subject.starts_with("_DELIVER.")) {
      account.imports.push_back(from(model::kMeshAccount, Share::Stream, subject));
    } else if (token(subject, 3) == "event") {
      for (auto& emitter : emitters(account.name, subject)) {
        account.imports.push_back(from(std::move(emitter), Share::Stream, subject));
      }
    }
  }

 private:
  /// The other accounts whose users emit the event of `subject`.
  [[nodiscard]] std::vector<std::string> emitters(const std::string& hearer,
                                                  const std::string& subject) const {
    if (subject.starts_with(kSeatPrefix)) {
      return seats_.emitters(hearer, subject);
    }
    std::string module(token(subject, 2));
    return module == hearer ? std::vector<std::string>{} : std::vector{std::move(module)};
  }

  const Seats& seats_;
};

template <class T>
void sort_and_unite(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

using ByName = std::map<std::string, Account, std::less<>>;

/// Every event that an account takes from another is exported there.
void export_what_is_heard(ByName& accounts) {
  std::vector<std::pair<std::string, Export>> wanted;
  for (const auto& [name, account] : accounts) {
    for (const auto& import : account.imports) {
      if (import.share == Share::Stream && import.account != model::kMeshAccount) {
        wanted.emplace_back(import.account, stream(import.subject));
      }
    }
  }
  for (auto& [name, wish] : wanted) {
    if (const auto found = accounts.find(name); found != accounts.end()) {
      found->second.exports.push_back(std::move(wish));
    }
  }
}

void add_users(ByName& accounts, std::span<const Principal> principals, const Needs& needs) {
  for (const auto& principal : principals) {
    const auto found = accounts.find(principal.account);
    if (found == accounts.end() || principal.kind == Kind::Controller) {
      continue;
    }
    found->second.users.push_back(principal.name);
    if (principal.kind == Kind::Module) {
      for (const auto& grant : principal.publish) {
        needs.of_publish(found->second, grant.subject);
      }
      for (const auto& grant : principal.subscribe) {
        needs.of_subscribe(found->second, grant.subject);
      }
    }
  }
}

}  // namespace

std::vector<Account> accounts(const model::Mesh& mesh, std::span<const Principal> principals) {
  ByName all;
  const auto put = [&](Account account) { all.emplace(account.name, std::move(account)); };
  put(mesh_account(mesh));
  put(system_account(mesh));
  put(tools_account(mesh));
  for (const auto& node : mesh.nodes) {
    put(node_account(node));
  }
  for (const auto& module : mesh.modules) {
    put(module_account(module));
  }
  const Seats seats(mesh);
  add_users(all, principals, Needs(seats));
  export_what_is_heard(all);
  std::vector<Account> out;
  out.reserve(all.size());
  for (auto& [name, account] : all) {
    sort_and_unite(account.users);
    sort_and_unite(account.exports);
    sort_and_unite(account.imports);
    out.push_back(std::move(account));
  }
  return out;
}

}  // namespace mesh::broker
