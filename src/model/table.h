#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/declarations.h"
#include "model/keys.h"
#include "model/report.h"
#include "model/value.h"

namespace mesh::model {

struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Reads one table of a known kind. Making one reports what is wrong with the table as a whole:
/// that it is none, keys that the kind does not have, keys that are missing. Each `read` leaves
/// `out` (the default) alone where the key is absent, and reports a value that does not fit; so a
/// table's reading is a list of its keys.
class Table {
 public:
  Table(const Value& value, const Kind& kind, std::string_view name = {});

  /// Whether it is a table at all; where not, nothing of it is there.
  [[nodiscard]] bool usable() const { return value_.is_table(); }
  [[nodiscard]] Place place() const { return value_.place(); }
  [[nodiscard]] Report& report() const { return value_.source().report; }
  [[nodiscard]] const Kind& kind() const { return *kind_; }
  /// The table as an operator calls it: `[modules.shop]`.
  [[nodiscard]] std::string shown() const;

  [[nodiscard]] bool has(std::string_view key) const { return find(key).has_value(); }
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;
  /// Where the key stands; the table's place where it is absent.
  [[nodiscard]] Place key_place(std::string_view key) const;

  void read(std::string_view key, std::string& out) const;
  void read(std::string_view key, std::optional<std::string>& out) const;
  void read(std::string_view key, bool& out) const;
  void read(std::string_view key, std::vector<std::string>& out) const;
  void read(std::string_view key, Range range, int& out) const;
  void read(std::string_view key, Range range, std::int64_t& out) const;

  /// A text that `parse` turns into a T; its error is reported with `code`.
  template <class T, class Out>
  void read(std::string_view key, std::string_view code, Result<T> (*parse)(std::string_view),
            Out& out) const {
    if (const auto value = text(key)) {
      if (auto parsed = accept(code, value->place, parse(value->value))) {
        // `out` may be an optional; `parsed` is a Result.
        out = std::move(*parsed);  // NOLINT(bugprone-optional-value-conversion)
      }
    }
  }

  /// A list of texts that `parse` turns into Ts; an item that is there twice is a problem.
  template <class T>
  void read_list(std::string_view key, std::string_view code, Result<T> (*parse)(std::string_view),
                 std::vector<Located<T>>& out) const {
    const auto list = find(key);
    if (!list) {
      return;
    }
    const auto items = usable_items(key, *list, /*once=*/true);
    out.reserve(items.size());
    for (const auto& item : items) {
      if (auto parsed = accept(code, item, parse(*item.text()))) {
        out.push_back({std::move(*parsed), item.place()});
      }
    }
  }

  /// One of `words`: its index.
  [[nodiscard]] std::optional<std::size_t> read_word(std::string_view key,
                                                     std::span<const std::string_view> words) const;

  /// The text of `key`; nothing where it is absent, or not a text (which is reported).
  [[nodiscard]] std::optional<Located<std::string>> text(std::string_view key) const;
  /// The texts of a list; with `once`, repeated ones are reported and left out.
  [[nodiscard]] std::vector<Located<std::string>> texts(std::string_view key, bool once) const;
  [[nodiscard]] std::vector<Located<std::string>> texts_of(std::string_view key, const Value& list,
                                                           bool once) const;
  /// The tables, lists or whatever stands in the table `key`; reports where it is not a table.
  [[nodiscard]] std::vector<Entry> entries(std::string_view key) const;

  /// Reports that `value`, the value of `key` or a part of it, has the wrong type.
  void wrong_type(std::string_view key, const Value& value) const;
  /// Reports a problem at the value of `key`.
  void error(std::string_view key, std::string_view code, std::string message,
             std::string hint = {}) const;

  /// The result's value; its error is reported with `code` at `where`, a Place or a Value.
  template <class T, class Where>
  std::optional<T> accept(std::string_view code, const Where& where, Result<T> result) const {
    if (result) {
      return std::move(*result);
    }
    if constexpr (std::is_same_v<Where, Value>) {
      report().error(where.place(), code, result.error().message, result.error().hint);
    } else {
      report().error(where, code, result.error().message, result.error().hint);
    }
    return std::nullopt;
  }

 private:
  struct Present {
    std::string_view key;
    Value value;
  };

  void take_keys();
  /// The items of a list that are texts, the others reported.
  [[nodiscard]] std::vector<Value> usable_items(std::string_view key, const Value& list,
                                                bool once) const;
  void report_unknown_keys() const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, Range range) const;

  Value value_;
  const Kind* kind_;
  std::string_view name_;
  std::vector<Present> present_;  // of the keys that the kind knows
};

/// A valid name to go on reading a table with, whose own name cannot be used.
template <class T>
[[nodiscard]] T stand_in() {
  return T::parse("x").value();
}

/// The text of `value` where it is one that can be used (no NUL); reports otherwise. Nothing is
/// reported where it is no text at all.
[[nodiscard]] const std::string* usable_text(const Value& value);

}  // namespace mesh::model
