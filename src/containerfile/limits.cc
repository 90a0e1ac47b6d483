#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/builder.h"
#include "containerfile/lexer.h"
#include "containerfile/mount_text.h"

namespace mesh::containerfile {

namespace {

constexpr BuilderVersion kHasNetworkOfRun{1, 30};
constexpr BuilderVersion kHasChecksum{1, 33};
constexpr BuilderVersion kHasStartInterval{1, 37};
constexpr BuilderVersion kHasExclude{1, 38};
constexpr BuilderVersion kHasParents{1, 40};

bool reads_context(const Instruction& instruction) {
  if ((instruction.verb == Verb::Copy || instruction.verb == Verb::Add) &&
      instruction.flag("from") == nullptr) {
    return true;
  }
  return std::ranges::any_of(instruction.mounts, [](const Mount& mount) {
    return mount.type == "bind" && mount.from.empty();
  });
}

bool is_octal(std::string_view mode) {
  return !mode.empty() && mode.find_first_not_of("01234567") == std::string_view::npos;
}

class LimitsFinder {
 public:
  LimitsFinder(const File& file, const Resolved& resolved, BuilderVersion version)
      : file_(file), resolved_(resolved), version_(version) {}

  std::vector<Problem> find() {
    for (const auto& directive : file_.directives) {
      if (directive.name == "syntax" && !directive.value.starts_with("docker/dockerfile:1") &&
          !directive.value.starts_with("docker.io/docker/dockerfile:1")) {
        add(false, "syntax-ignored",
            fmt::format("the frontend {} is not run", printable(directive.value, 80)),
            "the file is read by the rules of docker/dockerfile:1", directive.spot);
      }
    }
    for (const auto& stage : file_.stages) {
      if (resolved_.stages[static_cast<std::size_t>(stage.number)].needed) {
        check_stage(stage);
      }
    }
    return std::move(found_);
  }

 private:
  void add(bool error, std::string code, std::string message, std::string hint, Spot spot) {
    found_.push_back({error, std::move(code), std::move(message), std::move(hint), spot});
  }

  void refuse(const std::string& what, std::string hint, Spot spot) {
    add(true, "builder-cannot",
        fmt::format("{} is not understood by buildah {}.{}", what, version_.major, version_.minor),
        std::move(hint), spot);
  }

  void check_stage(const Stage& stage) {
    const auto& base = resolved_.stages[static_cast<std::size_t>(stage.number)].base;
    if (base.kind == Origin::Kind::Stage) {
      for (const auto& instruction :
           file_.stages[static_cast<std::size_t>(base.stage)].instructions) {
        if (instruction.verb == Verb::Onbuild) {
          refuse("ONBUILD of a stage that another is built on",
                 "write the instruction into that stage", instruction.spot);
        }
      }
    }
    for (std::size_t i = 0; i < stage.instructions.size(); ++i) {
      check_instruction(stage, i);
    }
  }

  void check_instruction(const Stage& stage, std::size_t index) {
    const auto& instruction = stage.instructions[index];
    switch (instruction.verb) {
      case Verb::Copy:
      case Verb::Add:
        check_copy(instruction, stage.number);
        break;
      case Verb::Run:
        check_run(stage, index);
        break;
      case Verb::Healthcheck:
        if (const auto* flag = instruction.flag("start-interval");
            flag != nullptr && version_ < kHasStartInterval) {
          refuse("--start-interval", "leave it out, or build with a newer buildah", flag->spot);
        }
        break;
      case Verb::Onbuild:
        if (!instruction.trigger.empty() && !instruction.trigger.front().heredocs.empty()) {
          refuse("a here-document of ONBUILD", "write the lines into a file and COPY it",
                 instruction.spot);
        }
        break;
      default:
        break;
    }
  }

  void check_copy(const Instruction& copy, int stage) {
    for (const auto& flag : copy.flags) {
      if (flag.name == "exclude" && version_ < kHasExclude) {
        refuse("--exclude", "leave the files out with .containerignore, or copy what is wanted",
               flag.spot);
      } else if (flag.name == "parents" && version_ < kHasParents && flag.value != "false") {
        refuse("--parents", "name each folder as the destination of a COPY of its own", flag.spot);
      } else if (flag.name == "checksum" && version_ < kHasChecksum) {
        refuse("--checksum", "fetch and check the file in a RUN", flag.spot);
      } else if (flag.name == "unpack" || flag.name == "keep-git-dir") {
        refuse("--" + flag.name, "fetch and unpack in a RUN", flag.spot);
      } else if (flag.name == "chmod" && flag.value && !is_octal(*flag.value) &&
                 flag.value->find('$') == std::string::npos) {
        refuse("--chmod with letters", "write the mode as a number: --chmod=0755", flag.spot);
      }
    }
    if (const auto* from = copy.flag("from"); from != nullptr && from->value) {
      if (origin_of(file_, copy, *from->value, stage).kind == Origin::Kind::Scratch) {
        add(true, "copy-from-scratch", "COPY --from=scratch copies nothing: scratch is empty",
            "leave it out", from->spot);
      }
    }
    for (std::size_t i = 0; copy.verb == Verb::Add && i + 1 < copy.args.size(); ++i) {
      if (copy.args[i].text.starts_with("git@") || copy.args[i].text.ends_with(".git")) {
        refuse("ADD of a repository", "clone it in a RUN, or make it a part of the context",
               copy.args[i].spot);
      }
    }
  }

  void check_run(const Stage& stage, std::size_t index) {
    const auto& run = stage.instructions[index];
    for (const auto& flag : run.flags) {
      if (flag.name == "network" && flag.value != "default" && version_ < kHasNetworkOfRun) {
        refuse("--network of RUN", "leave it out", flag.spot);
      } else if (flag.name == "security" && flag.value != "sandbox") {
        refuse("--security of RUN", "leave it out", flag.spot);
      } else if (flag.name == "device") {
        refuse("--device of RUN", "leave it out", flag.spot);
      }
    }
    for (const auto& mount : run.mounts) {
      check_mount(stage, index, mount);
    }
    if (!run.heredocs.empty() && run.args.empty()) {
      refuse("a here-document without a command", "write RUN <<EOF", run.spot);
    }
  }

  void check_mount(const Stage& stage, std::size_t index, const Mount& mount) {
    const auto& run = stage.instructions[index];
    const auto spot = run.flags[mount.flag].spot;
    if (std::ranges::binary_search(mount.keys, "env")) {
      refuse("env= of a secret mount", "read the file in the RUN: $(cat /run/secrets/NAME)", spot);
    }
    if (mount.type == "ssh" && mount.required) {
      add(true, "no-ssh-agent", "no ssh agent is handed to a build", "use a build secret", spot);
    }
    if (mount.type.find('$') != std::string::npos) {
      refuse("a variable as the type of a mount", "write the type itself", spot);
    }
    // Of a bind, `rewrite` mounts a copy.
    if (mount.type != "bind" && !mount.from.empty() && !is_whole(mount.source) &&
        version_ < kStaysInside) {
      refuse(
          "a cache that is a part of a stage or image (it would follow a link there to the host)",
          "COPY --from= what is needed", spot);
    }
    if (mount.type == "bind" && mount.from == "scratch") {
      refuse("a mount from scratch", "mount a tmpfs", spot);
    }
    if (mount.type != "bind" || !mount.writable) {
      return;
    }
    if (!mount.from.empty()) {
      refuse("a writable mount of a stage or image (what is written would stay there)",
             "leave rw out, and copy what is changed", spot);
      return;
    }
    if (const int line = next_reader(stage, index); line != 0) {
      refuse(
          fmt::format("a writable mount of the context before line {} reads the context again (it "
                      "would see what is written)",
                      line),
          "leave rw out, and copy what is changed", spot);
    }
  }

  /// The line of what reads the context after that instruction, or 0. Stages are built in their
  /// order.
  [[nodiscard]] int next_reader(const Stage& stage, std::size_t index) const {
    for (auto number = static_cast<std::size_t>(stage.number); number < file_.stages.size();
         ++number) {
      const auto& instructions = file_.stages[number].instructions;
      for (auto next = number == static_cast<std::size_t>(stage.number) ? index + 1 : 0;
           resolved_.stages[number].needed && next < instructions.size(); ++next) {
        if (reads_context(instructions[next])) {
          return instructions[next].spot.line;
        }
      }
    }
    return 0;
  }

  const File& file_;
  const Resolved& resolved_;
  BuilderVersion version_;
  std::vector<Problem> found_;
};

}  // namespace

std::vector<Problem> what_builder_cannot_read(const File& file, const Resolved& resolved,
                                              BuilderVersion version) {
  return LimitsFinder(file, resolved, version).find();
}

}  // namespace mesh::containerfile
