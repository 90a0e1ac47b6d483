#pragma once

// The bodies that come in pieces. Included by this room alone.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "http/message.h"

namespace mesh::engine {

/// Takes everything and keeps nothing.
class DropSink : public http::Sink {
 public:
  Status begin(const http::Response& head, http::Transfer& transfer) override;
  Result<bool> take(std::string_view bytes) override;
  void end() override {}
};

/// The frames of a container's two streams, each with a time before its text, as lines. A line that
/// came in several frames is put together.
class LogSink : public http::Sink {
 public:
  explicit LogSink(const LogQuery& query) : query_(query) {}
  Status begin(const http::Response& head, http::Transfer& transfer) override;
  Result<bool> take(std::string_view bytes) override;
  void end() override;
  /// As much as was wanted has come: the rest was left.
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] std::vector<LogLine> take_lines() { return std::move(lines_); }

 private:
  void frame(bool error, std::string_view payload);
  void add(LogLine line);

  const LogQuery& query_;
  http::Transfer* transfer_ = nullptr;
  std::string buffer_;
  LogLine partial_[2];
  std::vector<LogLine> lines_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

/// The lines of JSON that tell of a pull: whether one of them is an error.
class PullSink : public http::Sink {
 public:
  Status begin(const http::Response& head, http::Transfer& transfer) override;
  Result<bool> take(std::string_view bytes) override;
  void end() override;
  /// The engine's words for what went wrong; empty: nothing did.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void line(std::string_view text);
  std::string buffer_;
  std::string trouble_;
};

}  // namespace mesh::engine
