#include "bus/nats_message.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::bus {

namespace {

struct FreeArray {
  void operator()(const char** array) const { std::free(static_cast<void*>(array)); }
};
using NameList = std::unique_ptr<const char*, FreeArray>;

bool is_plain(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '\x7f';
}

bool has_line_end(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

Status check_header(const Header& header) {
  if (header.name.empty() || has_line_end(header.name) ||
      header.name.find(':') != std::string::npos || has_line_end(header.value)) {
    return fail(Code::InvalidArgument,
                fmt::format("{} cannot be a header", printable(header.name)));
  }
  return {};
}

void read_values(natsMsg* message, const char* name, std::vector<Header>& headers) {
  const char** values = nullptr;
  int count = 0;
  if (natsMsgHeader_Values(message, name, &values, &count) != NATS_OK) {
    return;
  }
  const NameList owner(values);
  for (const char* value : std::span(values, static_cast<std::size_t>(count))) {
    headers.push_back({name, value == nullptr ? "" : value});
  }
}

std::vector<Header> read_headers(natsMsg* message) {
  std::vector<Header> headers;
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &names, &count) != NATS_OK) {
    return headers;
  }
  const NameList owner(names);
  for (const char* name : std::span(names, static_cast<std::size_t>(count))) {
    read_values(message, name, headers);
  }
  // libnats gives the names in the order of a hash table.
  std::stable_sort(headers.begin(), headers.end(),
                   [](const Header& a, const Header& b) { return a.name < b.name; });
  return headers;
}

/// libnats turns `NATS/1.0 404 text` into the headers Status and Description.
int read_status(const Message& message) {
  if (!message.data.empty()) {
    return 0;
  }
  const std::string_view text = message.header("Status");
  int status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

Code code_of(natsStatus status) {
  switch (status) {
    case NATS_TIMEOUT:
      return Code::Timeout;
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
      return Code::PermissionDenied;
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_ARG:
    case NATS_MAX_PAYLOAD:
    case NATS_ADDRESS_MISSING:
    case NATS_INVALID_QUEUE_NAME:
      return Code::InvalidArgument;
    case NATS_NO_SERVER_SUPPORT:
      return Code::Unsupported;
    case NATS_NO_MEMORY:
    case NATS_INVALID_SUBSCRIPTION:
    case NATS_ILLEGAL_STATE:
      return Code::Internal;
    default:
      return Code::Unavailable;
  }
}

}  // namespace

Status check_subject(std::string_view subject) {
  if (subject.empty() || !std::all_of(subject.begin(), subject.end(), is_plain)) {
    return fail(Code::InvalidArgument, fmt::format("'{}' is not a subject", printable(subject)));
  }
  return {};
}

Result<NatsMessage> make_message(std::string_view subject, std::string_view reply,
                                 std::string_view payload, std::span<const Header> headers) {
  MESH_CHECK(check_subject(subject));
  if (!reply.empty()) {
    MESH_CHECK(check_subject(reply));
  }
  natsMsg* made = nullptr;
  const std::string to(subject);
  const std::string from(reply);
  const natsStatus status = natsMsg_Create(&made, to.c_str(), from.empty() ? nullptr : from.c_str(),
                                           payload.data(), static_cast<int>(payload.size()));
  NatsMessage message(made);
  if (status != NATS_OK) {
    return nats_failure(status, fmt::format("message to {}", subject));
  }
  for (const Header& header : headers) {
    MESH_CHECK(check_header(header));
    natsMsgHeader_Add(message.get(), header.name.c_str(), header.value.c_str());
  }
  return message;
}

Message read_message(natsMsg* message) {
  Message read;
  const char* reply = natsMsg_GetReply(message);
  read.subject = natsMsg_GetSubject(message);
  read.reply = reply == nullptr ? "" : reply;
  read.data.assign(natsMsg_GetData(message),
                   static_cast<std::size_t>(natsMsg_GetDataLength(message)));
  read.headers = read_headers(message);
  read.status = read_status(read);
  return read;
}

std::unexpected<Error> nats_failure(natsStatus status, std::string_view what) {
  return fail(code_of(status), fmt::format("{}: {}", what, natsStatus_GetText(status)));
}

Refusal read_refusal(std::string_view text) {
  const std::size_t first = text.find('"');
  const std::size_t last = first == std::string_view::npos ? first : text.find('"', first + 1);
  Refusal refusal;
  // Publish and Subscription, or in lower case: libnats hands the text on as it came.
  refusal.publish = text.find("ublish") != std::string_view::npos;
  refusal.subject =
      last == std::string_view::npos ? text : text.substr(first + 1, last - first - 1);
  return refusal;
}

}  // namespace mesh::bus
