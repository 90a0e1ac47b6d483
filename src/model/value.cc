#include "model/value.h"

#include <cmath>
#include <utility>

#include <toml++/toml.h>

#include "model/bytes.h"
#include "model/report.h"
#include "model/syntax_error.h"

namespace mesh::model {

namespace {

const toml::node& node(const void* pointer) {
  return *static_cast<const toml::node*>(pointer);
}

Place at(const Source& source, const toml::source_position& position) {
  return {source.file, static_cast<int>(position.line), static_cast<int>(position.column)};
}

}  // namespace

Place Value::place() const {
  return at(*source_, node(node_).source().begin);
}

const std::string* Value::text() const {
  const auto* value = node(node_).as_string();
  return value == nullptr ? nullptr : &value->get();
}

std::optional<std::int64_t> Value::integer() const {
  return node(node_).value_exact<std::int64_t>();
}

std::optional<double> Value::number() const {
  const auto number = node(node_).is_number() ? node(node_).value<double>() : std::nullopt;
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> Value::boolean() const {
  return node(node_).value_exact<bool>();
}

std::optional<std::vector<Value>> Value::items() const {
  const auto* array = node(node_).as_array();
  if (array == nullptr) {
    return std::nullopt;
  }
  std::vector<Value> out;
  out.reserve(array->size());
  for (const auto& item : *array) {
    out.emplace_back(&item, *source_);
  }
  return out;
}

bool Value::is_table() const {
  return node(node_).is_table();
}

bool Value::is_block() const {
  const auto* table = node(node_).as_table();
  return table != nullptr && !table->is_inline();
}

std::vector<Entry> Value::entries() const {
  std::vector<Entry> out;
  const auto* table = node(node_).as_table();
  if (table == nullptr) {
    return out;
  }
  out.reserve(table->size());
  for (const auto& [key, value] : *table) {
    out.push_back({key.str(), at(*source_, key.source().begin), Value(&value, *source_)});
  }
  return out;
}

void Value::each(const std::function<void(std::string_view, const Value&)>& see) const {
  if (const auto* table = node(node_).as_table()) {
    for (const auto& [key, value] : *table) {
      see(key.str(), Value(&value, *source_));
    }
  }
}

std::optional<std::size_t> Value::size() const {
  if (const auto* array = node(node_).as_array()) {
    return array->size();
  }
  const auto* table = node(node_).as_table();
  return table == nullptr ? std::nullopt : std::optional(table->size());
}

std::optional<Value> Value::find(std::string_view key) const {
  const auto* table = node(node_).as_table();
  const auto* found = table == nullptr ? nullptr : table->get(key);
  return found == nullptr ? std::nullopt : std::optional(Value(found, *source_));
}

std::optional<Document> Document::parse(std::string_view bytes, const Source& source) {
  if (!check_bytes(bytes, source)) {
    return std::nullopt;
  }
  try {
    // A shared_ptr of the base, so that views of `node` need no cast of the table's address.
    const std::shared_ptr<const toml::node> root =
        std::make_shared<toml::table>(toml::parse(bytes));
    return Document(std::shared_ptr<const void>(root, root.get()), source);
  } catch (const toml::parse_error& error) {
    const auto plain = explain_syntax(error.description(), bytes, at(source, error.source().begin));
    source.report.error(plain.place, plain.code, plain.message, plain.hint);
    return std::nullopt;
  }
}

Value Document::root() const {
  return {root_.get(), *source_};
}

}  // namespace mesh::model
