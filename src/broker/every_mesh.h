#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/accounts.h"
#include "broker/principals.h"
#include "tests/support/generated_mesh.h"

/// For tests of what holds of every mesh.
namespace mesh::broker {

using Set = std::set<std::string>;

inline constexpr std::uint64_t kMeshes = 1000;

/// A mesh and what follows from it.
struct World {
  model::Mesh mesh;
  std::vector<Principal> principals;
  std::vector<Account> accounts;
};

inline World world(model::Mesh mesh) {
  auto users = principals(mesh);
  auto all = accounts(mesh, users);
  return {std::move(mesh), std::move(users), std::move(all)};
}

inline void for_every_mesh(const std::function<void(const World&)>& check) {
  for (std::uint64_t seed = 1; seed <= kMeshes; ++seed) {
    check(world(test::generated_mesh(seed)));
    if (testing::Test::HasFailure()) {
      FAIL() << "generated_mesh(" << seed << ")";
    }
  }
}

inline Set subjects(const std::vector<Grant>& grants) {
  Set out;
  for (const auto& grant : grants) {
    out.insert(grant.subject);
  }
  return out;
}

inline const Principal* find(const World& w, const std::string& name) {
  const auto found =
      std::ranges::find_if(w.principals, [&](const auto& p) { return p.name == name; });
  return found == w.principals.end() ? nullptr : &*found;
}

}  // namespace mesh::broker
