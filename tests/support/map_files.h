#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "model/read.h"

namespace mesh::test {

/// Files of a test, in memory: path -> bytes. A folder exists where a file stands below it.
class MapFiles : public model::Files {
 public:
  MapFiles() = default;
  explicit MapFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  /// Every file below a directory, but what was installed or built there.
  static MapFiles of_directory(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    MapFiles out;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
      if (at->path().filename() == "node_modules" || at->path().filename() == ".mesh") {
        at.disable_recursion_pending();
      } else if (at->is_regular_file()) {
        std::ifstream file(at->path(), std::ios::binary);
        out.set(at->path().lexically_relative(root).generic_string(),
                std::string(std::istreambuf_iterator<char>(file), {}));
      }
    }
    return out;
  }

  void set(const std::string& path, std::string bytes) { files_[path] = std::move(bytes); }
  /// From now on reading `path` fails with `error`.
  void fail(const std::string& path, Error error) { failures_[path] = std::move(error); }

  [[nodiscard]] Kind kind(const std::string& path) const override {
    if (files_.contains(path) || failures_.contains(path)) {
      return Kind::File;
    }
    const auto below = files_.lower_bound(path + "/");
    const bool folder = below != files_.end() && below->first.starts_with(path + "/");
    return folder ? Kind::Directory : Kind::Missing;
  }

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    if (const auto failure = failures_.find(path); failure != failures_.end()) {
      return std::unexpected(failure->second);
    }
    if (const auto file = files_.find(path); file != files_.end()) {
      return file->second;
    }
    if (kind(path) == Kind::Directory) {
      return mesh::fail(Code::InvalidArgument, path + " is a folder, not a file");
    }
    return mesh::fail(Code::NotFound, path + " does not exist");
  }

 private:
  std::map<std::string, std::string> files_;
  std::map<std::string, Error> failures_;
};

}  // namespace mesh::test
