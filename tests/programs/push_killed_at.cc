/// push_killed_at DIR N: a push of the mesh in DIR that is killed by SIGKILL before its N-th
/// outside call; exit 0 where it had fewer.
#include <cstdio>
#include <string>

#include "tests/system/push_world.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: push_killed_at DIR N\n");
    return 64;
  }
  const mesh::os::SystemClock clock;
  mesh::os::SystemRandom random;
  const mesh::controller::Edges edges{clock, random};
  mesh::controller::Location location;
  location.root = argv[1];
  location.state = location.root + "/.mesh";
  auto state = mesh::controller::open_state(location, "test", edges, [](std::string_view) {});
  const auto reading = mesh::controller::read_declarations(location);
  if (!state || !reading.mesh) {
    return 65;
  }
  mesh::test::KillingSteps steps(std::stoi(argv[2]));
  mesh::controller::PushOptions options;
  options.by = "tester@test";
  const auto report = mesh::controller::push(*state, location, reading, options, edges, steps);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.error().message.c_str());
    return 1;
  }
  return 0;
}
