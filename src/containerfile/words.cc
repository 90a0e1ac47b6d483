#include "containerfile/words.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "containerfile/lexer.h"
#include "containerfile/lines.h"

namespace mesh::containerfile {

namespace {

std::optional<std::string> nothing_is_set(std::string_view /*name*/) {
  return std::nullopt;
}

/// Where the quoted part that starts at `at` ends: behind its closing quote, or at the end.
std::size_t end_of_quotes(std::string_view text, std::size_t at, char escape) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) {
    at += text[at] == escape && quote != '\'' ? 2U : 1U;
  }
  return std::min(text.size(), at + 1);
}

/// `[digits]<<[-]blanks name`: where the name starts, or npos.
std::size_t name_of_heredoc(std::string_view word, bool& chomp) {
  const auto digits = word.find_first_not_of("0123456789");
  if (digits == std::string_view::npos || !word.substr(digits).starts_with("<<")) {
    return std::string_view::npos;
  }
  auto at = digits + 2;
  chomp = at < word.size() && word[at] == '-';
  at += chomp ? 1 : 0;
  while (at < word.size() && is_blank(word[at])) {
    ++at;
  }
  return word.find('<', at) == std::string_view::npos && at < word.size() ? at
                                                                          : std::string_view::npos;
}

std::ptrdiff_t quotes_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return c == '\'' || c == '"'; });
}

}  // namespace

std::string Heredoc::text() const {
  if (!chomp) {
    return content;
  }
  std::string out;
  bool start = true;
  for (const char c : content) {
    if (start && c == '\t') {
      continue;
    }
    out += c;
    start = c == '\n';
  }
  return out;
}

std::vector<CutWord> blank_words(std::string_view text) {
  std::vector<CutWord> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    const auto start = at;
    while (at < text.size() && !is_blank(text[at])) {
      ++at;
    }
    words.push_back({std::string(text.substr(start, at - start)), start});
  }
  return words;
}

std::vector<CutWord> quoted_words(std::string_view text, char escape) {
  std::vector<CutWord> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    const auto start = at;
    while (at < text.size() && !is_blank(text[at])) {
      if (text[at] == '\'' || text[at] == '"') {
        at = end_of_quotes(text, at, escape);
      } else {
        at += text[at] == escape ? 2U : 1U;
      }
    }
    at = std::min(at, text.size());
    auto word = std::string(text.substr(start, at - start));
    if (word.size() == 1 && word.front() == escape) {
      word.clear();  // a lone escape character at the end is dropped
    }
    if (!word.empty()) {
      words.push_back({std::move(word), start});
    }
  }
  return words;
}

CutFlags leading_flags(std::string_view text, char escape) {
  CutFlags out;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) {
      ++at;
    }
    if (!text.substr(at).starts_with("--")) {
      out.rest = at;
      return out;
    }
    const auto start = at;
    std::string flag;
    char quote = '\0';
    for (; at < text.size() && (quote != '\0' || !is_blank(text[at])); ++at) {
      const char c = text[at];
      if (quote != '\0' ? c == quote : (c == '\'' || c == '"')) {
        quote = quote == '\0' ? c : '\0';
      } else if (c == escape && at + 1 < text.size()) {
        flag += text[++at];
      } else if (c != escape) {
        flag += c;
      }
    }
    if (flag == "--") {
      out.rest = at;
      return out;
    }
    out.flags.push_back({std::move(flag), start});
  }
}

Result<std::optional<std::vector<std::string>>> json_texts(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) {
    return std::nullopt;
  }
  const auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const auto& item : parsed) {
    if (!item.is_string()) {
      return fail(Code::InvalidArgument, "the list holds something else than texts",
                  R"(write ["a", "b"], each part in double quotes)");
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<Heredoc> heredoc_word(std::string_view word) {
  Heredoc out;
  const auto at = name_of_heredoc(word, out.chomp);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto plain = expand(word.substr(at), nothing_is_set, {.keep_unset = true});
  const auto raw =
      expand(word.substr(at), nothing_is_set, {.raw_quotes = true, .keep_unset = true});
  if (!plain || !raw || plain->words.size() != 1 || raw->words.size() != 1) {
    return std::nullopt;
  }
  out.name = plain->words.front();
  out.expand = quotes_in(out.name) == quotes_in(raw->words.front());
  return out;
}

std::vector<Heredoc> announced_heredocs(const std::string& line) {
  std::vector<Heredoc> found;
  if (line.find("<<") == std::string::npos) {
    return found;
  }
  const auto words =
      expand(line, nothing_is_set, {.raw_quotes = true, .raw_escapes = true, .keep_unset = true});
  if (!words) {
    return found;
  }
  for (const auto& word : words->words) {
    if (auto heredoc = heredoc_word(word)) {
      found.push_back(std::move(*heredoc));
    }
  }
  return found;
}

}  // namespace mesh::containerfile
