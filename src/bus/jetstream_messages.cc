// The part of JetStream that stores, reads and takes single messages.

#include <utility>

#include <fmt/format.h>

#include "bus/jetstream.h"
#include "bus/json_fields.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

constexpr Milliseconds kPullGrace{2000};
constexpr int kNoMessages = 404;
constexpr int kPullOver = 408;

Result<StoredMessage> get(Connection& connection, Milliseconds timeout, std::string_view stream,
                          const json& which) {
  MESH_TRY(
      const Message answer,
      connection.request(fmt::format("$JS.API.STREAM.MSG.GET.{}", stream), which.dump(), timeout));
  MESH_TRY(const json read, read_api_answer(answer));
  return read_stored_message(read);
}

/// One MSG.NEXT: what came before the server said that it is over. A pull that ends early (409: the
/// consumer was deleted, the server is stopping) is an error only where nothing came.
Result<std::vector<Message>> next(Connection& connection, const std::string& subject,
                                  const json& body, std::size_t batch, Milliseconds timeout) {
  std::vector<Message> messages;
  Message ended;
  const Status status =
      connection.request_stream(subject, body.dump(), timeout, [&](Message message) {
        if (message.status == 100) {  // a heartbeat
          return timeout;
        }
        if (message.status != 0) {
          ended = std::move(message);
          return Milliseconds::zero();
        }
        messages.push_back(std::move(message));
        return messages.size() < batch ? timeout : Milliseconds::zero();
      });
  MESH_CHECK(status);
  if (messages.empty() && ended.status != kNoMessages && ended.status != kPullOver) {
    return fail(Code::Unavailable,
                fmt::format("the pull ended: {} {}", ended.status, ended.header("Description")));
  }
  return messages;
}

}  // namespace

Result<Stored> JetStream::store(std::string_view subject, std::string_view payload,
                                std::string_view id, std::vector<Header> headers) {
  if (!id.empty()) {
    headers.push_back({"Nats-Msg-Id", std::string(id)});
  }
  MESH_TRY(const Message answer, connection_->request(subject, payload, timeout_, headers));
  MESH_TRY(const json read, read_api_answer(answer));
  return Stored{text(read, "stream"), count(read, "seq"), flag(read, "duplicate")};
}

Result<StoredMessage> JetStream::message(std::string_view stream, std::uint64_t sequence) {
  return get(*connection_, timeout_, stream, {{"seq", sequence}});
}

Result<StoredMessage> JetStream::last_message(std::string_view stream, std::string_view subject) {
  return get(*connection_, timeout_, stream, {{"last_by_subj", subject}});
}

Status JetStream::delete_message(std::string_view stream, std::uint64_t sequence) {
  const json which{{"seq", sequence}, {"no_erase", true}};
  MESH_TRY(const Message answer,
           connection_->request(fmt::format("$JS.API.STREAM.MSG.DELETE.{}", stream), which.dump(),
                                timeout_));
  MESH_CHECK(read_api_answer(answer));
  return {};
}

Result<std::vector<Message>> JetStream::pull(std::string_view stream, std::string_view consumer,
                                             std::size_t batch, Milliseconds wait) {
  const std::string subject = fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", stream, consumer);
  // First what is there; only then one is waited for, since a pull of many that is given up halfway
  // would leave the rest unacknowledged until the ack wait.
  MESH_TRY(auto there,
           next(*connection_, subject, {{"batch", batch}, {"no_wait", true}}, batch, timeout_));
  if (!there.empty() || wait <= Milliseconds::zero()) {
    return there;
  }
  const std::int64_t expires = std::chrono::nanoseconds(wait).count();
  return next(*connection_, subject, {{"batch", 1}, {"expires", expires}}, 1, wait + kPullGrace);
}

}  // namespace mesh::bus
