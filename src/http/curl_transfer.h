#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/loop.h"
#include "http/message.h"

struct curl_slist;  // NOLINT(readability-identifier-naming): libcurl's

namespace mesh::http {

class Task;

/// One exchange on one libcurl handle: the room's own, so that libcurl's names stay in two sources.
/// The loop adds the handle to its multi handle, and tells the transfer when it is over.
class CurlTransfer final : public Transfer {
 public:
  /// All are borrowed; `handle` (a CURL) is given back, reset, when the object ends.
  CurlTransfer(void* handle, const Request& request, Task& task, const os::Clock& clock);
  ~CurlTransfer() override;

  void resume() override { wants_resume_ = true; }
  void cancel(Error error) override;

  /// Carries out what `resume` and `cancel` asked for; true where the transfer is to go on at once.
  bool carry_out();
  /// Looks at the deadlines; one that has passed cancels.
  void check_limits();
  [[nodiscard]] bool cancelled() const { return failure_.has_value(); }
  /// What became of it: `code` is a CURLcode, 0 where all went well. Once.
  [[nodiscard]] Fetched finish(int code);
  [[nodiscard]] Task& task() { return task_; }
  [[nodiscard]] void* handle() { return handle_; }

 private:
  void set_up();
  void set_url_and_method();
  void set_headers();
  void set_trust();
  [[nodiscard]] Fetched outcome(int code);
  Status begin_sink();
  void fail_with(Failure failure);
  [[nodiscard]] Failure failure_of(int code) const;
  [[nodiscard]] std::string trouble(int code) const;
  void moved(std::size_t bytes);
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view bytes);
  std::size_t keep_body(std::string_view bytes);
  std::size_t give_body(std::span<char> room);
  [[nodiscard]] bool sends() const;
  [[nodiscard]] os::Milliseconds since(os::Monotonic then) const;

  static std::size_t on_header(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t on_read(char* room, std::size_t one, std::size_t count, void* self);

  void* handle_;
  const Request& request_;
  Task& task_;
  const os::Clock& clock_;
  curl_slist* sent_headers_ = nullptr;
  Response response_;
  std::optional<Failure> failure_;
  std::array<char, 256> words_{};  // libcurl's, for errors
  bool head_done_ = false;
  bool sink_begun_ = false;
  bool source_ended_ = false;
  bool paused_ = false;
  bool wants_resume_ = false;
  os::Monotonic started_;
  os::Monotonic mark_;  // when the bytes of the stall's window began to be counted
  std::uint64_t window_bytes_ = 0;
  os::Monotonic sent_;  // when the last byte of the request went
};

}  // namespace mesh::http
