// What a test tells the fake.

#include <utility>

#include "base/digest.h"
#include "tests/support/fake_engine.h"

namespace mesh::test {

void FakeEngine::add_image(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  images_.insert(reference);
}
void FakeEngine::add_upstream(const std::string& reference, const std::string& password) {
  const std::lock_guard lock(mutex_);
  upstream_[reference] = password;
}
void FakeEngine::remove_image(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  images_.erase(reference);
}
void FakeEngine::trouble(const std::string& part, int nth, Trouble what) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({part, nth, what});
}
void FakeEngine::calm() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}
void FakeEngine::fill_disk(bool full) {
  const std::lock_guard lock(mutex_);
  disk_full_ = full;
}
void FakeEngine::take_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  taken_[name] = sha256_hex("storage " + name);
}

void FakeEngine::reboot() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, container] : containers_) {
    if (container.state == "running") {
      ended(container, kFakeKilled);
    }
  }
}

void FakeEngine::end(const std::string& name, int exit_code, bool out_of_memory) {
  const std::lock_guard lock(mutex_);
  if (FakeContainer* const container = find(name)) {
    container->out_of_memory = out_of_memory;
    ended(*container, exit_code);
  }
}

void FakeEngine::lose(const std::string& name) {
  const std::lock_guard lock(mutex_);
  containers_.erase(name);
}

std::vector<FakeContainer> FakeEngine::containers() const {
  const std::lock_guard lock(mutex_);
  std::vector<FakeContainer> out;
  for (const auto& [name, container] : containers_) {
    out.push_back(container);
  }
  return out;
}

std::vector<std::string> FakeEngine::volumes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, body] : volumes_) {
    out.push_back(name);
  }
  return out;
}

std::vector<std::string> FakeEngine::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace mesh::test
