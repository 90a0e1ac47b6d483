#include "os/log_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/fd.h"

namespace mesh::os {
namespace {

constexpr std::uint64_t kBlock = 65536;
constexpr std::size_t kMostBytes = 1U << 20U;
constexpr int kOpenings = 10;

/// One of the two files. Its id is its inode and when that was made: an inode alone is given to
/// another file later.
struct Segment {
  Fd fd;
  std::string id;
  std::uint64_t size = 0;
};

struct Position {
  std::size_t segment = 0;
  std::uint64_t offset = 0;
};

Result<Segment> open_segment(const std::string& path) {
  Segment segment;
  segment.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!segment.fd.valid() && errno == ENOENT) {
    return segment;
  }
  struct statx info{};
  if (!segment.fd.valid() || ::statx(segment.fd.get(), "", AT_EMPTY_PATH,
                                     STATX_INO | STATX_SIZE | STATX_BTIME, &info) != 0) {
    return fail_errno(path, errno);
  }
  const bool dated = (info.stx_mask & STATX_BTIME) != 0;
  segment.id = fmt::format("{}-{}-{}", std::uint64_t{info.stx_ino},
                           dated ? std::int64_t{info.stx_btime.tv_sec} : 0,
                           dated ? info.stx_btime.tv_nsec : 0U);
  segment.size = info.stx_size;
  return segment;
}

/// The files of the log, oldest first. When it began anew between the two openings, one would be
/// missing in the middle: then both are opened again.
Result<std::vector<Segment>> open_log(const std::string& path) {
  std::vector<Segment> out;
  for (int opening = 0; opening < kOpenings; ++opening) {
    out.clear();
    MESH_TRY(auto older, open_segment(path + ".1"));
    MESH_TRY(auto newer, open_segment(path));
    MESH_TRY(const auto again, open_segment(path + ".1"));
    const bool same = older.id == again.id;
    for (auto* segment : {&older, &newer}) {
      if (segment->fd.valid()) {
        out.push_back(std::move(*segment));
      }
    }
    if (same) {
      break;
    }
  }
  return out;
}

Result<std::string> read_at(const Segment& segment, std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::pread(segment.fd.get(), bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno("cannot read the log", errno);
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

/// Where the last `most` lines begin.
Result<Position> last_lines(const std::vector<Segment>& log, std::size_t most) {
  std::size_t ends = 0;  // line ends seen from the back
  for (std::size_t i = log.size(); i-- > 0;) {
    for (std::uint64_t end = log[i].size; end > 0;) {
      const std::uint64_t begin = end - std::min(end, kBlock);
      MESH_TRY(const auto block, read_at(log[i], begin, end - begin));
      for (std::size_t at = block.size(); at-- > 0;) {
        // The end of the line before the first wanted one.
        ends += block[at] == '\n' ? 1U : 0U;
        if (ends > most) {
          return Position{i, begin + at + 1};
        }
      }
      end = begin;
    }
  }
  return Position{};
}

Result<Position> position_of(const std::vector<Segment>& log, std::string_view cursor) {
  const auto parts = split(cursor, ':');
  std::uint64_t offset = 0;
  const auto text = parts.back();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (parts.size() != 2 || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return fail(Code::InvalidArgument, "not a place in a log: " + printable(cursor));
  }
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i].id == parts[0]) {
      return Position{i, std::min(offset, log[i].size)};
    }
  }
  return Position{};
}

/// Appends the whole lines from `at` on, and moves it behind them.
Status take_lines(const std::vector<Segment>& log, Position& at, std::size_t most,
                  std::vector<std::string>& lines) {
  const auto& segment = log[at.segment];
  const bool complete = at.segment + 1 < log.size();  // nobody writes to it any more
  std::size_t bytes = 0;
  while (lines.size() < most && at.offset < segment.size && bytes < kMostBytes) {
    MESH_TRY(const auto block,
             read_at(segment, at.offset, std::min(kMostBytes, segment.size - at.offset)));
    std::string_view rest = block;
    while (lines.size() < most && !rest.empty()) {
      const auto end = rest.find('\n');
      const bool whole = end != std::string_view::npos;
      const bool last = complete && at.offset + rest.size() >= segment.size;
      if (!whole && !last && rest.size() < kMostBytes) {
        return {};  // its end is not written, or in the next block
      }
      lines.emplace_back(rest.substr(0, end));
      const auto length = whole ? end + 1 : rest.size();
      rest.remove_prefix(length);
      at.offset += length;
      bytes += length;
    }
    if (block.empty()) {
      break;
    }
  }
  return {};
}

}  // namespace

Result<LogLines> read_log(const std::string& path, std::string_view cursor, std::size_t most) {
  MESH_TRY(const auto log, open_log(path));
  if (log.empty()) {
    return LogLines{{}, std::string(cursor)};
  }
  MESH_TRY(auto at, cursor.empty() ? last_lines(log, most) : position_of(log, cursor));
  LogLines out;
  MESH_CHECK(take_lines(log, at, most, out.lines));
  while (at.segment + 1 < log.size() && at.offset >= log[at.segment].size &&
         out.lines.size() < most) {
    at = {at.segment + 1, 0};
    MESH_CHECK(take_lines(log, at, most, out.lines));
  }
  out.next = fmt::format("{}:{}", log[at.segment].id, at.offset);
  return out;
}

}  // namespace mesh::os
