#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/context.h"
#include "cli/outcome.h"

namespace mesh::cli {

/// A verb: what it takes, and what it does. An error becomes the error document and its exit code.
struct Verb {
  VerbSpec spec;
  std::function<Result<Outcome>(Context&, const Arguments&)> run;
};

/// Every verb of this version, in the order in which help shows them. A new verb is a file of this
/// folder, a line here and a line in verbs.cc.
[[nodiscard]] std::vector<Verb> all_verbs();

/// Verbs that are named in the documentation and come with a later version: name and summary.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& later_verbs();

Verb init_verb();
Verb check_verb();
Verb grants_verb();
Verb who_verb();
Verb explain_verb();
Verb bus_config_verb();
Verb env_verb();
Verb secret_verb();
Verb plan_verb();
Verb push_verb();
Verb mirror_verb();
Verb registry_verb();
Verb build_verb();
Verb controller_verb();
Verb up_verb();
Verb down_verb();
Verb call_verb();
Verb tap_verb();
Verb status_verb();
Verb doctor_verb();
Verb history_verb();
Verb rollback_verb();
Verb logs_verb();
Verb node_verb();
Verb backup_verb();
Verb restore_verb();
Verb completion_verb();
Verb complete_verb();
Verb help_verb();

}  // namespace mesh::cli
