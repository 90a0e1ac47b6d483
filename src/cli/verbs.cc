#include "cli/verbs.h"

namespace mesh::cli {

std::vector<Verb> all_verbs() {
  // clang-format off: a line for each verb
  return {
      init_verb(),
      check_verb(),
      plan_verb(),
      push_verb(),
      mirror_verb(),
      build_verb(),
      registry_verb(),
      up_verb(),
      down_verb(),
      controller_verb(),
      status_verb(),
      doctor_verb(),
      call_verb(),
      tap_verb(),
      history_verb(),
      rollback_verb(),
      logs_verb(),
      node_verb(),
      grants_verb(),
      who_verb(),
      explain_verb(),
      bus_config_verb(),
      env_verb(),
      secret_verb(),
      backup_verb(),
      restore_verb(),
      completion_verb(),
      help_verb(),
      complete_verb(),
  };
  // clang-format on
}

const std::vector<std::pair<std::string, std::string>>& later_verbs() {
  static const std::vector<std::pair<std::string, std::string>> kLater = {
      {"lint", "reads a hand-written nats.conf and says what is wrong with it"},
      {"import", "brings a hand-written setup under Mesh"},
      {"credential", "replaces and exports credentials"},
      {"parked", "messages and work that failed for good"},
  };
  return kLater;
}

}  // namespace mesh::cli
