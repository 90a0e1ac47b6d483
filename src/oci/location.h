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
  /// Not empty where it looks like a mistake of a proxy (same host, another port): for the hint of
  /// an error that follows.
  std::string hint;
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

/// Where to go on with an upload after sending `sent` bytes in all, by the `Range` header of the
/// registry's answer (`0-3119`, also `bytes=0-3119`): its count where it is behind. `0-0` means
/// none where none were sent, and one where one was. `Range: 0-3120` after 3120 bytes is a known
/// slip and counts as all. Corrupt: it cannot be read, claims more than was sent, or is `0-0` after
/// several bytes (none or one): begin a new upload.
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
