#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mesh::bus {

/// One header of a message. Names keep their case; a name may come several times.
struct Header {
  std::string name;
  std::string value;
};

/// A message as it came. `status` is the server's number in the header line (`NATS/1.0 404 …`) of a
/// message without payload, and 0 for an ordinary message.
struct Message {
  std::string subject;
  std::string reply;
  std::string data;
  std::vector<Header> headers;
  int status = 0;

  /// The last value of the header with exactly this name, or an empty string. The last, because a
  /// server of 2.10 appends its own `Nats-Request-Info` behind one that the sender forged.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// A request still to be sent.
struct Request {
  std::string subject;
  std::string payload;
  std::vector<Header> headers;
};

}  // namespace mesh::bus
