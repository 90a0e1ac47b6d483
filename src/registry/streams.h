#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "http/message.h"
#include "oci/digest.h"
#include "registry/window.h"

namespace mesh::registry {

/// What is expected of a blob's download.
struct Expected {
  oci::Digest digest;
  std::uint64_t size = 0;
  std::string media_type;  // HTML is refused where this does not say that it is HTML
  std::string what;        // for messages: `blob sha256:… of docker.io/library/debian`
};

/// Takes a blob as it comes, over as many downloads as it needs, hashes each byte once and hands
/// it on. Nothing but the right bytes is ever finished.
class Incoming final : public http::Sink {
 public:
  /// `window` may be null: then the bytes are only hashed. `moved` (may be empty) is told how many
  /// bytes have come in all.
  Incoming(Expected expected, Window* window, std::function<void(std::uint64_t)> moved);

  /// Where a download goes on: this many bytes are here.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// Nobody wants the bytes any more.
  [[nodiscard]] bool abandoned() const { return window_ != nullptr && window_->failed(); }
  /// Whether it was whole and right; afterwards the window is released. Corrupt otherwise; the
  /// short body of a download that may be continued is Unavailable.
  [[nodiscard]] Status finish();

  Status begin(const http::Response& head, http::Transfer& transfer) override;
  Result<bool> take(std::string_view bytes) override;
  void end() override;

 private:
  Expected expected_;
  Window* window_;
  std::function<void(std::uint64_t)> moved_;
  oci::Hasher hasher_;
  std::uint64_t received_ = 0;
  std::uint64_t skip_ = 0;  // of a server that begins at 0 again
};

/// Gives a window's bytes to an upload.
class Outgoing final : public http::Source {
 public:
  explicit Outgoing(Window& window) : window_(window) {}
  void begin(http::Transfer& transfer) override { window_.set_reader(&transfer); }
  Result<std::optional<std::size_t>> give(std::span<char> room) override;
  void end() override { window_.set_reader(nullptr); }

 private:
  Window& window_;
};

}  // namespace mesh::registry
