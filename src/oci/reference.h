#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oci/digest.h"

namespace mesh::oci {

/// A name of an image as people write it, by the distribution project's grammar (module
/// `distribution/reference`), normalised as docker and podman do: `x` is `docker.io/library/x`,
/// `index.docker.io` is `docker.io`, and whether the first part is a domain is told by a `.`, a
/// `:`, an upper-case letter, or by being `localhost`. Case of the domain is kept.
class Reference {
 public:
  /// InvalidArgument with the cause and what to write instead. Unsupported: a digest of another
  /// algorithm than sha256 and sha512. A digest alone names no repository and is refused.
  [[nodiscard]] static Result<Reference> parse(std::string_view text);

  /// `docker.io`, `registry.example:5000`, `[::1]:5000`.
  [[nodiscard]] const std::string& domain() const { return domain_; }
  /// `library/debian`: the repository's name within its registry.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// What is written; where a digest stands beside it, it is for display alone.
  [[nodiscard]] const std::optional<std::string>& tag() const { return tag_; }
  [[nodiscard]] const std::optional<Digest>& digest() const { return digest_; }

  /// What to ask the registry for: the digest, or else the tag, or else `latest`.
  [[nodiscard]] std::string target() const;
  /// `docker.io/library/debian`: domain and path.
  [[nodiscard]] std::string name() const { return domain_ + "/" + path_; }
  /// All of it, normalised: `docker.io/library/debian:12@sha256:…`. Parses to the same reference.
  [[nodiscard]] std::string text() const;
  /// As docker shows it: without `docker.io/` and `library/`. Parses to the same reference, but for
  /// a name of 64 hexadecimal digits, which stays in full.
  [[nodiscard]] std::string familiar() const;
  /// `name()@digest`, without the tag.
  [[nodiscard]] std::string pinned(const Digest& digest) const {
    return name() + "@" + digest.text();
  }

  friend bool operator==(const Reference&, const Reference&) = default;

 private:
  Reference() = default;
  std::string domain_;
  std::string path_;
  std::optional<std::string> tag_;
  std::optional<Digest> digest_;
};

/// The host and port that serve a domain: `registry-1.docker.io` for `docker.io`, otherwise the
/// domain itself.
[[nodiscard]] std::string endpoint_of(std::string_view domain);

/// The one name that a registry's credentials, quota and connections are kept under: lower case,
/// and `docker.io` for each of the names of Docker's registry (`docker.io`, `index.docker.io`,
/// `registry-1.docker.io`, `registry.hub.docker.com`, with `:443` or without).
[[nodiscard]] std::string credential_key(std::string_view domain);

/// True where plain http is implied, since the domain is this machine: `localhost`, 127.0.0.0/8,
/// `[::1]`, with or without a port.
[[nodiscard]] bool is_loopback_domain(std::string_view domain);

/// A repository's name within a registry: path components of the grammar above, at most 255 bytes
/// with their slashes.
class Repository {
 public:
  /// InvalidArgument: with a domain's port, a tag, a digest, upper case, empty, too long.
  [[nodiscard]] static Result<Repository> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

  friend bool operator==(const Repository&, const Repository&) = default;
  friend auto operator<=>(const Repository&, const Repository&) = default;

 private:
  explicit Repository(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// `text` where it is a tag: a letter, digit or `_`, then up to 127 of these, `.` and `-`.
/// InvalidArgument otherwise.
[[nodiscard]] Result<std::string> parse_tag(std::string_view text);

}  // namespace mesh::oci
