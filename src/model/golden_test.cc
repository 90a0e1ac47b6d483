#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model/read.h"
#include "tests/support/map_files.h"

// tests/golden/check/*.txt: the files of a mesh and, after `--- problems`, what reading it must
// say. MESH_GOLDEN=rewrite writes that part anew and skips, so that a rewriting run cannot pass.
namespace mesh::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "--- ";
constexpr std::string_view kProblems = "problems";

struct Case {
  std::string given;  // all up to and with the mark of the problems
  std::string wanted;
  test::MapFiles files;
};

Case read_case(const fs::path& path) {
  Case out;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  std::string name;
  std::string bytes;
  while (std::getline(in, line)) {
    const bool mark = line.starts_with(kMark);
    if (mark) {
      if (!name.empty()) {
        out.files.set(name, bytes);
      }
      name = line.substr(kMark.size());
      bytes.clear();
    } else {
      bytes += line + "\n";
    }
    if (name != kProblems || mark) {
      out.given += line + "\n";
    }
  }
  out.wanted = bytes;
  return out;
}

std::string found(const test::MapFiles& files) {
  const auto reading = read_mesh(files);
  std::string out;
  for (const auto& problem : reading.problems) {
    out += to_text(problem) + " [" + problem.code + "]\n";
  }
  EXPECT_EQ(reading.mesh.has_value(), !has_errors(reading.problems));
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, SaysWhatIsWrong) {
  const auto path = fs::path(MESH_SOURCE_DIR) / "tests/golden/check" / (GetParam() + ".txt");
  const auto that = read_case(path);
  const auto problems = found(that.files);
  if (const char* mode = std::getenv("MESH_GOLDEN");
      mode != nullptr && mode == std::string("rewrite")) {
    std::ofstream(path, std::ios::binary) << that.given << problems;
    GTEST_SKIP() << "rewritten";
  }
  EXPECT_EQ(problems, that.wanted);
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(MESH_SOURCE_DIR "/tests/golden/check")) {
    names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  auto name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Check, Golden, testing::ValuesIn(case_names()), test_name);

}  // namespace
}  // namespace mesh::model
