#include "broker/compose.h"

#include <algorithm>

#include <fmt/format.h>

#include "broker/text_lines.h"
#include "model/subjects.h"
#include "natsconf/writer.h"

namespace mesh::broker {
namespace {

using natsconf::append_quoted;

constexpr int kLeastPayload = 1 << 20;  // bytes; what a server allows that is not told otherwise

void write_number(Lines& out, std::string_view key, long long value) {
  out.bare(key, fmt::format_int(value).c_str());
}

int largest_payload(std::span<const Account> accounts) {
  int most = kLeastPayload;
  for (const Account& account : accounts) {
    most = std::max(most, account.limits.payload);
  }
  return most;
}

void write_listener(Lines& out, const ServerSettings& settings, int payload) {
  if (!settings.listen) {
    return;
  }
  out.text("listen", *settings.listen);
  write_number(out, "max_payload", payload);
  out.text("write_deadline", "10s");
  // Hundreds of clients that come back at once wait for one another's password checks.
  out.open("authorization");
  write_number(out, "timeout", 20);
  out.close();
  if (settings.tls) {
    out.open("tls");
    out.text("cert_file", settings.tls->certificate);
    out.text("key_file", settings.tls->key);
    write_number(out, "timeout", 10);
    out.close();
  }
}

void write_storage(Lines& out, const ServerSettings& settings) {
  if (!settings.store_dir) {
    return;
  }
  out.open("jetstream");
  out.text("store_dir", *settings.store_dir);
  write_number(out, "max_memory_store", kMostMemory);
  write_number(out, "max_file_store", kMostDisk);
  out.close();
}

void write_head(Lines& out, const ServerSettings& settings, int payload) {
  out.comment(
      "Written by mesh from the declarations. What is changed here is lost at the next push.");
  if (!settings.server_name.empty()) {
    out.text("server_name", settings.server_name);
  }
  out.text("system_account", model::kSystemAccount);
  write_listener(out, settings, payload);
  write_storage(out, settings);
  if (settings.ack_flag) {
    out.open("feature_flags");
    out.bare("js_ack_fc_v2", "false");
    out.close();
  }
  out.blank();
}

void write_side(Lines& out, std::string_view side, const std::vector<Grant>& grants) {
  out.open(side);
  out.open("allow", '[');
  for (const Grant& grant : grants) {
    out.item(grant.subject);
  }
  out.close(']');
  out.close();
}

void write_permissions(Lines& out, const Principal& principal) {
  out.open("permissions");
  write_side(out, "publish", principal.publish);
  write_side(out, "subscribe", principal.subscribe);
  if (principal.allow_responses) {
    out.open("allow_responses");
    write_number(out, "max", kMostResponses);
    out.text("ttl", kResponseTtl);
    out.close();
  }
  out.close();
}

const Principal* find_principal(std::span<const Principal> principals, std::string_view name) {
  const auto found = std::ranges::lower_bound(principals, name, {}, &Principal::name);
  return found != principals.end() && found->name == name ? &*found : nullptr;
}

/// Whether the user has everything in its account; if not, it must be a principal whose lists both
/// have entries.
Result<bool> is_unrestricted(const Account& account, const std::string& user,
                             const Principal* principal) {
  if (account.name == model::kSystemAccount && principal == nullptr) {
    return true;
  }
  if (account.name == model::kMeshAccount && user == model::kController) {
    return true;
  }
  if (principal == nullptr) {
    return fail(Code::Internal,
                fmt::format("user {} of account {} is no principal", user, account.name));
  }
  if (principal->publish.empty() || principal->subscribe.empty()) {
    return fail(Code::Internal,
                fmt::format("{} has an empty list of subjects, which grants everything", user));
  }
  return false;
}

Status write_user(Lines& out, const Account& account, const std::string& user,
                  std::span<const Principal> principals, const Hashes& hashes) {
  const Principal* principal = find_principal(principals, user);
  MESH_TRY(const bool unrestricted, is_unrestricted(account, user, principal));
  const auto hash = hashes.find(user);
  if (hash == hashes.end() || hash->second.empty()) {
    return fail(Code::Internal, fmt::format("no password hash for user {}", user));
  }
  out.open_item();
  out.text("user", user);
  out.text("password", hash->second);
  if (!unrestricted) {
    write_permissions(out, *principal);
  }
  out.close();
  return {};
}

const char* share_name(Share share) {
  return share == Share::Service ? "service" : "stream";
}

void write_exports(Lines& out, const std::vector<Export>& exports) {
  if (exports.empty()) {
    return;
  }
  out.open("exports", '[');
  for (const Export& one : exports) {
    std::string& line = out.line();
    line.append("{ ").append(share_name(one.share)).append(": ");
    append_quoted(line, one.subject);
    if (one.stream_response) {
      line.append(", response_type: \"stream\"");
    }
    if (one.account_token_position) {
      line.append(", account_token_position: ");
      line.append(fmt::format_int(*one.account_token_position).c_str());
    }
    line.append(" }\n");
  }
  out.close(']');
}

void write_imports(Lines& out, const std::vector<Import>& imports) {
  if (imports.empty()) {
    return;
  }
  out.open("imports", '[');
  for (const Import& one : imports) {
    std::string& line = out.line();
    line.append("{ ").append(share_name(one.share)).append(": { account: ");
    append_quoted(line, one.account);
    line.append(", subject: ");
    append_quoted(line, one.subject);
    line.append(" }");
    if (!one.to.empty()) {
      line.append(", to: ");
      append_quoted(line, one.to);
    }
    line.append(" }\n");
  }
  out.close(']');
}

void write_limits(Lines& out, const Limits& limits) {
  const std::pair<std::string_view, int> all[] = {{"max_connections", limits.connections},
                                                  {"max_payload", limits.payload},
                                                  {"max_subscriptions", limits.subscriptions}};
  if (std::ranges::all_of(all, [](const auto& limit) { return limit.second == 0; })) {
    return;
  }
  out.open("limits");
  for (const auto& [key, value] : all) {
    if (value != 0) {
      write_number(out, key, value);
    }
  }
  out.close();
}

Status write_account(Lines& out, const Account& account, std::span<const Principal> principals,
                     const Hashes& hashes) {
  if (!natsconf::is_writable_key(account.name)) {
    return fail(Code::Internal, "an account's name cannot be written");
  }
  out.open_quoted(account.name);
  if (account.jetstream) {
    out.text("jetstream", "enabled");
  }
  write_limits(out, account.limits);
  out.open("users", '[');
  for (const std::string& user : account.users) {
    MESH_CHECK(write_user(out, account, user, principals, hashes));
  }
  out.close(']');
  write_exports(out, account.exports);
  write_imports(out, account.imports);
  out.close();
  return {};
}

}  // namespace

Result<std::string> compose(const ServerSettings& settings, std::span<const Account> accounts,
                            std::span<const Principal> principals, const Hashes& hashes) {
  Lines out(4096 + accounts.size() * 2048);
  write_head(out, settings, largest_payload(accounts));
  out.open("accounts");
  for (const Account& account : accounts) {
    MESH_CHECK(write_account(out, account, principals, hashes));
  }
  out.close();
  return out.take();
}

}  // namespace mesh::broker
