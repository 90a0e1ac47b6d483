// A host that runs one command and nothing else, for tests that kill it: `keep DIRECTORY` is the
// keeper (mesh-keeper beside it is what is used where it was built); `hold STATE HOMES USERS MESH
// SCRIPT` makes a unit of a shell's script, starts it, says so and stays; `environment` prints its
// environment, each variable with a NUL behind it, into the file of its argument.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <span>
#include <string>

#include "host/commands.h"
#include "host/keeper.h"
#include "tests/support/command_units.h"

namespace {

int hold(std::span<char*> arguments) {
  static const mesh::os::SystemClock clock;
  mesh::host::CommandsOptions options;
  options.state = arguments[0];
  options.homes = arguments[1];
  options.users = arguments[2];
  options.mesh = arguments[3];
  options.node = "one";
  auto commands = mesh::host::Commands::open(options, clock);
  const auto spec = mesh::test::shell_unit("shop", "main", 1, arguments[4]);
  if (!commands || !(*commands)->create(spec) || !(*commands)->start(spec.name)) {
    std::cout << "failed" << std::endl;
    return 1;
  }
  std::cout << "started" << std::endl;
  ::pause();
  return 0;
}

int print_environment(const char* file) {
  FILE* out = std::fopen(file, "we");
  if (out == nullptr) {
    return 1;
  }
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    (void)std::fwrite(*entry, 1, std::strlen(*entry) + 1, out);
  }
  return std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const std::string verb = argc > 1 ? arguments[1] : "";
  if (verb == "keep" && argc == 3) {
    return mesh::host::keep(arguments[2]);
  }
  if (verb == "hold" && argc == 7) {
    return hold(arguments.subspan(2));
  }
  if (verb == "environment" && argc == 3) {
    return print_environment(arguments[2]);
  }
  return 64;
}
