#include "http/message.h"

#include <algorithm>
#include <cctype>

namespace mesh::http {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (same_name(key, name)) {
      return value;
    }
  }
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::ranges::any_of(fields_,
                             [&](const auto& field) { return same_name(field.first, name); });
}

std::vector<std::string> Headers::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : fields_) {
    if (same_name(key, name)) {
      out.push_back(value);
    }
  }
  return out;
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return same_name(field.first, name); });
}

std::string place_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  url = url.substr(0, url.find_first_of("/?#"));
  const auto at = url.rfind('@');
  return std::string(at == std::string_view::npos ? url : url.substr(at + 1));
}

std::string place_of(const Request& request) {
  return request.unix_socket.empty() ? place_of(request.url) : request.unix_socket;
}

}  // namespace mesh::http
