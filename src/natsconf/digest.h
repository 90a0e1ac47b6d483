#pragma once

#include <string>

#include "natsconf/document.h"

namespace mesh::natsconf {

/// `value` as the JSON that nats-server makes of a configuration, byte for byte (keys sorted, of
/// equal keys the last, Go's escapes and numbers). No line end.
[[nodiscard]] std::string to_json(const Value& value);

/// What `nats-server -t` of 2.11 and later prints beside "is valid", and VARZ has as
/// `config_digest`: `sha256:` and 64 hexadecimal digits. Measured on 2.15.1.
[[nodiscard]] std::string config_digest(const Document& document);

}  // namespace mesh::natsconf
