#include "broker/verify.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "broker/expected_shares.h"
#include "broker/findings.h"
#include "broker/verify_users.h"
#include "model/subjects.h"

namespace mesh::broker {
namespace {

/// The only settings beside accounts that a composed file has.
constexpr auto kKnownSettings = std::to_array<std::string_view>(
    {"listen", "server_name", "system_account", "max_payload", "write_deadline",
     "authorization.timeout", "tls.cert_file", "tls.key_file", "tls.timeout", "jetstream.store_dir",
     "jetstream.max_memory_store", "jetstream.max_file_store", "feature_flags.js_ack_fc_v2"});

const char* word(Share share) {
  return share == Share::Service ? "service" : "stream";
}

std::string text_of(const Export& one) {
  std::string out = fmt::format("{} \"{}\"", word(one.share), one.subject);
  if (one.stream_response) {
    out += " with a stream of answers";
  }
  if (one.account_token_position) {
    out += fmt::format(" with account_token_position {}", *one.account_token_position);
  }
  return out;
}

std::string text_of(const Import& one) {
  std::string out = fmt::format("{} \"{}\" of {}", word(one.share), one.subject, one.account);
  return one.to.empty() ? out : out + fmt::format(" as \"{}\"", one.to);
}

void check_settings(const ConfigView& view, Findings& findings) {
  for (const Unread& unread : view.unread) {
    findings.add(unread.line, "unknown-setting", fmt::format("{} {}", unread.path, unread.why));
  }
  for (const auto& [path, setting] : view.settings) {
    if (std::ranges::find(kKnownSettings, path) == kKnownSettings.end()) {
      findings.add(setting.line, "unknown-setting", fmt::format("{} is not known here", path));
    }
  }
  const auto system = view.settings.find("system_account");
  if (system == view.settings.end() || system->second.value != model::kSystemAccount) {
    findings.add(system == view.settings.end() ? 0 : system->second.line, "system-account",
                 fmt::format("system_account is not {}", model::kSystemAccount));
  }
  const auto flag = view.settings.find("feature_flags.js_ack_fc_v2");
  if (flag != view.settings.end() && flag->second.value != "false") {
    findings.add(flag->second.line, "ack-shape",
                 "the second shape of acknowledgements is on, and no grant covers it");
  }
}

/// Compares a list of the file with what it must be, by exact equality.
template <class T>
void compare(const std::string& account, int line, std::string_view what,
             const std::vector<OnLine<T>>& has, std::set<T> wanted, Findings& findings) {
  std::set<T> seen;
  for (const OnLine<T>& one : has) {
    if (!seen.insert(one.value).second) {
      findings.add(one.line, fmt::format("duplicate-{}", what),
                   fmt::format("account {} {}s {} twice", account, what, text_of(one.value)));
    } else if (wanted.erase(one.value) == 0) {
      findings.add(one.line, fmt::format("extra-{}", what),
                   fmt::format("account {} {}s {}, which no grant of its users needs", account,
                               what, text_of(one.value)));
    }
  }
  for (const T& missing : wanted) {
    findings.add(line, fmt::format("missing-{}", what),
                 fmt::format("account {} does not {} {}", account, what, text_of(missing)));
  }
}

bool has_wildcard(std::string_view subject) {
  return subject.find_first_of("*>") != std::string_view::npos;
}

/// Beside the comparison, so that a mistake in the grants themselves cannot open JetStream: of its
/// interface an import names one thing, and of acknowledgements those of one consumer.
void check_jetstream_imports(const AccountView& account, Findings& findings) {
  for (const OnLine<Import>& one : account.imports) {
    std::string_view subject = one.value.subject;
    if (subject.starts_with("$JS.ACK.") && subject.ends_with(".>") &&
        std::ranges::count(subject, '.') == 4) {
      subject.remove_suffix(2);
    }
    if ((subject.starts_with("$") || !one.value.to.empty()) && has_wildcard(subject)) {
      findings.add(one.line, "wildcard-import",
                   fmt::format("account {} imports {}", account.name, text_of(one.value)));
    }
    if (one.value.account == model::kToolsAccount || one.value.account == model::kSystemAccount) {
      findings.add(one.line, "forbidden-import",
                   fmt::format("account {} imports from {}", account.name, one.value.account));
    }
  }
}

void check_account(const AccountView& account, const Shares& shares, Findings& findings) {
  compare(account.name, account.line, "export", account.exports, shares.exports, findings);
  compare(account.name, account.line, "import", account.imports, shares.imports, findings);
  check_jetstream_imports(account, findings);
  const bool of_mesh = account.name == model::kMeshAccount;
  if (account.jetstream != of_mesh) {
    findings.add(account.line, "jetstream",
                 fmt::format("account {} {}", account.name,
                             of_mesh ? "has no JetStream" : "has JetStream of its own"));
  }
  const bool ours =
      of_mesh || account.name == model::kToolsAccount || account.name == model::kSystemAccount;
  const Limits& limits = account.limits;
  if (!ours && (limits.connections == 0 || limits.subscriptions == 0 || limits.payload == 0)) {
    findings.add(account.line, "missing-limit",
                 fmt::format("account {} has no limit of connections, subscriptions or payload",
                             account.name));
  }
}

void check_accounts(const ConfigView& view, std::span<const Principal> principals,
                    Findings& findings) {
  std::map<std::string, Shares> expected = expected_shares(principals);
  for (const AccountView& account : view.accounts) {
    const auto shares = expected.find(account.name);
    if (shares == expected.end()) {
      findings.add(account.line, "unknown-account",
                   fmt::format("no principal is in account {}", account.name));
    } else {
      check_account(account, shares->second, findings);
      expected.erase(shares);
    }
  }
  for (const auto& [name, shares] : expected) {
    findings.add(0, "missing-account", fmt::format("account {} is missing", name));
  }
}

}  // namespace

std::vector<model::Problem> verify(const ConfigView& view, std::span<const Principal> principals,
                                   const std::string& name) {
  Findings findings(name);
  check_settings(view, findings);
  check_accounts(view, principals, findings);
  verify_users(view, principals, findings);
  return findings.take();
}

std::vector<model::Problem> verify(std::string_view text, std::span<const Principal> principals,
                                   const std::string& name) {
  const Result<ConfigView> view = read_view(text);
  if (view) {
    return verify(*view, principals, name);
  }
  Findings findings(name);
  findings.add(view.error().place.line, "not-a-configuration", view.error().message);
  return findings.take();
}

}  // namespace mesh::broker
