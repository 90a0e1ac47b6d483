#pragma once

// What of libnats is turned into Mesh's own types, and back. Included by this room's sources alone.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nats/nats.h>

#include "base/result.h"
#include "bus/message.h"

namespace mesh::bus {

struct MessageDeleter {
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using NatsMessage = std::unique_ptr<natsMsg, MessageDeleter>;

/// A message ready to be sent. `InvalidArgument` where a subject or header cannot be written to the
/// wire: libnats does not check them, and a space or line end in one would be read as something
/// else.
[[nodiscard]] Result<NatsMessage> make_message(std::string_view subject, std::string_view reply,
                                               std::string_view payload,
                                               std::span<const Header> headers);

[[nodiscard]] Message read_message(natsMsg* message);

/// `subject` can be sent as one: not empty, no white space, no control characters.
[[nodiscard]] Status check_subject(std::string_view subject);

/// What libnats' status means; `what` is what was tried.
[[nodiscard]] std::unexpected<Error> nats_failure(natsStatus status, std::string_view what);

/// `… to "subject"` in the server's words on a refused publish or subscription.
struct Refusal {
  bool publish = false;
  std::string subject;
};
[[nodiscard]] Refusal read_refusal(std::string_view text);

}  // namespace mesh::bus
