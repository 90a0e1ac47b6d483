#pragma once

#include <string>

#include "bus/message.h"
#include "cli/outcome.h"

namespace mesh::cli {

/// A message as `tap --json` prints it, with every byte of its payload: `data` where that is UTF-8,
/// otherwise `data_base64`; the other one is null.
[[nodiscard]] Json message_document(const bus::Message& message, const std::string& time);

}  // namespace mesh::cli
