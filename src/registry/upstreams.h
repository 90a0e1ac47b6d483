#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "oci/reference.h"
#include "registry/client.h"
#include "registry/mirror.h"
#include "registry/turns.h"

namespace mesh::registry {

/// The registries that images come from, each with the mirror that mesh.toml gives it: the mirror
/// is asked first, and the registry itself where the mirror has nothing to give.
class Upstreams {
 public:
  struct Setting {
    http::Loop& loop;
    const Services& services;
    Credentials& credentials;
    Account& account;
    const std::map<std::string, Access>& access;
    std::function<void(const std::string&)> remark;
    Client& own;  // the mesh's registry: a source that lies there is no upstream
  };
  explicit Upstreams(Setting setting);

  // Within a task; errors as the client's, of the last that was asked.

  /// The digest that a source means: its own, or its tag's by HEAD, asked once. A registry that
  /// does not name the digest is asked for the manifest (which may count against a quota).
  [[nodiscard]] Result<oci::Digest> resolve(const oci::Reference& source);
  [[nodiscard]] Result<ManifestBody> manifest(const oci::Reference& source,
                                              const oci::Digest& digest);
  [[nodiscard]] Status blob(const oci::Reference& source, const Expected& expected,
                            Incoming& incoming);

  [[nodiscard]] std::vector<Quota> quotas() const;

 private:
  [[nodiscard]] std::vector<Client*> clients(const std::string& domain);
  [[nodiscard]] Client& client(const std::string& domain);
  template <class Ask>
  [[nodiscard]] auto ask(const std::string& domain, Ask what);

  Setting setting_;
  std::map<std::string, std::unique_ptr<Client>> clients_;
  std::set<Client*> dead_;  // mirrors that could not be reached: not asked again in this run
  std::map<std::string, Result<oci::Digest>> resolved_;
  std::map<oci::Digest, ManifestBody> read_by_tag_;  // at most a few: registries without the header
  Turns turns_;
};

}  // namespace mesh::registry
