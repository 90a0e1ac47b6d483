#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "containerfile/builder.h"
#include "os/process.h"

namespace mesh::builder {

/// How buildah is run.
struct BuildahSettings {
  std::string folder{};             // of the builder in the state; all that buildah keeps is in it
  std::string registry{};           // `HOST[:PORT]`: the only one that it speaks to
  bool insecure = false;            // plain http
  std::string ca_file{};            // trusted besides the system's
  std::string auth_file{};          // what it logs in with; empty: the user's own
  bool direct = false;              // the registry is reached through no proxy
  std::string program = "buildah";  // looked up in PATH
  os::Environment environment{};  // the caller's; what it means for buildah's storage is taken out
  int stop_fd = -1;
};

/// What an image in the registry is made of, as far as building on it depends on it.
struct BaseConfig {
  std::map<std::string, std::string> env{};
  std::vector<std::string> shell{};
  bool needs_docker_format = false;     // HEALTHCHECK, ONBUILD, SHELL: kept by no other
  std::vector<std::string> triggers{};  // of ONBUILD: what a FROM of it runs
};

/// One image to build, for one platform.
struct BuildJob {
  std::string name{};     // `shop/server`, for messages
  std::string context{};  // the staged copy
  std::string files{};    // the folder of here-documents' files; empty: there are none
  std::string file{};     // the path of the rewritten file
  containerfile::Rewritten rewritten{};
  std::map<std::string, std::string> args{};
  std::map<std::string, std::string> secrets{};  // id -> the path of a file with the value
  std::vector<std::string> secret_values{};      // to be kept out of logs
  std::string platform{};
  bool docker_format = false;
  bool cache_layers = true;
  std::string log{};
  os::Milliseconds timeout{};
  std::function<void(std::string_view line)> on_line{};
};

/// Why a build ended without an image.
struct BuildFailure {
  std::string message{};  // `RUN make: exit status 2`
  std::string step{};     // `STEP 3/5: RUN make`, empty before the first
  int line = 0;           // of the Containerfile; 0 where not known
  std::vector<std::string> last_lines{};
};

/// Debian's buildah with a storage of its own, in which nothing of the user's is read or touched.
/// Images are pulled from the mesh's registry alone and before a build; a build asks nobody.
/// Several builds may run at once, from several threads; `open` and `close` are called by one.
class Buildah {
 public:
  /// Finds the program and a storage driver that works here, and removes what a killed build left.
  /// The caller holds a lock on the folder. Errors: NotFound (no buildah), Unsupported (it cannot
  /// run here: the hint says what an ordinary user needs), Unavailable.
  [[nodiscard]] static Result<Buildah> open(BuildahSettings settings);

  [[nodiscard]] containerfile::BuilderVersion version() const { return version_; }

  /// Brings an image of the registry into the storage and reads its configuration. Errors:
  /// Unavailable, Corrupt (the registry does not give back what it holds), Interrupted, Timeout.
  [[nodiscard]] Result<BaseConfig> pull(const std::string& reference,
                                        const std::string& platform) const;

  /// Builds, and gives the image's id in the storage; where the build itself fails, why. Errors:
  /// Interrupted, Timeout, Unavailable.
  struct Built {
    std::string image{};
    std::optional<BuildFailure> failure{};
  };
  [[nodiscard]] Result<Built> build(const BuildJob& job) const;

  /// Pushes one image, or several as an index, to `repository:tag` of the registry. Returns the
  /// digest that the registry was given.
  [[nodiscard]] Result<std::string> push(const std::vector<std::string>& images,
                                         const std::string& repository,
                                         const std::string& tag) const;

 private:
  explicit Buildah(BuildahSettings settings) : settings_(std::move(settings)) {}
  Status write_configuration() const;
  Status find_version();
  Status find_driver();
  [[nodiscard]] os::Environment environment() const;
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const;
  [[nodiscard]] std::vector<std::string> registry_flags() const;
  /// Runs a short command; what it wrote to stderr is the error's text.
  [[nodiscard]] Result<std::string> ask(std::vector<std::string> words,
                                        const std::string& doing) const;
  [[nodiscard]] Result<std::string> push_one(const std::string& image,
                                             const std::string& destination, bool list) const;
  [[nodiscard]] std::vector<std::string> build_words(const BuildJob& job,
                                                     const std::string& id_file) const;

  BuildahSettings settings_;
  containerfile::BuilderVersion version_;
  std::string driver_;
};

}  // namespace mesh::builder
