#include "registry/window.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mesh::registry {
namespace {

constexpr std::size_t kCapacity = std::size_t{512} << 10U;

}  // namespace

// The bytes are not cleared: each is written before it is read.
Window::Window(std::uint64_t size)
    : size_(size),
      capacity_(kCapacity),
      bytes_(std::make_unique_for_overwrite<char[]>(
          static_cast<std::size_t>(std::min<std::uint64_t>(size, kCapacity)) + 1)) {}

bool Window::put(std::string_view bytes) {
  if (written_ - read_ + bytes.size() > capacity_) {
    writer_waits_ = true;
    return false;
  }
  const auto at = static_cast<std::size_t>(written_ % capacity_);
  const std::size_t first = std::min(bytes.size(), capacity_ - at);
  std::memcpy(bytes_.get() + at, bytes.data(), first);
  std::memcpy(bytes_.get(), bytes.data() + first, bytes.size() - first);
  written_ += bytes.size();
  if (reader_ != nullptr) {
    reader_->resume();
  }
  return true;
}

std::size_t Window::get(std::span<char> room) {
  std::uint64_t ready = written_ - read_;
  if (!released_ && written_ == size_ && ready > 0) {
    --ready;
  }
  const auto at = static_cast<std::size_t>(read_ % capacity_);
  const auto count = static_cast<std::size_t>(
      std::min({std::uint64_t{room.size()}, ready, std::uint64_t{capacity_ - at}}));
  std::memcpy(room.data(), bytes_.get() + at, count);
  read_ += count;
  // Not for each few bytes: half a window at a time.
  if (writer_waits_ && writer_ != nullptr && written_ - read_ <= capacity_ / 2) {
    writer_waits_ = false;
    writer_->resume();
  }
  return count;
}

void Window::release() {
  released_ = true;
  if (reader_ != nullptr) {
    reader_->resume();
  }
}

void Window::fail(Error error) {
  if (!failed_) {
    failed_ = std::move(error);
  }
  if (writer_ != nullptr) {
    writer_->cancel(*failed_);
  }
  if (reader_ != nullptr) {
    reader_->cancel(*failed_);
  }
}

bool Window::rewind() {
  if (!holds_all() && read_ > 0) {
    return false;
  }
  read_ = 0;
  return true;
}

bool Window::worth_sending() const {
  return released_ || written_ >= std::min<std::uint64_t>(size_, capacity_ / 2);
}

void Window::set_writer(http::Transfer* writer) {
  writer_ = writer;
  writer_waits_ = false;
}

void Window::set_reader(http::Transfer* reader) {
  reader_ = reader;
}

}  // namespace mesh::registry
