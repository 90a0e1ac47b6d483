#include "natsconf/document.h"

#include "natsconf/builder.h"

namespace mesh::natsconf {

const char* type_name(Type type) {
  switch (type) {
    case Type::Map:
      return "map";
    case Type::Array:
      return "array";
    case Type::String:
      return "string";
    case Type::Integer:
      return "integer";
    case Type::Float:
      return "float";
    case Type::Bool:
      return "boolean";
    case Type::Datetime:
      return "date";
  }
  return "value";
}

std::string_view Value::text() const {
  return type_ == Type::Map || type_ == Type::Array ? std::string_view{}
                                                    : std::string_view{text_, size_};
}

std::span<const Entry> Value::entries() const {
  return type_ == Type::Map ? std::span<const Entry>{entries_, size_} : std::span<const Entry>{};
}

std::span<const Value> Value::items() const {
  return type_ == Type::Array ? std::span<const Value>{items_, size_} : std::span<const Value>{};
}

const Value* Value::find(std::string_view key) const {
  const std::span<const Entry> all = entries();
  for (std::size_t i = all.size(); i > 0; --i) {
    if (all[i - 1].key == key) {
      return &all[i - 1].value;
    }
  }
  return nullptr;
}

Document::Document(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

const Value& Document::root() const {
  return storage_->root;
}

std::size_t Document::sources() const {
  return storage_->names.size();
}

const std::string& Document::source(std::size_t index) const {
  return *storage_->names[index];
}

Place Document::place(Position at) const {
  return {storage_->names[at.source], static_cast<int>(at.line), static_cast<int>(at.column)};
}

Result<Document> parse(std::string text, const Reading& reading) {
  return Builder::document(std::move(text), reading);
}

}  // namespace mesh::natsconf
