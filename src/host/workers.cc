#include "host/workers.h"

#include <utility>

namespace mesh::host {

Workers::~Workers() {
  for (auto& [key, thread] : threads_) {
    thread.join();
  }
}

void Workers::run(const std::string& key, std::function<void()> work) {
  threads_.emplace(key, std::thread(std::move(work)));
}

void Workers::done(const std::string& key) {
  const auto found = threads_.find(key);
  if (found != threads_.end()) {
    found->second.join();
    threads_.erase(found);
  }
}

}  // namespace mesh::host
