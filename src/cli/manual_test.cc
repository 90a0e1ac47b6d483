#include "cli/manual.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace mesh::cli {
namespace {

TEST(Manual, IsWhatHelpSays) {
  const std::string path = MESH_SOURCE_DIR "/docs/command-line.md";
  const auto wanted = manual(all_verbs());
  if (std::getenv("MESH_ACCEPT") != nullptr) {
    std::ofstream(path, std::ios::binary) << wanted;
    GTEST_SKIP() << "rewrote " << path;
  }
  std::stringstream found;
  found << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(found.str(), wanted) << "MESH_ACCEPT=1 renews the file";
}

}  // namespace
}  // namespace mesh::cli
