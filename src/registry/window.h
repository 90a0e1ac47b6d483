#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace mesh::registry {

/// The bytes of one blob on their way from a download to an upload: a ring of bounded size. The
/// side that is ahead pauses until the other has caught up. The last byte leaves only after
/// `release`, so that a body whose digest is wrong is never complete at the other end.
class Window {
 public:
  /// `size` is the whole blob's.
  explicit Window(std::uint64_t size);

  /// Takes all of `bytes`, or nothing where there is no room (then the writer is resumed later).
  [[nodiscard]] bool put(std::string_view bytes);
  /// Fills the front of `room`: how many bytes, 0 where none are to be had now (the reader is
  /// resumed later).
  [[nodiscard]] std::size_t get(std::span<char> room);
  /// The blob is whole and what it should be: the last byte may go.
  void release();
  /// Nothing will come any more: both sides end with `error`.
  void fail(Error error);
  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }
  /// Back to the first byte; false where it has been written over.
  [[nodiscard]] bool rewind();

  /// So much has come that sending can begin: half of the window, or all.
  [[nodiscard]] bool worth_sending() const;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t sent() const { return read_; }
  /// True where the whole blob fits, so that it can be sent again.
  [[nodiscard]] bool holds_all() const { return size_ <= capacity_; }

  void set_writer(http::Transfer* writer);
  void set_reader(http::Transfer* reader);

 private:
  std::uint64_t size_;
  std::size_t capacity_;
  std::unique_ptr<char[]> bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  bool released_ = false;
  bool writer_waits_ = false;
  std::optional<Error> failed_;
  http::Transfer* writer_ = nullptr;  // borrowed from `begin` to `end` of the exchange
  http::Transfer* reader_ = nullptr;
};

}  // namespace mesh::registry
