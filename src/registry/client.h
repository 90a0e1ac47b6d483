#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/url.h"
#include "oci/digest.h"
#include "oci/location.h"
#include "registry/session.h"
#include "registry/streams.h"

namespace mesh::registry {

/// What a registry says a manifest is, unread.
struct ManifestHead {
  std::optional<oci::Digest> digest;  // nothing where the registry does not say
  std::string media_type;
};

/// How a registry has a manifest.
enum class Standing {
  Missing,
  There,
  Unreadable,  // it fails over this one: its file is empty, or no manifest
};

/// A manifest whose bytes are what its digest says.
struct ManifestBody {
  oci::Digest digest;
  std::string content_type;  // as the header has it
  std::string bytes;
};

/// A way to bring a blob into a repository.
struct Upload {
  bool done = false;  // it is there already: mounted, or held
  std::optional<oci::Onward> onward;
};

/// The distribution API of one registry (OCI distribution-spec 1.1), as far as copying needs it.
/// Every function runs within a task of the loop. Errors, beside those that are named: as
/// Session::ask and refusal, with what was asked in the message.
class Client {
 public:
  explicit Client(Session::Setting setting);

  /// `target` is a tag or a digest. Errors: NotFound.
  [[nodiscard]] Result<ManifestHead> head(const std::string& repository, const std::string& target);
  /// How it is there, by HEAD. Errors: what keeps the registry from saying that.
  [[nodiscard]] Result<Standing> standing(const std::string& repository, const oci::Digest& digest);
  /// Reads and hashes it. Errors: NotFound; Corrupt (other bytes than the digest asked for, a
  /// `Docker-Content-Digest` that the bytes do not have, HTML, more than 4 MiB).
  [[nodiscard]] Result<ManifestBody> manifest(const std::string& repository,
                                              const std::string& target,
                                              int attempts = oci::RetryPolicy{}.attempts);
  /// Reads a blob through `incoming`, from where it stands, continued where the connection breaks.
  /// Errors: NotFound, Corrupt.
  [[nodiscard]] Status blob(const std::string& repository, const Expected& expected,
                            Incoming& incoming);
  /// True where the repository has the blob, by HEAD.
  [[nodiscard]] Result<bool> has_blob(const std::string& repository, const oci::Digest& digest);

  /// Asks for the blob to be mounted from `from` (which may be the repository itself: then the
  /// answer says whether it is there), or else for an upload; for an upload alone where `from` is
  /// empty. A mount that is refused is no error.
  [[nodiscard]] Result<Upload> begin_upload(const std::string& repository,
                                            const oci::Digest& digest, const std::string& from);
  /// Sends the window's bytes. Errors: Unavailable where it may be tried again from the beginning.
  [[nodiscard]] Status upload(const std::string& repository, const oci::Digest& digest,
                              const oci::Onward& to, Window& window);
  /// Gives an upload up; what the registry says to it is of no interest.
  void cancel_upload(const std::string& repository, const oci::Onward& to);
  /// `target` is the digest or a tag. The answer's digest is compared. Errors: Unsupported (the
  /// registry refuses it; its words are in the message).
  [[nodiscard]] Status put_manifest(const std::string& repository, const oci::Digest& digest,
                                    const std::string& media_type, const std::string& bytes);
  /// Removes a manifest. One that is not there is no error. Errors: Unsupported (the registry does
  /// not delete).
  [[nodiscard]] Status remove_manifest(const std::string& repository, const oci::Digest& digest,
                                       int attempts = oci::RetryPolicy{}.attempts);
  /// Asks whether the registry answers at all, whatever it says of one content; a login that it
  /// asks for is an answer.
  [[nodiscard]] Status reach(int attempts = oci::RetryPolicy{}.attempts);
  /// The same, asked once.
  [[nodiscard]] bool answers() { return reach(1).has_value(); }
  /// Asks the registry to drop a blob and a manifest of that digest from the repository. A registry
  /// that does not delete, or does not know it, is no error.
  void forget(const std::string& repository, const oci::Digest& digest);

  [[nodiscard]] const std::string& domain() const { return session_.domain(); }
  [[nodiscard]] const std::optional<Session::QuotaSeen>& quota() const { return session_.quota(); }

 private:
  [[nodiscard]] Call manifest_call(const std::string& method, const std::string& repository,
                                   const std::string& target) const;
  [[nodiscard]] Call push_call(const std::string& method, const std::string& repository,
                               const oci::Digest& digest, const oci::Onward& to) const;
  [[nodiscard]] Status check_digest_header(const http::Response& answer, std::string_view bytes,
                                           const std::string& what) const;
  [[nodiscard]] Status upload_in_two(const std::string& repository, const oci::Digest& digest,
                                     const oci::Onward& to, Window& window);

  Session session_;
  bool mounts_ = true;  // until one was refused outright
};

}  // namespace mesh::registry
