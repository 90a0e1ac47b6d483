#include "controller/build_inputs.h"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/paths.h"
#include "oci/platform.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

using containerfile::Spot;
using model::Problem;
using model::Severity;

/// A path below mesh.toml, tidied; nothing where it leads out.
std::optional<std::string> path_below(const std::string& folder, const std::string& path) {
  const auto tidy = (std::filesystem::path(folder) / path).lexically_normal().generic_string();
  if (tidy == ".." || tidy.starts_with("../") || tidy.starts_with("/")) {
    return std::nullopt;
  }
  return tidy == "." ? std::string() : tidy.ends_with('/') ? tidy.substr(0, tidy.size() - 1) : tidy;
}

/// A rule that leaves a folder out, whatever its name is.
std::string rule_for(const std::string& path) {
  std::string out = "\n/";
  for (const char c : path) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out + "\n";
}

class InputReader {
 public:
  InputReader(const model::Files& files, const Location& location, const BuildSelection& selection,
              BuildInputs& out)
      : files_(files), location_(location), selection_(selection), out_(out) {}

  void read(const model::Module& module, const model::Component& component) {
    component_ = &component;
    BuildInput input;
    input.module = &module;
    input.component = &component;
    const auto& build = *component.build;
    const auto context = path_below(module.path, build.context);
    if (!context) {
      problem("outside-context",
              fmt::format("the build context {} is not below mesh.toml", printable(build.context)),
              "a context is a folder of the directory that holds mesh.toml");
      return;
    }
    if (files_.kind(*context) != model::Files::Kind::Directory) {
      problem("no-context",
              fmt::format("the build context {} is no directory", shown_path(*context)),
              "build = \"PATH\", relative to module.toml");
      return;
    }
    input.context = location_.root + (context->empty() ? "" : "/" + *context);
    if (!is_inside(input.context, module.path)) {
      problem(
          "outside-context",
          fmt::format("the build context {} is a link that leads out of the folder of mesh.toml",
                      printable(build.context)),
          "a context is a folder of the directory that holds mesh.toml");
      return;
    }
    const auto path = find_file(module, build, *context);
    if (!path) {
      return;
    }
    input.path = *path;
    input.shown = std::make_shared<const std::string>(shown_path(*path));
    if (!read_file(input) || !read_ignore(input, *context)) {
      return;
    }
    resolve_all(input);
    out_.inputs.push_back(std::move(input));
  }

 private:
  /// Whether a folder is, by its links, below mesh.toml, or in the module's folder where that one
  /// is a link itself.
  [[nodiscard]] bool is_inside(const std::string& folder, const std::string& module) const {
    const auto inside = [&](const std::string& parent) {
      std::error_code error;
      const auto real = std::filesystem::canonical(folder, error);
      const auto top = error ? std::filesystem::path() : std::filesystem::canonical(parent, error);
      return !error && std::ranges::mismatch(top, real).in1 == top.end();
    };
    return inside(location_.root) || inside(location_.root + "/" + module);
  }

  [[nodiscard]] std::string shown_path(const std::string& path) const {
    return path.empty() ? "." : location_.shown_prefix + path;
  }

  void problem(std::string code, std::string message, std::string hint) {
    out_.problems.push_back(
        {Severity::Error, std::move(code), std::move(message), std::move(hint), component_->place});
  }

  std::optional<std::string> find_file(const model::Module& module, const model::Build& build,
                                       const std::string& context) {
    if (build.containerfile) {
      auto path = path_below(module.path, *build.containerfile);
      if (!path || files_.kind(*path) != model::Files::Kind::File) {
        problem("no-containerfile",
                fmt::format("there is no Containerfile {}", printable(*build.containerfile)),
                "containerfile = \"PATH\", relative to module.toml and below mesh.toml");
        return std::nullopt;
      }
      return path;
    }
    for (const char* name : {"Containerfile", "Dockerfile"}) {
      auto path = model::join_path(context, name);
      if (files_.kind(path) == model::Files::Kind::File) {
        return path;
      }
    }
    problem("no-containerfile",
            fmt::format("{} has no Containerfile and no Dockerfile", shown_path(context)),
            "write one there, or say where it is: build = { context = \".\", containerfile = "
            "\"PATH\" }");
    return std::nullopt;
  }

  bool read_file(BuildInput& input) {
    auto bytes = files_.read(input.path);
    if (!bytes) {
      problem("no-containerfile", bytes.error().message, bytes.error().hint);
      return false;
    }
    input.bytes = std::move(*bytes);
    input.file = containerfile::parse(input.bytes);
    add(input, input.file.problems);
    return true;
  }

  void add(const BuildInput& input, const std::vector<containerfile::Problem>& problems) {
    for (const auto& one : problems) {
      out_.problems.push_back({one.error ? Severity::Error : Severity::Warning, one.code,
                               one.message, one.hint, input.place(one.spot)});
    }
  }

  bool read_ignore(BuildInput& input, const std::string& context) {
    std::string text;
    const auto folder = std::filesystem::path(input.path).parent_path().generic_string();
    const auto name = std::filesystem::path(input.path).filename().string();
    for (const auto& candidate : containerfile::ignore_files(name)) {
      const auto path = model::join_path(candidate.in_context ? context : folder, candidate.name);
      if (files_.kind(path) != model::Files::Kind::File) {
        continue;
      }
      auto bytes = files_.read(path);
      if (!bytes) {
        problem("bad-ignore-file", bytes.error().message, bytes.error().hint);
        return false;
      }
      text = std::move(*bytes);
      std::vector<containerfile::Problem> problems;
      (void)containerfile::read_ignore_rules(text, problems);
      const auto shown = std::make_shared<const std::string>(shown_path(path));
      for (const auto& one : problems) {
        out_.problems.push_back({Severity::Error, one.code, one.message, one.hint,
                                 Place{shown, one.spot.line, one.spot.column}});
      }
      break;
    }
    std::vector<containerfile::Problem> reported;
    input.ignore = containerfile::read_ignore_rules(text + state_rule(input.context), reported);
    return true;
  }

  /// The last rule: keys and secrets are no part of an image, whatever the operator's rules say.
  [[nodiscard]] std::string state_rule(const std::string& context) const {
    const auto inside =
        std::filesystem::path(location_.state).lexically_relative(context).generic_string();
    return inside.empty() || inside.starts_with("..") || inside == "." ? std::string()
                                                                       : rule_for(inside);
  }

  void resolve_all(BuildInput& input) {
    const auto& build = *input.component->build;
    std::vector<std::string> platforms;
    for (const auto& text : build.platforms) {
      const auto platform = oci::parse_platform(text);
      if (!platform) {
        problem("bad-platform", platform.error().message, platform.error().hint);
      } else if (std::ranges::find(platforms, platform->text()) == platforms.end()) {
        platforms.push_back(platform->text());
      }
    }
    if (platforms.empty()) {
      platforms = platforms_of_nodes(*input.module);
    }
    for (const auto& platform : platforms) {
      input.platforms.push_back(containerfile::resolve(
          input.file,
          {build.target.value_or(""), build.args, platform, selection_.build_platform}));
      if (input.platforms.size() == 1 || input.platforms.front().problems.empty()) {
        add(input, input.platforms.back().problems);
      }
      if (!build.platforms.empty()) {
        check_platform(input, input.platforms.back());
      }
    }
  }

  /// What its nodes run on, sorted; this machine's where that is not known.
  [[nodiscard]] std::vector<std::string> platforms_of_nodes(const model::Module& module) const {
    std::set<std::string> out;
    for (const auto& node : module.on) {
      const auto found = selection_.node_platforms.find(node.text());
      const auto known = found == selection_.node_platforms.end()
                             ? Result<oci::Platform>(fail(Code::NotFound, "not known"))
                             : oci::parse_platform(found->second);
      out.insert(known ? known->text() : selection_.build_platform);
    }
    if (out.empty()) {
      out.insert(selection_.build_platform);
    }
    return {out.begin(), out.end()};
  }

  /// Where the component says what it is built for, the last FROM must not say otherwise.
  void check_platform(const BuildInput& input, const containerfile::Resolved& resolved) {
    if (resolved.target < 0 || resolved.platform() == resolved.settings.platform) {
      return;
    }
    const auto& from = input.file.stages[static_cast<std::size_t>(resolved.target)].from;
    out_.problems.push_back({Severity::Error, "other-platform",
                             fmt::format("the image would be of {}, and `platforms` asks for {}",
                                         resolved.platform(), resolved.settings.platform),
                             "take --platform from this FROM, or name that platform alone",
                             input.place(from.spot)});
  }

  const model::Files& files_;
  const Location& location_;
  const BuildSelection& selection_;
  BuildInputs& out_;
  const model::Component* component_ = nullptr;
};

/// Whether the kernel has been told how to run programs of that architecture.
bool can_emulate(const oci::Platform& platform) {
  const std::string arch = platform.architecture == "arm64"   ? "aarch64"
                           : platform.architecture == "amd64" ? "x86_64"
                           : platform.architecture == "386"   ? "i386"
                                                              : platform.architecture;
  const auto entry = os::read_file("/proc/sys/fs/binfmt_misc/qemu-" + arch, 4096);
  return entry && entry->starts_with("enabled");
}

void check_runs(const BuildInput& input, const containerfile::Resolved& resolved,
                std::vector<Problem>& out) {
  const auto machine = oci::parse_platform(resolved.settings.build_platform);
  for (const auto& stage : input.file.stages) {
    const auto& at = resolved.stages[static_cast<std::size_t>(stage.number)];
    const auto platform = oci::parse_platform(at.platform);
    if (!at.needed || !platform || !machine || oci::runs_on(*platform, *machine) ||
        can_emulate(*platform)) {
      continue;
    }
    const auto run = std::ranges::find(stage.instructions, containerfile::Verb::Run,
                                       &containerfile::Instruction::verb);
    if (run != stage.instructions.end()) {
      out.push_back({Severity::Error, "foreign-platform",
                     fmt::format("this machine ({}) cannot run what is of {}", machine->text(),
                                 platform->text()),
                     "apt install qemu-user-static, or do the RUN in a stage of FROM "
                     "--platform=$BUILDPLATFORM",
                     input.place(run->spot)});
    }
  }
}

}  // namespace

std::string BuildInput::name() const {
  return module->name.text() + "/" + component->name.text();
}

Place BuildInput::place(Spot spot) const {
  return {shown, spot.line, spot.column};
}

BuildInputs read_build_inputs(const model::Mesh& mesh, const model::Files& files,
                              const Location& location, const BuildSelection& selection) {
  BuildInputs out;
  InputReader reader(files, location, selection, out);
  for (const auto& module : mesh.modules) {
    const bool chosen =
        selection.modules.empty() ||
        std::ranges::find(selection.modules, module.name.text()) != selection.modules.end();
    for (const auto& component : module.file->components) {
      if (chosen && component.build) {
        reader.read(module, component);
      }
    }
  }
  // Modules of one path report the same of the same file.
  std::set<std::string> seen;
  std::erase_if(out.problems,
                [&](const Problem& one) { return !seen.insert(model::to_text(one)).second; });
  return out;
}

std::vector<Problem> check_builder(const std::vector<BuildInput>& inputs,
                                   containerfile::BuilderVersion version) {
  std::vector<Problem> out;
  for (const auto& input : inputs) {
    for (const auto& resolved : input.platforms) {
      if (&resolved == &input.platforms.front()) {
        for (const auto& one :
             containerfile::what_builder_cannot_read(input.file, resolved, version)) {
          out.push_back({one.error ? Severity::Error : Severity::Warning, one.code, one.message,
                         one.hint, input.place(one.spot)});
        }
      }
      check_runs(input, resolved, out);
    }
  }
  return out;
}

std::string machine_platform() {
  utsname name{};
  ::uname(&name);
  const auto platform = oci::parse_platform(fmt::format("linux/{}", name.machine));
  return platform ? platform->text() : "linux/amd64";
}

Result<std::map<std::string, std::string>> node_platforms(inventory::Inventory& inventory) {
  MESH_TRY(const auto nodes, inventory.nodes());
  std::map<std::string, std::string> out;
  for (const auto& node : nodes) {
    if (node.key && !node.platform.empty()) {
      out[node.name] = node.platform;
    }
  }
  return out;
}

}  // namespace mesh::controller
