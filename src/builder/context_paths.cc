#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "builder/context.h"
#include "os/errno_error.h"

namespace mesh::builder {

namespace {

constexpr int kMostLinks = 40;  // as many as the kernel follows

class LinkWalk {
 public:
  LinkWalk(const std::string& path, const ReadLink& read) : path_(path), read_(read) {
    put_first(path);
  }

  Result<std::string> run() {
    while (!todo_.empty()) {
      const auto name = std::move(todo_.front());
      todo_.pop_front();
      if (name == "..") {
        if (done_.empty()) {
          return leaves();
        }
        done_.pop_back();
      } else if (!name.empty() && name != ".") {
        MESH_CHECK(step(name));
      }
    }
    return join(done_, "/");
  }

 private:
  void put_first(std::string_view path) {
    const auto parts = split(path, '/');
    todo_.insert(todo_.begin(), parts.begin(), parts.end());
  }

  Status step(const std::string& name) {
    done_.push_back(name);
    MESH_TRY(const auto target, read_(join(done_, "/")));
    if (!target) {
      return {};
    }
    last_link_ = join(done_, "/");
    done_.pop_back();
    if (target->starts_with('/')) {
      return leaves();
    }
    if (++links_ > kMostLinks) {
      return fail(Code::InvalidArgument,
                  fmt::format("the links of {} in the context lead in a circle", printable(path_)),
                  "mount the file or folder itself");
    }
    put_first(*target);
    return {};
  }

  [[nodiscard]] std::unexpected<Error> leaves() const {
    return fail(Code::InvalidArgument,
                fmt::format("{} leads out of the build context{}", printable(path_),
                            last_link_.empty() ? "" : " by the link " + printable(last_link_)),
                "put what is mounted into the context, or make the link relative and inside of it");
  }

  const std::string& path_;
  const ReadLink& read_;
  std::deque<std::string> todo_;
  std::vector<std::string> done_;
  std::string last_link_;
  int links_ = 0;
};

}  // namespace

Result<std::string> without_links(const std::string& path, const ReadLink& read) {
  return LinkWalk(path, read).run();
}

Result<std::string> find_in_context(const std::string& context, const std::string& path) {
  return without_links(path, [&](const std::string& at) -> Result<std::optional<std::string>> {
    std::array<char, 4096> target{};
    const ssize_t length = ::readlink((context + "/" + at).c_str(), target.data(), target.size());
    if (length >= 0) {
      return std::string(target.data(), static_cast<std::size_t>(length));
    }
    if (errno == EINVAL) {
      return std::nullopt;
    }
    if (errno == ENOENT || errno == ENOTDIR) {
      return fail(Code::NotFound, fmt::format("there is no {} in the build context", printable(at)),
                  "it may be left out by an ignore file");
    }
    return os::fail_errno("cannot read " + at, errno);
  });
}

}  // namespace mesh::builder
