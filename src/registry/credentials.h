#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "oci/auth_file.h"
#include "registry/access.h"

namespace mesh::registry {

/// The credentials that podman, skopeo or docker have been given on this machine.
class Credentials {
 public:
  explicit Credentials(const Services& services) : services_(services) {}

  struct Known {
    std::vector<oci::CredentialSource> sources;  // to try, in order, helpers asked already
    std::string file;                            // that has them; empty where nothing is known
    std::vector<std::string> missing;  // helpers that are not there: `NAME, which FILE names`
  };

  /// What to try for a repository; no sources: nothing is known. The
  /// first file that has something decides: REGISTRY_AUTH_FILE, `containers/auth.json` in
  /// XDG_RUNTIME_DIR and in the configuration directory, then docker's `config.json`. A helper is
  /// run once for each server in the object's life, for at most 30 s. Errors: Corrupt (a file that
  /// cannot be read as one), Unavailable (a helper failed, or did not answer). One that holds
  /// nothing, or is not installed, is passed over.
  [[nodiscard]] Result<Known> find(const std::string& domain, const std::string& path);

  /// The same from that one file alone, read anew each time. Errors: NotFound too.
  [[nodiscard]] static Result<Known> find_in(const std::string& file, const std::string& domain,
                                             const std::string& path);

 private:
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] Status load();
  struct NamedFile {
    std::string path;
    oci::AuthFile file;
  };
  /// Nothing where there is no such program.
  using Answer = Result<std::optional<oci::CredentialSource>>;
  [[nodiscard]] const Answer& ask(const oci::Helper& helper);
  [[nodiscard]] static Answer run_helper(const oci::Helper& helper);

  const Services& services_;
  bool loaded_ = false;
  std::vector<NamedFile> files_;
  std::map<std::string, Answer> answers_;  // of helpers, by program and server
};

}  // namespace mesh::registry
