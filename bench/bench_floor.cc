/// bench_floor DIR FILE OUT: what checking and composing cannot do without: every TOML file below
/// DIR is read and parsed by the TOML library alone, and FILE's bytes are hashed and written to
/// OUT.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <toml++/toml.h>

#include "base/digest.h"

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_floor DIR FILE OUT\n");
    return 64;
  }
  std::size_t tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.path().extension() == ".toml") {
      const auto text = read(entry.path());
      tables += toml::parse(std::string_view(text)).size();
    }
  }
  const auto bytes = read(argv[2]);
  std::ofstream(argv[3], std::ios::binary) << bytes;
  std::printf("%zu %s\n", tables, mesh::sha256_hex(bytes).c_str());
  return 0;
}
