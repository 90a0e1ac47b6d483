#pragma once

#include <string>
#include <utility>
#include <vector>

#include "registry/access.h"

namespace mesh::registry {

/// The list of requests made of upstreams, in the order in which they were made.
class Account {
 public:
  void add(std::string method, std::string url, std::optional<int> status) {
    asked_.push_back({std::move(method), std::move(url), status});
  }
  [[nodiscard]] const std::vector<Asked>& asked() const { return asked_; }

 private:
  std::vector<Asked> asked_;
};

}  // namespace mesh::registry
