// mesh-host: the agent of one node.

#include <sodium.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "base/version.h"
#include "declaration/token.h"
#include "host/agent.h"
#include "host/identity.h"
#include "host/keeper.h"

namespace mesh::host {
namespace {

constexpr const char* kUsage = R"(usage: mesh-host VERB [OPTIONS]

  join TOKEN|-     becomes the node that `mesh node add` named; `-` reads the token from stdin
  run              hears the declaration and keeps the machine at it, until SIGTERM (modules stay)
  stop --all       stops and removes all that runs here, without its graces where --now; volumes
                   stay unless --volumes
  show             which node of which mesh this machine is, as JSON

  --state DIR      default /var/lib/mesh-host
  --config FILE    what this machine allows; default /etc/mesh/host.toml
  --engine SOCKET  of the container engine; default podman's, then docker's
  --timeout TIME   of join, in seconds; default 60
  --checkout DIR   where mesh.toml is on this machine: commands run in their modules' folders
  --allow-run      where there is no config: commands may run on the machine itself

example: echo "$TOKEN" | mesh-host join - && mesh-host run
exit codes: 0 done, 1 failed, 64 usage, 65 an invalid file or token, 69 the bus is out of reach, 130
)";

struct CommandLine {
  std::string verb;
  std::vector<std::string> words;
  AgentOptions agent;
  os::Milliseconds timeout{60'000};
  bool all = false;
  StopAll stop;
};

Result<CommandLine> parse(std::span<char*> arguments) {
  CommandLine out;
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string word = arguments[at];
    const auto value = [&]() -> Result<std::string> {
      if (at + 1 == arguments.size()) {
        return fail(Code::Usage, word + " takes a value");
      }
      return std::string(arguments[++at]);
    };
    if (word == "--state") {
      MESH_TRY(out.agent.state, value());
    } else if (word == "--config") {
      MESH_TRY(out.agent.config, value());
    } else if (word == "--engine") {
      MESH_TRY(out.agent.engine, value());
    } else if (word == "--checkout") {
      MESH_TRY(out.agent.checkout, value());
    } else if (word == "--timeout") {
      MESH_TRY(const auto seconds, value());
      if (seconds.empty() || seconds.size() > 6 ||
          seconds.find_first_not_of("0123456789") != std::string::npos) {
        return fail(Code::Usage, "--timeout takes seconds");
      }
      out.timeout = std::chrono::seconds{std::stol(seconds)};
    } else if (word == "--allow-run") {
      out.agent.allow_run = true;
    } else if (word == "--all") {
      out.all = true;
    } else if (word == "--volumes") {
      out.stop.volumes = true;
    } else if (word == "--now") {
      out.stop.now = true;
    } else if (word == "--help" || word == "--version") {
      out.verb = word;
      return out;
    } else if (word.starts_with("--")) {
      return fail(Code::Usage, "there is no option " + printable(word));
    } else if (out.verb.empty()) {
      out.verb = word;
    } else {
      out.words.push_back(word);
    }
  }
  return out;
}

Result<declaration::Token> given_token(const CommandLine& line) {
  if (line.words.size() != 1) {
    return fail(Code::Usage, "join takes the token, or `-`");
  }
  if (line.words.front() != "-") {
    return declaration::read_token(line.words.front());
  }
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  auto token = declaration::read_token(text);
  secrets::wipe(text);
  return token;
}

Status join(const CommandLine& line, const os::Interrupt& interrupt, const os::Clock& clock,
            os::Random& random) {
  MESH_TRY(const auto token, given_token(line));
  MESH_CHECK(begin_join(line.agent.state, token, clock, random));
  MESH_TRY(const auto agent, Agent::open(line.agent, clock, random));
  MESH_CHECK(agent->join(interrupt, line.timeout));
  fmt::print("{} has joined mesh {}: `mesh-host run` keeps it at its declaration\n", token.node,
             token.mesh);
  return {};
}

/// Who this machine is, without what it keeps to itself.
Status show(const std::string& state) {
  MESH_TRY(const auto identity, read_identity(state));
  const nlohmann::json document = {{"mesh", identity.mesh},
                                   {"node", identity.node},
                                   {"key", base64(identity.key.public_key().bytes())},
                                   {"joined", identity.joined}};
  fmt::print("{}\n", document.dump());
  return {};
}

Status do_verb(const CommandLine& line, const os::Interrupt& interrupt) {
  const os::SystemClock clock;
  os::SystemRandom random;
  if (line.verb == "join") {
    return join(line, interrupt, clock, random);
  }
  if (line.verb == "run" && line.words.empty()) {
    MESH_TRY(const auto agent, Agent::open(line.agent, clock, random));
    return agent->run(interrupt);
  }
  if (line.verb == "stop" && line.all && line.words.empty()) {
    MESH_TRY(const auto agent, Agent::open(line.agent, clock, random));
    return agent->stop_all(line.stop);
  }
  if (line.verb == "show" && line.words.empty()) {
    return show(line.agent.state);
  }
  return fail(Code::Usage,
              line.verb.empty()     ? "a verb is missing"
              : line.verb == "stop" ? "stop takes --all"
                                    : "there is no verb " + printable(line.verb),
              "`mesh-host --help` shows them");
}

int exit_code_of(Code code) {
  switch (code) {
    case Code::Usage:
      return 64;
    case Code::InvalidArgument:
    case Code::Corrupt:
      return 65;
    case Code::Unavailable:
      return 69;
    case Code::Interrupted:
      return 130;
    default:
      return 1;
  }
}

int main_of(std::span<char*> arguments) {
  if (arguments.size() == 3 && std::string_view(arguments[1]) == "keep") {
    return keep(arguments[2]);
  }
  auto line = parse(arguments);
  if (line && line->verb == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (line && line->verb == "--version") {
    fmt::print("mesh-host {}\n", MESH_VERSION);
    return 0;
  }
  Status done = line ? Status() : Status(std::unexpected(line.error()));
  if (done) {
    static os::Interrupt interrupt;
    os::watch_signals(interrupt, os::OnSignal::Request);
    line->agent.say = [](std::string_view text) {
      fmt::print(stderr, "{}\n", printable(text, 2000));
      std::fflush(stderr);
    };
    done = ::sodium_init() < 0 ? Status(fail(Code::Internal, "libsodium does not start"))
                               : do_verb(*line, interrupt);
  }
  if (!done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    if (!done.error().hint.empty()) {
      fmt::print(stderr, "hint: {}\n", done.error().hint);
    }
    return exit_code_of(done.error().code);
  }
  return 0;
}

}  // namespace
}  // namespace mesh::host

int main(int count, char** arguments) {
  return mesh::host::main_of({arguments, static_cast<std::size_t>(count)});
}
