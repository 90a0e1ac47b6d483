#include "broker/config_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::broker {
namespace {

using natsconf::Type;
using Name = std::pair<std::string_view, std::string_view>;

constexpr auto kAccountKeys = std::to_array<Name>({{"jetstream", "jetstream"},
                                                   {"users", "users"},
                                                   {"exports", "exports"},
                                                   {"imports", "imports"},
                                                   {"limits", "limits"}});
constexpr auto kUserKeys = std::to_array<Name>({{"user", "user"},
                                                {"username", "user"},
                                                {"pass", "password"},
                                                {"password", "password"},
                                                {"permission", "permissions"},
                                                {"permissions", "permissions"},
                                                {"authorization", "permissions"}});
constexpr auto kPermissionKeys =
    std::to_array<Name>({{"pub", "publish"},
                         {"publish", "publish"},
                         {"import", "publish"},
                         {"sub", "subscribe"},
                         {"subscribe", "subscribe"},
                         {"export", "subscribe"},
                         {"allow_responses", "allow_responses"},
                         {"publish_allow_responses", "allow_responses"}});
constexpr auto kSideKeys = std::to_array<Name>({{"allow", "allow"}, {"deny", "deny"}});
constexpr auto kResponseKeys = std::to_array<Name>({{"max", "max"},
                                                    {"max_msgs", "max"},
                                                    {"max_messages", "max"},
                                                    {"max_responses", "max"},
                                                    {"expires", "ttl"},
                                                    {"expiration", "ttl"},
                                                    {"ttl", "ttl"}});
constexpr auto kExportKeys =
    std::to_array<Name>({{"stream", "stream"},
                         {"service", "service"},
                         {"response", "response_type"},
                         {"response_type", "response_type"},
                         {"account_token_position", "account_token_position"}});
constexpr auto kImportKeys =
    std::to_array<Name>({{"stream", "stream"}, {"service", "service"}, {"to", "to"}});
constexpr auto kSourceKeys = std::to_array<Name>({{"account", "account"}, {"subject", "subject"}});
constexpr auto kLimitKeys = std::to_array<Name>({{"max_connections", "connections"},
                                                 {"max_conn", "connections"},
                                                 {"max_subscriptions", "subscriptions"},
                                                 {"max_subs", "subscriptions"},
                                                 {"max_payload", "payload"},
                                                 {"max_pay", "payload"}});

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

int line_of(const natsconf::Position& at) {
  return static_cast<int>(at.line);
}
int line_of(const natsconf::Value& value) {
  return line_of(value.at());
}

std::string below(std::string_view path, std::string_view key) {
  return path.empty() ? printable(key) : fmt::format("{}.{}", path, printable(key));
}

}  // namespace

void ConfigReader::unread(std::string path, std::string why, const Value& value) {
  view_.unread.push_back({std::move(path), std::move(why), line_of(value)});
}

std::string ConfigReader::text_of(const Value& value, const std::string& path) {
  if (!value.is(Type::String)) {
    unread(path, fmt::format("is a {}, not text", natsconf::type_name(value.type())), value);
    return {};
  }
  return std::string(value.text());
}

std::int64_t ConfigReader::number_of(const Value& value, const std::string& path) {
  if (!value.is(Type::Integer)) {
    unread(path, fmt::format("is a {}, not a number", natsconf::type_name(value.type())), value);
  }
  return value.integer();
}

/// A number that the server puts into 32 bits, some of them without a look at the rest.
int ConfigReader::small_number_of(const Value& value, const std::string& path) {
  const std::int64_t number = number_of(value, path);
  if (number < 0 || number > std::numeric_limits<int>::max()) {
    unread(path, "is out of range", value);
    return 0;
  }
  return static_cast<int>(number);
}

void ConfigReader::items(const Value& value, const std::string& path,
                         const std::function<void(const Value&)>& item) {
  if (!value.is(Type::Array)) {
    return unread(path, fmt::format("is a {}, not a list", natsconf::type_name(value.type())),
                  value);
  }
  std::ranges::for_each(value.items(), item);
}

void ConfigReader::each(const Value& map, std::string_view path, Names names, const Each& each) {
  if (!map.is(Type::Map)) {
    return unread(std::string(path),
                  fmt::format("is a {}, not a map", natsconf::type_name(map.type())), map);
  }
  std::set<std::string_view> seen;
  for (const Entry& entry : map.entries()) {
    const std::string key = lower(entry.key);
    const auto name = std::ranges::find(names, std::string_view(key), &Name::first);
    if (name == names.end()) {
      unread(below(path, entry.key), "is not known", entry.value);
    } else if (!seen.insert(name->second).second) {
      unread(below(path, entry.key), "stands twice", entry.value);
    } else {
      each(name->second, entry);
    }
  }
}

void ConfigReader::read(const Value& root) {
  bool has_accounts = false;
  for (const Entry& entry : root.entries()) {
    const std::string key = lower(entry.key);
    if (key != "accounts") {
      read_setting(key, entry.value);
    } else if (!entry.value.is(Type::Map) || has_accounts) {
      unread(key, "is no map, or stands twice", entry.value);
    } else {
      has_accounts = true;
      view_.accounts.reserve(entry.value.entries().size());
      std::ranges::for_each(entry.value.entries(),
                            [this](const Entry& account) { read_account(account); });
    }
  }
}

/// Settings are taken as they are; an empty map or list is a setting too, since it can switch
/// something on.
void ConfigReader::read_setting(std::string path, const Value& value) {
  std::string text(value.text());
  if (value.is(Type::Map)) {
    for (const Entry& entry : value.entries()) {
      read_setting(below(path, lower(entry.key)), entry.value);
    }
    text = "{}";
  } else if (value.is(Type::Array)) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      read_setting(fmt::format("{}[{}]", path, i), value.items()[i]);
    }
    text = "[]";
  }
  const bool is_leaf = value.entries().empty() && value.items().empty();
  if (is_leaf && !view_.settings.emplace(path, OnLine<std::string>{text, line_of(value)}).second) {
    unread(std::move(path), "stands twice", value);
  }
}

void ConfigReader::read_account(const Entry& entry) {
  AccountView account;
  account.name = std::string(entry.key);
  account.line = line_of(entry.at);
  const std::string path = below("accounts", entry.key);
  if (entry.used) {
    return unread(path, "is used as a variable, so that the server skips it", entry.value);
  }
  if (!names_.insert(account.name).second) {
    unread(path, "stands twice", entry.value);
  }
  each(entry.value, path, kAccountKeys, [&](std::string_view name, const Entry& one) {
    const std::string inner = below(path, name);
    if (name == "jetstream") {
      read_jetstream(account, one.value, inner);
    } else if (name == "limits") {
      read_limits(account, one.value, inner);
    } else {
      items(one.value, inner, [&](const Value& item) {
        name == "users"     ? read_user(account, item, inner)
        : name == "exports" ? read_export(account, item, inner)
                            : read_import(account, item, inner);
      });
    }
  });
  view_.accounts.push_back(std::move(account));
}

void ConfigReader::read_jetstream(AccountView& account, const Value& value,
                                  const std::string& path) {
  const std::string text = lower(value.text());
  const bool is_word = value.is(Type::Bool) || value.is(Type::String);
  account.jetstream = value.boolean() || text == "enabled" || text == "enable";
  if (!is_word ||
      (value.is(Type::String) && !account.jetstream && text != "disabled" && text != "disable")) {
    unread(path, "has limits of its own, or is neither enabled nor disabled", value);
  }
}

void ConfigReader::read_limits(AccountView& account, const Value& value, const std::string& path) {
  each(value, path, kLimitKeys, [&](std::string_view name, const Entry& entry) {
    int& limit = name == "connections"     ? account.limits.connections
                 : name == "subscriptions" ? account.limits.subscriptions
                                           : account.limits.payload;
    limit = small_number_of(entry.value, below(path, name));
  });
}

void ConfigReader::read_user(AccountView& account, const Value& value, const std::string& path) {
  UserView user;
  user.line = line_of(value);
  each(value, path, kUserKeys, [&](std::string_view name, const Entry& entry) {
    const std::string inner = below(path, name);
    if (name == "user") {
      user.name = text_of(entry.value, inner);
    } else if (name == "password") {
      user.password = text_of(entry.value, inner);
    } else {
      user.permissions = read_permissions(entry.value, inner);
    }
  });
  account.users.push_back(std::move(user));
}

PermissionsView ConfigReader::read_permissions(const Value& value, const std::string& path) {
  PermissionsView view;
  view.line = line_of(value);
  each(value, path, kPermissionKeys, [&](std::string_view name, const Entry& entry) {
    const std::string inner = below(path, name);
    if (name == "publish") {
      view.publish = read_side(entry.value, inner);
    } else if (name == "subscribe") {
      view.subscribe = read_side(entry.value, inner);
    } else {
      view.responses = read_responses(entry.value, inner);
    }
  });
  return view;
}

SideView ConfigReader::read_side(const Value& value, const std::string& path) {
  SideView side;
  side.line = line_of(value);
  if (!value.is(Type::Map)) {
    side.allow = read_subjects(value, path);
    return side;
  }
  each(value, path, kSideKeys, [&](std::string_view name, const Entry& entry) {
    std::vector<SubjectOnLine> subjects = read_subjects(entry.value, below(path, name));
    if (name == "allow") {
      side.allow = std::move(subjects);
    } else {
      side.deny = std::move(subjects);
    }
  });
  return side;
}

std::vector<SubjectOnLine> ConfigReader::read_subjects(const Value& value,
                                                       const std::string& path) {
  std::vector<SubjectOnLine> subjects;
  if (value.is(Type::String)) {
    subjects.push_back({std::string(value.text()), line_of(value)});
    return subjects;
  }
  subjects.reserve(value.items().size());
  items(value, path,
        [&](const Value& item) { subjects.push_back({text_of(item, path), line_of(item)}); });
  return subjects;
}

std::optional<ResponsesView> ConfigReader::read_responses(const Value& value,
                                                          const std::string& path) {
  ResponsesView view;
  view.line = line_of(value);
  if (value.is(Type::Bool)) {
    return value.boolean() ? std::optional(view) : std::nullopt;
  }
  each(value, path, kResponseKeys, [&](std::string_view name, const Entry& entry) {
    if (name == "max") {
      view.max = number_of(entry.value, below(path, name));
    } else {
      view.ttl = text_of(entry.value, below(path, name));
    }
  });
  return view;
}

void ConfigReader::read_export(AccountView& account, const Value& value, const std::string& path) {
  Export out;
  bool has_subject = false;
  each(value, path, kExportKeys, [&](std::string_view name, const Entry& entry) {
    const std::string inner = below(path, name);
    if (name == "account_token_position") {
      out.account_token_position = small_number_of(entry.value, inner);
    } else if (name == "response_type") {
      const std::string type = lower(text_of(entry.value, inner));
      out.stream_response = type == "stream";
      if (type != "stream" && type != "single" && type != "singleton") {
        unread(inner, "is a kind of answer that is not known", entry.value);
      }
    } else if (has_subject) {
      unread(inner, "makes a service and a stream of one export", entry.value);
    } else {
      has_subject = true;
      out.share = name == "stream" ? Share::Stream : Share::Service;
      out.subject = text_of(entry.value, inner);
    }
  });
  account.exports.push_back({std::move(out), line_of(value)});
}

void ConfigReader::read_import(AccountView& account, const Value& value, const std::string& path) {
  Import out;
  each(value, path, kImportKeys, [&](std::string_view name, const Entry& entry) {
    const std::string inner = below(path, name);
    if (name == "to") {
      out.to = text_of(entry.value, inner);
    } else if (!out.subject.empty()) {
      unread(inner, "makes a service and a stream of one import", entry.value);
    } else {
      read_import_source(out, name == "stream" ? Share::Stream : Share::Service, entry.value,
                         inner);
    }
  });
  account.imports.push_back({std::move(out), line_of(value)});
}

void ConfigReader::read_import_source(Import& import, Share share, const Value& value,
                                      const std::string& path) {
  import.share = share;
  each(value, path, kSourceKeys, [&](std::string_view name, const Entry& entry) {
    std::string& text = name == "account" ? import.account : import.subject;
    text = text_of(entry.value, below(path, name));
  });
}

}  // namespace mesh::broker
