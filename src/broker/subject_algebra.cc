#include "broker/subject_algebra.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace mesh::broker {

namespace {

/// Takes the first token off `rest`.
std::string_view take(std::string_view& rest) {
  const auto dot = rest.find('.');
  const auto token = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return token;
}

using Tails = std::vector<std::string_view>;

bool covers_rest(const Tails& outers, std::string_view inner);

/// Whether what is left of `outers` behind a first token `token` covers `rest` behind it. An empty
/// `token` stands for every token that none of them names.
bool covers_behind(const Tails& outers, std::string_view token, std::string_view rest) {
  Tails tails;
  for (auto tail : outers) {
    const auto head = take(tail);
    if (head == ">") {
      return true;
    }
    if (head == "*" || head == token) {
      tails.push_back(tail);
    }
  }
  return covers_rest(tails, rest);
}

/// The tokens that `outers` name first, and the empty one for all others.
std::set<std::string_view> first_tokens(const Tails& outers) {
  std::set<std::string_view> out = {std::string_view{}};
  for (auto tail : outers) {
    const auto head = take(tail);
    if (head != "*" && head != ">") {
      out.insert(head);
    }
  }
  return out;
}

/// An empty text is the end of a subject here.
bool covers_rest(const Tails& outers, std::string_view inner) {
  if (inner.empty()) {
    return std::ranges::any_of(outers, [](std::string_view tail) { return tail.empty(); });
  }
  Tails longer;
  std::ranges::copy_if(outers, std::back_inserter(longer),
                       [](std::string_view tail) { return !tail.empty(); });
  if (longer.empty()) {
    return false;
  }
  auto rest = inner;
  const auto head = take(rest);
  const auto all = [&](std::string_view behind) {
    return std::ranges::all_of(first_tokens(longer), [&](std::string_view token) {
      return covers_behind(longer, token, behind);
    });
  };
  if (head == "*") {
    return all(rest);
  }
  // `>` is one token and then nothing, or one token and `>` again.
  return head == ">" ? all({}) && all(inner) : covers_behind(longer, head, rest);
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

bool covers(std::span<const std::string_view> outers, std::string_view inner) {
  return covers_rest(Tails(outers.begin(), outers.end()), inner);
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
