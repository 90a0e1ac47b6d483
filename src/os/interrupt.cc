#include "os/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace mesh::os {

namespace {

constexpr int kInterrupted = 130;

// A signal handler can reach nothing but a global; set once, before any thread is started.
std::atomic<Interrupt*> watched{nullptr};

void on_request(int /*signal*/) {
  const int saved = errno;
  Interrupt* interrupt = watched.load();
  if (interrupt->requested() && !interrupt->in_order()) {
    _exit(kInterrupted);
  }
  interrupt->request();
  errno = saved;
}

void on_exit(int /*signal*/) {
  _exit(kInterrupted);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// Under nohup it stays ignored.
bool is_ignored(int signal) {
  struct sigaction now{};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

void Interrupt::request() {
  if (requested_.exchange(true)) {
    insisted_.store(true);
  }
  const std::uint64_t one = 1;
  // Only a full counter could refuse it, and then the descriptor is readable already.
  [[maybe_unused]] const auto written = write(descriptor_, &one, sizeof one);
}

void watch_signals(Interrupt& interrupt, OnSignal what) {
  watched.store(&interrupt);
  handle(SIGPIPE, SIG_IGN);
  handle(SIGINT, what == OnSignal::Request ? on_request : on_exit);
  handle(SIGTERM, what == OnSignal::Request ? on_request : SIG_DFL);
  if (!is_ignored(SIGHUP)) {
    handle(SIGHUP, what == OnSignal::Request ? on_request : SIG_DFL);
  }
}

}  // namespace mesh::os
