#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace mesh::cli {

namespace {

/// Writes all of `text`; 0 or the error number.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  return 0;
}

constexpr int kCannotRun = 126;
constexpr int kNoSuchCommand = 127;

/// As a shell answers: 127 where there is no such command, 126 where it cannot be run.
int exec_command(const Exec& exec) {
  for (const auto& [name, value] : exec.added) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  for (const auto& name : exec.removed) {
    unsetenv(name.c_str());
  }
  auto words = exec.command;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  // What is ignored stays ignored in the program that follows.
  std::signal(SIGPIPE, SIG_DFL);
  execvp(argv.front(), argv.data());
  const int error = errno;
  write_all(STDERR_FILENO, fmt::format("error: {} cannot be run: {}\n", exec.command.front(),
                                       std::strerror(error)));
  return error == ENOENT ? kNoSuchCommand : kCannotRun;
}

std::string working_directory() {
  std::error_code failed;
  const auto path = std::filesystem::current_path(failed);
  return failed ? "/" : path.string();
}

}  // namespace

Status ProcessConsole::out(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) {
    return {};
  }
  return fail(error == EPIPE ? Code::Unavailable : Code::Resource,
              fmt::format("stdout cannot be written: {}", std::strerror(error)));
}

void ProcessConsole::err(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

Result<std::string> ProcessConsole::in(std::size_t most) {
  std::string bytes;
  std::array<char, 65536> piece{};
  while (true) {
    const auto got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno != EINTR) {
      return fail(Code::Internal, fmt::format("stdin cannot be read: {}", std::strerror(errno)));
    }
    if (got == 0) {
      return bytes;
    }
    bytes.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    if (bytes.size() > most) {
      return fail(Code::InvalidArgument, fmt::format("stdin holds more than {} bytes", most));
    }
  }
}

bool ProcessConsole::out_is_terminal() const {
  return isatty(STDOUT_FILENO) == 1;
}

bool ProcessConsole::err_is_terminal() const {
  return isatty(STDERR_FILENO) == 1;
}

bool ProcessConsole::in_is_terminal() const {
  return isatty(STDIN_FILENO) == 1;
}

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0) {
      // The lowest free number is this one; the wrong way round, so that its use is an error.
      [[maybe_unused]] const int opened =
          open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

Process this_process(os::Interrupt& interrupt, const os::Clock& clock, os::Random& random) {
  Process process{.clock = clock,
                  .random = random,
                  .directory = working_directory(),
                  .variable = {},
                  .exec = {},
                  .watch_signals = {}};
  process.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  process.exec = exec_command;
  process.watch_signals = [&interrupt](bool ends_itself) {
    os::watch_signals(interrupt, ends_itself ? os::OnSignal::Request : os::OnSignal::Exit);
  };
  return process;
}

}  // namespace mesh::cli
