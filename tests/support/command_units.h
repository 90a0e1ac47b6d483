#pragma once

#include <string>

#include <fmt/format.h>

#include "host/driver.h"

namespace mesh::test {

/// A unit that is a command.
inline host::UnitSpec command_unit(const std::string& module, const std::string& component,
                                   int generation, std::vector<std::string> run) {
  host::UnitSpec spec;
  spec.name = {module, component, fmt::format("{:016x}", generation)};
  spec.component.name = component;
  spec.component.run = std::move(run);
  return spec;
}

/// One that is a script of the shell.
inline host::UnitSpec shell_unit(const std::string& module, const std::string& component,
                                 int generation, const std::string& script) {
  return command_unit(module, component, generation, {"/bin/sh", "-c", script});
}

}  // namespace mesh::test
