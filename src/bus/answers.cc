#include "bus/answers.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace mesh::bus {

namespace {

constexpr int kNoResponders = 503;

Result<Message> read_answer(const std::string& subject, Message message) {
  if (message.status == kNoResponders) {
    return fail(Code::Unavailable, fmt::format("nobody answers requests on {}", subject));
  }
  return message;
}

}  // namespace

void Answers::put(Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  came_.notify_one();
}

std::optional<Answer> Answers::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!came_.wait_until(lock, deadline, [&] { return !answers_.empty(); })) {
    return std::nullopt;
  }
  Answer first = std::move(answers_.front());
  answers_.pop_front();
  return first;
}

std::string PendingRequests::add(std::string_view subject, std::shared_ptr<Answers> answers,
                                 std::size_t index, bool many) {
  const std::lock_guard lock(mutex_);
  std::string token = std::to_string(++next_);
  pending_.emplace(token, Pending{std::string(subject), std::move(answers), index, many});
  return token;
}

void PendingRequests::remove(const std::string& token) {
  const std::lock_guard lock(mutex_);
  pending_.erase(token);
}

void PendingRequests::answer(const std::string& token, Message message) {
  Pending pending;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(token);
    if (found == pending_.end()) {
      return;
    }
    pending = found->second;
    if (!pending.many) {
      pending_.erase(found);
    }
  }
  pending.answers->put({pending.index, read_answer(pending.subject, std::move(message))});
}

bool PendingRequests::refuse(const std::string& subject, const Error& error) {
  std::vector<Pending> refused;
  {
    const std::lock_guard lock(mutex_);
    for (auto each = pending_.begin(); each != pending_.end();) {
      if (each->second.subject == subject) {
        refused.push_back(std::move(each->second));
        each = pending_.erase(each);
      } else {
        ++each;
      }
    }
  }
  for (const Pending& each : refused) {
    each.answers->put({each.index, std::unexpected(error)});
  }
  return !refused.empty();
}

void PendingRequests::fail_all(const Error& error) {
  std::unordered_map<std::string, Pending> failed;
  {
    const std::lock_guard lock(mutex_);
    failed.swap(pending_);
  }
  for (const auto& [token, each] : failed) {
    each.answers->put({each.index, std::unexpected(error)});
  }
}

}  // namespace mesh::bus
