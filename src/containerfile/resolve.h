#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "containerfile/file.h"

namespace mesh::containerfile {

/// What is asked of a file: which stage, with which arguments, for which platform, on which.
struct Settings {
  std::string target{};  // a stage's name or number; empty: the last one
  std::map<std::string, std::string> args{};
  std::string platform = "linux/amd64";        // built for
  std::string build_platform = "linux/amd64";  // built on
};

/// An image that the build needs.
struct ImageUse {
  enum class Kind { From, Copy, Mount };
  Kind kind = Kind::From;
  std::string text{};  // as written, variables replaced
  Spot spot{};
  std::string platform{};  // `linux/arm64`
  int stage = 0;
  std::size_t instruction = 0;  // of Copy and Mount: which of the stage's
  std::size_t mount = 0;        // of Mount: which of the instruction's
};

/// Where a stage's files come from, or what a COPY or a mount reads.
struct Origin {
  enum class Kind { Context, Scratch, Stage, Image };
  Kind kind = Kind::Context;
  int stage = 0;        // of Stage
  std::string image{};  // of Image: as it stands in ImageUse::text
};

struct ResolvedStage {
  Origin base{};
  std::string platform{};
  bool needed = false;  // the target reaches it
};

/// What a file means with these settings. `stages` stand beside the file's. `images` are those of
/// the stages that the target reaches, in the order of the file.
struct Resolved {
  Settings settings{};
  int target = -1;  // -1: there is none
  std::vector<ResolvedStage> stages{};
  std::vector<ImageUse> images{};
  std::map<std::string, std::string> globals{};  // ARGs before the first FROM, and the platform's
  std::vector<Problem> problems{};

  /// The image's: that of the target's FROM, whatever is built for.
  [[nodiscard]] const std::string& platform() const;
  [[nodiscard]] bool has_errors() const;
};

/// Resolves names, numbers and variables of FROM, COPY --from and RUN --mount. Only what
/// `parse` found no error in has a meaning; from other files as much as can be said is said.
[[nodiscard]] Resolved resolve(const File& file, const Settings& settings);

/// What `COPY --from=` or a mount's `from` in stage `stage` means. A stage that is not an earlier
/// one is an error that `resolve` reports.
[[nodiscard]] Origin origin_of(const File& file, const Instruction& instruction,
                               const std::string& from, int stage);

/// Those of the settings' arguments that the target's stages declare, or that need no ARG.
[[nodiscard]] std::map<std::string, std::string> used_args(const File& file,
                                                           const Resolved& resolved);

/// `os/arch` or `os/arch/variant` in its usual spelling (`aarch64` is `arm64`, `linux/arm64/v8` is
/// `linux/arm64`); nothing where it is none.
[[nodiscard]] std::optional<std::string> normal_platform(std::string_view text);

/// The values of TARGETPLATFORM, BUILDARCH and the like.
[[nodiscard]] std::map<std::string, std::string> platform_args(const Settings& settings,
                                                               const std::string& target_stage);

}  // namespace mesh::containerfile
