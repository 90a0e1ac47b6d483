#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/file.h"
#include "containerfile/instruction.h"
#include "containerfile/lines.h"
#include "containerfile/words.h"

namespace mesh::containerfile {

namespace {

bool may_have_heredocs(const Instruction& instruction) {
  const auto& inner = instruction.trigger.empty() ? instruction : instruction.trigger.front();
  return !inner.json &&
         (inner.verb == Verb::Run || inner.verb == Verb::Copy || inner.verb == Verb::Add);
}

bool is_stage_name(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

class FileReader {
 public:
  explicit FileReader(std::string_view text) : lines_(text) {}

  File read() {
    LogicalLine line;
    while (lines_.next(line, file_)) {
      if (line.empty_inside) {
        file_.problems.push_back({false,
                                  "empty-continuation",
                                  "an empty line stands inside of an instruction",
                                  "leave it out, or make it a comment",
                                  {line.first, 1}});
      }
      if (auto instruction = read_instruction(line, file_.escape, file_.problems)) {
        take(line, std::move(*instruction));
      }
    }
    if (file_.stages.empty()) {
      problem("no-stage", "the file has no FROM", "it starts with FROM IMAGE, or FROM scratch",
              {1, 1});
    }
    std::ranges::stable_sort(file_.problems, {}, &Problem::spot);
    return std::move(file_);
  }

 private:
  void problem(std::string code, std::string message, std::string hint, Spot spot) {
    file_.problems.push_back({true, std::move(code), std::move(message), std::move(hint), spot});
  }

  void take(const LogicalLine& line, Instruction instruction) {
    if (may_have_heredocs(instruction)) {
      auto& holder = instruction.trigger.empty() ? instruction : instruction.trigger.front();
      holder.heredocs = announced_heredocs(line.text);
      for (auto& heredoc : holder.heredocs) {
        read_heredoc(heredoc, instruction.spot);
      }
      instruction.last_line = lines_.number();
      holder.last_line = lines_.number();
      check_destination(holder);
    }
    read_mounts(instruction.trigger.empty() ? instruction : instruction.trigger.front(),
                file_.problems);
    if (instruction.verb == Verb::From) {
      start_stage(std::move(instruction));
    } else if (!file_.stages.empty()) {
      file_.stages.back().instructions.push_back(std::move(instruction));
    } else if (instruction.verb == Verb::Arg) {
      file_.globals.push_back(std::move(instruction));
    } else {
      problem("before-from",
              fmt::format("{} stands before the first FROM", verb_name(instruction.verb)),
              "only ARG may stand there", instruction.spot);
    }
  }

  void read_heredoc(Heredoc& heredoc, Spot start) {
    std::string_view raw;
    while (lines_.next_raw(raw)) {
      auto end = raw;
      while (!end.empty() && (end.back() == '\n' || end.back() == '\r')) {
        end.remove_suffix(1);
      }
      while (heredoc.chomp && end.starts_with('\t')) {
        end.remove_prefix(1);
      }
      if (end == heredoc.name) {
        return;
      }
      heredoc.content += raw;
    }
    problem("open-heredoc",
            fmt::format("the here-document `{}` does not end", printable(heredoc.name, 40)),
            "its last line is its name alone", start);
  }

  void check_destination(const Instruction& copy) {
    if (copy.verb != Verb::Run && !copy.args.empty() && heredoc_word(copy.args.back().text)) {
      problem("bad-destination",
              fmt::format("a here-document is no destination of {}", verb_name(copy.verb)),
              "the last word is the destination: COPY <<FILE /path/", copy.args.back().spot);
    }
  }

  void start_stage(Instruction from) {
    Stage stage;
    stage.number = static_cast<int>(file_.stages.size());
    if (!from.args.empty()) {
      stage.base = from.args.front();
    }
    if (from.args.size() == 3) {
      stage.name = ascii_lower(from.args[2].text);
      check_name(stage.name, from.args[2]);
    }
    if (const auto* platform = from.flag("platform"); platform != nullptr && platform->value) {
      stage.platform = Word{*platform->value, platform->spot};
    }
    stage.from = std::move(from);
    file_.stages.push_back(std::move(stage));
  }

  void check_name(const std::string& name, const Word& word) {
    if (!is_stage_name(name)) {
      problem("bad-stage-name",
              fmt::format("`{}` is no name for a stage", printable(word.text, 40)),
              "a letter, then letters, digits and . _ -", word.spot);
      return;
    }
    if (name == "scratch" || name == "context") {
      file_.problems.push_back({false, "reserved-stage-name",
                                fmt::format("the stage's name `{}` means something else", name),
                                "give it another name", word.spot});
    }
    const auto same = std::ranges::find(file_.stages, name, &Stage::name);
    if (same != file_.stages.end()) {
      file_.problems.push_back(
          {false, "stage-twice",
           fmt::format("the stage `{}` is defined in line {} too", name, same->from.spot.line),
           "from here on the name means this one", word.spot});
    }
  }

  Lines lines_;
  File file_;
};

}  // namespace

bool File::has_errors() const {
  return std::ranges::any_of(problems, &Problem::error);
}

File parse(std::string_view text) {
  if (text.size() > kLargestFile) {
    File file;
    file.problems.push_back(
        {true, "too-large", "the file is larger than 1 MiB", "it is not a Containerfile", {1, 1}});
    return file;
  }
  return FileReader(text).read();
}

}  // namespace mesh::containerfile
