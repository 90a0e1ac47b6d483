#include "registry/upstreams.h"

#include <algorithm>
#include <utility>

namespace mesh::registry {
namespace {

bool another_may_have_it(const Error& error) {
  return error.code == Code::NotFound || error.code == Code::Unavailable ||
         error.code == Code::Timeout || error.code == Code::PermissionDenied ||
         error.code == Code::Unsupported;
}

/// What mesh.toml says of a registry, by whichever of its names.
Access access_of(const std::map<std::string, Access>& all, const std::string& domain) {
  const std::string key = oci::credential_key(domain);
  const auto found = std::ranges::find_if(
      all, [&](const auto& entry) { return oci::credential_key(entry.first) == key; });
  return found == all.end() ? Access{} : found->second;
}

}  // namespace

Upstreams::Upstreams(Setting setting) : setting_(std::move(setting)), turns_(setting_.loop) {}

Client& Upstreams::client(const std::string& domain) {
  if (domain == setting_.own.domain()) {
    return setting_.own;
  }
  auto& slot = clients_[domain];
  if (slot == nullptr) {
    slot = std::make_unique<Client>(Session::Setting{.loop = setting_.loop,
                                                     .services = setting_.services,
                                                     .credentials = setting_.credentials,
                                                     .account = &setting_.account,
                                                     .domain = domain,
                                                     .access = access_of(setting_.access, domain),
                                                     .remark = setting_.remark});
  }
  return *slot;
}

std::vector<Client*> Upstreams::clients(const std::string& domain) {
  std::vector<Client*> out;
  if (const Access access = access_of(setting_.access, domain); !access.mirror.empty()) {
    out.push_back(&client(access.mirror));
  }
  out.push_back(&client(domain));
  return out;
}

template <class Ask>
auto Upstreams::ask(const std::string& domain, Ask what) {
  const std::vector<Client*> all = clients(domain);
  for (std::size_t at = 0;; ++at) {
    if (at + 1 < all.size() && dead_.contains(all[at])) {
      continue;
    }
    auto answer = what(*all[at]);
    if (answer || at + 1 == all.size() || !another_may_have_it(answer.error())) {
      return answer;
    }
    if (answer.error().code == Code::Unavailable || answer.error().code == Code::Timeout) {
      dead_.insert(all[at]);
    }
  }
}

Result<oci::Digest> Upstreams::resolve(const oci::Reference& source) {
  if (source.digest()) {
    return *source.digest();
  }
  const std::string name = source.name() + ":" + source.target();
  MESH_TRY(const auto turn, turns_.take(name));
  if (const auto known = resolved_.find(name); known != resolved_.end()) {
    return known->second;
  }
  auto answer = ask(source.domain(), [&](Client& one) -> Result<oci::Digest> {
    auto head = one.head(source.path(), source.target());
    if (head && head->digest) {
      return *std::move(head->digest);
    }
    // Some do not name the digest, some do not take a HEAD.
    if (!head && head.error().code != Code::Unsupported) {
      return std::unexpected(std::move(head).error());
    }
    MESH_TRY(ManifestBody body, one.manifest(source.path(), source.target()));
    oci::Digest digest = body.digest;
    read_by_tag_.insert_or_assign(digest, std::move(body));
    return digest;
  });
  resolved_.emplace(name, answer);
  return answer;
}

Result<ManifestBody> Upstreams::manifest(const oci::Reference& source, const oci::Digest& digest) {
  if (const auto read = read_by_tag_.find(digest); read != read_by_tag_.end()) {
    ManifestBody body = std::move(read->second);
    read_by_tag_.erase(read);
    return body;
  }
  return ask(source.domain(),
             [&](Client& one) { return one.manifest(source.path(), digest.text()); });
}

Status Upstreams::blob(const oci::Reference& source, const Expected& expected, Incoming& incoming) {
  return ask(source.domain(),
             [&](Client& one) { return one.blob(source.path(), expected, incoming); });
}

std::vector<Quota> Upstreams::quotas() const {
  std::vector<Quota> out;
  for (const auto& [domain, one] : clients_) {
    if (const auto& seen = one->quota()) {
      out.push_back({domain, seen->limit, seen->remaining, seen->until});
    }
  }
  return out;
}

}  // namespace mesh::registry
