#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/model_input.h"

// clang++ -fsanitize=fuzzer calls this with bytes of its making, beginning with
// tests/fuzz/seeds/model.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(data, data + size);
  if (!mesh::test::reads_well(bytes)) {
    std::abort();
  }
  return 0;
}
