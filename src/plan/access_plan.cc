#include "plan/access_plan.h"

#include <algorithm>
#include <map>

namespace mesh::plan {

using broker::AccountView;
using broker::ConfigView;
using broker::Principal;
using broker::UserView;

namespace {

constexpr const char* kNoLonger = "nothing declared needs it any more";

Change change(Action action, Kind kind, std::string name, Because because) {
  Change out;
  out.action = action;
  out.kind = kind;
  out.name = std::move(name);
  out.because = std::move(because);
  return out;
}

template <class T>
std::vector<T> values(const std::vector<broker::OnLine<T>>& lines) {
  std::vector<T> out;
  for (const auto& line : lines) {
    out.push_back(line.value);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool same(const broker::Account& wanted, const AccountView& has) {
  const auto& limits = wanted.limits;
  return wanted.jetstream == has.jetstream && wanted.exports == values(has.exports) &&
         wanted.imports == values(has.imports) && limits.connections == has.limits.connections &&
         limits.subscriptions == has.limits.subscriptions && limits.payload == has.limits.payload;
}

/// Users by name, with the account that they are in.
using Users = std::map<std::string, std::pair<const UserView*, std::string>>;

Users users_of(const ConfigView* view) {
  Users users;
  if (view != nullptr) {
    for (const auto& account : view->accounts) {
      for (const auto& user : account.users) {
        users[user.name] = {&user, account.name};
      }
    }
  }
  return users;
}

std::map<std::string, const AccountView*> accounts_of(const ConfigView* view) {
  std::map<std::string, const AccountView*> accounts;
  if (view != nullptr) {
    for (const auto& account : view->accounts) {
      accounts[account.name] = &account;
    }
  }
  return accounts;
}

/// The accounts that every user is in, with why the account is there.
std::map<std::string, const broker::Account*> homes(const WantedAccess& wanted) {
  std::map<std::string, const broker::Account*> homes;
  for (const auto& account : wanted.accounts) {
    for (const auto& user : account.users) {
      homes[user] = &account;
    }
  }
  return homes;
}

void plan_accounts(const WantedAccess& wanted, const ConfigView* view, std::vector<Change>& out) {
  auto has = accounts_of(view);
  for (const auto& account : wanted.accounts) {
    const auto found = has.find(account.name);
    if (found == has.end()) {
      out.push_back(change(Action::Create, Kind::Account, account.name, account.because));
      continue;
    }
    if (!same(account, *found->second)) {
      out.push_back(change(Action::Update, Kind::Account, account.name, account.because));
    }
    has.erase(found);
  }
  for (const auto& [name, gone] : has) {
    out.push_back(change(Action::Delete, Kind::Account, name, {kNoLonger, {}}));
  }
}

/// The changes of one side's grants: `wanted` and `has` are sorted.
void plan_side(const std::string& user, const char* verb, const std::vector<broker::Grant>& wanted,
               const std::vector<std::string>& has, std::vector<Change>& out) {
  std::set<std::string> left(has.begin(), has.end());
  for (const auto& grant : wanted) {
    if (left.erase(grant.subject) == 0) {
      out.push_back(change(Action::Create, Kind::Grant, user + " " + verb + " " + grant.subject,
                           grant.because));
    }
  }
  for (const auto& subject : left) {
    out.push_back(
        change(Action::Delete, Kind::Grant, user + " " + verb + " " + subject, {kNoLonger, {}}));
  }
}

void plan_grants(const Principal& principal, const UserView* has, std::vector<Change>& out) {
  if (principal.kind == broker::Kind::Controller && principal.account == "MESH") {
    return;  // everything, by having no list at all
  }
  plan_side(principal.name, "publish", principal.publish,
            has != nullptr ? has->publish() : std::vector<std::string>(), out);
  plan_side(principal.name, "subscribe", principal.subscribe,
            has != nullptr ? has->subscribe() : std::vector<std::string>(), out);
}

std::vector<std::string> cut(const std::string& user, const std::set<std::string>& connected) {
  return connected.contains(user) ? std::vector<std::string>{user} : std::vector<std::string>();
}

void plan_users(const WantedAccess& wanted, const ConfigView* view,
                const std::set<std::string>& connected, std::vector<Change>& out) {
  auto has = users_of(view);
  for (const auto& [name, home] : homes(wanted)) {
    const auto hash = wanted.hashes.find(name);
    const auto found = has.find(name);
    if (found == has.end()) {
      out.push_back(change(Action::Create, Kind::User, name, home->because));
      continue;
    }
    const bool kept = hash != wanted.hashes.end() &&
                      hash->second == found->second.first->password &&
                      found->second.second == home->name;
    if (!kept) {
      auto update = change(Action::Update, Kind::User, name, home->because);
      update.because.text += " (its password or account changes)";
      update.disconnected = cut(name, connected);
      out.push_back(std::move(update));
    }
    has.erase(found);
  }
  for (const auto& [name, gone] : has) {
    auto removed = change(Action::Delete, Kind::User, name, {kNoLonger, {}});
    removed.disconnected = cut(name, connected);
    out.push_back(std::move(removed));
  }
}

}  // namespace

std::vector<Change> access_plan(const WantedAccess& wanted, const ConfigView* in_force,
                                const std::set<std::string>& connected) {
  std::vector<Change> out;
  for (const auto& [name, home] : homes(wanted)) {
    if (!wanted.hashes.contains(name)) {
      out.push_back(change(Action::Create, Kind::Credential, name, home->because));
    }
  }
  plan_accounts(wanted, in_force, out);
  plan_users(wanted, in_force, connected, out);
  const auto has = users_of(in_force);
  for (const auto& principal : wanted.principals) {
    const auto found = has.find(principal.name);
    plan_grants(principal, found != has.end() ? found->second.first : nullptr, out);
  }
  return out;
}

bool accounts_grow(const WantedAccess& wanted, const ConfigView* in_force) {
  const auto has = accounts_of(in_force);
  return std::any_of(wanted.accounts.begin(), wanted.accounts.end(),
                     [&](const auto& account) { return !has.contains(account.name); });
}

}  // namespace mesh::plan
