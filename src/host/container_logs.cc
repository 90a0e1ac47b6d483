#include "host/container_logs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "os/clock.h"

namespace mesh::host {

namespace {

constexpr std::size_t kMostOfBurst = std::size_t{16} << 20U;

struct Read {
  std::string time;  // of the last line, as the engine writes it
  std::size_t lines = 0;
};

Result<Read> read_from(const LogCursor& cursor) {
  const auto space = cursor.find(' ');
  Read out{cursor.substr(0, space), 0};
  if (space != std::string::npos) {
    std::from_chars(cursor.data() + space + 1, cursor.data() + cursor.size(), out.lines);
  }
  if (!os::parse_rfc3339(out.time) || out.lines == 0) {
    return fail(Code::InvalidArgument, "this is no place in the log of a container");
  }
  return out;
}

/// `2026-01-01T00:00:00.5Z` -> `1767225600.5`
Result<std::string> since_of(const std::string& time) {
  MESH_TRY(const auto parsed, os::parse_rfc3339(time));
  const auto second = std::chrono::floor<std::chrono::seconds>(parsed.time_since_epoch());
  const auto dot = time.find('.');
  const auto digits =
      dot == std::string::npos ? dot : time.find_first_not_of("0123456789", dot + 1);
  return std::to_string(second.count()) +
         (dot == std::string::npos ? "" : time.substr(dot, digits - dot));
}

std::size_t lines_at(const std::vector<engine::LogLine>& lines, const std::string& time) {
  return static_cast<std::size_t>(std::ranges::count(lines, time, &engine::LogLine::time));
}

}  // namespace

Result<engine::LogQuery> log_query(const LogCursor& cursor, std::size_t most) {
  engine::LogQuery out;
  out.most_lines = most;
  if (cursor.empty()) {
    out.tail = most;
    return out;
  }
  MESH_TRY(const Read read, read_from(cursor));
  MESH_TRY(out.since, since_of(read.time));
  out.most_lines = most + read.lines;  // what was read of that time comes again
  out.most_bytes += std::size_t{1} << 20U;
  return out;
}

Result<std::optional<engine::LogQuery>> whole_burst(const std::vector<engine::LogLine>& lines,
                                                    const LogCursor& cursor, std::size_t most) {
  if (!cursor.empty() || lines.empty() || lines.size() < most ||
      lines.front().time != lines.back().time) {
    return std::nullopt;
  }
  engine::LogQuery out;
  MESH_TRY(out.since, since_of(lines.back().time));
  out.most_lines = kMostOfBurst;
  out.most_bytes = kMostOfBurst;
  return out;
}

LogPiece last_piece(std::vector<engine::LogLine> lines, std::size_t most) {
  LogPiece out;
  if (lines.empty()) {
    return out;
  }
  out.next = fmt::format("{} {}", lines.back().time, lines_at(lines, lines.back().time));
  for (std::size_t at = lines.size() - std::min(most, lines.size()); at < lines.size(); ++at) {
    out.lines.push_back(std::move(lines[at].text));
  }
  return out;
}

LogPiece log_piece(std::vector<engine::LogLine> lines, const LogCursor& cursor, std::size_t most) {
  LogPiece out;
  out.next = cursor;
  Read at;
  if (auto read = read_from(cursor)) {
    at = std::move(*read);
  }
  std::size_t again = at.lines;
  for (engine::LogLine& line : lines) {
    if (out.lines.size() == most) {
      break;
    }
    if (!at.time.empty() && again > 0) {
      if (line.time < at.time) {
        continue;
      }
      if (line.time == at.time) {
        --again;
        continue;
      }
      again = 0;
    }
    at.lines = line.time == at.time ? at.lines + 1 : 1;
    at.time = line.time;
    out.lines.push_back(std::move(line.text));
  }
  if (!at.time.empty()) {
    out.next = fmt::format("{} {}", at.time, at.lines);
  }
  return out;
}

}  // namespace mesh::host
