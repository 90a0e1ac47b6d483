#include "os/managed_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mesh::os {

namespace {

constexpr std::uint64_t kTail = 65536;

}  // namespace

std::uint64_t size_of(const std::string& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

std::string tail_of(const std::string& file, std::uint64_t offset) {
  const std::uint64_t size = size_of(file);
  offset = std::max(offset > size ? 0 : offset, size > kTail ? size - kTail : 0);
  std::string bytes(size - offset, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

void trim_log(const std::string& log, std::uint64_t limit) {
  if (size_of(log) <= limit) {
    return;
  }
  std::error_code failed;
  std::filesystem::copy_file(log, log + ".1", std::filesystem::copy_options::overwrite_existing,
                             failed);
  std::filesystem::resize_file(log, 0, failed);
}

}  // namespace mesh::os
