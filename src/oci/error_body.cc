#include <algorithm>
#include <string>

#include "base/json_text.h"
#include "base/text.h"
#include "oci/retry.h"

namespace mesh::oci {

namespace {

constexpr std::size_t kMostOfBody = 65536;
constexpr std::size_t kMostOfLine = 200;

std::string lower_text(std::string_view text) {
  std::string out(text);
  const auto lower = [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  };
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// One line: runs of white space are one blank, none at the ends; cut.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) {
    out.pop_back();
  }
  return printable(out, kMostOfLine);
}

/// What stands between `<tag…>` and `</tag>`; empty where it is not there. `lower` is `html` in
/// lower case.
std::string_view element(std::string_view html, std::string_view lower, const std::string& tag) {
  const auto open = lower.find("<" + tag);
  const auto from = open == std::string_view::npos ? open : lower.find('>', open);
  const auto to = from == std::string_view::npos ? from : lower.find("</" + tag, from);
  return to == std::string_view::npos ? std::string_view() : html.substr(from + 1, to - from - 1);
}

std::string without_tags(std::string_view html) {
  std::string out;
  bool inside = false;
  for (const char c : html) {
    if (c == '<' || c == '>') {
      inside = c == '<';
      out += ' ';
    } else if (!inside) {
      out += c;
    }
  }
  return out;
}

/// A page's title, or else its text.
std::string html_line(std::string_view html) {
  const std::string lower = lower_text(html);
  std::string title = one_line(without_tags(element(html, lower, "title")));
  if (!title.empty()) {
    return title;
  }
  const std::string_view body = element(html, lower, "body");
  return one_line(without_tags(body.empty() ? html : body));
}

std::string first_text(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string() &&
        !found->get_ref<const std::string&>().empty()) {
      return found->get<std::string>();
    }
  }
  return {};
}

RegistryError error_of(const nlohmann::json& object) {
  RegistryError out{printable(first_text(object, {"code"}), 60), {}};
  out.message =
      one_line(first_text(object, {"message", "error_description", "error", "detail", "details"}));
  return out;
}

RegistryError json_error(const nlohmann::json& root) {
  const auto errors = root.find("errors");
  if (errors != root.end() && errors->is_array()) {
    for (const auto& one : *errors) {
      if (one.is_object()) {
        return error_of(one);
      }
    }
  }
  const auto nested = root.find("error");
  return nested != root.end() && nested->is_object() ? error_of(*nested) : error_of(root);
}

}  // namespace

std::string RegistryError::text() const {
  return code.empty() || message.empty() ? code + message : code + ": " + message;
}

RegistryError parse_error_body(std::string_view body) {
  body = body.substr(0, kMostOfBody);
  const auto first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  if (body[first] == '{') {
    const auto root = parse_json(body);
    if (root && root->is_object()) {
      auto error = json_error(*root);
      if (!error.text().empty()) {
        return error;
      }
    }
  }
  return {"", body[first] == '<' ? html_line(body) : one_line(body)};
}

Limit limit_of(const RegistryError& error, const std::optional<RateLimit>& remaining) {
  if (remaining && remaining->count == 0) {
    return Limit::Quota;
  }
  const std::string text = lower_text(error.message);
  const bool says_so = text.find("pull rate limit") != std::string::npos ||
                       text.find("increase-rate-limit") != std::string::npos;
  return says_so ? Limit::Quota : Limit::Abuse;
}

}  // namespace mesh::oci
