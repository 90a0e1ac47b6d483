#include "tests/support/one_account.h"

#include <algorithm>

#include "model/subjects.h"

namespace mesh::test {

std::vector<broker::Account> in_one_account(std::span<const broker::Account> accounts) {
  broker::Account all;
  all.name = model::kMeshAccount;
  all.jetstream = true;
  std::vector<broker::Account> out;
  for (const auto& account : accounts) {
    if (account.name == model::kSystemAccount) {
      out.push_back(account);
      continue;
    }
    all.users.insert(all.users.end(), account.users.begin(), account.users.end());
  }
  std::ranges::sort(all.users);
  out.insert(out.begin(), std::move(all));
  return out;
}

}  // namespace mesh::test
