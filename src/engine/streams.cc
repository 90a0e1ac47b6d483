#include "engine/streams.h"

#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "engine/answers.h"

namespace mesh::engine {

namespace {

constexpr std::size_t kFrameHead = 8;
constexpr std::size_t kLongestLine = std::size_t{256} << 10U;
constexpr std::size_t kLongestFrame = std::size_t{4} << 20U;
constexpr std::size_t kLongestProgress = std::size_t{1} << 20U;

std::size_t frame_size(std::string_view head) {
  std::size_t out = 0;
  for (const char c : head.substr(4, 4)) {
    out = (out << 8U) | static_cast<std::uint8_t>(c);
  }
  return out;
}

}  // namespace

Status DropSink::begin(const http::Response& /*head*/, http::Transfer& /*transfer*/) {
  return {};
}

Result<bool> DropSink::take(std::string_view /*bytes*/) {
  return true;
}

Status LogSink::begin(const http::Response& /*head*/, http::Transfer& transfer) {
  transfer_ = &transfer;
  return {};
}

Result<bool> LogSink::take(std::string_view bytes) {
  if (full_) {
    return true;
  }
  buffer_.append(bytes);
  std::string_view rest = buffer_;
  while (rest.size() >= kFrameHead && !full_) {
    const std::size_t size = frame_size(rest);
    if (size > kLongestFrame) {
      return fail(Code::Corrupt, "the engine's log makes no sense");
    }
    if (rest.size() < kFrameHead + size) {
      break;
    }
    frame(rest[0] == 2, rest.substr(kFrameHead, size));
    rest.remove_prefix(kFrameHead + size);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return true;
}

void LogSink::frame(bool error, std::string_view payload) {
  LogLine& partial = partial_[error ? 1 : 0];
  const auto space = payload.find(' ');
  const bool whole = payload.ends_with('\n');
  if (partial.time.empty()) {
    partial.time = payload.substr(0, space);
  }
  std::string_view text = space == std::string_view::npos ? "" : payload.substr(space + 1);
  text.remove_suffix(whole && !text.empty() ? 1 : 0);
  partial.text.append(text.substr(0, kLongestLine - std::min(kLongestLine, partial.text.size())));
  if (whole) {
    partial.error = error;
    add(std::exchange(partial, {}));
  }
}

void LogSink::add(LogLine line) {
  bytes_ += line.text.size();
  lines_.push_back(std::move(line));
  if (lines_.size() >= query_.most_lines || bytes_ >= query_.most_bytes) {
    full_ = true;
    transfer_->cancel({Code::Interrupted, "enough was read", "", {}});
  }
}

void LogSink::end() {
  for (LogLine& partial : partial_) {
    if (!partial.time.empty() && !full_) {
      lines_.push_back(std::exchange(partial, {}));
    }
  }
}

Status PullSink::begin(const http::Response& /*head*/, http::Transfer& /*transfer*/) {
  return {};
}

Result<bool> PullSink::take(std::string_view bytes) {
  buffer_.append(bytes);
  for (std::size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
    line(std::string_view(buffer_).substr(0, end));
    buffer_.erase(0, end + 1);
  }
  if (buffer_.size() > kLongestProgress) {
    return fail(Code::Corrupt, "the engine's progress makes no sense");
  }
  return true;
}

void PullSink::line(std::string_view text) {
  const auto progress = parse_json(text);
  if (!progress) {
    return;
  }
  // docker: {"errorDetail":{"message":…},"error":…}; podman says the same, or `error` alone.
  std::string words = text_member(member(*progress, "errorDetail"), "message");
  if (words.empty()) {
    words = text_member(*progress, "error");
  }
  if (!words.empty()) {
    trouble_ = std::move(words);
  }
}

void PullSink::end() {
  line(buffer_);
  buffer_.clear();
}

}  // namespace mesh::engine
