#include "builder/context.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "oci/digest.h"
#include "os/errno_error.h"
#include "os/fd.h"

namespace mesh::builder {

namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kBuffer = std::size_t{256} << 10U;
constexpr mode_t kPermissions = 07777;
constexpr mode_t kTopMode = 0755;

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// The names in a directory, sorted. `fd` is borrowed.
Result<std::vector<std::string>> names_in(int fd, const std::string& shown) {
  const int own = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, DirectoryCloser> directory(own < 0 ? nullptr : ::fdopendir(own));
  if (!directory) {
    return os::fail_errno("cannot read " + shown, errno);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  if (errno != 0) {
    return os::fail_errno("cannot read " + shown, errno);
  }
  std::ranges::sort(names);
  return names;
}

/// One directory of the walk: the source, and where a copy is made.
struct Level {
  const os::Fd& from;
  int to = -1;       // -1: no copy, or not made yet
  std::string path;  // relative to the context, empty at the top
  const containerfile::IgnoreRules::Matched& matched;
  int depth = 0;
};

class Walk {
 public:
  Walk(const std::string& directory, const containerfile::IgnoreRules& rules, std::string into,
       int stop_fd)
      : root_(directory),
        rules_(rules),
        into_(std::move(into)),
        stop_fd_(stop_fd),
        buffer_(kBuffer) {}

  Result<ContextHash> run() {
    os::Fd top(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top.valid()) {
      return errno == ENOTDIR
                 ? Result<ContextHash>(fail(Code::InvalidArgument, root_ + " is no directory"))
                 : os::fail_errno("cannot read " + root_, errno);
    }
    os::Fd copy;
    if (!into_.empty()) {
      if (::mkdir(into_.c_str(), 0700) != 0) {
        return os::fail_errno("cannot make " + into_, errno);
      }
      copy = os::Fd(::open(into_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    const containerfile::IgnoreRules::Matched none;
    MESH_CHECK(walk({top, copy.get(), {}, none, 0}));
    // Users that a build runs as see it too, as they do with BuildKit; it stands in a folder that
    // is closed to this machine's.
    if (copy.valid() && ::fchmod(copy.get(), kTopMode) != 0) {
      return os::fail_errno("cannot copy " + root_, errno);
    }
    out_.digest = std::string(whole_.finish().hex());
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string shown(const std::string& path) const { return root_ + "/" + path; }

  /// An entry of the digest: kind, bits, path, content; each part's end is told from its text.
  void add(char kind, mode_t mode, const std::string& path, std::string_view content) {
    whole_.update(fmt::format("{} {:o} {}:{} {}:", kind, mode & kPermissions, path.size(), path,
                              content.size()));
    whole_.update(content);
    whole_.update("\n");
  }

  Status walk(const Level& level) {
    if (level.depth > kDeepest) {
      return fail(Code::InvalidArgument,
                  fmt::format("{} is nested more than {} deep", shown(level.path), kDeepest));
    }
    pollfd stop{stop_fd_, POLLIN, 0};
    if (stop_fd_ >= 0 && ::poll(&stop, 1, 0) > 0) {
      return fail(Code::Interrupted, "interrupted while reading the context " + root_);
    }
    MESH_TRY(const auto names, names_in(level.from.get(), shown(level.path)));
    for (const auto& name : names) {
      MESH_CHECK(entry(level, name));
    }
    return {};
  }

  Status entry(const Level& level, const std::string& name) {
    const std::string path = level.path.empty() ? name : level.path + "/" + name;
    containerfile::IgnoreRules::Matched own;
    const bool ignored = !rules_.empty() && rules_.ignores(path, level.matched, own);
    struct stat info{};
    if (::fstatat(level.from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return os::fail_errno("cannot read " + shown(path), errno);
    }
    if (S_ISDIR(info.st_mode)) {
      return ignored && !rules_.may_take_back_inside(path)
                 ? Status{}
                 : directory(level, name, path, info, ignored, own);
    }
    if (ignored) {
      return {};
    }
    MESH_CHECK(make_parents());
    const int to = pending_.empty() ? level.to : pending_.back().copy.get();
    if (S_ISREG(info.st_mode)) {
      return file(level.from.get(), to, name, path);
    }
    if (S_ISLNK(info.st_mode)) {
      return link(level.from.get(), to, name, path, info);
    }
    out_.left_out.push_back(path);
    return {};
  }

  /// A directory that is left out is made only once something in it is taken back.
  struct Pending {
    std::string path;
    struct stat info;
    int parent = -1;
    os::Fd copy;
    bool made = false;
  };

  Status make_parents() {
    int parent = -1;
    for (auto& one : pending_) {
      if (!one.made) {
        MESH_CHECK(make_directory(one, parent < 0 ? one.parent : parent));
      }
      parent = one.copy.get();
    }
    return {};
  }

  Status make_directory(Pending& one, int parent) {
    one.made = true;
    add('d', one.info.st_mode, one.path, {});
    if (into_.empty()) {
      return {};
    }
    const auto name = one.path.substr(one.path.rfind('/') + 1);
    if (::mkdirat(parent, name.c_str(), 0700) != 0) {
      return os::fail_errno("cannot copy " + shown(one.path), errno);
    }
    one.copy =
        os::Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    return one.copy.valid() ? Status{} : os::fail_errno("cannot copy " + shown(one.path), errno);
  }

  Status directory(const Level& level, const std::string& name, const std::string& path,
                   const struct stat& info, bool ignored,
                   const containerfile::IgnoreRules::Matched& own) {
    const os::Fd from(
        ::openat(level.from.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!from.valid()) {
      return os::fail_errno("cannot read " + shown(path), errno);
    }
    const int parent = pending_.empty() ? level.to : pending_.back().copy.get();
    pending_.push_back({path, info, parent, {}, false});
    if (!ignored) {
      MESH_CHECK(make_parents());
    }
    MESH_CHECK(walk({from, -1, path, own, level.depth + 1}));
    const Pending done = std::move(pending_.back());
    pending_.pop_back();
    if (done.copy.valid()) {
      const std::array<timespec, 2> times{info.st_mtim, info.st_mtim};
      if (::fchmod(done.copy.get(), info.st_mode & kPermissions) != 0 ||
          ::futimens(done.copy.get(), times.data()) != 0) {
        return os::fail_errno("cannot copy " + shown(path), errno);
      }
    }
    return {};
  }

  Status file(int from, int to, const std::string& name, const std::string& path) {
    const os::Fd in(::openat(from, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info{};
    if (!in.valid() || ::fstat(in.get(), &info) != 0) {
      return os::fail_errno("cannot read " + shown(path), errno);
    }
    os::Fd out;
    if (!into_.empty()) {
      out = os::Fd(
          ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!out.valid()) {
        return os::fail_errno("cannot copy " + shown(path), errno);
      }
    }
    MESH_CHECK(stream(in.get(), out.get(), path));
    const auto content = content_.finish();
    add('f', info.st_mode, path, content.hex());
    ++out_.files;
    const std::array<timespec, 2> times{info.st_mtim, info.st_mtim};
    if (out.valid() && (::fchmod(out.get(), info.st_mode & kPermissions) != 0 ||
                        ::futimens(out.get(), times.data()) != 0)) {
      return os::fail_errno("cannot copy " + shown(path), errno);
    }
    return {};
  }

  Status stream(int in, int out, const std::string& path) {
    for (;;) {
      const ssize_t got = ::read(in, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return os::fail_errno("cannot read " + shown(path), errno);
      }
      if (got == 0) {
        return {};
      }
      const std::string_view piece(buffer_.data(), static_cast<std::size_t>(got));
      content_.update(piece);
      out_.bytes += piece.size();
      if (out >= 0) {
        MESH_CHECK(write_all(out, piece, path));
      }
    }
  }

  [[nodiscard]] Status write_all(int out, std::string_view piece, const std::string& path) const {
    while (!piece.empty()) {
      const ssize_t put = ::write(out, piece.data(), piece.size());
      if (put < 0 && errno != EINTR) {
        return os::fail_errno("cannot copy " + shown(path), errno);
      }
      piece.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
    }
    return {};
  }

  Status link(int from, int to, const std::string& name, const std::string& path,
              const struct stat& info) {
    std::array<char, 4096> target{};
    const ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (length < 0) {
      return os::fail_errno("cannot read " + shown(path), errno);
    }
    const std::string text(target.data(), static_cast<std::size_t>(length));
    add('l', 0777, path, text);
    ++out_.files;
    const std::array<timespec, 2> times{info.st_mtim, info.st_mtim};
    if (!into_.empty() && (::symlinkat(text.c_str(), to, name.c_str()) != 0 ||
                           ::utimensat(to, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)) {
      return os::fail_errno("cannot copy " + shown(path), errno);
    }
    return {};
  }

  std::string root_;
  const containerfile::IgnoreRules& rules_;
  std::string into_;
  int stop_fd_;
  std::vector<char> buffer_;
  std::vector<Pending> pending_;  // the directories that the walk is in
  oci::Hasher whole_{oci::Algorithm::Sha256};
  oci::Hasher content_{oci::Algorithm::Sha256};
  ContextHash out_;
};

}  // namespace

Result<ContextHash> hash_context(const std::string& directory,
                                 const containerfile::IgnoreRules& rules, int stop_fd) {
  return Walk(directory, rules, {}, stop_fd).run();
}

Result<ContextHash> stage_context(const std::string& directory,
                                  const containerfile::IgnoreRules& rules, const std::string& into,
                                  int stop_fd) {
  return Walk(directory, rules, into, stop_fd).run();
}

}  // namespace mesh::builder
