#include "containerfile/lexer.h"

#include <fmt/format.h>

#include "containerfile/glob.h"

namespace mesh::containerfile {

namespace {

constexpr std::size_t kLongestResult = 1U << 20U;
constexpr std::size_t kLongestMatched = 2048;  // bytes that `#`, `%` and `/` are applied to
constexpr int kDeepest = 50;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters of other alphabets count as letters.
bool is_name_character(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// The parameters of the shell that have a sign for a name.
bool is_special(char c) {
  return std::string_view("@*#?-$!0").find(c) != std::string_view::npos;
}

class WordLexer {
 public:
  WordLexer(std::string_view word, const Lookup& lookup, const LexOptions& options)
      : word_(word), lookup_(lookup), options_(options) {}

  Result<Expansion> run() {
    MESH_TRY(result_.text, until('\0', options_.raw_escapes, true));
    flush_word();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= word_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : word_[at_]; }
  char next() { return done() ? '\0' : word_[at_++]; }

  /// What stands up to `stop` (0: the end), replaced. Only the outermost level gives words.
  Result<std::string> until(char stop, bool raw_escapes, bool outermost) {
    std::string out;
    while (!done()) {
      if (stop != '\0' && peek() == stop) {
        ++at_;
        return out;
      }
      MESH_CHECK(piece(out, raw_escapes, outermost));
      if (out.size() > kLongestResult) {
        return fail(Code::InvalidArgument, "the text becomes larger than 1 MiB");
      }
    }
    if (stop != '\0') {
      return fail(Code::InvalidArgument, fmt::format("`{}` is missing after `${{`", stop));
    }
    return out;
  }

  Status piece(std::string& out, bool raw_escapes, bool outermost) {
    const char c = peek();
    std::string text;
    if (c == '$') {
      MESH_TRY(text, dollar());
      split_at_spaces(text, outermost);
    } else if (!options_.skip_quotes && (c == '\'' || c == '"')) {
      MESH_TRY(text, c == '\'' ? single_quoted() : double_quoted(raw_escapes));
      add_to_word(text, outermost);
    } else if (c == '<') {
      text = here_document();
      add_to_word(text, outermost);
    } else if (c == options_.escape) {
      ++at_;
      if (raw_escapes) {
        text += c;
      }
      if (!done()) {
        text += next();
      }
      add_to_word(text, outermost);
    } else {
      text += next();
      split_at_spaces(text, outermost);
    }
    out += text;
    return {};
  }

  void add_to_word(std::string_view text, bool outermost) {
    if (outermost) {
      current_ += text;
    }
  }

  void split_at_spaces(std::string_view text, bool outermost) {
    for (const char c : text) {
      if (!is_space(c)) {
        add_to_word({&c, 1}, outermost);
      } else if (outermost) {
        flush_word();
      }
    }
  }

  void flush_word() {
    if (!current_.empty()) {
      result_.words.push_back(std::move(current_));
      current_.clear();
    }
  }

  /// `<<` with the blanks behind it, so that `<< EOF` stays one word.
  std::string here_document() {
    std::string out(1, next());
    if (peek() != '<') {
      return out;
    }
    out += next();
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      out += next();
    }
    return out;
  }

  Result<std::string> single_quoted() {
    const std::size_t start = at_;
    const auto end = word_.find('\'', at_ + 1);
    if (end == std::string_view::npos) {
      return fail(Code::InvalidArgument, "a single quote is not closed");
    }
    at_ = end + 1;
    return std::string(options_.raw_quotes ? word_.substr(start, at_ - start)
                                           : word_.substr(start + 1, end - start - 1));
  }

  Result<std::string> double_quoted(bool raw_escapes) {
    std::string out = options_.raw_quotes ? "\"" : "";
    ++at_;
    while (peek() != '"') {
      if (done()) {
        return fail(Code::InvalidArgument, "a double quote is not closed");
      }
      if (peek() == '$') {
        MESH_TRY(const auto value, dollar());
        out += value;
      } else {
        quoted_character(out, raw_escapes);
      }
    }
    ++at_;
    return out.append(options_.raw_quotes ? "\"" : "");
  }

  /// Only the quote, `$` and the escape character itself are escaped in double quotes.
  void quoted_character(std::string& out, bool raw_escapes) {
    char c = next();
    if (c == options_.escape) {
      if (raw_escapes) {
        out += c;
      }
      if (done()) {
        return;
      }
      if (peek() == '"' || peek() == '$' || peek() == options_.escape) {
        c = next();
      }
    }
    out += c;
  }

  std::string name() {
    const std::size_t start = at_;
    if (is_digit(peek())) {
      while (is_digit(peek())) {
        ++at_;
      }
    } else if (!done() && is_special(peek())) {
      ++at_;
    } else {
      while (!done() && is_name_character(peek())) {
        ++at_;
      }
    }
    return std::string(word_.substr(start, at_ - start));
  }

  std::optional<std::string> value_of(const std::string& name) {
    result_.names.push_back(name);
    auto value = lookup_(name);
    if (!value) {
      result_.missing.push_back(name);
    }
    return value;
  }

  Result<std::string> dollar() {
    ++at_;
    if (peek() != '{') {
      const auto called = name();
      if (called.empty()) {
        return std::string("$");
      }
      const auto value = value_of(called);
      return !value && options_.keep_unset ? "$" + called : value.value_or("");
    }
    if (++depth_ > kDeepest) {
      return fail(Code::InvalidArgument, "`${` is nested more than 50 deep");
    }
    auto out = braces();
    --depth_;
    return out;
  }

  Result<std::string> braces() {
    const std::size_t start = at_ - 1;
    ++at_;
    if (done()) {
      return fail(Code::InvalidArgument, "`}` is missing after `${`");
    }
    if (peek() == '{' || peek() == '}' || peek() == ':') {
      return fail(Code::InvalidArgument, "`${` is not followed by a name");
    }
    const auto called = name();
    std::string form(1, next());
    if (form == "}") {
      const auto value = value_of(called);
      return !value && options_.keep_unset ? "${" + called + "}" : value.value_or("");
    }
    if (form == ":") {
      form += next();
    }
    const char kind = form.back();
    if (kind == '/' && form.size() == 1) {
      return substitution(called);
    }
    const bool known = form.size() == 1
                           ? std::string_view("+-?#%").find(kind) != std::string_view::npos
                           : std::string_view("+-?").find(kind) != std::string_view::npos;
    if (kind == '\0' || !known) {
      return fail(Code::InvalidArgument,
                  kind == '\0' ? "`}` is missing after `${`"
                               : fmt::format("`{}` is no way to replace a variable",
                                             word_.substr(start, at_ - start)),
                  "there are ${x:-y} ${x-y} ${x:+y} ${x+y} ${x:?y} ${x?y} ${x#y} ${x##y} ${x%y} "
                  "${x%%y} ${x/y/z}");
    }
    return modified(called, form);
  }

  Result<std::string> modified(const std::string& called, std::string_view form) {
    const char kind = form.back();
    const bool pattern = kind == '#' || kind == '%';
    MESH_TRY(auto word, until('}', pattern, false));
    result_.new_forms = result_.new_forms || pattern || form.size() == 1 || kind == '?';
    const auto value = value_of(called);
    if (!value && options_.keep_unset) {
      return fmt::format("${{{}{}{}}}", called, form, word);
    }
    const bool unset = !value || (form.size() == 2 && value->empty());
    if (kind == '-') {
      return unset ? word : *value;
    }
    if (kind == '+') {
      return unset ? std::string() : std::move(word);
    }
    if (kind == '?') {
      return unset ? demanded(called, word) : Result<std::string>(*value);
    }
    return trimmed(value.value_or(""), word, kind);
  }

  static Result<std::string> demanded(const std::string& called, const std::string& word) {
    return fail(Code::InvalidArgument,
                fmt::format("{} is not set{}", called, word.empty() ? "" : ": " + word),
                "give it with `args`, or a default with ARG");
  }

  static Result<std::string> trimmed(const std::string& value, std::string_view pattern,
                                     char kind) {
    const bool longest = !pattern.empty() && pattern.front() == kind;
    pattern.remove_prefix(longest ? 1 : 0);
    MESH_CHECK(short_enough(value, pattern));
    return kind == '#' ? without_prefix(value, pattern, longest)
                       : without_suffix(value, pattern, longest);
  }

  static Status short_enough(std::string_view value, std::string_view pattern) {
    if (value.size() > kLongestMatched || pattern.size() > kLongestMatched / 8) {
      return fail(Code::InvalidArgument,
                  fmt::format("a pattern is matched against at most {} bytes", kLongestMatched));
    }
    return {};
  }

  Result<std::string> substitution(const std::string& called) {
    result_.new_forms = true;
    const bool every = peek() == '/';
    at_ += every ? 1 : 0;
    MESH_TRY(const auto pattern, until('/', true, false));
    MESH_TRY(const auto replacement, until('}', true, false));
    const auto value = value_of(called);
    if (!value && options_.keep_unset) {
      return fmt::format("${{{}/{}/{}}}", called, pattern, replacement);
    }
    MESH_CHECK(short_enough(value.value_or(""), pattern));
    return replaced(value.value_or(""), pattern, replacement, every);
  }

  std::string_view word_;
  const Lookup& lookup_;
  LexOptions options_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expansion result_;
  std::string current_;
};

}  // namespace

Result<Expansion> expand(std::string_view word, const Lookup& lookup, const LexOptions& options) {
  return WordLexer(word, lookup, options).run();
}

}  // namespace mesh::containerfile
