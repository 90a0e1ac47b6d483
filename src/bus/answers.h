#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "bus/message.h"

namespace mesh::bus {

using Deadline = std::chrono::steady_clock::time_point;

/// The answer to the request that its caller counts as `index`.
struct Answer {
  std::size_t index = 0;
  Result<Message> message;
};

/// The answers to the requests of one caller, in the order in which they came. Put from any thread,
/// taken by the caller's.
class Answers {
 public:
  void put(Answer answer);
  /// The next answer; nothing where none came before `deadline`.
  [[nodiscard]] std::optional<Answer> take(Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Answer> answers_;
};

/// The requests of a connection that wait for an answer, each under a token that is the last part
/// of the subject on which its answer comes. One subscription hears them all, so that thousands can
/// be under way with one thread.
class PendingRequests {
 public:
  /// With `many` it stays after an answer, until `remove`.
  [[nodiscard]] std::string add(std::string_view subject, std::shared_ptr<Answers> answers,
                                std::size_t index, bool many);
  void remove(const std::string& token);

  /// Gives an answer to whom it belongs; one whose request was given up is dropped. The server's
  /// 503 becomes `Unavailable`.
  void answer(const std::string& token, Message message);
  /// Ends all requests on `subject` as refused by the server; false where there are none.
  [[nodiscard]] bool refuse(const std::string& subject, const Error& error);
  /// Ends all.
  void fail_all(const Error& error);

 private:
  struct Pending {
    std::string subject;
    std::shared_ptr<Answers> answers;
    std::size_t index = 0;
    bool many = false;
  };

  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::string, Pending> pending_;
};

}  // namespace mesh::bus
