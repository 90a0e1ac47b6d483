#pragma once

#include <map>
#include <string>
#include <vector>

namespace mesh::builder {

/// All that an image follows from. Secrets' names are in it, their values are not.
struct KeyParts {
  std::string context{};        // ContextHash::digest
  std::string containerfile{};  // its bytes
  std::string target{};
  std::map<std::string, std::string> args{};
  std::vector<std::string> secrets{};    // sorted
  std::vector<std::string> platforms{};  // in the order of the index
  std::vector<std::string> bases{};      // `NAME@DIGEST`, in the order of the file
};

/// The build's key: 64 hexadecimal digits over all of it and the way of building.
[[nodiscard]] std::string build_key(const KeyParts& parts);

}  // namespace mesh::builder
