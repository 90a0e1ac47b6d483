#include "host/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace mesh::host {

Result<std::unique_ptr<Mailbox>> Mailbox::make() {
  os::Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.valid()) {
    return fail(Code::Resource, "no descriptor for the mailbox");
  }
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(wake)));
}

void Mailbox::post(Work work) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Mailbox::run() {
  std::vector<Work> all;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    all.swap(posted_);
  }
  for (const auto& work : all) {
    work();
  }
}

}  // namespace mesh::host
