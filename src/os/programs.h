#pragma once

#include <string>
#include <string_view>

namespace mesh::os {

/// True where `path` is a file that the caller may execute.
[[nodiscard]] bool is_program(const std::string& path);

/// The path of the program in the first directory of PATH that has it; empty where none has.
[[nodiscard]] std::string program_on_path(std::string_view name);

}  // namespace mesh::os
