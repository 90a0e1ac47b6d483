#include "broker/verify_users.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/subjects.h"

namespace mesh::broker {
namespace {

constexpr std::size_t kBcryptLength = 60;

bool is_bcrypt(std::string_view hash) {
  return hash.size() == kBcryptLength && hash.starts_with("$2") && hash[3] == '$' && hash[6] == '$';
}

class UserCheck {
 public:
  UserCheck(std::span<const Principal> principals, Findings& findings) : findings_(findings) {
    for (const Principal& principal : principals) {
      missing_.emplace(principal.name, &principal);
    }
    // The system account's user is no principal of the mesh.
    missing_.emplace(model::kControllerSystem, nullptr);
  }

  void user(const AccountView& account, const UserView& user) {
    const auto found = missing_.find(user.name);
    if (found == missing_.end()) {
      const bool again = seen_.contains(user.name);
      return add(user.line, again ? "duplicate-user" : "unknown-user",
                 fmt::format("user \"{}\" of account {} is {}", user.name, account.name,
                             again ? "there already" : "no principal"));
    }
    const Principal* principal = found->second;
    seen_.insert(user.name);
    missing_.erase(found);
    const std::string_view home =
        principal != nullptr ? std::string_view(principal->account) : model::kSystemAccount;
    if (account.name != home) {
      add(user.line, "wrong-account",
          fmt::format("{} is in account {}, not in {}", user.name, account.name, home));
    }
    if (!is_bcrypt(user.password)) {
      add(user.line, "password", fmt::format("the password of {} is no bcrypt hash", user.name));
    }
    permissions(user, principal);
  }

  void report_missing() {
    for (const auto& [name, principal] : missing_) {
      add(0, "missing-user", fmt::format("{} is no user", name));
    }
  }

 private:
  void permissions(const UserView& user, const Principal* principal) {
    if (principal == nullptr || principal->name == model::kController) {
      if (user.permissions) {
        add(user.permissions->line, "extra-permissions",
            fmt::format("{} has permissions, but needs everything of its account", user.name));
      }
      return;
    }
    if (!user.permissions) {
      return add(user.line, "no-permissions",
                 fmt::format("{} has no permissions, which allows everything", user.name));
    }
    const PermissionsView& has = *user.permissions;
    side(user, "publish", has.line, has.publish, principal->publish);
    side(user, "subscribe", has.line, has.subscribe, principal->subscribe);
    responses(user, has, principal->allow_responses);
  }

  void side(const UserView& user, std::string_view verb, int line,
            const std::optional<SideView>& has, const std::vector<Grant>& grants) {
    if (!has || !has->allow || has->allow->empty()) {
      return add(has ? has->line : line, "empty-list",
                 fmt::format("{} has no list of what it may {}, which allows everything", user.name,
                             verb));
    }
    for (const SubjectOnLine& denied : has->deny) {
      add(denied.line, "denial",
          fmt::format("{} is denied to {} \"{}\"", user.name, verb, denied.value));
    }
    std::set<std::string_view> wanted;
    for (const Grant& grant : grants) {
      wanted.insert(grant.subject);
    }
    std::set<std::string_view> seen;
    for (const SubjectOnLine& subject : *has->allow) {
      if (!seen.insert(subject.value).second) {
        add(subject.line, "duplicate-grant",
            fmt::format("{} may {} \"{}\" twice", user.name, verb, subject.value));
      } else if (wanted.erase(subject.value) == 0) {
        add(subject.line, "extra-grant",
            fmt::format("{} may {} \"{}\", which is not granted", user.name, verb, subject.value));
      }
    }
    for (const std::string_view subject : wanted) {
      add(has->line, "missing-grant",
          fmt::format("{} may not {} \"{}\", which is granted", user.name, verb, subject));
    }
  }

  void responses(const UserView& user, const PermissionsView& has, bool wanted) {
    if (wanted != has.responses.has_value()) {
      return add(
          has.line, "responses",
          fmt::format("{} {} answer what it is asked", user.name, wanted ? "may not" : "may"));
    }
    if (wanted && (has.responses->max != kMostResponses || has.responses->ttl != kResponseTtl)) {
      add(has.responses->line, "responses",
          fmt::format("{} may not answer just {} time within {}", user.name, kMostResponses,
                      kResponseTtl));
    }
  }

  void add(int line, std::string code, std::string message) {
    findings_.add(line, std::move(code), std::move(message));
  }

  Findings& findings_;
  std::map<std::string, const Principal*, std::less<>> missing_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

void verify_users(const ConfigView& view, std::span<const Principal> principals,
                  Findings& findings) {
  UserCheck check(principals, findings);
  for (const AccountView& account : view.accounts) {
    for (const UserView& user : account.users) {
      check.user(account, user);
    }
  }
  check.report_missing();
}

}  // namespace mesh::broker
