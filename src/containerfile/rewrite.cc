#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "containerfile/builder.h"
#include "containerfile/lines.h"
#include "containerfile/mount_text.h"
#include "containerfile/spelling.h"
#include "containerfile/variables.h"
#include "containerfile/words.h"

namespace mesh::containerfile {

namespace {

/// Where a here-document that is a program of its own is mounted.
constexpr std::string_view kScripts = "/run/mesh-files";
/// What a copy for a mount is called.
constexpr std::string_view kCopied = "/m";
/// buildah reads words with this escape character, whatever `# escape=` says.
constexpr char kEscape = '\\';

struct StageState {
  std::optional<std::map<std::string, std::string>> env{};
  std::vector<std::string> shell{"/bin/sh", "-c"};
};

class Rewriter {
 public:
  Rewriter(const File& file, const Resolved& resolved, const Pins& pins, const ContextPaths& paths,
           BuilderVersion version)
      : file_(file),
        resolved_(resolved),
        pins_(pins),
        paths_(paths),
        version_(version),
        states_(file.stages.size()) {}

  Result<Rewritten> run() {
    for (const auto& instruction : file_.globals) {
      write_globals(instruction);
    }
    for (const auto& stage : file_.stages) {
      if (resolved_.stages[static_cast<std::size_t>(stage.number)].needed) {
        MESH_CHECK(write_stage(stage));
      }
    }
    if (broken_ != 0) {
      return std::unexpected(refused({Code::InvalidArgument,
                                      "a value that is put in here has several lines",
                                      "give it in an ENV or a file",
                                      {}},
                                     {broken_, 1})
                                 .error());
    }
    out_.target = stage_name(resolved_.target);
    return std::move(out_);
  }

 private:
  /// A line of the builder's file, which stands for line `of` of the operator's.
  void line(const std::string& text, int of) {
    if (text.find('\n') != std::string::npos && broken_ == 0) {
      broken_ = of;
    }
    out_.text += text + "\n";
    out_.lines.push_back(of);
  }

  Status refused(const Error& error, Spot spot) {
    return fail(error.code, error.message, error.hint, Place{nullptr, spot.line, spot.column});
  }

  /// Global arguments with the values that they have; the FROM lines no longer need them.
  void write_globals(const Instruction& instruction) {
    for (const auto& arg : instruction.args) {
      const auto name = arg.text.substr(0, arg.text.find('='));
      const auto value = resolved_.globals.find(name);
      line(value == resolved_.globals.end() || resolved_.settings.args.contains(name)
               ? "ARG " + name
               : fmt::format("ARG {}={}", name, in_quotes(value->second, kEscape)),
           instruction.spot.line);
    }
  }

  /// The stage's own name where it means one stage and nothing else.
  [[nodiscard]] std::string stage_name(int number) const {
    const auto& name = file_.stages[static_cast<std::size_t>(number)].name;
    const bool alone = std::ranges::count(file_.stages, name, &Stage::name) == 1;
    const bool reserved =
        name.empty() || name == "scratch" || name == "context" || name.starts_with("mesh-");
    return alone && !reserved ? name : fmt::format("mesh-stage-{}", number);
  }

  Result<PinnedImage> pin(ImageUse::Kind kind, int stage, std::size_t instruction,
                          std::size_t mount) {
    for (const auto& use : resolved_.images) {
      if (use.kind == kind && use.stage == stage && use.instruction == instruction &&
          use.mount == mount) {
        return pins_(use);
      }
    }
    return fail(Code::Internal, "an image of the file was not found again");
  }

  Status write_stage(const Stage& stage) {
    const auto& at = resolved_.stages[static_cast<std::size_t>(stage.number)];
    auto& state = states_[static_cast<std::size_t>(stage.number)];
    start_of_stage_ = out_.text.size();
    first_line_of_stage_ = out_.lines.size();
    std::string base = "scratch";
    if (at.base.kind == Origin::Kind::Stage) {
      base = stage_name(at.base.stage);
      state = states_[static_cast<std::size_t>(at.base.stage)];
    } else if (at.base.kind == Origin::Kind::Image) {
      MESH_TRY(auto pinned, pin(ImageUse::Kind::From, stage.number, 0, 0));
      base = pinned.reference;
      state.env = std::move(pinned.env);
      state.shell = pinned.shell.empty() ? state.shell : pinned.shell;
    } else {
      state.env.emplace();
    }
    line(fmt::format("FROM {}{} AS {}",
                     at.platform == resolved_.platform() ? "" : "--platform=" + at.platform + " ",
                     base, stage_name(stage.number)),
         stage.from.spot.line);
    Variables variables(resolved_, file_.escape, state.env);
    for (std::size_t i = 0; i < stage.instructions.size(); ++i) {
      MESH_CHECK(write(stage, i, variables, state));
      MESH_CHECK(variables.take(stage.instructions[i]));
    }
    state.env = variables.environment();
    return {};
  }

  Status write(const Stage& stage, std::size_t index, const Variables& variables,
               StageState& state) {
    const auto& instruction = stage.instructions[index];
    switch (instruction.verb) {
      case Verb::Copy:
      case Verb::Add:
        return write_copy(stage, index, variables);
      case Verb::Run:
        return write_run(stage, index, variables, state);
      case Verb::Arg:
        return write_arguments(instruction, variables);
      case Verb::Shell:
        state.shell.clear();
        for (const auto& arg : instruction.args) {
          state.shell.push_back(arg.text);
        }
        break;
      default:
        break;
    }
    out_.docker_format = out_.docker_format || instruction.verb == Verb::Shell ||
                         instruction.verb == Verb::Healthcheck || instruction.verb == Verb::Onbuild;
    return write_expanded(instruction, variables, state);
  }

  /// ARGs: the platform's, whose values Mesh knows better than the builder, and defaults in new
  /// forms.
  Status write_arguments(const Instruction& instruction, Variables variables) {
    const auto known = platform_args(resolved_.settings, {});
    for (const auto& arg : instruction.args) {
      const auto equals = arg.text.find('=');
      const auto name = arg.text.substr(0, equals);
      const auto global = resolved_.globals.find(name);
      std::string text = arg.text;
      if (resolved_.settings.args.contains(name)) {
        text = name;
      } else if (equals == std::string::npos && known.contains(name) &&
                 global != resolved_.globals.end()) {
        text = name + "=" + in_quotes(global->second, kEscape);
      } else if (equals != std::string::npos && reads_otherwise(arg.text.substr(equals + 1))) {
        auto value = variables.value(arg.text.substr(equals + 1));
        if (!value) {
          return refused(value.error(), arg.spot);
        }
        text = name + "=" + in_quotes(value->text, kEscape);
      }
      line("ARG " + text, instruction.spot.line);
      MESH_CHECK(variables.take({.verb = Verb::Arg, .args = {arg}}));
    }
    return {};
  }

  /// Whether the builder would read a word otherwise: a form of variable that it does not know, or
  /// signs that mean something else by another escape character.
  [[nodiscard]] bool reads_otherwise(std::string_view word) const {
    return has_new_form(word, file_.escape) || (file_.escape != kEscape && has_escapes(word));
  }

  [[nodiscard]] bool has_escapes(std::string_view text) const {
    return std::ranges::any_of(text, [this](char c) { return c == kEscape || c == file_.escape; });
  }

  [[nodiscard]] bool reads_otherwise(const Instruction& instruction) const {
    return std::ranges::any_of(instruction.args,
                               [this](const Word& arg) { return reads_otherwise(arg.text); });
  }

  /// An instruction whose words the builder expands: as it is, or with the values put in.
  Status write_expanded(const Instruction& instruction, const Variables& variables,
                        const StageState& state) {
    constexpr std::array kExpands{Verb::Env,  Verb::Label,  Verb::Expose, Verb::Stopsignal,
                                  Verb::User, Verb::Volume, Verb::Workdir};
    if (std::ranges::find(kExpands, instruction.verb) == kExpands.end()) {
      return write_as_it_is(instruction, state);
    }
    if (!reads_otherwise(instruction)) {
      line(instruction.text, instruction.spot.line);
      return {};
    }
    std::string text(verb_name(instruction.verb));
    if (instruction.verb == Verb::Env || instruction.verb == Verb::Label) {
      for (const auto& pair : pairs_of(instruction)) {
        auto name = reads_otherwise(pair.name) ? quoted_value(pair.name, variables)
                                               : Result<std::string>(pair.name);
        auto value = quoted_value(pair.value, variables);
        if (!name || !value) {
          return refused(name ? value.error() : name.error(), instruction.spot);
        }
        text += fmt::format(" {}={}", *name, *value);
      }
    } else {
      for (const auto& arg : instruction.args) {
        auto value = variables.value(arg.text);
        if (!value) {
          return refused(value.error(), arg.spot);
        }
        text += " " +
                (instruction.verb == Verb::Expose ? value->text : in_quotes(value->text, kEscape));
      }
    }
    line(text, instruction.spot.line);
    return {};
  }

  static Result<std::string> quoted_value(const std::string& word, const Variables& variables) {
    MESH_TRY(const auto value, variables.value(word));
    return in_quotes(value.text, kEscape);
  }

  /// An instruction whose words nobody expands now.
  Status write_as_it_is(const Instruction& instruction, const StageState& state) {
    const bool joins = trimmed(instruction.text).ends_with(kEscape);
    const bool is_command = instruction.verb == Verb::Cmd || instruction.verb == Verb::Entrypoint;
    const bool later = instruction.verb == Verb::Onbuild && file_.escape != kEscape &&
                       has_escapes(instruction.text);
    if (later || (joins && !is_command)) {
      return refused({Code::InvalidArgument,
                      fmt::format("{} has an escape that buildah reads otherwise",
                                  verb_name(instruction.verb)),
                      "write it without, or in a file without `# escape=`",
                      {}},
                     instruction.spot);
    }
    line(joins ? fmt::format("{} {}", verb_name(instruction.verb),
                             command_text(instruction, state.shell))
               : instruction.text,
         instruction.spot.line);
    return {};
  }

  Result<std::string> copy_flags(const Stage& stage, std::size_t index, bool with_from) {
    const auto& copy = stage.instructions[index];
    std::string out;
    for (const auto& flag : copy.flags) {
      if (flag.name == "link" || (flag.name == "parents" && flag.value == "false")) {
        continue;  // how the layers are kept, not what is in them
      }
      if (flag.name != "from") {
        out += " " + flag_text(flag, kEscape);
      } else if (with_from && flag.value && !flag.value->empty()) {
        const auto origin = origin_of(file_, copy, *flag.value, stage.number);
        if (origin.kind == Origin::Kind::Stage) {
          out += " --from=" + stage_name(origin.stage);
        } else {
          MESH_TRY(const auto pinned, pin(ImageUse::Kind::Copy, stage.number, index, 0));
          out += " --from=" + pinned.reference;
        }
      }
    }
    return out;
  }

  Status write_copy(const Stage& stage, std::size_t index, const Variables& variables) {
    const auto& copy = stage.instructions[index];
    MESH_TRY(const auto flags, copy_flags(stage, index, true));
    const std::string name(verb_name(copy.verb));
    if (copy.heredocs.empty()) {
      MESH_TRY(const auto words, copy_words(copy, variables));
      line(name + flags + " " + words, copy.spot.line);
      return {};
    }
    return write_copied_heredocs(stage, index, variables, name + flags);
  }

  Result<std::string> copy_words(const Instruction& copy, const Variables& variables) {
    if (!reads_otherwise(copy)) {
      return copy.rest;
    }
    std::vector<std::string> words;
    for (const auto& arg : copy.args) {
      auto value = variables.value(arg.text);
      if (!value) {
        return std::unexpected(refused(value.error(), arg.spot).error());
      }
      words.push_back(escaped(value->text, kEscape));
    }
    return json_list(words);
  }

  /// Here-documents become files of a context of their own; what is copied beside them is copied by
  /// an instruction of its own. They are files with the mode 0644, as they are for BuildKit.
  Status write_copied_heredocs(const Stage& stage, std::size_t index, const Variables& variables,
                               const std::string& start) {
    const auto& copy = stage.instructions[index];
    Instruction others{.args = {}};
    Instruction files{.args = {}};
    const auto folder = fmt::format("{}-{}", stage.number, index);
    for (std::size_t i = 0; i + 1 < copy.args.size(); ++i) {
      const auto announced = heredoc_word(copy.args[i].text);
      const auto heredoc = announced
                               ? std::ranges::find(copy.heredocs, announced->name, &Heredoc::name)
                               : copy.heredocs.end();
      if (heredoc == copy.heredocs.end()) {
        others.args.push_back(copy.args[i]);
        continue;
      }
      MESH_CHECK(add_heredoc(folder + "/" + heredoc->name, *heredoc, variables, copy.spot));
      files.args.push_back({folder + "/" + heredoc->name, copy.spot});
    }
    if (!others.args.empty()) {
      MESH_TRY(const auto words, copied_words(others, copy.args.back(), variables));
      line(start + " " + words, copy.spot.line);
    }
    if (!files.args.empty()) {
      MESH_TRY(const auto flags, copy_flags(stage, index, false));
      MESH_TRY(const auto words, copied_words(files, copy.args.back(), variables));
      line(fmt::format("COPY --from={}{} {}", kFilesContext, flags, words), copy.spot.line);
    }
    return {};
  }

  Result<std::string> copied_words(Instruction copy, const Word& destination,
                                   const Variables& variables) {
    copy.args.push_back(destination);
    for (const auto& arg : copy.args) {
      copy.rest += (copy.rest.empty() ? "" : " ") + arg.text;
    }
    return copy_words(copy, variables);
  }

  Status add_heredoc(const std::string& path, const Heredoc& heredoc, const Variables& variables,
                     Spot spot) {
    std::string text = heredoc.text();
    if (heredoc.expand) {
      auto value = variables.value(text, /*skip_quotes=*/true);
      if (!value) {
        return refused(value.error(), spot);
      }
      text = value->text;
    }
    if (heredoc.name.find('/') != std::string::npos || heredoc.name.starts_with('.')) {
      return refused({Code::InvalidArgument,
                      "a here-document's name is a file's name",
                      "take the `/` out",
                      {}},
                     spot);
    }
    out_.files[path] = std::move(text);
    return {};
  }

  Result<std::string> run_flags(const Stage& stage, std::size_t index, const Variables& variables) {
    const auto& run = stage.instructions[index];
    std::string out;
    for (std::size_t i = 0; i < run.flags.size(); ++i) {
      const auto& flag = run.flags[i];
      const auto mount = std::ranges::find(run.mounts, i, &Mount::flag);
      if (mount != run.mounts.end()) {
        MESH_TRY(auto value,
                 mount_value(stage, index, static_cast<std::size_t>(mount - run.mounts.begin()),
                             variables));
        out += " " + flag_text({"mount", std::move(value), {}}, kEscape);
      } else if (flag.name == "network" && flag.value != "default") {
        out += " " + flag_text(flag, kEscape);
      }
    }
    return out;
  }

  /// A stage before this one that has a copy of a part of another, as /m, and nothing else: COPY
  /// follows links as the stage means them, where a mount would follow them on the host.
  std::string copied_first(const std::string& source, const std::string& from,
                           const std::string& number, int of) {
    auto name = "mesh-mount-" + number;
    out_.text.insert(start_of_stage_, fmt::format("FROM scratch AS {}\nCOPY --from={} {}\n", name,
                                                  from, json_list({source, std::string(kCopied)})));
    out_.lines.insert(out_.lines.begin() + static_cast<std::ptrdiff_t>(first_line_of_stage_), 2,
                      of);
    return name;
  }

  Result<std::string> mount_value(const Stage& stage, std::size_t index, std::size_t number,
                                  const Variables& variables) {
    const auto& run = stage.instructions[index];
    const auto& mount = run.mounts[number];
    const auto origin = origin_of(file_, run, mount.from, stage.number);
    std::string from;
    if (origin.kind == Origin::Kind::Image) {
      MESH_TRY(const auto pinned, pin(ImageUse::Kind::Mount, stage.number, index, number));
      from = pinned.reference;
    } else if (origin.kind == Origin::Kind::Stage) {
      from = stage_name(origin.stage);
    }
    auto inner = mount;
    if (mount.type == "bind" && !from.empty() && !is_whole(mount.source) &&
        version_ < kStaysInside) {
      auto source = source_to_copy(mount, variables);
      if (!source) {
        return std::unexpected(refused(source.error(), run.flags[mount.flag].spot).error());
      }
      from = copied_first(*source, from, fmt::format("{}-{}-{}", stage.number, index, number),
                          run.spot.line);
      inner.source = kCopied;
    }
    auto text = mount_text(inner, from, variables, paths_);
    if (!text) {
      return std::unexpected(refused(text.error(), run.flags[mount.flag].spot).error());
    }
    return text;
  }

  Status write_run(const Stage& stage, std::size_t index, const Variables& variables,
                   const StageState& state) {
    const auto& run = stage.instructions[index];
    MESH_TRY(auto flags, run_flags(stage, index, variables));
    if (run.heredocs.empty()) {
      line("RUN" + flags + " " + command_text(run, state.shell), run.spot.line);
      return {};
    }
    auto words = state.shell;
    if (!heredoc_word(run.rest)) {
      words.push_back(with_heredocs(run));
    } else if (const auto text = run.heredocs.front().text(); text.starts_with("#!")) {
      const auto folder = fmt::format("{}-{}", stage.number, index);
      const auto& name = run.heredocs.front().name;
      out_.files[folder + "/" + name] = text;
      out_.programs.push_back(folder + "/" + name);
      flags += fmt::format(" --mount=type=bind,from={},source={},target={}", kFilesContext, folder,
                           kScripts);
      words.push_back(fmt::format("{}/{}", kScripts, name));
    } else {
      words.push_back(text);
    }
    line("RUN" + flags + " " + json_list(words), run.spot.line);
    return {};
  }

  const File& file_;
  const Resolved& resolved_;
  const Pins& pins_;
  const ContextPaths& paths_;
  BuilderVersion version_;
  std::size_t start_of_stage_ = 0;  // in the text
  std::size_t first_line_of_stage_ = 0;
  std::vector<StageState> states_;
  int broken_ = 0;  // the line of a value that does not fit on one
  Rewritten out_;
};

}  // namespace

Result<Rewritten> rewrite(const File& file, const Resolved& resolved, const Pins& pins,
                          const ContextPaths& paths, BuilderVersion version) {
  if (resolved.target < 0) {
    return fail(Code::InvalidArgument, "the file has no stage to build");
  }
  return Rewriter(file, resolved, pins, paths, version).run();
}

}  // namespace mesh::containerfile
