#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace mesh::test {

/// A text of tests/fuzz/seeds/natsconf, and what nats-server 2.10.27 and 2.15.1 said to it.
struct CorpusText {
  std::string name;
  std::string bytes;
  bool accepted_210 = false;
  bool accepted_215 = false;
  std::string digest;  // what 2.15.1 printed; empty where it refused the file for another reason
};

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline std::vector<CorpusText> natsconf_corpus() {
  const std::filesystem::path directory =
      std::filesystem::path(MESH_SOURCE_DIR) / "tests/fuzz/seeds/natsconf";
  std::vector<CorpusText> out;
  std::istringstream verdicts(file_bytes(directory / "VERDICTS"));
  for (std::string line; std::getline(verdicts, line);) {
    std::istringstream words(line);
    std::string name;
    std::string old_server;
    std::string new_server;
    std::string digest;
    if (line.starts_with('#') || !(words >> name >> old_server >> new_server >> digest)) {
      continue;
    }
    out.push_back({name, file_bytes(directory / name), old_server == "ok", new_server == "ok",
                   digest == "-" ? std::string{} : digest});
  }
  return out;
}

}  // namespace mesh::test
