#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/url.h"
#include "oci/digest.h"

namespace mesh::oci {

/// Where a request goes on, and whether it may carry the credentials of where it came from.
struct Onward {
  Url url;
  bool credentials = false;
};

/// The upload's URL after an answer with `location`, found at `request`: relative or absolute, its
/// query kept as it is. Another host is allowed, without credentials. InvalidArgument: none or not
/// a URL. PermissionDenied: plain http from https; the hint names `X-Forwarded-Proto` and
/// `relativeurls`.
[[nodiscard]] Result<Onward> upload_location(const Url& request, std::string_view location);

/// `upload` with `digest=…` in its query, for the PUT that ends it.
[[nodiscard]] Url with_digest(const Url& upload, const Digest& digest);

/// The most redirects of one request.
inline constexpr int kMostRedirects = 10;

/// Where a redirect (301, 302, 303, 307, 308) of a GET or HEAD leads; `hops` counts those before.
/// `credentials` says whether `request` carried them: they go no further than the same scheme, host
/// and port, and never come back. PermissionDenied: plain http from https, a private or loopback
/// address given by a registry that is not at one. Unavailable: more than kMostRedirects.
/// InvalidArgument: no location.
[[nodiscard]] Result<Onward> redirect(const Url& request, std::string_view location, int hops,
                                      bool credentials);

/// Bytes that a registry says it has of an upload, by the `Range` header of its answer (`0-3119`,
/// also `bytes=0-3119`): the end plus one. `0-0` is 0 where none were sent and 1 otherwise, as the
/// registries mean it. Nothing where the header cannot be read.
[[nodiscard]] std::optional<std::uint64_t> upload_offset(std::string_view range,
                                                         std::uint64_t sent);

/// Where to go on after sending `sent` bytes in all: the registry's count where it is behind; one
/// byte more than was sent (`Range: 0-3120` after 3120 bytes) is a known slip and counts as all.
/// Corrupt: it claims more than that. Where the header cannot be read, nothing is known: restart.
[[nodiscard]] Result<std::uint64_t> resume_upload_at(std::string_view range, std::uint64_t sent);

/// A `Content-Range: bytes 100-199/200`.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total;  // `*`: not known
};
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view text);

/// Whether a 206's body continues a download at `offset` of `size` bytes. Corrupt otherwise, naming
/// what came.
[[nodiscard]] Status check_content_range(std::string_view header, std::uint64_t offset,
                                         std::uint64_t size);

}  // namespace mesh::oci
