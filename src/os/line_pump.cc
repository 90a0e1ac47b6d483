#include "os/line_pump.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "os/errno_error.h"

namespace mesh::os {
namespace {

void signal_event(int fd) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(fd, &one, sizeof one));
}

void clear_event(int fd) {
  std::uint64_t count = 0;
  static_cast<void>(!::read(fd, &count, sizeof count));
}

}  // namespace

Result<std::unique_ptr<LinePump>> LinePump::start() {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return fail_errno("cannot read the output of programs", errno);
  }
  return std::unique_ptr<LinePump>(new LinePump(std::move(wake)));
}

LinePump::LinePump(Fd wake) : wake_(std::move(wake)) {
  thread_ = std::thread([this] { loop(); });
}

LinePump::~LinePump() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  signal_event(wake_.get());
  thread_.join();
}

void LinePump::add(Fd fd, OnLine on_line, OnEnd on_end) {
  {
    const std::lock_guard lock(mutex_);
    arriving_.push_back({std::move(fd), std::move(on_line), std::move(on_end), {}});
  }
  signal_event(wake_.get());
}

bool LinePump::take_new() {
  const std::lock_guard lock(mutex_);
  for (Source& source : arriving_) {
    sources_.push_back(std::move(source));
  }
  arriving_.clear();
  return !ending_;
}

void LinePump::loop() {
  bool going = true;
  while (going) {
    std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}};
    for (const Source& source : sources_) {
      entries.push_back({source.fd.get(), POLLIN, 0});
    }
    if (::poll(entries.data(), entries.size(), -1) < 0) {
      continue;  // EINTR
    }
    clear_event(wake_.get());
    going = take_new();
    // Every source is tried, new ones too: reading never blocks.
    std::erase_if(sources_, [](Source& source) { return !read_some(source); });
  }
  for (Source& source : sources_) {
    deliver(source, /*at_end=*/true);
  }
}

// True while more may come.
bool LinePump::read_some(Source& source) {
  std::array<char, kLongestLine> buffer;
  for (;;) {
    const ssize_t got = ::read(source.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return true;
    }
    if (got <= 0) {
      deliver(source, /*at_end=*/true);
      return false;
    }
    source.partial.append(buffer.data(), static_cast<std::size_t>(got));
    deliver(source, /*at_end=*/false);
  }
}

void LinePump::deliver(Source& source, bool at_end) {
  std::string_view rest = source.partial;
  for (;;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end == rest.size() && (rest.empty() || (!at_end && rest.size() < kLongestLine))) {
      break;
    }
    const std::size_t length = std::min(end, kLongestLine);
    source.on_line(rest.substr(0, length));
    // The line's end goes with it; a piece of a longer line has none.
    rest.remove_prefix(std::min(rest.size(), length + (length == end ? 1 : 0)));
  }
  source.partial = std::string(rest);
  if (at_end && source.on_end) {
    source.on_end();
  }
}

}  // namespace mesh::os
