#include "cli/verbs.h"

namespace mesh::cli {

std::vector<Verb> all_verbs() {
  return {
      check_verb(),      grants_verb(),   bus_config_verb(), plan_verb(),    push_verb(),
      controller_verb(), call_verb(),     tap_verb(),        status_verb(),  history_verb(),
      secret_verb(),     env_verb(),      backup_verb(),     restore_verb(), completion_verb(),
      help_verb(),       complete_verb(),
  };
}

const std::vector<std::pair<std::string, std::string>>& later_verbs() {
  static const std::vector<std::pair<std::string, std::string>> kLater = {
      {"rollback", "back to an earlier push"},
      {"mirror", "copies images into the mesh's registry"},
      {"build", "builds the modules' images"},
      {"registry", "looks after the registry's images"},
      {"logs", "what modules print"},
      {"lint", "reads a hand-written nats.conf and says what is wrong with it"},
      {"import", "brings a hand-written setup under Mesh"},
      {"node", "adds, removes and lists machines"},
      {"credential", "replaces and exports credentials"},
      {"parked", "messages and work that failed for good"},
  };
  return kLater;
}

}  // namespace mesh::cli
