#include "containerfile/resolve.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/lexer.h"
#include "containerfile/lines.h"

namespace mesh::containerfile {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 9 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The last stage of that name before `before`, or -1.
int stage_named(const File& file, std::string_view name, int before) {
  for (int i = before - 1; i >= 0; --i) {
    if (!name.empty() && file.stages[static_cast<std::size_t>(i)].name == name) {
      return i;
    }
  }
  return -1;
}

std::vector<std::string> stage_names(const File& file) {
  std::vector<std::string> names;
  for (const auto& stage : file.stages) {
    if (!stage.name.empty()) {
      names.push_back(stage.name);
    }
  }
  return names;
}

/// Arguments that need no ARG, as BuildKit has them.
bool is_predefined(std::string_view name) {
  constexpr std::array<std::string_view, 6> kKnown{
      "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy", "source_date_epoch"};
  return name.starts_with("BUILDKIT_") ||
         std::ranges::find(kKnown, ascii_lower(name)) != kKnown.end();
}

class Resolver {
 public:
  Resolver(const File& file, const Settings& settings) : file_(file) {
    out_.settings = settings;
    out_.stages.resize(file.stages.size());
  }

  Resolved run() {
    find_target();
    set_globals();
    for (const auto& stage : file_.stages) {
      resolve_base(stage);
      check_sources(stage);
    }
    if (out_.target >= 0) {
      reach(out_.target);
    }
    collect_images();
    check_arguments();
    std::ranges::stable_sort(out_.problems, {}, &Problem::spot);
    return std::move(out_);
  }

 private:
  void problem(std::string code, std::string message, std::string hint, Spot spot,
               bool error = true) {
    out_.problems.push_back({error, std::move(code), std::move(message), std::move(hint), spot});
  }

  ResolvedStage& resolved(int number) { return out_.stages[static_cast<std::size_t>(number)]; }

  void find_target() {
    const auto& target = out_.settings.target;
    if (target.empty()) {
      out_.target = static_cast<int>(file_.stages.size()) - 1;
      return;
    }
    out_.target = stage_named(file_, ascii_lower(target), static_cast<int>(file_.stages.size()));
    if (out_.target < 0 && is_number(target) && std::stoul(target) < file_.stages.size()) {
      out_.target = std::stoi(target);
    }
    if (out_.target < 0) {
      const auto names = stage_names(file_);
      const auto meant = nearest(ascii_lower(target), names);
      problem("unknown-target", fmt::format("the file has no stage `{}`", printable(target, 60)),
              !meant.empty()  ? fmt::format("did you mean `{}`?", meant)
              : names.empty() ? "give the stage a name: FROM IMAGE AS NAME"
                              : fmt::format("its stages are {}", join(names, ", ")),
              {1, 1});
    }
  }

  Lookup global_lookup() {
    return [this](std::string_view name) -> std::optional<std::string> {
      const auto found = out_.globals.find(std::string(name));
      return found == out_.globals.end() ? std::nullopt : std::optional(found->second);
    };
  }

  void set_globals() {
    const auto last = file_.stages.empty() ? std::string() : file_.stages.back().name;
    out_.globals =
        platform_args(out_.settings, out_.settings.target.empty() ? last : out_.settings.target);
    for (auto& [name, value] : out_.globals) {
      const auto given = out_.settings.args.find(name);
      value = given == out_.settings.args.end() ? value : given->second;
    }
    for (const auto& instruction : file_.globals) {
      for (const auto& arg : instruction.args) {
        set_global(arg);
      }
    }
  }

  void set_global(const Word& arg) {
    const auto equals = arg.text.find('=');
    const auto name = arg.text.substr(0, equals);
    if (const auto given = out_.settings.args.find(name); given != out_.settings.args.end()) {
      out_.globals[name] = given->second;
    } else if (equals != std::string::npos) {
      auto value = expand(arg.text.substr(equals + 1), global_lookup(), {.escape = file_.escape});
      if (value) {
        out_.globals[name] = value->text;
      } else {
        problem("bad-variable", value.error().message, value.error().hint, arg.spot);
      }
    }
  }

  /// The word with global variables replaced; unset ones are reported.
  std::optional<std::string> global_value(const Word& word, std::string_view what) {
    auto value = expand(word.text, global_lookup(), {.escape = file_.escape});
    if (!value) {
      problem("bad-variable", value.error().message, value.error().hint, word.spot);
      return std::nullopt;
    }
    for (const auto& name : value->missing) {
      // A default in the word itself says that the variable may be unset.
      if (word.text.find("$" + name) == std::string::npos &&
          word.text.find("${" + name + "}") == std::string::npos) {
        continue;
      }
      problem("unset-variable", fmt::format("{} has no value for {}", what, name),
              fmt::format("declare it before the first FROM: ARG {}=…, or give it in `args`", name),
              word.spot,
              /*error=*/false);
    }
    if (value->text.empty()) {
      problem("empty-" + std::string(what == "FROM" ? "image" : "platform"),
              fmt::format("{} of {} is empty", printable(word.text, 60), what),
              "give its ARG a default before the first FROM, or a value in `args`", word.spot);
      return std::nullopt;
    }
    return value->text;
  }

  void resolve_base(const Stage& stage) {
    auto& out = resolved(stage.number);
    out.platform = out_.settings.platform;
    if (stage.platform) {
      if (const auto text = global_value(*stage.platform, "--platform")) {
        if (const auto platform = normal_platform(*text)) {
          out.platform = *platform;
        } else {
          problem("bad-platform", fmt::format("`{}` is no platform", printable(*text, 60)),
                  "write OS/ARCHITECTURE, as linux/arm64", stage.platform->spot);
        }
      }
    }
    out.base.kind = Origin::Kind::Scratch;
    const auto text = global_value(stage.base, "FROM");
    if (!text) {
      return;
    }
    const int named = stage_named(file_, *text, stage.number);
    if (named >= 0) {
      out.base = {Origin::Kind::Stage, named, {}};
      out.platform = resolved(named).platform;
    } else if (*text != "scratch") {
      out.base = {Origin::Kind::Image, 0, *text};
      check_image_name(*text, stage.base.spot, stage.number);
    }
  }

  /// Names that are nearly those of stages: a reference to an image would be asked of the world.
  void check_image_name(const std::string& text, Spot spot, int stage) {
    const auto lower = ascii_lower(text);
    const int count = static_cast<int>(file_.stages.size());
    if (lower != text && stage_named(file_, lower, stage) >= 0) {
      problem("stage-case",
              fmt::format("FROM finds the stage `{}` by its lower-case name only", lower),
              fmt::format("write FROM {}", lower), spot);
    } else if (const int later = stage_named(file_, lower, count); later > stage) {
      problem("later-stage",
              fmt::format("FROM {} is an image: the stage of that name comes later, in line {}",
                          printable(text, 60),
                          file_.stages[static_cast<std::size_t>(later)].from.spot.line),
              "put that stage before this one, or give it another name", spot, /*error=*/false);
    } else if (text.back() == ':' || text.back() == '@' || text.back() == '/') {
      problem("bad-image", fmt::format("`{}` is no image", printable(text, 80)),
              "a variable in it has no value", spot);
    }
  }

  void check_sources(const Stage& stage) {
    for (const auto& instruction : stage.instructions) {
      if (const auto* from = copy_from(instruction)) {
        check_copy_from(stage, *from);
      }
      for (const auto& mount : instruction.mounts) {
        check_mount_from(stage, instruction, mount);
      }
    }
  }

  static const Flag* copy_from(const Instruction& instruction) {
    const auto* from = instruction.verb == Verb::Copy ? instruction.flag("from") : nullptr;
    return from != nullptr && from->value && !from->value->empty() ? from : nullptr;
  }

  void check_copy_from(const Stage& stage, const Flag& from) {
    const auto& text = *from.value;
    const int count = static_cast<int>(file_.stages.size());
    if (text.find('$') != std::string::npos) {
      problem("variable-in-from", "COPY --from takes no variable",
              "name a stage for it: FROM $IMAGE AS name, and --from=name", from.spot);
    } else if (is_number(text)) {
      const int number = std::stoi(text);
      if (number >= count) {
        problem("no-such-stage", fmt::format("there is no stage {}", number),
                fmt::format("the file's stages are 0 to {}", count - 1), from.spot);
      } else if (number >= stage.number) {
        refuse_later(from.spot, fmt::format("stage {}", number), number, stage.number);
      }
    } else if (stage_named(file_, ascii_lower(text), stage.number) < 0) {
      const int later = stage_named(file_, ascii_lower(text), count);
      if (later >= 0) {
        refuse_later(from.spot, fmt::format("the stage `{}`", ascii_lower(text)), later,
                     stage.number);
      }
    }
  }

  void refuse_later(Spot spot, const std::string& what, int later, int stage) {
    problem("later-stage",
            later == stage
                ? fmt::format("{} cannot copy from itself", what)
                : fmt::format("{} comes later, in line {}", what,
                              file_.stages[static_cast<std::size_t>(later)].from.spot.line),
            "a stage reads from earlier stages only; move it up", spot);
  }

  void check_mount_from(const Stage& stage, const Instruction& instruction, const Mount& mount) {
    const auto spot = instruction.flags[mount.flag].spot;
    const int count = static_cast<int>(file_.stages.size());
    if (is_number(mount.from)) {
      problem("mount-number",
              fmt::format("from={} of --mount is an image of that name, not a stage", mount.from),
              "give the stage a name: FROM IMAGE AS NAME, and from=NAME", spot);
    } else if (!mount.from.empty() &&
               stage_named(file_, ascii_lower(mount.from), stage.number) < 0) {
      const int later = stage_named(file_, ascii_lower(mount.from), count);
      if (later >= 0) {
        refuse_later(spot, fmt::format("the stage `{}`", ascii_lower(mount.from)), later,
                     stage.number);
      }
    }
  }

  void reach(int first) {
    std::vector<int> todo{first};
    while (!todo.empty()) {
      const int number = todo.back();
      todo.pop_back();
      if (resolved(number).needed) {
        continue;
      }
      resolved(number).needed = true;
      const auto follow = [&](const Origin& origin) {
        if (origin.kind == Origin::Kind::Stage && origin.stage < number) {
          todo.push_back(origin.stage);
        }
      };
      follow(resolved(number).base);
      for (const auto& instruction : file_.stages[static_cast<std::size_t>(number)].instructions) {
        if (const auto* from = copy_from(instruction)) {
          follow(origin_of(file_, instruction, *from->value, number));
        }
        for (const auto& mount : instruction.mounts) {
          follow(origin_of(file_, instruction, mount.from, number));
        }
      }
    }
  }

  void collect_images() {
    for (const auto& stage : file_.stages) {
      const auto& at = resolved(stage.number);
      if (!at.needed) {
        continue;
      }
      if (at.base.kind == Origin::Kind::Image) {
        out_.images.push_back(
            {ImageUse::Kind::From, at.base.image, stage.base.spot, at.platform, stage.number});
      }
      for (std::size_t i = 0; i < stage.instructions.size(); ++i) {
        collect_images_of(stage, i);
      }
    }
  }

  void collect_images_of(const Stage& stage, std::size_t index) {
    const auto& instruction = stage.instructions[index];
    if (const auto* from = copy_from(instruction)) {
      const auto origin = origin_of(file_, instruction, *from->value, stage.number);
      if (origin.kind == Origin::Kind::Image) {
        out_.images.push_back({ImageUse::Kind::Copy, origin.image, from->spot,
                               out_.settings.platform, stage.number, index});
      }
    }
    for (std::size_t i = 0; i < instruction.mounts.size(); ++i) {
      const auto& mount = instruction.mounts[i];
      const auto origin = origin_of(file_, instruction, mount.from, stage.number);
      if (origin.kind == Origin::Kind::Image) {
        out_.images.push_back({ImageUse::Kind::Mount, origin.image,
                               instruction.flags[mount.flag].spot, out_.settings.platform,
                               stage.number, index, i});
      }
    }
  }

  void check_arguments() {
    std::vector<std::string> declared;
    const auto declare = [&](const Instruction& instruction) {
      for (const auto& arg :
           instruction.verb == Verb::Arg ? instruction.args : std::vector<Word>()) {
        declared.push_back(arg.text.substr(0, arg.text.find('=')));
      }
    };
    std::ranges::for_each(file_.globals, declare);
    for (const auto& stage : file_.stages) {
      std::ranges::for_each(stage.instructions, declare);
    }
    for (const auto& [name, value] : out_.settings.args) {
      if (std::ranges::find(declared, name) == declared.end() && !is_predefined(name) &&
          !platform_args(out_.settings, {}).contains(name)) {
        const auto meant = nearest(name, declared);
        problem("unused-argument", fmt::format("the file has no ARG {}", printable(name, 60)),
                meant.empty() ? "the value given in `args` is used nowhere"
                              : fmt::format("did you mean {}?", meant),
                {1, 1}, /*error=*/false);
      }
    }
  }

  const File& file_;
  Resolved out_;
};

}  // namespace

const std::string& Resolved::platform() const {
  return target < 0 ? settings.platform : stages[static_cast<std::size_t>(target)].platform;
}

bool Resolved::has_errors() const {
  return std::ranges::any_of(problems, &Problem::error);
}

Origin origin_of(const File& file, const Instruction& instruction, const std::string& from,
                 int stage) {
  if (from.empty()) {
    return {};
  }
  if (is_number(from) && instruction.verb == Verb::Copy) {
    return {Origin::Kind::Stage, std::stoi(from), {}};
  }
  const int earlier = stage_named(file, ascii_lower(from), stage);
  const int named =
      earlier >= 0 ? earlier
                   : stage_named(file, ascii_lower(from), static_cast<int>(file.stages.size()));
  if (named >= 0) {
    return {Origin::Kind::Stage, named, {}};
  }
  if (from == "scratch") {
    return {Origin::Kind::Scratch, 0, {}};
  }
  return {Origin::Kind::Image, 0, from};
}

std::map<std::string, std::string> used_args(const File& file, const Resolved& resolved) {
  std::map<std::string, std::string> out;
  const auto take = [&](const Instruction& instruction) {
    for (const auto& arg : instruction.verb == Verb::Arg ? instruction.args : std::vector<Word>()) {
      const auto given = resolved.settings.args.find(arg.text.substr(0, arg.text.find('=')));
      if (given != resolved.settings.args.end()) {
        out.insert(*given);
      }
    }
  };
  std::ranges::for_each(file.globals, take);
  for (const auto& stage : file.stages) {
    if (resolved.stages[static_cast<std::size_t>(stage.number)].needed) {
      std::ranges::for_each(stage.instructions, take);
    }
  }
  for (const auto& given : resolved.settings.args) {
    if (is_predefined(given.first)) {
      out.insert(given);
    }
  }
  return out;
}

Resolved resolve(const File& file, const Settings& settings) {
  return Resolver(file, settings).run();
}

}  // namespace mesh::containerfile
