#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/clock.h"

namespace mesh::http {

/// Header fields in the order in which they were given or came. Names are compared without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  /// The first field of that name; an empty view where there is none.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// Every field of that name, in order.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  /// Drops every field of that name.
  void remove(std::string_view name);
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// What came back. `body` is empty where a sink took it; of an answer that is no success it holds
/// the first 64 KiB.
struct Response {
  int status = 0;
  Headers headers;
  std::string body;

  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

/// One exchange that is under way, as its sink and its source see it. Both calls take effect at
/// the loop's next turn.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  /// Goes on after a pause; where it was not paused nothing happens.
  virtual void resume() = 0;
  /// Ends it with `error`.
  virtual void cancel(Error error) = 0;
};

/// Takes the body of a successful answer (2xx) as it comes.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  /// Called once, when the head is complete; an error ends the transfer. `transfer` is alive until
  /// `end`.
  virtual Status begin(const Response& head, Transfer& transfer) = 0;
  /// Takes all of `bytes` and returns true, or takes none and returns false: the transfer pauses
  /// and gives the same bytes again after `resume`. An error ends the transfer.
  virtual Result<bool> take(std::string_view bytes) = 0;
  /// The transfer is gone, however it ended. Not called where `begin` was not.
  virtual void end() = 0;
};

/// Gives a request's body as it is wanted.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  virtual void begin(Transfer& transfer) = 0;
  /// Fills the front of `room` and returns how many bytes; 0 is the end, nothing a pause.
  virtual Result<std::optional<std::size_t>> give(std::span<char> room) = 0;
  virtual void end() = 0;
};

/// When to give up. 0 is never.
struct Limits {
  os::Milliseconds connect{10'000};
  os::Milliseconds answer{60'000};  // from the request's last byte to the answer's first
  os::Milliseconds overall{0};
  /// A transfer that moves fewer than `floor` bytes a second through `stall` has stalled. Time for
  /// which its own sink or source paused it does not count.
  os::Milliseconds stall{30'000};
  std::uint64_t floor = 1024;
};

struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers;
  std::string body;          // sent where `source` is not set
  Source* source = nullptr;  // borrowed; of `length` bytes
  std::uint64_t length = 0;
  Sink* sink = nullptr;  // borrowed; without it the body is kept in the Response
  std::size_t most_body = std::size_t{4} << 20U;
  std::string ca_file;      // trusted besides the system's; empty: the system's alone
  std::string unix_socket;  // dialled in place of the URL's host; empty: none
  bool direct = false;      // through no proxy, whatever the environment says
  bool http2 = false;       // allowed where the server offers it (TLS); otherwise 1.1
  Limits limits;
};

/// Why there is no Response. `error` names the host; its code is Unavailable, Timeout, Corrupt
/// (more than `most_body` bytes, a short body), InvalidArgument (the URL), Interrupted, or what the
/// sink or source said.
struct Failure {
  enum class Stage {
    Connect,   // no connection: nothing was asked
    Tls,       // a connection, and no trust in who answers it, or no TLS there
    Exchange,  // the connection broke, stalled or made no sense
    Ours,      // a sink, a source, the caller or the operator ended it
  };
  Stage stage = Stage::Exchange;
  Error error;
  bool answered = false;  // the head of an answer had come
};

/// `HOST[:PORT]` of a URL, without anything secret.
[[nodiscard]] std::string place_of(std::string_view url);
/// The same of a request: its socket where it has one.
[[nodiscard]] std::string place_of(const Request& request);

}  // namespace mesh::http
