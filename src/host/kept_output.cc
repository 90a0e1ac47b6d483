#include "host/kept_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace mesh::host {

namespace {

constexpr std::int64_t kLeastFile = 4096;
// A command that prints without a pause must not keep its keeper from hearing anything else.
constexpr int kMostReads = 16;

}  // namespace

KeptOutput::KeptOutput(os::Fd reading, os::LogFile log, std::size_t most)
    : reading_(std::move(reading)), log_(std::move(log)), most_(most) {}

Result<KeptOutput> KeptOutput::open(os::Fd reading, const std::string& log, std::int64_t size) {
  const auto file = static_cast<std::uint64_t>(std::max(size / 2, kLeastFile));
  MESH_TRY(auto opened, os::LogFile::open(log, file));
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  return KeptOutput(std::move(reading), std::move(opened),
                    std::min<std::size_t>(file, kLongestLine));
}

bool KeptOutput::take_some() {
  std::array<char, kLongestLine> buffer;
  const ssize_t got = ::read(reading_.get(), buffer.data(), buffer.size());
  if (got < 0) {
    return errno == EINTR;
  }
  if (got == 0) {
    reading_.reset();
    return false;
  }
  pending_.append(buffer.data(), static_cast<std::size_t>(got));
  write_lines();
  return true;
}

// As many whole lines at once as go into one file, so that the log begins anew between two lines.
void KeptOutput::write_lines() {
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const auto end = rest.substr(0, most_).rfind('\n');
    if (end == std::string_view::npos && rest.size() < most_) {
      break;
    }
    const bool whole = end != std::string_view::npos;
    const auto length = whole ? end + 1 : most_ - 1;
    // A full disk loses the line, not the command.
    if (whole) {
      (void)log_.write(rest.substr(0, length)).has_value();
    } else {
      (void)log_.write(std::string(rest.substr(0, length)) + "\n").has_value();
    }
    rest.remove_prefix(length);
  }
  pending_ = std::string(rest);
}

void KeptOutput::take() {
  for (int reads = 0; reads < kMostReads && reading_.valid() && take_some(); ++reads) {
  }
}

void KeptOutput::finish() {
  while (reading_.valid() && take_some()) {
  }
  if (!pending_.empty()) {
    pending_.push_back('\n');
    write_lines();
  }
}

}  // namespace mesh::host
