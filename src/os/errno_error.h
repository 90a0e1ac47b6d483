#pragma once

#include <string>

#include "base/result.h"

namespace mesh::os {

/// The one translation of errno: `what: <the system's text>` under the code that fits. `number` is
/// errno's value.
[[nodiscard]] Error errno_error(std::string what, int number);

/// `errno_error` as the failing side of a Result.
[[nodiscard]] std::unexpected<Error> fail_errno(std::string what, int number);

}  // namespace mesh::os
