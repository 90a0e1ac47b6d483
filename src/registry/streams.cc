#include "registry/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "oci/location.h"
#include "oci/media_type.h"

namespace mesh::registry {
namespace {

bool is_html(std::string_view content_type) {
  const auto type = oci::parse_media_type(content_type);
  return type && (*type == "text/html" || *type == "application/xhtml+xml");
}

std::optional<std::uint64_t> length_of(const http::Response& head) {
  const std::string_view text = head.headers.get("Content-Length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return length;
}

}  // namespace

Incoming::Incoming(Expected expected, Window* window, std::function<void(std::uint64_t)> moved)
    : expected_(std::move(expected)),
      window_(window),
      moved_(std::move(moved)),
      hasher_(expected_.digest.algorithm()) {}

Status Incoming::begin(const http::Response& head, http::Transfer& transfer) {
  if (is_html(head.headers.get("Content-Type")) && !is_html(expected_.media_type)) {
    return fail(
        Code::Corrupt,
        fmt::format("an HTML page came with status {} in place of {}", head.status, expected_.what),
        "a proxy or a login page stands between; look at the address with a browser");
  }
  if (const auto coding = head.headers.get("Content-Encoding");
      !coding.empty() && coding != "identity") {
    return fail(Code::Corrupt, fmt::format("{} came encoded as {}, which was not asked for",
                                           expected_.what, coding));
  }
  if (abandoned()) {
    return std::unexpected(*window_->failed());
  }
  skip_ = 0;
  std::uint64_t rest = expected_.size;
  if (head.status == 206) {
    Status fits =
        oci::check_content_range(head.headers.get("Content-Range"), received_, expected_.size);
    if (!fits) {
      return within(expected_.what, std::move(fits).error());
    }
    rest -= received_;
  } else {
    skip_ = received_;
  }
  if (const auto length = length_of(head); length && *length != rest) {
    return fail(Code::Corrupt, fmt::format("{} is announced with {} bytes where {} are due",
                                           expected_.what, *length, rest));
  }
  if (window_ != nullptr) {
    window_->set_writer(&transfer);
  }
  return {};
}

Result<bool> Incoming::take(std::string_view bytes) {
  const std::string_view fresh =
      bytes.substr(static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size())));
  if (received_ + fresh.size() > expected_.size) {
    return fail(Code::Corrupt,
                fmt::format("{} has more than its {} bytes", expected_.what, expected_.size));
  }
  if (window_ != nullptr && !fresh.empty() && !window_->put(fresh)) {
    return false;
  }
  skip_ -= bytes.size() - fresh.size();
  hasher_.update(fresh);
  received_ += fresh.size();
  if (moved_) {
    moved_(received_);
  }
  return true;
}

void Incoming::end() {
  if (window_ != nullptr) {
    window_->set_writer(nullptr);
  }
}

Status Incoming::finish() {
  if (received_ < expected_.size) {
    return fail(Code::Unavailable, fmt::format("{} ended after {} of {} bytes", expected_.what,
                                               received_, expected_.size));
  }
  const oci::Digest got = hasher_.finish();
  if (got != expected_.digest) {
    return fail(Code::Corrupt,
                fmt::format("{} came with the content of {}", expected_.what, got.text()));
  }
  if (window_ != nullptr) {
    window_->release();
  }
  return {};
}

Result<std::optional<std::size_t>> Outgoing::give(std::span<char> room) {
  if (window_.failed()) {
    return std::unexpected(*window_.failed());
  }
  if (window_.sent() == window_.size()) {
    return std::optional<std::size_t>(0);
  }
  const std::size_t count = window_.get(room);
  return count == 0 ? std::nullopt : std::optional<std::size_t>(count);
}

}  // namespace mesh::registry
