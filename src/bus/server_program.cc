#include "bus/server_program.h"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "os/process.h"
#include "os/programs.h"

namespace mesh::bus {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = "nats-server";
constexpr std::string_view kHint =
    "install nats-server 2.10 or later, or name one as program in [bus] of mesh.toml";

os::RunOptions run_options(std::vector<std::string> argv, os::Milliseconds timeout) {
  os::RunOptions options;
  options.spawn.argv = std::move(argv);
  options.timeout = timeout;
  return options;
}

Result<ServerProgram> find_named(const std::string& program, os::Milliseconds within) {
  const std::string path =
      program.find('/') == std::string::npos ? os::program_on_path(program) : program;
  if (!os::is_program(path)) {
    return fail(Code::NotFound, fmt::format("there is no program {}", printable(program)),
                "[bus] program must be the path of a nats-server");
  }
  return examine_server(path, within);
}

/// The server's output without the name of the program, its last not empty line, and the place that
/// it names: `file:line:column: text` or `Parse error on line 4: …`.
Error read_refusal(const std::string& output, const fs::path& config) {
  std::string said;
  for (const std::string_view line : split(output, '\n')) {
    if (!line.empty()) {
      said = line;
    }
  }
  constexpr std::string_view kPrefix = "nats-server: ";
  if (said.starts_with(kPrefix)) {
    said.erase(0, kPrefix.size());
  }
  Error error{Code::InvalidArgument, {}, {}, {}};
  error.place.file = std::make_shared<const std::string>(config.string());
  const std::string file = config.string() + ":";
  constexpr std::string_view kParse = "Parse error on line ";
  std::string_view rest = said;
  if (said.starts_with(file)) {
    rest.remove_prefix(file.size());
    const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), error.place.line);
    rest.remove_prefix(static_cast<std::size_t>(end.ptr - rest.data()));
    if (rest.starts_with(':')) {
      rest.remove_prefix(1);
      const auto last = std::from_chars(rest.data(), rest.data() + rest.size(), error.place.column);
      rest.remove_prefix(static_cast<std::size_t>(last.ptr - rest.data()));
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  } else if (said.starts_with(kParse)) {
    rest.remove_prefix(kParse.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), error.place.line);
    rest = said;
  }
  error.message = with_words("nats-server refuses the configuration", rest, 2000);
  return error;
}

}  // namespace

Result<ServerProgram> examine_server(const fs::path& program, os::Milliseconds within) {
  MESH_TRY(const os::RunResult said, os::run(run_options({program.string(), "-v"}, within)));
  const auto version = parse_version(said.out);
  if (!said.status.ok() || !version || said.out.find(kProgram) == std::string::npos) {
    return fail(Code::Unsupported,
                with_words(fmt::format("{} is not a nats-server: `-v` ended with {}",
                                       program.string(), said.status.text()),
                           said.out + said.err),
                std::string(kHint));
  }
  if (*version < kOldestServer) {
    return fail(Code::Unsupported,
                fmt::format("{} is nats-server {}, too old: before 2.10 it ignores a consumer's "
                            "filters and loses answers in a reload",
                            program.string(), version->text()),
                std::string(kHint));
  }
  return ServerProgram{program, *version};
}

Result<ServerProgram> find_server(const std::optional<std::string>& program,
                                  const fs::path& executable_directory, os::Milliseconds within) {
  if (program) {
    return find_named(*program, within);
  }
  Result<ServerProgram> found =
      fail(Code::NotFound, "there is no nats-server beside mesh nor on PATH", std::string(kHint));
  for (const fs::path& candidate :
       {(executable_directory / ".." / "tools" / kProgram).lexically_normal(),
        fs::path(os::program_on_path(kProgram))}) {
    if (!os::is_program(candidate.string())) {
      continue;
    }
    auto examined = examine_server(candidate, within);
    if (examined) {
      return examined;
    }
    found = std::move(examined);
  }
  return found;
}

Result<Proof> prove_config(const fs::path& program, const fs::path& config,
                           os::Milliseconds timeout) {
  MESH_TRY(const os::RunResult said,
           os::run(run_options({program.string(), "-t", "-c", config.string()}, timeout)));
  const std::string output = said.out + said.err;
  if (!said.status.ok()) {
    return std::unexpected(read_refusal(output, config));
  }
  constexpr std::string_view kDigest = "(sha256:";
  const std::size_t at = output.rfind(kDigest);
  Proof proof;
  if (at != std::string::npos) {
    const std::size_t end = output.find(')', at);
    proof.digest = output.substr(at + 1, end == std::string::npos ? end : end - at - 1);
  }
  return proof;
}

}  // namespace mesh::bus
