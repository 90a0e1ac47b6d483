#include "containerfile/instruction.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/words.h"

namespace mesh::containerfile {

namespace {

/// How what follows the flags is cut into arguments.
enum class Shape { Words, JsonOrWords, JsonOrText, Pairs, Names, Text, Health, Trigger };

struct Grammar {
  std::string_view name;
  Shape shape;
  std::string_view flags;  // space-separated; `+` may be repeated, `?` needs no value
  std::size_t least;       // arguments
  std::size_t most;
};

constexpr std::size_t kMany = 1U << 30U;

constexpr std::array<Grammar, 18> kGrammar{{
    {"ADD", Shape::JsonOrWords, "chown chmod link? keep-git-dir? checksum unpack? exclude+", 2,
     kMany},
    {"ARG", Shape::Names, "", 1, kMany},
    {"CMD", Shape::JsonOrText, "", 0, kMany},
    {"COPY", Shape::JsonOrWords, "chown from chmod link? exclude+ parents?", 2, kMany},
    {"ENTRYPOINT", Shape::JsonOrText, "", 0, kMany},
    {"ENV", Shape::Pairs, "", 1, kMany},
    {"EXPOSE", Shape::Words, "", 1, kMany},
    {"FROM", Shape::Words, "platform", 1, 3},
    {"HEALTHCHECK", Shape::Health, "interval timeout start-period start-interval retries", 1,
     kMany},
    {"LABEL", Shape::Pairs, "", 1, kMany},
    {"MAINTAINER", Shape::Text, "", 1, 1},
    {"ONBUILD", Shape::Trigger, "", 1, 1},
    {"RUN", Shape::JsonOrText, "mount+ network security device+", 1, kMany},
    {"SHELL", Shape::JsonOrText, "", 1, kMany},
    {"STOPSIGNAL", Shape::Text, "", 1, 1},
    {"USER", Shape::Text, "", 1, 1},
    {"VOLUME", Shape::JsonOrWords, "", 1, kMany},
    {"WORKDIR", Shape::Text, "", 1, 1},
}};

const Grammar& grammar_of(Verb verb) {
  return kGrammar.at(static_cast<std::size_t>(verb));
}

std::optional<Verb> verb_of(std::string_view upper) {
  for (std::size_t i = 0; i < kGrammar.size(); ++i) {
    if (kGrammar.at(i).name == upper) {
      return static_cast<Verb>(i);
    }
  }
  return std::nullopt;
}

std::string nearest_verb(const std::string& upper) {
  std::vector<std::string> names;
  for (const auto& known : kGrammar) {
    names.emplace_back(known.name);
  }
  return nearest(upper, names);
}

class InstructionReader {
 public:
  InstructionReader(const LogicalLine& line, std::size_t start, char escape,
                    std::vector<Problem>& problems)
      : line_(line), text_(line.text), start_(start), escape_(escape), problems_(problems) {}

  std::optional<Instruction> read() {
    auto end = start_;
    while (end < text_.size() && !is_blank(text_[end])) {
      ++end;
    }
    const auto name = text_.substr(start_, end - start_);
    const auto upper = ascii_upper(name);
    const auto verb = verb_of(upper);
    if (!verb) {
      const auto meant = nearest_verb(upper);
      problem("unknown-instruction",
              fmt::format("there is no instruction `{}`", printable(name, 40)),
              meant.empty()
                  ? "a line that goes on from the one before needs the escape character at its end"
                  : fmt::format("did you mean {}?", meant),
              start_);
      return std::nullopt;
    }
    out_.verb = *verb;
    out_.spot = line_.spot(start_);
    out_.last_line = line_.last;
    out_.text = std::string(text_.substr(start_));
    read_flags(end);
    read_arguments();
    check_count();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Grammar& grammar() const { return grammar_of(out_.verb); }

  void problem(std::string code, std::string message, std::string hint, std::size_t offset) {
    problems_.push_back(
        {true, std::move(code), std::move(message), std::move(hint), line_.spot(offset)});
  }

  void read_flags(std::size_t end) {
    const auto cut = leading_flags(text_.substr(end), escape_);
    for (const auto& word : cut.flags) {
      const auto equals = word.text.find('=');
      Flag flag{word.text.substr(2, equals == std::string::npos ? equals : equals - 2),
                std::nullopt, line_.spot(end + word.offset)};
      if (equals != std::string::npos) {
        flag.value = word.text.substr(equals + 1);
      }
      check_flag(flag, end + word.offset);
      out_.flags.push_back(std::move(flag));
    }
    rest_ = end + cut.rest;
    const auto rest = text_.substr(std::min(rest_, text_.size()));
    out_.rest = std::string(trimmed(rest));
    rest_ += static_cast<std::size_t>(std::ranges::find_if_not(rest, is_blank) - rest.begin());
  }

  void check_flag(const Flag& flag, std::size_t offset) {
    std::vector<std::string> known;
    char kind = '\0';
    for (auto name : split(grammar().flags, ' ')) {
      const char last = name.empty() ? '\0' : name.back();
      const bool marked = last == '+' || last == '?';
      name.remove_suffix(marked ? 1 : 0);
      known.emplace_back(name);
      if (name == flag.name) {
        kind = marked ? last : ' ';
      }
    }
    if (kind == '\0') {
      const auto meant = nearest(flag.name, known);
      problem("unknown-flag",
              fmt::format("{} has no flag --{}", grammar().name, printable(flag.name, 40)),
              meant.empty() ? "" : fmt::format("did you mean --{}?", meant), offset);
    } else if (kind != '+' && out_.flag(flag.name) != nullptr) {
      problem("flag-twice", fmt::format("--{} is given twice", flag.name), "keep one of them",
              offset);
    } else if (kind != '?' && !flag.value) {
      problem("flag-without-value", fmt::format("--{} has no value", flag.name),
              fmt::format("write --{}=…", flag.name), offset);
    } else if (kind == '?' && flag.value && ascii_upper(*flag.value) != "TRUE" &&
               ascii_upper(*flag.value) != "FALSE") {
      problem("bad-flag", fmt::format("--{} is true or false", flag.name), "", offset);
    }
  }

  void read_arguments() {
    switch (grammar().shape) {
      case Shape::Words:
        add_words(blank_words(out_.rest));
        break;
      case Shape::JsonOrWords:
        if (!read_json(out_.rest, 0)) {
          add_words(blank_words(out_.rest));
        }
        break;
      case Shape::JsonOrText:
        if (!read_json(out_.rest, 0)) {
          add_text(out_.rest, 0);
        }
        break;
      case Shape::Pairs:
        read_pairs();
        break;
      case Shape::Names:
        add_words(quoted_words(out_.rest, escape_));
        check_names();
        break;
      case Shape::Text:
        add_text(out_.rest, 0);
        break;
      case Shape::Health:
        read_health();
        break;
      case Shape::Trigger:
        read_trigger();
        break;
    }
  }

  void add_words(std::vector<CutWord> words) {
    for (auto& word : words) {
      out_.args.push_back({std::move(word.text), line_.spot(rest_ + word.offset)});
    }
  }

  void add_text(std::string_view text, std::size_t offset) {
    if (!text.empty()) {
      out_.args.push_back({std::string(text), line_.spot(rest_ + offset)});
    }
  }

  bool read_json(std::string_view text, std::size_t offset) {
    auto texts = json_texts(text);
    if (!texts) {
      problem("bad-list", texts.error().message, texts.error().hint, rest_ + offset);
      return true;
    }
    if (!*texts) {
      return false;
    }
    out_.json = true;
    for (auto& item : **texts) {
      out_.args.push_back({std::move(item), line_.spot(rest_ + offset)});
    }
    return true;
  }

  /// `K=V K=V …`, or the old form `K the rest`, whose arguments are K and the rest.
  void read_pairs() {
    auto words = quoted_words(out_.rest, escape_);
    if (words.empty()) {
      return;
    }
    if (words.front().text.find('=') == std::string::npos) {
      const auto name = blank_words(out_.rest).front().text;
      const auto value = trimmed(std::string_view(out_.rest).substr(name.size()));
      if (value.empty()) {
        problem("no-value", fmt::format("{} {} has no value", grammar().name, printable(name, 40)),
                fmt::format("write {} {}=…", grammar().name, printable(name, 40)), rest_);
      }
      add_text(name, 0);
      add_text(value, out_.rest.size() - value.size());
      return;
    }
    for (const auto& word : words) {
      if (word.text.find('=') == std::string::npos) {
        problem("not-a-pair",
                fmt::format("`{}` is not of the form name=value", printable(word.text, 40)),
                "put a value with spaces in double quotes", rest_ + word.offset);
      }
    }
    add_words(std::move(words));
    check_names();
  }

  void check_names() {
    for (const auto& arg : out_.args) {
      if (arg.text.starts_with('=')) {
        problems_.push_back({true, "blank-name",
                             fmt::format("{} sets a variable without a name", grammar().name),
                             "write name=value", arg.spot});
      }
    }
  }

  void read_health() {
    const auto words = blank_words(out_.rest);
    if (words.empty()) {
      return;
    }
    const auto kind = ascii_upper(words.front().text);
    add_text(words.front().text, 0);
    const auto rest = trimmed(std::string_view(out_.rest).substr(words.front().text.size()));
    const auto offset = out_.rest.size() - rest.size();
    if (!read_json(rest, offset)) {
      add_text(rest, offset);
    }
    if (kind != "NONE" && kind != "CMD") {
      problem("bad-healthcheck", "HEALTHCHECK is followed by CMD or NONE", "", rest_);
    } else if ((kind == "CMD") == (out_.args.size() < 2)) {
      problem(
          "bad-healthcheck",
          kind == "CMD" ? "HEALTHCHECK CMD has no command" : "HEALTHCHECK NONE takes nothing more",
          "", rest_);
    }
  }

  void read_trigger() {
    if (out_.rest.empty()) {
      return;
    }
    add_text(out_.rest, 0);
    const auto offset = std::min(rest_, text_.size());
    if (auto inner = InstructionReader(line_, offset, escape_, problems_).read()) {
      if (inner->verb == Verb::Onbuild || inner->verb == Verb::From ||
          inner->verb == Verb::Maintainer) {
        problem("bad-trigger", fmt::format("ONBUILD does not take {}", verb_name(inner->verb)), "",
                offset);
      }
      out_.trigger.push_back(std::move(*inner));
    }
  }

  void check_count() {
    const auto& rule = grammar();
    if (out_.args.size() < rule.least) {
      const bool copies = out_.verb == Verb::Copy || out_.verb == Verb::Add;
      problem("too-few-arguments",
              fmt::format("{} needs {}", rule.name,
                          copies ? "a source and a destination" : "an argument"),
              copies && out_.args.size() == 1 ? "the last word is the destination" : "", start_);
    } else if (out_.verb == Verb::From && out_.args.size() != 1 &&
               (out_.args.size() != 3 || ascii_upper(out_.args[1].text) != "AS")) {
      problem("bad-from", "FROM takes an image, or an image, AS and a name",
              "write FROM IMAGE AS NAME", start_);
    } else if (out_.verb == Verb::Shell && !out_.json) {
      problem("bad-shell", "SHELL takes a JSON list", R"(write SHELL ["/bin/sh", "-c"])", start_);
    }
  }

  const LogicalLine& line_;
  std::string_view text_;
  std::size_t start_;
  std::size_t rest_ = 0;  // offset of what follows the flags
  char escape_;
  std::vector<Problem>& problems_;
  Instruction out_;
};

}  // namespace

std::string_view verb_name(Verb verb) {
  return grammar_of(verb).name;
}

const Flag* Instruction::flag(std::string_view name) const {
  const auto found = std::ranges::find(flags, name, &Flag::name);
  return found == flags.end() ? nullptr : &*found;
}

std::optional<Instruction> read_instruction(const LogicalLine& line, char escape,
                                            std::vector<Problem>& problems) {
  return InstructionReader(line, 0, escape, problems).read();
}

}  // namespace mesh::containerfile
