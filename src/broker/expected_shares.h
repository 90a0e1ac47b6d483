#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "broker/accounts.h"
#include "broker/principals.h"

/// What each account must offer and take, derived a second time: from the principals' grants alone,
/// without the declarations and without accounts.h's function. `verify` compares a file with it.
namespace mesh::broker {

struct Shares {
  std::set<Export> exports;
  std::set<Import> imports;
};

/// Account -> its exports and imports, for every account that the file must have and no other.
[[nodiscard]] std::map<std::string, Shares> expected_shares(std::span<const Principal> principals);

}  // namespace mesh::broker
