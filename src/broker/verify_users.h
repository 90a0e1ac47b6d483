#pragma once

#include <span>

#include "broker/config_view.h"
#include "broker/findings.h"
#include "broker/principals.h"

namespace mesh::broker {

/// The part of `verify` about users: each is a principal with exactly its grants, in its account,
/// with a bcrypt hash, and each principal is a user.
void verify_users(const ConfigView& view, std::span<const Principal> principals,
                  Findings& findings);

}  // namespace mesh::broker
