#include "host/keeper.h"

// `mesh-keeper DIRECTORY`, the same as `mesh-host keep DIRECTORY` in a program of its own: one runs
// for each command, and what mesh-host is linked with would cost each of them five times the
// memory.
int main(int argc, char** argv) {
  return argc == 2 ? mesh::host::keep(argv[1]) : 64;
}
