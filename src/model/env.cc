#include "model/env.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "model/unknown_key.h"

namespace mesh::model {

namespace {

constexpr std::string_view kReservedPrefix = "MESH_";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool check_variable(const Entry& entry, Report& report) {
  if (entry.key.empty() || is_digit(entry.key.front()) ||
      !std::ranges::all_of(entry.key, is_word)) {
    report.error(entry.place, "bad-variable",
                 fmt::format("\"{}\" cannot be an environment variable", printable(entry.key)),
                 "letters, digits and _, no digit first");
    return false;
  }
  if (entry.key.starts_with(kReservedPrefix)) {
    report.error(entry.place, "reserved-variable",
                 fmt::format("\"{}\": variables that begin with MESH_ are set by mesh itself",
                             printable(entry.key)));
    return false;
  }
  return true;
}

void read_variable(const Entry& entry, Report& report, Env& out) {
  EnvValue value;
  value.place = entry.value.place();
  if (const auto* text = usable_text(entry.value)) {
    value.text = *text;
  } else if (entry.value.is_table()) {
    const Table table(entry.value, kSecretValue);
    value.secret = true;
    table.read("secret", "bad-secret-name", parse_secret_name, value.text);
  } else if (entry.value.text() == nullptr) {
    report.error(
        value.place, "wrong-type",
        fmt::format("{} must be text in quotes, or {{ secret = \"NAME\" }}", printable(entry.key)));
  }
  if (check_variable(entry, report)) {
    out.emplace(entry.key, std::move(value));
  }
}

/// A list of the file's top that follows `[components.x.env]`. (Texts cannot be told from
/// variables.)
bool slid(const Entry& entry, const Value& env, const Kind& kind) {
  return env.is_block() && entry.value.text() == nullptr && report_slid_key(entry, kind);
}

}  // namespace

Result<std::string> parse_secret_name(std::string_view text) {
  const auto good = [](char c) { return is_word(c) || c == '-' || c == '.'; };
  if (text.empty() || text.size() > kLongestName || !is_word(text.front()) ||
      is_digit(text.front()) || !std::ranges::all_of(text, good)) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" cannot be a secret's name", printable(text)),
                "a letter or _, then letters, digits, _, - and ., at most 63 characters");
  }
  return std::string(text);
}

void read_env(const Table& table, std::string_view key, Env& out) {
  const auto value = table.find(key);
  for (const auto& entry : table.entries(key)) {
    if (!slid(entry, *value, table.kind())) {
      read_variable(entry, table.report(), out);
    }
  }
}

void read_texts(const Table& table, std::string_view key, std::map<std::string, std::string>& out) {
  const auto value = table.find(key);
  for (const auto& entry : table.entries(key)) {
    if (const auto* text = usable_text(entry.value)) {
      out.emplace(entry.key, *text);
    } else if (entry.value.text() == nullptr && !slid(entry, *value, table.kind())) {
      table.report().error(
          entry.value.place(), "wrong-type",
          fmt::format("\"{}\" in {} must be text in quotes", printable(entry.key), key));
    }
  }
}

}  // namespace mesh::model
