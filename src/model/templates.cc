#include "model/templates.h"

#include <fmt/format.h>

#include "model/names.h"

namespace mesh::model {

namespace {

constexpr std::string_view kMeshToml =
    R"(# What this mesh is made of. `mesh check` says what is wrong, `mesh grants` who may say and hear
# what, `mesh up` starts it all on this machine.
mesh = "{}"

# Machines. Another is another table, [nodes.two].
[nodes.one]

# Modules: a folder with a module.toml each, and the nodes they run on.
[modules.greeter]
path = "modules/greeter"
on = ["one"]

[modules.listener]
path = "modules/listener"
on = ["one"]
)";

constexpr std::string_view kGreeter = R"(description = "Greets whoever is there"
emits = ["greeted"]

[components.main]
run = ["sh", "main.sh"]
)";

constexpr std::string_view kListener = R"(description = "Hears the greetings"
consumes = ["greeter.greeted"]

[components.main]
run = ["sh", "main.sh"]
)";

constexpr std::string_view kScript =
    R"(# A place for your own program: replace `run` in module.toml with what starts it. Any NATS client
# will do; all that it needs to know is in its environment.
echo "$MESH_MODULE on $MESH_NODE: the bus is at $MESH_BUS, my user is $MESH_USER"
if [ -n "$MESH_CONSUMER" ]; then
  echo "my events wait in the consumer $MESH_CONSUMER"
fi
trap 'echo "asked to stop"; exit 0' TERM INT
while :; do
  sleep 1 &
  wait $!
done
)";

}  // namespace

std::vector<TemplateFile> starting_mesh(std::string_view mesh_name) {
  return {{"mesh.toml", fmt::format(fmt::runtime(kMeshToml), mesh_name)},
          {"modules/greeter/main.sh", std::string(kScript)},
          {"modules/greeter/module.toml", std::string(kGreeter)},
          {"modules/listener/main.sh", std::string(kScript)},
          {"modules/listener/module.toml", std::string(kListener)}};
}

std::string mesh_name_from(std::string_view directory_name) {
  const auto name = nearest_valid_name(directory_name);
  return name.empty() ? "home" : name;
}

}  // namespace mesh::model
