#include "registry/server_program.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "os/process.h"
#include "os/programs.h"

namespace mesh::registry {
namespace {

constexpr os::Milliseconds kVersionWithin{10'000};
constexpr std::string_view kProgramHint =
    "install docker-registry (Debian's package, or the distribution project's registry 2.7 or "
    "later), or use an external one: server = \"external\" in [registry] of mesh.toml";

/// `docker-registry github.com/docker/distribution 2.8.2+ds1`: the last word, since the first may
/// be a path with digits in it.
std::optional<Version> version_of(std::string_view said) {
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) {
    said.remove_suffix(1);
  }
  const auto space = said.rfind(' ');
  return said.find("distribution") == std::string_view::npos || space == std::string_view::npos
             ? std::nullopt
             : parse_version(said.substr(space));
}

}  // namespace

Result<RegistryProgram> examine_registry(const std::string& program) {
  os::RunOptions options;
  options.spawn.argv = {program, "--version"};
  options.timeout = kVersionWithin;
  MESH_TRY(const os::RunResult said, os::run(options));
  const auto version = version_of(said.out);
  if (!said.status.ok() || !version) {
    return fail(Code::Unsupported,
                with_words(program + " is no registry of the distribution project",
                           said.out + said.err, 200),
                std::string(kProgramHint));
  }
  if (*version < kOldestRegistry) {
    return fail(Code::Unsupported,
                fmt::format("{} is registry {}, too old: before 2.7 it knows no OCI images",
                            program, version->text()),
                std::string(kProgramHint));
  }
  return RegistryProgram{program, *version};
}

Result<RegistryProgram> find_registry(const std::string& executable_directory) {
  Result<RegistryProgram> found =
      fail(Code::NotFound, "there is no docker-registry beside mesh nor on PATH",
           std::string(kProgramHint));
  const auto beside = std::filesystem::path(executable_directory) / "../tools/docker-registry";
  for (const std::string& candidate :
       {beside.lexically_normal().string(), os::program_on_path("docker-registry"),
        os::program_on_path("registry")}) {
    if (!os::is_program(candidate)) {
      continue;
    }
    auto examined = examine_registry(candidate);
    if (examined) {
      return examined;
    }
    found = std::move(examined);
  }
  return found;
}

}  // namespace mesh::registry
