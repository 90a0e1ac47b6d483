#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "natsconf/dialect.h"

/// The configuration grammar of nats-server, read exactly as the server's own reader does: what it
/// accepts and refuses, odd corners included (measured against `nats-server -t` of 2.10 and 2.15).
namespace mesh::natsconf {

enum class Type : std::uint8_t { Map, Array, String, Integer, Float, Bool, Datetime };

/// The type's name as it is shown to people: `map`, `array`, …
[[nodiscard]] const char* type_name(Type type);

/// A place in a text; both count from 1, columns in bytes. `source` is an index into
/// Document::source.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t source = 0;
};

struct Entry;

/// One value. It points into its Document, which must outlive it, and is cheap to copy.
class Value {
 public:
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is(Type type) const { return type_ == type; }
  [[nodiscard]] Position at() const { return at_; }
  /// True where the value was taken from a variable.
  [[nodiscard]] bool from_variable() const { return from_variable_; }

  /// A String's content. For Integer, Float, Bool and Datetime: as it was written.
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::int64_t integer() const { return type_ == Type::Integer ? integer_ : 0; }
  [[nodiscard]] double real() const { return type_ == Type::Float ? real_ : 0; }
  [[nodiscard]] bool boolean() const { return type_ == Type::Bool && integer_ != 0; }
  /// Seconds since 1970 of a Datetime.
  [[nodiscard]] std::int64_t seconds() const { return type_ == Type::Datetime ? integer_ : 0; }

  /// A Map's entries in the order of the text. The same key can stand more than once: the server
  /// takes the last. Empty for other types.
  [[nodiscard]] std::span<const Entry> entries() const;
  /// An Array's items; empty for other types.
  [[nodiscard]] std::span<const Value> items() const;
  /// The last entry of that key (exactly as written), or nullptr.
  [[nodiscard]] const Value* find(std::string_view key) const;

 private:
  friend class Builder;
  union {
    const char* text_ = nullptr;
    const Entry* entries_;
    const Value* items_;
  };
  union {
    std::int64_t integer_ = 0;
    double real_;
  };
  std::uint32_t size_ = 0;
  std::uint32_t values_ = 1;  // how many values this one stands for, itself included
  Position at_;
  std::uint16_t depth_ = 0;  // of maps and arrays
  Type type_ = Type::String;
  bool from_variable_ = false;
};

/// A key of a map and its value. `used` is true where a variable referred to it: the server does
/// not complain about such a key where it does not know it.
struct Entry {
  std::string_view key;
  Position at;
  Value value;
  bool used = false;
};

/// Where `include` and `$NAME` are looked up. The reader itself touches nothing.
class Surroundings {
 public:
  struct Included {
    std::string name;  // shown in errors, and given back as `includer` for what it includes itself
    std::string bytes;
  };

  virtual ~Surroundings() = default;
  /// The file that `path` names in the file `includer`. nats-server joins it to the directory of
  /// `includer`, also where it starts with `/`. Errors: any; they are passed on.
  [[nodiscard]] virtual Result<Included> include(const std::string& includer,
                                                 std::string_view path) = 0;
  /// The environment's value of `name`.
  [[nodiscard]] virtual std::optional<std::string> variable(std::string_view name) = 0;
};

/// Most levels of files that include one another, or of variables that name variables; nats-server
/// has no bound and runs out of memory.
inline constexpr int kDeepestInclude = 32;

/// A text that was read, with all that it includes. It owns every byte that its values point to.
class Document {
 public:
  [[nodiscard]] const Value& root() const;
  /// How many texts were read, and their names: 0 is the text itself, a variable of the environment
  /// is `$NAME`.
  [[nodiscard]] std::size_t sources() const;
  [[nodiscard]] const std::string& source(std::size_t index) const;
  /// A position as errors and problems name it.
  [[nodiscard]] Place place(Position at) const;

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

 private:
  friend class Builder;
  struct Storage;
  explicit Document(std::unique_ptr<Storage> storage);
  std::unique_ptr<Storage> storage_;
};

/// How a text is read. Without `surroundings` every include is refused and the environment is
/// empty.
struct Reading {
  std::string name = {};  // of the text, for errors and places
  Surroundings* surroundings = nullptr;
  Dialect dialect = Dialect::Nats210;
};

/// Most values that a text may stand for once its variables are filled in, and most bytes of one.
inline constexpr std::uint32_t kMostValues = 20'000'000;
/// Most maps and arrays within one another, so that values can be walked through by recursion.
inline constexpr std::uint16_t kDeepestValue = 1000;
inline constexpr std::size_t kLargestText = std::size_t{1} << 31U;

/// Reads `text` as nats-server reads a configuration. A text without any value is an empty map (the
/// server refuses it afterwards). Errors: InvalidArgument with the place; whatever `surroundings`
/// answered.
[[nodiscard]] Result<Document> parse(std::string text, const Reading& reading = {});

}  // namespace mesh::natsconf
