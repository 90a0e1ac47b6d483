#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "containerfile/file.h"
#include "containerfile/mount_text.h"
#include "containerfile/resolve.h"

/// What lies between a Containerfile as BuildKit reads it and the buildah at hand.
namespace mesh::containerfile {

/// buildah's version. 1.28 is Debian 12's; what later ones learned is in its CHANGELOG.
struct BuilderVersion {
  int major = 1;
  int minor = 28;
  auto operator<=>(const BuilderVersion&) const = default;
};

/// The first that follows no link of a stage or image out to the host (CVE-2024-1753, -9407, -9675,
/// -11218: all fixed in 1.38.1, and of a version the first two numbers are looked at).
inline constexpr BuilderVersion kStaysInside{1, 39};

/// What the builder reads otherwise and `rewrite` cannot put faithfully: errors by line. Warnings
/// are what the file asks for and Mesh does not do (a `# syntax=` frontend is not run).
[[nodiscard]] std::vector<Problem> what_builder_cannot_read(const File& file,
                                                            const Resolved& resolved,
                                                            BuilderVersion version);

/// What stands for an image in the builder's file: the reference in the mesh's registry, and what
/// is known of the image's configuration (nothing where it was not looked at).
struct PinnedImage {
  std::string reference{};
  std::optional<std::map<std::string, std::string>> env{};
  std::vector<std::string> shell{};  // empty: the usual one
};
using Pins = std::function<PinnedImage(const ImageUse&)>;

/// The file for the builder. Its contents of here-documents are files of an additional build
/// context that is called `kFilesContext`; paths are relative to it.
struct Rewritten {
  std::string text{};
  std::map<std::string, std::string> files{};
  std::vector<std::string>
      programs{};              // of `files`: those with the mode 0755, the others have 0644
  std::string target{};        // the stage to build
  bool docker_format = false;  // HEALTHCHECK, SHELL or ONBUILD: the OCI format has none of them
  std::vector<int> lines{};    // of each line of `text`: the line that it stands for
};
inline constexpr std::string_view kFilesContext = "mesh-files";

/// The same build for the builder: only the stages that the target reaches, each base, `--from` and
/// mount pinned, names of stages unique, here-documents, `--link` and the variable forms that
/// the builder does not know put in words it knows. InvalidArgument, with the place's line: a
/// variable in a here-document or a new form whose value depends on an image that was not looked
/// at; a value of a mount that cannot be spelled. What `paths` says of a path that a mount names:
/// without it such paths are tidied alone.
[[nodiscard]] Result<Rewritten> rewrite(const File& file, const Resolved& resolved,
                                        const Pins& pins, const ContextPaths& paths = {},
                                        BuilderVersion version = {});

}  // namespace mesh::containerfile
