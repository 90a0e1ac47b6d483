#pragma once

#include <optional>
#include <vector>

#include "containerfile/file.h"
#include "containerfile/lines.h"

namespace mesh::containerfile {

/// The instruction of a logical line, without the contents of its here-documents. Problems go to
/// `problems`; nothing where its name is unknown, or it is so wrong that nothing can follow from
/// it.
[[nodiscard]] std::optional<Instruction> read_instruction(const LogicalLine& line, char escape,
                                                          std::vector<Problem>& problems);

/// Reads the `--mount` flags of a RUN into its `mounts`.
void read_mounts(Instruction& run, std::vector<Problem>& problems);

}  // namespace mesh::containerfile
