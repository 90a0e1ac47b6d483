#include "inventory/archive.h"

#include <cstdint>

namespace mesh::inventory {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kSizeBytes = 8;

void put_number(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i > 0; --i) {
    out += static_cast<char>((value >> (8 * (i - 1))) & 255U);
  }
}

std::unexpected<Error> damaged_archive() {
  return fail(Code::Corrupt, "the archive is damaged");
}

/// Takes pieces from the front of an archive.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool done() const { return rest_.empty(); }

  Result<std::string_view> take(std::uint64_t count) {
    if (count > rest_.size()) {
      return damaged_archive();
    }
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }

  Result<std::uint64_t> number(std::size_t bytes) {
    MESH_TRY(const std::string_view piece, take(bytes));
    std::uint64_t value = 0;
    for (const char byte : piece) {
      value = (value << 8U) | static_cast<unsigned char>(byte);
    }
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string pack(const Archive& files) {
  std::string out;
  for (const auto& [name, bytes] : files) {
    put_number(out, name.size(), kLengthBytes);
    put_number(out, bytes.size(), kSizeBytes);
    out += name;
    out += bytes;
  }
  return out;
}

Result<Archive> unpack(std::string_view bytes) {
  Archive files;
  Reader reader(bytes);
  while (!reader.done()) {
    MESH_TRY(const std::uint64_t length, reader.number(kLengthBytes));
    MESH_TRY(const std::uint64_t size, reader.number(kSizeBytes));
    MESH_TRY(const std::string_view name, reader.take(length));
    MESH_TRY(const std::string_view content, reader.take(size));
    if (!files.emplace(name, content).second) {
      return damaged_archive();
    }
  }
  return files;
}

}  // namespace mesh::inventory
