#include "bus/jetstream.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/json_fields.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

/// Names go into subjects: one with a dot would be another request.
Status check_name(std::string_view name) {
  const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7f' && c != '.' && c != '*' && c != '>';
  });
  if (!good) {
    return fail(Code::InvalidArgument,
                fmt::format("'{}' is not a name of a stream or consumer", printable(name)));
  }
  return {};
}

Result<json> call(Connection& connection, Milliseconds timeout, std::string_view api,
                  const json& body) {
  auto answer = connection.request(fmt::format("$JS.API.{}", api),
                                   body.is_null() ? std::string{} : body.dump(), timeout);
  if (!answer && answer.error().code == Code::Unavailable && connection.is_connected()) {
    return fail(Code::Unavailable, "JetStream does not answer: " + answer.error().message,
                "is JetStream enabled on the server and for this account?");
  }
  MESH_CHECK(answer);
  return read_api_answer(*answer);
}

/// In a cluster a LIST leaves out what has no leader at the moment, and says so: to read it as
/// absent would plan to create it.
Status check_complete(const json& page) {
  const json& missing = field(page, "missing");
  if (missing.is_array() && !missing.empty()) {
    return fail(Code::Unavailable,
                fmt::format("the bus cannot tell the state of {} now", printable(missing.dump())),
                "wait until its cluster has a leader again");
  }
  return {};
}

/// All pages of a LIST, each element of `key` read by `read` and kept by its name.
template <class Info>
Result<std::vector<Info>> list(Connection& connection, Milliseconds timeout, std::string_view api,
                               const char* key, Info (*read)(const json&)) {
  std::map<std::string, Info> found;
  std::uint64_t offset = 0;
  for (;;) {
    MESH_TRY(const json page, call(connection, timeout, api, {{"offset", offset}}));
    MESH_CHECK(check_complete(page));
    const json& elements = field(page, key);
    for (const json& element : elements) {
      Info info = read(element);
      found.insert_or_assign(info.name, std::move(info));
    }
    offset += elements.size();
    if (elements.empty() || offset >= count(page, "total")) {
      break;
    }
  }
  std::vector<Info> sorted;
  sorted.reserve(found.size());
  for (auto& [name, info] : found) {
    sorted.push_back(std::move(info));
  }
  return sorted;
}

template <class Info>
Result<Info> read_with(Info (*read)(const json&), Result<json> answer) {
  if (!answer) {
    return std::unexpected(std::move(answer).error());
  }
  return read(*answer);
}

}  // namespace

JetStream::JetStream(Connection& connection, Milliseconds timeout)
    : connection_(&connection), timeout_(timeout) {}

Result<AccountInfo> JetStream::account() {
  return read_with(read_account_info, call(*connection_, timeout_, "INFO", nullptr));
}

Result<std::vector<StreamInfo>> JetStream::streams() {
  return list(*connection_, timeout_, "STREAM.LIST", "streams", read_stream_info);
}

Result<StreamInfo> JetStream::stream(std::string_view name, std::string_view subjects) {
  MESH_CHECK(check_name(name));
  const std::string api = fmt::format("STREAM.INFO.{}", name);
  if (subjects.empty()) {
    return read_with(read_stream_info, call(*connection_, timeout_, api, nullptr));
  }
  StreamInfo all;
  std::map<std::string, std::uint64_t> counted;
  for (;;) {
    // The server tells at most 100,000 subjects at once.
    MESH_TRY(const json page, call(*connection_, timeout_, api,
                                   {{"subjects_filter", subjects}, {"offset", counted.size()}}));
    all = read_stream_info(page);
    counted.merge(all.subjects);
    if (field(field(page, "state"), "subjects").empty() || counted.size() >= count(page, "total")) {
      break;
    }
  }
  all.subjects = std::move(counted);
  return all;
}

Result<StreamInfo> JetStream::create_stream(const json& config) {
  const std::string name = text(config, "name");
  MESH_CHECK(check_name(name));
  return read_with(read_stream_info,
                   call(*connection_, timeout_, fmt::format("STREAM.CREATE.{}", name), config));
}

Result<StreamInfo> JetStream::update_stream(const json& config) {
  const std::string name = text(config, "name");
  MESH_CHECK(check_name(name));
  return read_with(read_stream_info,
                   call(*connection_, timeout_, fmt::format("STREAM.UPDATE.{}", name), config));
}

Status JetStream::delete_stream(std::string_view name) {
  MESH_CHECK(check_name(name));
  MESH_CHECK(call(*connection_, timeout_, fmt::format("STREAM.DELETE.{}", name), nullptr));
  return {};
}

Result<std::uint64_t> JetStream::purge(std::string_view stream, std::string_view filter) {
  MESH_CHECK(check_name(stream));
  const json body = filter.empty() ? json{} : json{{"filter", filter}};
  MESH_TRY(const json answer,
           call(*connection_, timeout_, fmt::format("STREAM.PURGE.{}", stream), body));
  return count(answer, "purged");
}

Result<std::vector<ConsumerInfo>> JetStream::consumers(std::string_view stream) {
  MESH_CHECK(check_name(stream));
  return list(*connection_, timeout_, fmt::format("CONSUMER.LIST.{}", stream), "consumers",
              read_consumer_info);
}

Result<ConsumerInfo> JetStream::consumer(std::string_view stream, std::string_view name) {
  MESH_CHECK(check_name(stream));
  MESH_CHECK(check_name(name));
  return read_with(
      read_consumer_info,
      call(*connection_, timeout_, fmt::format("CONSUMER.INFO.{}.{}", stream, name), nullptr));
}

Result<ConsumerInfo> JetStream::raise_consumer(const WantedConsumerConfig& wanted, Raise how) {
  Result<ConsumerInfo> result = fail(Code::Internal, "no answer was given");
  raise_consumers({&wanted, 1}, how,
                  [&](std::size_t, Result<ConsumerInfo> echo) { result = std::move(echo); });
  return result;
}

Status JetStream::delete_consumer(std::string_view stream, std::string_view name) {
  MESH_CHECK(check_name(stream));
  MESH_CHECK(check_name(name));
  MESH_CHECK(
      call(*connection_, timeout_, fmt::format("CONSUMER.DELETE.{}.{}", stream, name), nullptr));
  return {};
}

void JetStream::raise_consumers(
    std::span<const WantedConsumerConfig> wanted, Raise how,
    const std::function<void(std::size_t, Result<ConsumerInfo>)>& on_echo, std::size_t in_flight) {
  std::vector<Request> requests;
  std::vector<std::size_t> indices;  // of `wanted`, for each request
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    const std::string name = text(wanted[index].config, "name");
    auto named = check_name(name);
    named = named ? check_name(wanted[index].stream) : std::move(named);
    if (!named) {
      on_echo(index, std::unexpected(std::move(named).error()));
      continue;
    }
    requests.push_back(consumer_request(wanted[index], how));
    indices.push_back(index);
  }
  connection_->request_many(
      requests, in_flight, timeout_, [&](std::size_t request, Result<Message> answer) {
        auto read = answer ? read_api_answer(*answer) : std::unexpected(std::move(answer).error());
        on_echo(indices[request], read_with(read_consumer_info, std::move(read)));
      });
}

}  // namespace mesh::bus
