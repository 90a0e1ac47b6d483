#include "model/table.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "model/unknown_key.h"

namespace mesh::model {

const std::string* usable_text(const Value& value) {
  const auto* text = value.text();
  if (text != nullptr && text->find('\0') != std::string::npos) {
    value.source().report.error(value.place(), "nul-in-text", "text with a NUL cannot be used");
    return nullptr;
  }
  return text;
}

Table::Table(const Value& value, const Kind& kind, std::string_view name)
    : value_(value), kind_(&kind), name_(name) {
  if (value.is_table()) {
    take_keys();
  } else {
    report().error(value.place(), "wrong-type", fmt::format("{} must be a table", shown()));
  }
}

std::string Table::shown() const {
  std::string out(kind_->shown);
  if (const auto at = out.find("NAME"); at != std::string::npos) {
    out.replace(at, 4, printable(name_));
  }
  return out;
}

void Table::take_keys() {
  bool unknown = false;
  value_.each([&](std::string_view key, const Value& value) {
    if (const auto* known = kind_->find(key)) {
      present_.push_back({known->name, value});
    } else {
      unknown = unknown || !key.starts_with("x-");
    }
  });
  if (unknown) {
    report_unknown_keys();
  }
  for (const auto& key : kind_->keys) {
    if (key.required && !has(key.name) && !slid_away(key.name, *kind_, value_)) {
      report().error(place(), "missing-key", fmt::format("{} needs {}", shown(), key.name),
                     fmt::format("{} must be {}", key.name, key.form));
    }
  }
}

void Table::report_unknown_keys() const {
  for (const auto& entry : value_.entries()) {
    if (kind_->find(entry.key) == nullptr && !entry.key.starts_with("x-")) {
      report_unknown_key(entry, *kind_, shown(), value_.is_block());
    }
  }
}

std::optional<Value> Table::find(std::string_view key) const {
  // Most tables have a few of their keys, so this is faster than asking the file's own table.
  for (const auto& present : present_) {
    if (present.key == key) {
      return present.value;
    }
  }
  return std::nullopt;
}

Place Table::key_place(std::string_view key) const {
  for (auto& entry : value_.entries()) {
    if (entry.key == key) {
      return std::move(entry.place);
    }
  }
  return place();
}

void Table::wrong_type(std::string_view key, const Value& value) const {
  const auto* known = kind_->find(key);
  report().error(value.place(), "wrong-type",
                 fmt::format("{} must be {}", key, known == nullptr ? "other" : known->form));
}

void Table::error(std::string_view key, std::string_view code, std::string message,
                  std::string hint) const {
  const auto value = find(key);
  report().error(value ? value->place() : place(), code, std::move(message), std::move(hint));
}

std::optional<Located<std::string>> Table::text(std::string_view key) const {
  const auto value = find(key);
  if (!value) {
    return std::nullopt;
  }
  if (value->text() == nullptr) {
    wrong_type(key, *value);
    return std::nullopt;
  }
  const auto* text = usable_text(*value);
  return text == nullptr ? std::nullopt : std::optional(Located{*text, value->place()});
}

std::vector<Located<std::string>> Table::texts(std::string_view key, bool once) const {
  const auto value = find(key);
  return value ? texts_of(key, *value, once) : std::vector<Located<std::string>>{};
}

std::vector<Located<std::string>> Table::texts_of(std::string_view key, const Value& list,
                                                  bool once) const {
  std::vector<Located<std::string>> out;
  for (const auto& item : usable_items(key, list, once)) {
    out.push_back({*item.text(), item.place()});
  }
  return out;
}

namespace {

/// Which items are there already: few are compared with each other, many are looked up.
class Seen {
 public:
  bool add(const std::string& text) {
    static constexpr std::size_t kFew = 16;
    if (few_.size() < kFew) {
      const bool fresh = std::ranges::find(few_, text) == few_.end();
      few_.push_back(text);
      return fresh;
    }
    if (many_.empty()) {
      many_.insert(few_.begin(), few_.end());
    }
    return many_.insert(text).second;
  }

 private:
  std::vector<std::string_view> few_;
  std::set<std::string_view> many_;
};

}  // namespace

std::vector<Value> Table::usable_items(std::string_view key, const Value& list, bool once) const {
  auto items = list.items();
  if (!items) {
    wrong_type(key, list);
    return {};
  }
  Seen seen;
  std::erase_if(*items, [&](const Value& item) {
    if (item.text() == nullptr) {
      wrong_type(key, item);
      return true;
    }
    const auto* text = usable_text(item);
    if (text == nullptr || !once || seen.add(*text)) {
      return text == nullptr;
    }
    report().error(item.place(), "listed-twice",
                   fmt::format("{} lists \"{}\" twice", key, printable(*text)));
    return true;
  });
  return std::move(*items);
}

std::vector<Entry> Table::entries(std::string_view key) const {
  const auto value = find(key);
  if (value && !value->is_table()) {
    wrong_type(key, *value);
  }
  return value ? value->entries() : std::vector<Entry>{};
}

void Table::read(std::string_view key, std::string& out) const {
  if (auto value = text(key)) {
    out = std::move(value->value);
  }
}

void Table::read(std::string_view key, std::optional<std::string>& out) const {
  if (auto value = text(key)) {
    out = std::move(value->value);
  }
}

void Table::read(std::string_view key, bool& out) const {
  if (const auto value = find(key)) {
    if (const auto flag = value->boolean()) {
      out = *flag;
    } else {
      wrong_type(key, *value);
    }
  }
}

void Table::read(std::string_view key, std::vector<std::string>& out) const {
  if (!has(key)) {
    return;
  }
  out.clear();
  for (auto& item : texts(key, /*once=*/false)) {
    out.push_back(std::move(item.value));
  }
}

namespace {

std::string out_of(std::string_view key, Range range) {
  const bool open = range.most >= std::numeric_limits<int>::max();
  return open ? fmt::format("{} must be at least {}", key, range.least)
              : fmt::format("{} must be {} to {}", key, range.least, range.most);
}

}  // namespace

std::optional<std::int64_t> Table::integer(std::string_view key, Range range) const {
  const auto value = find(key);
  if (!value) {
    return std::nullopt;
  }
  const auto number = value->integer();
  if (!number) {
    wrong_type(key, *value);
  } else if (*number < range.least || *number > range.most) {
    report().error(value->place(), "out-of-range", out_of(key, range));
    return std::nullopt;
  }
  return number;
}

void Table::read(std::string_view key, Range range, int& out) const {
  if (const auto number = integer(key, range)) {
    out = static_cast<int>(*number);
  }
}

void Table::read(std::string_view key, Range range, std::int64_t& out) const {
  if (const auto number = integer(key, range)) {
    out = *number;
  }
}

std::optional<std::size_t> Table::read_word(std::string_view key,
                                            std::span<const std::string_view> words) const {
  const auto value = text(key);
  if (!value) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(words, value->value);
  if (found == words.end()) {
    const std::vector<std::string> names(words.begin(), words.end());
    const auto near = nearest(value->value, names);
    report().error(value->place, "unknown-word",
                   fmt::format("{} must be {}", key, kind_->find(key)->form),
                   near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace mesh::model
