#include <string>
#include <vector>

#include "cli/frame.h"
#include "cli/process.h"
#include "cli/verbs.h"
#include "os/interrupt.h"

int main(int argc, char** argv) {
  mesh::cli::occupy_standard_descriptors();
  const std::vector<std::string> words(argv + 1, argv + argc);
  mesh::os::Interrupt interrupt;
  mesh::os::watch_signals(interrupt, mesh::os::OnSignal::Exit);
  const mesh::os::SystemClock clock;
  mesh::os::SystemRandom random;
  mesh::cli::ProcessConsole console;
  const auto verbs = mesh::cli::all_verbs();
  return mesh::cli::run(words, verbs, console, interrupt,
                        mesh::cli::this_process(interrupt, clock, random));
}
