#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/system/escape/world.h"

namespace mesh::test::escape {

/// One thing that a taken-over instance tries.
struct Attempt {
  std::string name;
  std::function<void(World&, RawClient&)> run;
  /// The heading in ASSURANCE.md that admits its effect; empty where it must have none.
  std::string listed = {};
  /// Set where the same attempt must get out when all share one account: so the suite can fail.
  bool out_in_one_account = false;
};

/// Subscriptions and requests that it has no grant for: others' events, inboxes, tools, consumers.
[[nodiscard]] std::vector<Attempt> reading_attempts();
/// Allowed requests and publishes whose reply subject points at somebody else's subject.
[[nodiscard]] std::vector<Attempt> redirected_attempts();
/// Headers to which the server gives a meaning.
[[nodiscard]] std::vector<Attempt> header_attempts();
/// Every subject of the JetStream API that creates, changes or removes, and others'
/// acknowledgements.
[[nodiscard]] std::vector<Attempt> api_attempts();
/// Being taken for a node, a tool or a sibling.
[[nodiscard]] std::vector<Attempt> impersonating_attempts();

}  // namespace mesh::test::escape
