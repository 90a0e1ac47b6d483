#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/place.h"

namespace mesh::model {

class Report;
struct Entry;

/// Which file values come from, and where its problems go.
struct Source {
  std::shared_ptr<const std::string> file;
  Report& report;
};

/// A value of a parsed file: a view, valid as long as its Document and Source. Only value.cc knows
/// the TOML library.
class Value {
 public:
  Value(const void* node, const Source& source) : node_(node), source_(&source) {}

  [[nodiscard]] Place place() const;
  [[nodiscard]] const Source& source() const { return *source_; }

  // Each: the value where it is of that type, and nothing otherwise.
  [[nodiscard]] const std::string* text() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// Integers count as numbers; infinities and what is not a number do not.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::vector<Value>> items() const;

  [[nodiscard]] bool is_table() const;
  /// Whether it is a table that a header opened, as against one in braces.
  [[nodiscard]] bool is_block() const;
  /// The entries of a table, sorted by key; none where it is not a table.
  [[nodiscard]] std::vector<Entry> entries() const;
  /// Calls `see` with each key and value of a table, without building their entries.
  void each(const std::function<void(std::string_view, const Value&)>& see) const;
  /// How many items a list, or entries a table, has.
  [[nodiscard]] std::optional<std::size_t> size() const;
  /// The table's value of that key.
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;

 private:
  const void* node_;
  const Source* source_;
};

/// One key of a table.
struct Entry {
  std::string_view key;
  Place place;  // of the key
  Value value;
};

/// A parsed TOML file.
class Document {
 public:
  /// The parsed file, or nothing with a problem reported. `bytes` may be anything.
  [[nodiscard]] static std::optional<Document> parse(std::string_view bytes, const Source& source);
  [[nodiscard]] Value root() const;

 private:
  explicit Document(std::shared_ptr<const void> root, const Source& source)
      : root_(std::move(root)), source_(&source) {}
  std::shared_ptr<const void> root_;
  const Source* source_;
};

}  // namespace mesh::model
