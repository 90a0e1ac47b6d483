#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/context.h"
#include "registry/progress.h"

namespace mesh::cli {

/// `12.3 MB`: bytes as people read them.
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// Shows a mirror's progress on stderr: on a terminal a bar for each blob that is on its way and
/// one for all, drawn again at most ten times a second; elsewhere a line for each blob when it is
/// there.
class MirrorProgress final : public registry::Progress {
 public:
  explicit MirrorProgress(const Context& context);
  ~MirrorProgress() override;

  void image_known(std::size_t image, std::size_t blobs, std::uint64_t bytes) override;
  void blob_begins(const std::string& digest, std::uint64_t size) override;
  void blob_moves(const std::string& digest, std::uint64_t done) override;
  void blob_ends(const std::string& digest, std::uint64_t size, How how) override;
  void remark(const std::string& line) override;
  /// Takes the bars away.
  void clear();

 private:
  struct Bar {
    std::string digest;
    std::uint64_t size = 0;
    std::uint64_t done = 0;
  };
  void line(const std::string& text);
  void draw(bool now);
  [[nodiscard]] std::string drawn() const;

  const Context& context_;
  bool terminal_;
  std::vector<Bar> bars_;  // of what is on its way, the oldest first
  std::size_t known_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t moved_ = 0;  // bytes of blobs that have ended
  std::size_t lines_ = 0;    // drawn, to be taken away
  os::Monotonic last_{};
};

}  // namespace mesh::cli
