#include "cli/mirror_progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace mesh::cli {

namespace {

constexpr os::Milliseconds kRedraw{100};
constexpr std::size_t kBarWidth = 30;

/// `sha256:0123456789ab`
std::string short_digest(const std::string& digest) {
  return digest.substr(0, digest.find(':') + 13);
}

std::string bar_text(std::uint64_t done, std::uint64_t size) {
  const std::size_t full =
      size == 0 ? kBarWidth : static_cast<std::size_t>(std::min(done, size) * kBarWidth / size);
  return "[" + std::string(full, '=') + std::string(kBarWidth - full, ' ') + "]";
}

const char* how_text(registry::Progress::How how) {
  switch (how) {
    case registry::Progress::How::Fetched:
      return "fetched";
    case registry::Progress::How::Mounted:
      return "mounted";
    case registry::Progress::How::Held:
      break;
  }
  return "held";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

MirrorProgress::MirrorProgress(const Context& context)
    : context_(context), terminal_(context.console.err_is_terminal()) {}

MirrorProgress::~MirrorProgress() {
  clear();
}

void MirrorProgress::image_known(std::size_t /*image*/, std::size_t blobs,
                                 std::uint64_t /*bytes*/) {
  known_ += blobs;
  draw(false);
}

void MirrorProgress::blob_begins(const std::string& digest, std::uint64_t size) {
  const auto known = std::ranges::find(bars_, digest, &Bar::digest);
  if (known == bars_.end()) {
    bars_.push_back({digest, size, 0});
  }
  draw(false);
}

void MirrorProgress::blob_moves(const std::string& digest, std::uint64_t done) {
  const auto bar = std::ranges::find(bars_, digest, &Bar::digest);
  if (bar != bars_.end()) {
    bar->done = done;
  }
  draw(false);
}

void MirrorProgress::blob_ends(const std::string& digest, std::uint64_t size, How how) {
  std::erase_if(bars_, [&](const Bar& bar) { return bar.digest == digest; });
  ++ended_;
  moved_ += how == How::Fetched ? size : 0;
  if (terminal_) {
    draw(false);
  } else {
    line(fmt::format("{} {} {}", how_text(how), short_digest(digest), bytes_text(size)));
  }
}

void MirrorProgress::remark(const std::string& text) {
  clear();
  line(text);
}

void MirrorProgress::line(const std::string& text) {
  context_.say(text);
}

void MirrorProgress::clear() {
  if (lines_ > 0) {
    // Up to the first drawn line, and away with all below.
    context_.console.err(fmt::format("\x1b[{}A\r\x1b[J", lines_));
    lines_ = 0;
  }
}

std::string MirrorProgress::drawn() const {
  std::string out;
  std::uint64_t moving = moved_;
  for (const Bar& bar : bars_) {
    out += fmt::format("{} {} {} of {}\n", short_digest(bar.digest), bar_text(bar.done, bar.size),
                       bytes_text(bar.done), bytes_text(bar.size));
    moving += bar.done;
  }
  out += fmt::format("{:<19} {} {} of {} blobs, {} fetched\n", "total", bar_text(ended_, known_),
                     std::min(ended_, known_), known_, bytes_text(moving));
  return out;
}

void MirrorProgress::draw(bool now) {
  const os::Monotonic time = context_.clock.monotonic();
  if (!terminal_ || (!now && time - last_ < kRedraw)) {
    return;
  }
  last_ = time;
  const std::string text = drawn();
  const std::string up = lines_ > 0 ? fmt::format("\x1b[{}A\r\x1b[J", lines_) : std::string();
  context_.console.err(up + text);
  lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace mesh::cli
