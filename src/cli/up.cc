#include "controller/up.h"

#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"
#include "controller/bring_images.h"
#include "controller/controller.h"

namespace mesh::cli {

namespace {

constexpr os::Milliseconds kUpTimeout{600'000};
constexpr os::Milliseconds kDetachedTimeout{120'000};
constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

/// The command that is this one in the foreground, quiet about what the components print; its
/// stdout has its error, as a document.
std::vector<std::string> foreground(const Declarations& declared, bool yes,
                                    const std::optional<std::string>& engine) {
  std::vector<std::string> argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                   "-C",
                                   declared.location.root,
                                   "--state",
                                   declared.location.state,
                                   "up",
                                   "--quiet",
                                   "--json"};
  if (yes) {
    argv.emplace_back("--yes");
  }
  if (engine) {
    argv.insert(argv.end(), {"--engine", *engine});
  }
  return argv;
}

Outcome came_up(const controller::RunState& state) {
  Outcome outcome;
  auto nodes = Json::array();
  for (const auto& one : state.nodes) {
    nodes.push_back({{"name", one.name}, {"state", one.state}});
  }
  outcome.document = Json{{"number", state.number}, {"nodes", nodes}};
  outcome.text = fmt::format("push {} is up on {}; `mesh down` ends it\n", state.number,
                             counted(state.nodes.size(), "node"));
  return outcome;
}

/// Brings what the components run, with progress on the terminal. `context`, `declared` and `state`
/// are borrowed.
std::function<Result<std::vector<inventory::PushImage>>(controller::Steps&)> bringing(
    Context& context, const Declarations& declared, inventory::State& state) {
  return [&](controller::Steps& steps) {
    MirrorProgress progress(context);
    const registry::Services services{context.clock, context.random, context.variable};
    auto images = controller::bring_images(state, declared.location, declared.mesh(),
                                           {services, progress}, steps);
    progress.clear();
    return images;
  };
}

controller::AskForImages asking(Context& context, const Declarations& declared,
                                inventory::State& state) {
  return [&](const std::vector<inventory::PushImage>& images) {
    return controller::images_gone(state, declared.mesh(), declared.location.root, images,
                                   {context.clock, context.random, context.variable},
                                   context.interrupt.descriptor());
  };
}

/// Where one is up already, what is declared now is pushed to it.
Result<std::int64_t> push_to_running(Context& context, const Declarations& declared,
                                     inventory::State& state, bool yes) {
  controller::OperatorSteps steps(context.interrupt, context.timeout.value_or(kUpTimeout),
                                  [&](std::string_view line) { context.say(line); });
  controller::PushOptions options;
  options.verb = "up";
  options.yes = yes;
  options.by = controller::operator_name();
  options.bring_images = bringing(context, declared, state);
  options.ask_for_images = asking(context, declared, state);
  MESH_TRY(const auto report, controller::push(state, declared.location, declared.reading, options,
                                               {context.clock, context.random}, steps));
  return report.number;
}

Result<Outcome> detach(Context& context, const Declarations& declared, inventory::State& state,
                       bool yes, const std::optional<std::string>& engine) {
  MESH_TRY(const auto running, controller::read_run_state(state.paths));
  std::optional<controller::DetachedUp> start;
  std::int64_t number = 0;
  if (running) {
    context.say(fmt::format("up already, process {}: pushing to it", running->mark.pid));
    MESH_TRY(number, push_to_running(context, declared, state, yes));
  } else {
    context.interrupt.finish_in_order();  // it has others to end
    start =
        controller::DetachedUp{foreground(declared, yes, engine), state.paths.run() + "/up.log"};
  }
  MESH_TRY(const auto up,
           controller::up_detached(state.paths, start, number,
                                   context.timeout.value_or(kDetachedTimeout), context.interrupt));
  return came_up(up);
}

Result<Outcome> run_up_verb(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  const bool yes = arguments.flag("--yes");
  auto engine = arguments.value("--engine");
  if (engine) {
    engine = context.absolute(*engine);
  }
  if (arguments.flag("--detach")) {
    return detach(context, declared, state, yes, engine);
  }
  const bool quiet = arguments.flag("--quiet");
  std::mutex console;  // components' lines come from a thread of their own
  const auto say = [&](std::string_view line) {
    const std::lock_guard lock(console);
    context.say(line);
  };
  controller::UpOptions options;
  options.yes = yes;
  options.push_timeout = context.timeout.value_or(kUpTimeout);
  options.engine = engine.value_or("");
  options.bring_images = bringing(context, declared, state);
  options.ask_for_images = asking(context, declared, state);
  options.say = say;
  if (!quiet) {
    options.on_line = [&](const std::string& unit, std::string_view line) {
      const auto text = fmt::format("{} | {}\n", unit, printable(line, kLongestLine));
      const std::lock_guard lock(console);
      if (context.json) {
        context.console.err(text);
      } else {
        (void)context.console.out(text).has_value();  // a terminal that is gone stops no module
      }
    };
  }
  MESH_CHECK(controller::run_up(state, declared.location, declared.reading, options,
                                {context.clock, context.random}, context.interrupt));
  return Outcome{};
}

Result<Outcome> run_down(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto location, locate(context));
  Outcome outcome;
  bool ended = false;
  if (inventory::state_exists(location.state)) {
    MESH_TRY(ended,
             controller::down(inventory::StatePaths(location.state), arguments.flag("--volumes"),
                              context.timeout.value_or(kUpTimeout)));
  }
  outcome.document = Json{{"ended", ended}};
  outcome.text = ended ? "ended\n" : "nothing runs\n";
  return outcome;
}

}  // namespace

Verb up_verb() {
  return {{.name = "up",
           .summary = "the whole mesh on this machine, until Ctrl-C",
           .example = "mesh up\nmesh up --detach",
           .positionals = {},
           .options = {{"--detach", "", "return when all is as declared; `mesh down` ends it"},
                       {"--engine", "SOCKET",
                        "of the container engine; default podman's, then docker's"},
                       {"--yes", "", "also replace or remove what holds messages"},
                       {"--quiet", "", "do not show what the components print"}},
           .ends_itself = true},
          run_up_verb};
}

Verb down_verb() {
  return {{.name = "down",
           .summary = "ends what `mesh up` or `mesh controller` runs",
           .example = "mesh down",
           .positionals = {},
           .options = {{"--volumes", "", "also remove the volumes, with all that is in them"}}},
          run_down};
}

}  // namespace mesh::cli
