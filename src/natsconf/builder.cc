#include "natsconf/builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "base/text.h"
#include "natsconf/numbers.h"

namespace mesh::natsconf {
namespace {

static_assert(std::is_trivially_copyable_v<Value> && std::is_trivially_copyable_v<Entry>,
              "closed maps and arrays are copied as bytes and never destroyed");

// A map with more entries than this is indexed where a variable is looked up in it.
constexpr std::size_t kSearchedLinearly = 32;
// The key under which a variable of the environment is read.
constexpr std::string_view kEnvironmentKey = "pk";

template <class T>
const T* copy_to(std::pmr::memory_resource& memory, const T* first, std::size_t count) {
  if (count == 0) {
    return nullptr;
  }
  void* block = memory.allocate(count * sizeof(T), alignof(T));
  std::memcpy(block, static_cast<const void*>(first), count * sizeof(T));
  return static_cast<const T*>(block);
}

}  // namespace

Builder::Builder(Shared& shared, std::string name, std::string text, int depth)
    : shared_(shared),
      text_(shared.storage.texts.emplace_back(std::move(text))),
      source_(static_cast<std::uint32_t>(shared.storage.names.size())),
      depth_(depth),
      lexer_(text_, shared.reading.dialect, shared.storage.memory) {
  shared_.storage.names.push_back(std::make_shared<const std::string>(std::move(name)));
}

Result<Document> Builder::document(std::string text, const Reading& reading) {
  if (text.size() > kLargestText) {
    return fail(Code::InvalidArgument, "the configuration is larger than 2 GiB");
  }
  auto storage = std::make_unique<Document::Storage>();
  Shared shared{*storage, reading, {}};
  Builder builder(shared, reading.name, std::move(text), 0);
  MESH_TRY(storage->root, builder.build());
  return Document(std::move(storage));
}

Result<Value> Builder::build() {
  open(true, {1, 1, source_});
  std::string_view last_key;
  bool after_key = false;
  for (Item item;;) {
    if (!lexer_.next(item)) {
      return refuse(lexer_.offset(), lexer_.message());
    }
    item_at_ = position(item.offset);
    if (item.kind == ItemKind::End) {
      break;
    }
    after_key = item.kind == ItemKind::Key;
    last_key = item.text;
    MESH_CHECK(take(item));
  }
  // A last `}` is allowed, for JSON; to the lexer it is a key.
  if (after_key && last_key != "}") {
    return refuse(text_.size(), fmt::format("'{}' has no value", printable(last_key)));
  }
  // What is still open here (the server accepts `a = ['`) is dropped with its children.
  const auto next_map = std::find_if(contexts_.begin() + 1, contexts_.end(),
                                     [](const Context& context) { return context.is_map; });
  if (next_map != contexts_.end()) {
    entries_.resize(next_map->first);
  }
  return closed(contexts_.front());
}

Status Builder::take(const Item& item) {
  switch (item.kind) {
    case ItemKind::Key:
      keys_.push_back({item.text, item_at_});
      return {};
    case ItemKind::String:
      return set(word(Type::String, item));
    case ItemKind::Bool: {
      Value value = word(Type::Bool, item);
      // true, yes, on; the others are false, no, off.
      const char second = static_cast<char>(item.text[1] | 0x20);
      value.integer_ =
          item.text.size() == 4 || second == 'e' || (item.text.size() == 2 && second == 'n');
      return set(value);
    }
    case ItemKind::Integer:
      return take_integer(item);
    case ItemKind::Float:
      return take_float(item);
    case ItemKind::Datetime:
      return take_datetime(item);
    case ItemKind::Variable:
      return take_variable(item);
    case ItemKind::Include:
      return take_include(item);
    case ItemKind::MapStart:
    case ItemKind::ArrayStart:
      open(item.kind == ItemKind::MapStart, item_at_);
      return {};
    case ItemKind::MapEnd:
    case ItemKind::ArrayEnd:
      return close();
    case ItemKind::End:
      return {};
  }
  return {};
}

Status Builder::take_integer(const Item& item) {
  const IntegerReading reading = read_integer(item.text);
  switch (reading.error) {
    case NumberError::None: {
      Value value = word(Type::Integer, item);
      value.integer_ = reading.value;
      return set(value);
    }
    case NumberError::UnknownSuffix:
      return {};
    case NumberError::OutOfRange:
      return refuse(item.offset, fmt::format("integer '{}' is out of range", item.text));
    case NumberError::NotANumber:
      break;
  }
  return refuse(item.offset, fmt::format("expected an integer, found '{}'", printable(item.text)));
}

Status Builder::take_float(const Item& item) {
  const std::optional<double> number = read_float(item.text);
  if (!number) {
    return refuse(item.offset,
                  fmt::format("expected a number in range, found '{}'", printable(item.text)));
  }
  Value value = word(Type::Float, item);
  value.real_ = *number;
  return set(value);
}

Status Builder::take_datetime(const Item& item) {
  const std::optional<std::int64_t> seconds = read_datetime(item.text);
  if (!seconds) {
    return refuse(item.offset, fmt::format("there is no such date: '{}'", printable(item.text)));
  }
  Value value = word(Type::Datetime, item);
  value.integer_ = *seconds;
  return set(value);
}

Status Builder::take_variable(const Item& item) {
  const Position at = item_at_;
  Value value;
  // Bcrypt hashes need no quotes: `$2a$…` is no variable.
  if (item.text.starts_with("2a$")) {
    value = word(Type::String, item);
    value.text_ = item.text.data() - 1;
    value.size_ += 1;
    return set(value);
  }
  if (Entry* entry = find_variable(item.text)) {
    entry->used = true;
    value = entry->value;
  } else {
    MESH_TRY(value, environment_variable(item.text, at));
  }
  value.at_ = at;
  value.from_variable_ = true;
  return set(value);
}

Status Builder::take_include(const Item& item) {
  const Position at = item_at_;
  const std::string path = printable(item.text);
  if (shared_.reading.surroundings == nullptr) {
    return refuse(item.offset, fmt::format("'{}' cannot be included here", path));
  }
  if (depth_ >= kDeepestInclude) {
    return refuse(item.offset, fmt::format("'{}' is included too deep", path),
                  "look for a file that includes itself");
  }
  auto included = shared_.reading.surroundings->include(*shared_.storage.names[source_], item.text);
  if (!included) {
    Error error = std::move(included).error();
    error.place = {shared_.storage.names[source_], static_cast<int>(at.line),
                   static_cast<int>(at.column)};
    return within(fmt::format("include '{}'", path), std::move(error));
  }
  // The included text sees no variable of this one, but gives its keys to it.
  Builder builder(shared_, std::move(included->name), std::move(included->bytes), depth_ + 1);
  MESH_TRY(const Value map, builder.build());
  for (const Entry& entry : map.entries()) {
    keys_.push_back({entry.key, entry.at});
    MESH_CHECK(set(entry.value));
  }
  return {};
}

Status Builder::set(const Value& value) {
  Context& context = contexts_.back();
  context.values += value.values_;
  if (context.values > kMostValues) {
    return refuse(lexer_.offset(), "the configuration stands for too many values",
                  "look for variables that hold variables");
  }
  context.depth = std::max(context.depth, static_cast<std::uint16_t>(value.depth_ + 1));
  if (context.depth > kDeepestValue) {
    return refuse(lexer_.offset(), "maps and arrays are nested too deep");
  }
  if (!context.is_map) {
    items_.push_back(value);
    return {};
  }
  if (keys_.empty()) {
    return refuse(lexer_.offset(), "a value without a key");
  }
  const Key key = keys_.back();
  keys_.pop_back();
  entries_.push_back({key.text, key.at, value, false});
  return {};
}

void Builder::open(bool is_map, Position at) {
  contexts_.push_back({is_map, is_map ? entries_.size() : items_.size(), at, 1, 0, 0, nullptr});
}

Status Builder::close() {
  const Value value = closed(contexts_.back());
  contexts_.pop_back();
  return set(value);
}

Value Builder::closed(const Context& context) {
  Value value;
  value.type_ = context.is_map ? Type::Map : Type::Array;
  value.at_ = context.at;
  value.values_ = static_cast<std::uint32_t>(context.values);
  value.depth_ = context.depth;
  auto& memory = shared_.storage.memory;
  if (context.is_map) {
    const std::size_t count = entries_.size() - context.first;
    value.entries_ = copy_to(memory, entries_.data() + context.first, count);
    value.size_ = static_cast<std::uint32_t>(count);
    entries_.resize(context.first);
  } else {
    const std::size_t count = items_.size() - context.first;
    value.items_ = copy_to(memory, items_.data() + context.first, count);
    value.size_ = static_cast<std::uint32_t>(count);
    items_.resize(context.first);
  }
  return value;
}

/// Looks through the maps that are open, the innermost first, and in each for the last entry.
Entry* Builder::find_variable(std::string_view name) {
  std::size_t end = entries_.size();
  for (std::size_t i = contexts_.size(); i > 0; --i) {
    Context& context = contexts_[i - 1];
    if (!context.is_map) {
      continue;
    }
    if (Entry* found = find_in(context, end, name)) {
      return found;
    }
    end = context.first;
  }
  return nullptr;
}

Entry* Builder::find_in(Context& context, std::size_t end, std::string_view name) {
  if (end - context.first <= kSearchedLinearly) {
    for (std::size_t i = end; i > context.first; --i) {
      if (entries_[i - 1].key == name) {
        return &entries_[i - 1];
      }
    }
    return nullptr;
  }
  if (context.index == nullptr) {
    context.index = std::make_unique<std::unordered_map<std::string_view, std::size_t>>();
    context.indexed = context.first;
  }
  for (; context.indexed < end; ++context.indexed) {
    (*context.index)[entries_[context.indexed].key] = context.indexed;
  }
  const auto found = context.index->find(name);
  return found == context.index->end() ? nullptr : &entries_[found->second];
}

/// The environment's text is read as the value of a key.
Result<Value> Builder::environment_variable(std::string_view name, Position at) {
  const std::string shown = printable(name);
  const Place place{shared_.storage.names[source_], static_cast<int>(at.line),
                    static_cast<int>(at.column)};
  const auto refused = [&](std::string why) {
    return mesh::fail(Code::InvalidArgument, fmt::format("variable '${}' {}", shown, why), {},
                      place);
  };
  const auto [slot, fresh] = shared_.variables_in_reading.emplace(name);
  if (!fresh) {
    return refused("names itself");
  }
  std::optional<std::string> text;
  if (shared_.reading.surroundings != nullptr && depth_ < kDeepestInclude) {
    text = shared_.reading.surroundings->variable(name);
  }
  if (!text) {
    shared_.variables_in_reading.erase(slot);
    return refused("is not set in the file or the environment");
  }
  Builder builder(shared_, "$" + shown, fmt::format("{}={}", kEnvironmentKey, *text), depth_ + 1);
  Result<Value> map = builder.build();
  shared_.variables_in_reading.erase(slot);
  if (!map) {
    return refused("cannot be read: " + map.error().message);
  }
  const Value* value = map->find(kEnvironmentKey);
  return value != nullptr ? Result<Value>(*value) : refused("has no value");
}

Value Builder::word(Type type, const Item& item) const {
  Value value;
  value.type_ = type;
  value.text_ = item.text.data();
  value.size_ = static_cast<std::uint32_t>(item.text.size());
  value.at_ = item_at_;
  return value;
}

/// `offset` never goes back but for the last item of a text.
Position Builder::position(std::size_t offset) {
  const char* data = text_.data();
  for (;;) {
    const void* found =
        offset > counted_ ? std::memchr(data + counted_, '\n', offset - counted_) : nullptr;
    if (found == nullptr) {
      break;
    }
    counted_ = static_cast<std::size_t>(static_cast<const char*>(found) - data) + 1;
    line_start_ = counted_;
    ++line_;
  }
  counted_ = std::max(counted_, offset);
  const std::size_t column = offset >= line_start_ ? offset - line_start_ + 1 : 1;
  return {line_, static_cast<std::uint32_t>(column), source_};
}

std::unexpected<Error> Builder::refuse(std::size_t offset, std::string message, std::string hint) {
  const Position at = position(offset);
  return mesh::fail(
      Code::InvalidArgument, std::move(message), std::move(hint),
      {shared_.storage.names[source_], static_cast<int>(at.line), static_cast<int>(at.column)});
}

}  // namespace mesh::natsconf
