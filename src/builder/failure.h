#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/buildah.h"
#include "containerfile/builder.h"

namespace mesh::builder {

/// Follows buildah's output: which step it is at, and which line of the operator's file that is.
/// `take` is called on one thread, `failure` after the last line.
class StepWatcher {
 public:
  /// `rewritten` is borrowed.
  explicit StepWatcher(const containerfile::Rewritten& rewritten) : rewritten_(rewritten) {}

  void take(std::string_view line);
  [[nodiscard]] BuildFailure failure(const std::string& status,
                                     std::vector<std::string> last_lines) const;

 private:
  [[nodiscard]] int line_of(std::string_view instruction) const;

  const containerfile::Rewritten& rewritten_;
  std::string step_;
  std::string error_;
};

/// Whether what a pull failed with says that the registry lost or damaged what it holds.
[[nodiscard]] bool is_damage(std::string_view text);

/// The version in `buildah version 1.28.2 (image-spec …)`.
[[nodiscard]] std::optional<containerfile::BuilderVersion> read_version(std::string_view text);

}  // namespace mesh::builder
