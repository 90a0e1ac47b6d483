#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/model_input.h"

namespace mesh::model {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(MESH_SOURCE_DIR "/tests/fuzz/seeds/model")) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

TEST(FuzzSeeds, AreReadWell) {
  for (const auto& seed : seeds()) {
    EXPECT_TRUE(test::reads_well(seed)) << seed.substr(0, 200);
  }
}

/// A few thousand damaged seeds on every run, always the same; the fuzzer makes the others.
TEST(FuzzSeeds, DamagedAreReadWell) {
  std::mt19937 random(17);  // NOLINT(cert-msc51-cpp): the same bytes every time
  const auto all = seeds();
  for (int i = 0; i < 3000; ++i) {
    auto bytes = all[random() % all.size()];
    for (int change = 0; change < 3 && !bytes.empty(); ++change) {
      const auto at = random() % bytes.size();
      const auto& other = all[random() % all.size()];
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 20);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 30));
          break;
        default:
          bytes.insert(at, other.substr(random() % (other.size() + 1), random() % 30));
      }
    }
    ASSERT_TRUE(test::reads_well(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace mesh::model
