#include "natsconf/writer.h"

namespace mesh::natsconf {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool needs_escape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '"' || c == '\\';
}

void append_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += '\\';
  switch (c) {
    case '"':
    case '\\':
      out += c;
      return;
    case '\t':
      out += 't';
      return;
    case '\n':
      out += 'n';
      return;
    case '\r':
      out += 'r';
      return;
    default:
      out += 'x';
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (needs_escape(text[i])) {
      out.append(text, plain, i - plain);
      append_escaped(out, text[i]);
      plain = i + 1;
    }
  }
  out.append(text, plain, text.size() - plain);
  out += '"';
}

std::string quoted_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

bool is_writable_key(std::string_view text) {
  constexpr std::string_view kForbidden("\"\0", 2);
  return !text.empty() && text.find_first_of(kForbidden) == std::string_view::npos;
}

}  // namespace mesh::natsconf
