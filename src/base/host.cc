#include "base/host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace mesh {

namespace {

/// IANA's registry of special IPv4 addresses, as far as one can meet them.
HostKind ipv4_kind(std::span<const std::uint8_t, 4> a) {
  if (a[0] == 127) {
    return HostKind::Loopback;
  }
  if (a[0] == 169 && a[1] == 254) {
    return HostKind::LinkLocal;
  }
  const bool shared = a[0] == 100 && (a[1] & 0xC0U) == 64;
  const bool twelve = a[0] == 172 && (a[1] & 0xF0U) == 16;
  if (a[0] == 10 || shared || twelve || (a[0] == 192 && a[1] == 168)) {
    return HostKind::Private;
  }
  const bool protocol = a[0] == 192 && a[1] == 0 && a[2] == 0;
  const bool benchmark = a[0] == 198 && (a[1] & 0xFEU) == 18;
  return a[0] == 0 || a[0] >= 224 || protocol || benchmark ? HostKind::Special : HostKind::Public;
}

bool begins_with(std::span<const std::uint8_t, 16> a, std::span<const std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), a.begin());
}

/// IANA's registry of special IPv6 addresses; those that carry an IPv4 address count as it.
HostKind ipv6_kind(std::span<const std::uint8_t, 16> a) {
  static constexpr std::array<std::uint8_t, 15> kZeros{};
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  static constexpr std::array<std::uint8_t, 12> kTranslated{0, 0x64, 0xFF, 0x9B};
  static constexpr std::array<std::uint8_t, 2> kSixToFour{0x20, 0x02};
  if (begins_with(a, kZeros)) {
    return a[15] == 1 ? HostKind::Loopback : HostKind::Special;
  }
  if (begins_with(a, std::span(kZeros).first(12)) || begins_with(a, kMapped) ||
      begins_with(a, kTranslated)) {
    return ipv4_kind(a.subspan<12, 4>());
  }
  if (begins_with(a, kSixToFour)) {
    return ipv4_kind(a.subspan<2, 4>());
  }
  if (a[0] == 0xFE && (a[1] & 0xC0U) == 0x80) {
    return HostKind::LinkLocal;
  }
  const bool site_local = a[0] == 0xFE && (a[1] & 0xC0U) == 0xC0;
  if ((a[0] & 0xFEU) == 0xFC || site_local) {
    return HostKind::Private;
  }
  return a[0] == 0xFF ? HostKind::Special : HostKind::Public;
}

/// Whether a resolver may read the name as a number (inet_aton does): its last label begins with
/// a digit and has nothing but digits, or hexadecimal ones after `0x`.
bool reads_as_number(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const bool hexadecimal = last.starts_with("0x") || last.starts_with("0X");
  const auto fits = [&](char c) {
    const bool digit = c >= '0' && c <= '9';
    return digit || (hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  };
  const std::string_view digits = hexadecimal ? last.substr(2) : last;
  return std::all_of(digits.begin(), digits.end(), fits);
}

bool is_localhost(std::string_view name) {
  static constexpr std::string_view kLocalhost = "localhost";
  std::string lower;
  for (const char c : name) {
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  }
  return lower == kLocalhost || lower.ends_with("." + std::string(kLocalhost));
}

}  // namespace

HostKind host_kind(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string text(host);
  std::array<std::uint8_t, 16> bytes{};
  if (text.find(':') != std::string::npos) {
    return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1 ? ipv6_kind(bytes)
                                                                : HostKind::Special;
  }
  std::string_view name = text;
  if (name.ends_with('.')) {
    name.remove_suffix(1);
  }
  if (inet_pton(AF_INET, std::string(name).c_str(), bytes.data()) == 1) {
    return ipv4_kind(std::span(bytes).first<4>());
  }
  if (name.empty() || reads_as_number(name)) {
    return HostKind::Special;
  }
  return is_localhost(name) ? HostKind::Loopback : HostKind::Name;
}

}  // namespace mesh
