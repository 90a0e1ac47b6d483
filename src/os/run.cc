#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/errno_error.h"
#include "os/poll.h"
#include "os/process.h"

namespace mesh::os {
namespace {

constexpr Milliseconds kGrace{2000};
// How long a pipe is read that a grandchild keeps open after the program has ended.
constexpr Milliseconds kLinger{200};

// In memory and not through a pipe: a program that does not read it cannot block us.
Result<Fd> input_file(const std::string& input) {
  Fd fd(::memfd_create("input", MFD_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno("cannot hold the input of a program", errno);
  }
  std::string_view rest = input;
  while (!rest.empty()) {
    const ssize_t put = ::write(fd.get(), rest.data(), rest.size());
    if (put < 0) {
      return fail_errno("cannot hold the input of a program", errno);
    }
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

/// One stream of the program: keeps the first bytes, reads and drops the rest.
struct Capture {
  Fd fd;
  std::string* bytes;
  std::size_t most;
  bool* truncated;

  void read_available() {
    std::array<char, 16384> buffer;
    for (;;) {
      const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0 && errno == EAGAIN) {
        return;
      }
      if (got <= 0) {
        fd.reset();
        return;
      }
      keep({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

  void keep(std::string_view piece) {
    const std::size_t room = most - std::min(most, bytes->size());
    bytes->append(piece.substr(0, room));
    *truncated = *truncated || piece.size() > room;
  }
};

enum class Why { Ended, Timeout, Stopped };

// Reads until the program has ended, its time is over or the caller is told to stop.
Why read_until_end(Process& process, Capture& out, Capture& err, const RunOptions& options) {
  const Deadline deadline(options.timeout);
  for (;;) {
    std::array<pollfd, 4> entries{{{process.pidfd(), POLLIN, 0},
                                   {out.fd.get(), POLLIN, 0},
                                   {err.fd.get(), POLLIN, 0},
                                   {options.stop_fd, POLLIN, 0}}};
    if (::poll(entries.data(), entries.size(), poll_milliseconds(deadline)) < 0) {
      continue;  // EINTR
    }
    if (entries[1].revents != 0) {
      out.read_available();
    }
    if (entries[2].revents != 0) {
      err.read_available();
    }
    if (entries[0].revents != 0) {
      return Why::Ended;
    }
    if (entries[3].revents != 0) {
      return Why::Stopped;
    }
    if (deadline.passed()) {
      return Why::Timeout;
    }
  }
}

void read_rest(Capture& out, Capture& err) {
  const Deadline deadline(kLinger);
  while ((out.fd.valid() || err.fd.valid()) && !deadline.passed()) {
    std::array<pollfd, 2> entries{{{out.fd.get(), POLLIN, 0}, {err.fd.get(), POLLIN, 0}}};
    if (::poll(entries.data(), entries.size(), poll_milliseconds(deadline)) <= 0) {
      continue;
    }
    if (entries[0].revents != 0) {
      out.read_available();
    }
    if (entries[1].revents != 0) {
      err.read_available();
    }
  }
}

Result<ExitStatus> finish(Process& process, Why why, const RunOptions& options) {
  if (why == Why::Ended) {
    return process.wait(kGrace);
  }
  const std::string& name = options.spawn.argv[0];
  process.stop(kGrace);
  if (why == Why::Stopped) {
    return fail(Code::Interrupted, name + " was stopped");
  }
  return fail(Code::Timeout, fmt::format("{} did not end in {} ms and was stopped", name,
                                         options.timeout.count()));
}

}  // namespace

Result<RunResult> run(const RunOptions& options) {
  SpawnOptions spawn = options.spawn;
  spawn.out = Output::pipe();
  spawn.err = Output::pipe();
  MESH_TRY(const Fd input, input_file(options.input));
  spawn.in = input.get();
  MESH_TRY(Process process, Process::spawn(spawn));
  RunResult result;
  Capture out{std::move(process.out()), &result.out, options.most_output, &result.truncated};
  Capture err{std::move(process.err()), &result.err, options.most_output, &result.truncated};
  const Why why = read_until_end(process, out, err, options);
  MESH_TRY(result.status, finish(process, why, options));
  read_rest(out, err);
  return result;
}

}  // namespace mesh::os
