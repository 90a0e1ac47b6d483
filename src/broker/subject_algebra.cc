#include "broker/subject_algebra.h"

namespace mesh::broker {

namespace {

/// Takes the first token off `rest`.
std::string_view take(std::string_view& rest) {
  const auto dot = rest.find('.');
  const auto token = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return token;
}

}  // namespace

bool includes(std::string_view outer, std::string_view inner) {
  while (!outer.empty() && !inner.empty()) {
    const auto a = take(outer);
    const auto b = take(inner);
    if (a == ">") {
      return true;
    }
    if (b == ">" || (a != "*" && a != b)) {
      return false;
    }
  }
  return outer.empty() && inner.empty();
}

bool overlaps(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto x = take(a);
    const auto y = take(b);
    if (x == ">" || y == ">") {
      return true;
    }
    if (x != y && x != "*" && y != "*") {
      return false;
    }
  }
  return a.empty() && b.empty();
}

bool is_subject(std::string_view text) {
  if (text.empty() || text.ends_with('.')) {
    return false;
  }
  while (!text.empty()) {
    const auto token = take(text);
    if (token.empty() || (token == ">" && !text.empty())) {
      return false;
    }
    for (const char c : token) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte <= ' ' || byte == 0x7f || ((c == '*' || c == '>') && token.size() > 1)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace mesh::broker
