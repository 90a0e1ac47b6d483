#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "declaration/declaration.h"
#include "secrets/signing.h"

namespace mesh::declaration {

/// A declaration as it goes over the bus and lies on the disk: the signature in base 64, a line
/// feed, and the declaration's exact bytes.
struct Envelope {
  std::string signature;  // 64 bytes, of `bytes`
  std::string bytes;
};

[[nodiscard]] std::string seal_envelope(const secrets::SigningKey& key,
                                        const Declaration& declaration);
/// Errors: Corrupt (no such form, or larger than kLargest).
[[nodiscard]] Result<Envelope> open_envelope(std::string_view text);

/// What a host knows of the mesh that it belongs to.
struct Trust {
  std::string mesh;
  std::string node;
  secrets::PublicKey controller;  // pinned when it joined, or a later one that was signed
  secrets::PublicKey recovery;
  std::int64_t number = 0;  // of the last declaration that was applied
};

/// A declaration that was believed.
struct Accepted {
  Declaration declaration;
  secrets::PublicKey controller;  // to be pinned from now on
};

/// Whether the host may apply it. Errors, each a reason to report and to keep what runs:
/// PermissionDenied (not signed by a key that is trusted), Conflict (another mesh, another node, a
/// number that is not above the last), Unsupported (a later format), Corrupt.
[[nodiscard]] Result<Accepted> accept(std::string_view envelope, const Trust& trust);

/// `next` signed by `by`, for the declarations that carry it.
[[nodiscard]] NextKey sign_next_key(const secrets::SigningKey& by, const std::string& mesh,
                                    const secrets::PublicKey& next);

}  // namespace mesh::declaration
