#pragma once

#include <map>
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

  /// What to try for a repository, in order, helpers asked already; empty: nothing is known. The
  /// first file that has something decides: REGISTRY_AUTH_FILE, `containers/auth.json` in
  /// XDG_RUNTIME_DIR and in the configuration directory, then docker's `config.json`. A helper is
  /// run once for each server in the object's life, for at most 30 s. Errors: Corrupt (a file that
  /// cannot be read as one), Unavailable (a helper failed). One that holds nothing, or is
  /// not installed, is passed over.
  [[nodiscard]] Result<std::vector<oci::CredentialSource>> find(const std::string& domain,
                                                                const std::string& path);

  /// The same from that one file alone, read anew each time. Errors: NotFound too.
  [[nodiscard]] static Result<std::vector<oci::CredentialSource>> find_in(const std::string& file,
                                                                          const std::string& domain,
                                                                          const std::string& path);

 private:
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] Status load();
  [[nodiscard]] Result<oci::CredentialSource> ask(const oci::Helper& helper);

  const Services& services_;
  bool loaded_ = false;
  std::vector<oci::AuthFile> files_;
  std::map<std::string, oci::CredentialSource> answers_;  // of helpers, by program and server
};

}  // namespace mesh::registry
