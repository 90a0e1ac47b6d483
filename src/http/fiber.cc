#include "http/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

// The sanitizers are told of each change of stacks; otherwise they take it for damage.
#if defined(__SANITIZE_ADDRESS__)
#define MESH_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MESH_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MESH_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MESH_FIBER_TSAN 1
#endif
#endif
#ifdef MESH_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MESH_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace mesh::http {
namespace {

constexpr std::size_t kStack = std::size_t{512} << 10U;

}  // namespace

struct Fiber::State {
  /// Pages for one stack, with one below it that nothing may touch.
  class Stack {
   public:
    Stack() : guard_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
      memory_ = ::mmap(nullptr, kStack + guard_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (memory_ == MAP_FAILED) {
        throw std::bad_alloc();
      }
      ::mprotect(memory_, guard_, PROT_NONE);
    }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    ~Stack() { ::munmap(memory_, kStack + guard_); }
    [[nodiscard]] char* bottom() const { return static_cast<char*>(memory_) + guard_; }

   private:
    std::size_t guard_;
    void* memory_ = nullptr;
  };

  std::function<void()> body;
  Stack stack;
  ucontext_t own{};
  ucontext_t caller{};
  std::exception_ptr thrown;
  bool begun = false;
  bool ended = false;
  // What the sanitizers keep of the two sides.
  void* own_mark = nullptr;
  void* caller_mark = nullptr;
  const void* caller_bottom = nullptr;
  std::size_t caller_size = 0;

  explicit State(std::function<void()> f) : body(std::move(f)) {
#ifdef MESH_FIBER_TSAN
    own_mark = __tsan_create_fiber(0);
#endif
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
#ifdef MESH_FIBER_TSAN
    __tsan_destroy_fiber(own_mark);
#endif
  }

  void enter() {
#ifdef MESH_FIBER_ASAN
    __sanitizer_start_switch_fiber(&caller_mark, stack.bottom(), kStack);
#endif
#ifdef MESH_FIBER_TSAN
    caller_mark = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_mark, 0);
#endif
    ::swapcontext(&caller, &own);
#ifdef MESH_FIBER_ASAN
    __sanitizer_finish_switch_fiber(caller_mark, nullptr, nullptr);
#endif
  }

  void leave() {
#ifdef MESH_FIBER_ASAN
    __sanitizer_start_switch_fiber(ended ? nullptr : &own_mark, caller_bottom, caller_size);
#endif
#ifdef MESH_FIBER_TSAN
    __tsan_switch_to_fiber(caller_mark, 0);
#endif
    ::swapcontext(&own, &caller);
    arrived();
  }

  void arrived() {
#ifdef MESH_FIBER_ASAN
    __sanitizer_finish_switch_fiber(own_mark, &caller_bottom, &caller_size);
#endif
  }

  void run() {
    arrived();
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
    ended = true;
    leave();
  }

  // makecontext hands over ints only; a pointer goes as two.
  static void main(unsigned high, unsigned low) {
    const auto address = (std::uintptr_t{high} << 32U) | std::uintptr_t{low};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): see above
    reinterpret_cast<State*>(address)->run();
  }
};

Fiber::Fiber(std::function<void()> body) : state_(std::make_unique<State>(std::move(body))) {
  State& state = *state_;
  ::getcontext(&state.own);
  state.own.uc_stack.ss_sp = state.stack.bottom();
  state.own.uc_stack.ss_size = kStack;
  state.own.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&state);
  ::makecontext(&state.own, reinterpret_cast<void (*)()>(&State::main), 2,
                static_cast<unsigned>(address >> 32U), static_cast<unsigned>(address));
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  state_->enter();
  if (state_->thrown) {
    std::rethrow_exception(std::exchange(state_->thrown, nullptr));
  }
}

void Fiber::pause() {
  state_->leave();
}

bool Fiber::ended() const {
  return state_->ended;
}

}  // namespace mesh::http
