#pragma once

#include <string>
#include <string_view>

#include "broker/questions.h"

namespace mesh::broker {

/// What `principal` would have to declare to be granted `subject`, or who alone may: a sentence.
/// For subjects of the mesh's own scheme it is exact; for others it says that nothing grants them.
[[nodiscard]] std::string missing(const Principal& principal, Direction direction,
                                  std::string_view subject);

}  // namespace mesh::broker
