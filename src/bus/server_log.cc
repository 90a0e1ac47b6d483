#include "bus/server_log.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/text.h"

namespace mesh::bus {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kTail = 65536;
constexpr std::size_t kLongest = 1000;

/// `[1234] 2026/08/21 09:30:00.000000 [FTL] text` → `text`.
std::string_view without_time(std::string_view line) {
  for (const std::string_view level : {"[FTL] ", "[ERR] ", "[WRN] ", "[INF] "}) {
    const std::size_t at = line.find(level);
    if (at != std::string_view::npos) {
      return line.substr(at + level.size());
    }
  }
  return line;
}

}  // namespace

std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

std::string last_words(const fs::path& log, std::uint64_t offset) {
  const std::uint64_t size = size_of(log);
  offset = std::max(offset > size ? 0 : offset, size > kTail ? size - kTail : 0);
  std::string bytes(size - offset, '\0');
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  std::string_view last;
  std::string_view fatal;
  for (const std::string_view line : split(bytes, '\n')) {
    last = line.empty() ? last : line;
    fatal = line.find("[FTL] ") == std::string_view::npos ? fatal : line;
  }
  return printable(without_time(fatal.empty() ? last : fatal), kLongest);
}

void trim_log(const fs::path& log, std::uint64_t limit) {
  if (size_of(log) <= limit) {
    return;
  }
  std::error_code failed;
  fs::copy_file(log, log.string() + ".1", fs::copy_options::overwrite_existing, failed);
  fs::resize_file(log, 0, failed);
}

}  // namespace mesh::bus
