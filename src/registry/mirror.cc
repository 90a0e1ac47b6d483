#include "registry/mirror.h"

#include "registry/engine.h"

namespace mesh::registry {

Mirror::Mirror(MirrorOptions options, Services services, Ledger& ledger, Progress& progress)
    : engine_(std::make_unique<Engine>(std::move(options), std::move(services), ledger, progress)) {
}

Mirror::~Mirror() = default;

std::vector<Result<Mirrored>> Mirror::run(std::span<const MirrorPair> pairs) {
  return engine_->run(pairs);
}

Result<oci::Digest> Mirror::resolve(const oci::Reference& source) {
  return engine_->resolve(source);
}

Status Mirror::reach() {
  return engine_->reach();
}

Result<bool> Mirror::holds(const oci::Repository& repository, const oci::Digest& digest) {
  return engine_->holds(repository.text(), digest);
}

const std::vector<Asked>& Mirror::asked() const {
  return engine_->asked();
}

std::vector<Quota> Mirror::quotas() const {
  return engine_->quotas();
}

}  // namespace mesh::registry
