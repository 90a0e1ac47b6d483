#include "oci/location.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/host.h"
#include "base/text.h"

namespace mesh::oci {

namespace {

/// The whole of `text` as a number without sign.
std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// `first-last`.
std::optional<std::pair<std::uint64_t, std::uint64_t>> read_range(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto first = read_count(text.substr(0, dash));
  const auto last = read_count(text.substr(dash + 1));
  return first && last && *first <= *last ? std::optional(std::pair(*first, *last)) : std::nullopt;
}

std::string_view location_trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Result<Url> resolve_location(const Url& request, std::string_view location, std::string_view what) {
  location = location_trimmed(location);
  if (location.empty()) {
    return fail(Code::InvalidArgument,
                fmt::format("{} answered {} without a Location", request.shown(), what));
  }
  auto url = request.resolve(location);
  if (!url) {
    return within(fmt::format("{} answered {}", request.shown(), what), url.error());
  }
  return url;
}

/// Whether a registry at `here` may send its clients to `there`: addresses within a network only
/// where the registry is within one too.
bool may_lead_to(const Url& here, const Url& there) {
  const HostKind to = host_kind(there.host());
  const HostKind from = host_kind(here.host());
  if (here.host() == there.host() || to == HostKind::Name || to == HostKind::Public) {
    return true;
  }
  return to != HostKind::Special &&
         (to == from || (to == HostKind::Private && from == HostKind::Loopback));
}

}  // namespace

Result<Onward> upload_location(const Url& request, std::string_view location) {
  MESH_TRY(Url url, resolve_location(request, location, "an upload"));
  if (request.is_https() && !url.is_https()) {
    return fail(Code::PermissionDenied,
                fmt::format("{} is asked by https and sends the upload to {}", request.origin(),
                            url.shown()),
                "the registry does not know that it stands behind TLS: let its proxy send "
                "X-Forwarded-Proto (and Host), or set \"relativeurls: true\" in the registry's "
                "http section");
  }
  const bool same = request.same_origin(url);
  std::string hint;
  if (!same && request.host() == url.host()) {
    hint = fmt::format(
        "{} sent the upload to {}: a proxy that leaves the port out of Host does that; "
        "\"relativeurls: true\" in the registry's http section helps",
        request.origin(), url.origin());
  }
  return Onward{std::move(url), same, std::move(hint)};
}

Url with_digest(const Url& upload, const Digest& digest) {
  return upload.with_query("digest=" + url_escaped(digest.text()));
}

Result<Onward> redirect(const Url& request, std::string_view location, int hops, bool credentials) {
  if (hops >= kMostRedirects) {
    return fail(Code::Unavailable, fmt::format("{} led through more than {} redirects",
                                               request.shown(), kMostRedirects));
  }
  MESH_TRY(Url url, resolve_location(request, location, "a redirect"));
  if (request.is_https() && !url.is_https()) {
    return fail(
        Code::PermissionDenied,
        fmt::format("{} redirects from https to {}", request.shown(), url.shown()),
        "a registry behind TLS must redirect to https: look for X-Forwarded-Proto in its proxy");
  }
  if (!may_lead_to(request, url)) {
    return fail(
        Code::PermissionDenied,
        fmt::format("{} redirects to {}, an address within a network that it is not part of",
                    request.shown(), url.origin()));
  }
  const bool same = request.same_origin(url);
  return Onward{std::move(url), credentials && same, {}};
}

Result<std::uint64_t> resume_upload_at(std::string_view range, std::uint64_t sent) {
  static constexpr std::string_view kUnit = "bytes=";
  std::string_view value = location_trimmed(range);
  if (value.starts_with(kUnit)) {
    value.remove_prefix(kUnit.size());
  }
  const auto read = read_range(value);
  if (!read || read->first != 0) {
    return fail(Code::Corrupt,
                fmt::format("the registry's Range \"{}\" cannot be read", printable(range, 60)));
  }
  const std::uint64_t last = read->second;
  if (last == 0 && sent > 1) {
    return fail(Code::Corrupt, "the registry's Range 0-0 may mean no byte or one");
  }
  if (last == sent) {
    return sent;  // one too many, or 0-0 of nothing
  }
  if (last > sent) {
    return fail(Code::Corrupt,
                fmt::format("the registry claims to have {} bytes of an upload, {} were sent",
                            last == ~std::uint64_t{0} ? last : last + 1, sent));
  }
  return last + 1;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  static constexpr std::string_view kUnit = "bytes ";
  std::string_view value = location_trimmed(text);
  if (!value.starts_with(kUnit)) {
    return std::nullopt;
  }
  value = location_trimmed(value.substr(kUnit.size()));
  const auto slash = value.find('/');
  const auto range = read_range(value.substr(0, slash));
  if (slash == std::string_view::npos || !range) {
    return std::nullopt;
  }
  const std::string_view total = value.substr(slash + 1);
  ContentRange out{range->first, range->second, read_count(total)};
  const bool known = out.total.has_value();
  return (total == "*" || known) && (!known || out.last < *out.total) ? std::optional(out)
                                                                      : std::nullopt;
}

Status check_content_range(std::string_view header, std::uint64_t offset, std::uint64_t size) {
  const auto range = parse_content_range(header);
  const bool fits =
      range && range->first == offset && range->last < size && range->total.value_or(size) == size;
  if (!fits) {
    return fail(Code::Corrupt, fmt::format("bytes {}-{}/{} were asked for and \"{}\" came", offset,
                                           size == 0 ? 0 : size - 1, size, printable(header, 60)));
  }
  return {};
}

}  // namespace mesh::oci
