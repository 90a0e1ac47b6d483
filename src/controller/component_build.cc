#include "controller/component_build.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "builder/context.h"
#include "builder/logged_run.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr mode_t kProgram = 0755;

/// A folder that goes with the object.
class WorkFolder {
 public:
  static Result<WorkFolder> make(const std::string& parent, const std::string& prefix) {
    MESH_TRY(auto path, os::make_temp_dir(parent, prefix));
    return WorkFolder(std::move(path));
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    if (!path_.empty()) {
      (void)os::remove_tree(path_);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Whether a step's result depends on files that buildah's cache does not look at.
bool cache_would_be_stale(const containerfile::File& file) {
  for (const auto& stage : file.stages) {
    for (const auto& instruction : stage.instructions) {
      for (const auto& mount : instruction.mounts) {
        const auto origin = containerfile::origin_of(file, instruction, mount.from, stage.number);
        if (mount.type == "bind" && origin.kind != containerfile::Origin::Kind::Image) {
          return true;
        }
      }
      // A program in a here-document is mounted too.
      for (const auto& heredoc : instruction.heredocs) {
        if (instruction.verb == containerfile::Verb::Run && heredoc.text().starts_with("#!")) {
          return true;
        }
      }
    }
  }
  return false;
}

class ComponentBuilder {
 public:
  ComponentBuilder(const ComponentBuild& work, const builder::Buildah& builder,
                   const ComponentPlaces& places, const std::function<void(std::string_view)>& tell)
      : work_(work), input_(*work.input), builder_(builder), places_(places), tell_(tell) {}

  Result<ComponentResult> run() {
    MESH_CHECK(os::make_private_dir(places_.folder + "/work"));
    MESH_CHECK(os::make_private_dir(places_.logs));
    MESH_TRY(const auto folder, WorkFolder::make(places_.folder + "/work", "build-"));
    // Values are on no disk where there is memory to hold them.
    MESH_TRY(const auto secret_folder,
             WorkFolder::make(os::exists("/dev/shm") ? "/dev/shm" : places_.folder + "/work",
                              "mesh-build-"));
    MESH_CHECK(write_secrets(secret_folder.path()));
    MESH_TRY(const auto staged,
             builder::stage_context(input_.context, input_.ignore, folder.path() + "/context",
                                    places_.stop_fd));
    if (staged.digest != work_.context) {
      return fail(Code::Conflict, "the files changed while they were read", "build again");
    }
    for (const auto& path : staged.left_out) {
      tell_(printable(path) + " is neither a file nor a folder nor a link, and left out");
    }
    std::vector<std::string> images;
    for (std::size_t i = 0; i < input_.platforms.size(); ++i) {
      MESH_TRY(auto built,
               build_platform(input_.platforms[i], fmt::format("{}/{}", folder.path(), i),
                              folder.path() + "/context"));
      if (built.failure) {
        return failed(std::move(*built.failure));
      }
      images.push_back(std::move(built.image));
    }
    return push(images);
  }

 private:
  Status write_secrets(const std::string& folder) {
    for (const auto& [name, value] : work_.secrets) {
      const auto path = folder + "/" + name;
      MESH_CHECK(os::write_file_atomic(path, value.reveal(), os::kPrivateFile));
      secret_files_[name] = path;
      secret_values_.emplace_back(value.reveal());
    }
    return {};
  }

  [[nodiscard]] std::string log() const {
    return fmt::format("{}/build-{}-{}.log", places_.logs, input_.module->name.text(),
                       input_.component->name.text());
  }

  Result<builder::Buildah::Built> build_platform(const containerfile::Resolved& resolved,
                                                 const std::string& folder,
                                                 const std::string& context) {
    std::map<std::string, builder::BaseConfig> configs;
    for (const auto& use : resolved.images) {
      const auto& reference = work_.pins.at({use.text, use.platform});
      if (!configs.contains(reference)) {
        MESH_TRY(configs[reference], builder_.pull(reference, use.platform));
      }
    }
    const auto pins = [&](const containerfile::ImageUse& use) {
      const auto& reference = work_.pins.at({use.text, use.platform});
      const auto& config = configs.at(reference);
      return containerfile::PinnedImage{reference, config.env, config.shell};
    };
    auto rewritten = containerfile::rewrite(input_.file, resolved, pins);
    if (!rewritten) {
      auto error = std::move(rewritten).error();
      error.place = input_.place({error.place.line, error.place.column});
      return std::unexpected(std::move(error));
    }
    builder::BuildJob job;
    job.docker_format =
        rewritten->docker_format || std::ranges::any_of(configs, [](const auto& one) {
          return one.second.needs_docker_format;
        });
    job.rewritten = std::move(*rewritten);
    MESH_CHECK(write_files(job, folder));
    fill(job, resolved, context);
    return builder_.build(job);
  }

  /// The rewritten file, and those of its here-documents (0644, programs 0755, as BuildKit makes
  /// them).
  static Status write_files(builder::BuildJob& job, const std::string& folder) {
    MESH_CHECK(os::make_private_dir(folder));
    job.file = folder + "/Containerfile";
    MESH_CHECK(os::write_file_atomic(job.file, job.rewritten.text, os::kPrivateFile));
    if (job.rewritten.files.empty()) {
      return {};
    }
    job.files = folder + "/files";
    for (const auto& [path, bytes] : job.rewritten.files) {
      const auto full = job.files + "/" + path;
      const auto& programs = job.rewritten.programs;
      const bool is_program = std::ranges::find(programs, path) != programs.end();
      MESH_CHECK(os::make_dirs(os::dir_name(full)));
      MESH_CHECK(os::write_file_atomic(full, bytes, is_program ? kProgram : os::kOrdinaryFile));
    }
    return {};
  }

  void fill(builder::BuildJob& job, const containerfile::Resolved& resolved,
            const std::string& context) {
    job.name = input_.name();
    job.context = context;
    job.args = input_.component->build->args;
    job.secrets = secret_files_;
    job.secret_values = secret_values_;
    job.platform = resolved.platform();
    job.cache_layers = !cache_would_be_stale(input_.file);
    job.log = log();
    job.timeout = places_.timeout;
    job.on_line = [this](std::string_view line) {
      if (line.find("STEP ") != std::string_view::npos && line.find("STEP ") < 12) {
        tell_(line);
      }
    };
  }

  Result<ComponentResult> failed(builder::BuildFailure failure) {
    BuildTrouble trouble{input_.module->name.text(), input_.component->name.text(), {}, {}, log()};
    trouble.error.code = Code::Unavailable;
    trouble.error.message = failure.message;
    trouble.error.hint = "the whole output is in " + trouble.log;
    trouble.error.place = input_.place({failure.line, failure.line > 0 ? 1 : 0});
    trouble.last_lines = std::move(failure.last_lines);
    return ComponentResult{{}, {}, std::move(trouble)};
  }

  Result<ComponentResult> push(const std::vector<std::string>& images) {
    ComponentResult out;
    out.repository =
        fmt::format("mesh/{}/{}", input_.module->name.text(), input_.component->name.text());
    tell_("pushing");
    MESH_TRY(out.digest, builder_.push(images, out.repository, "build-" + work_.key.substr(0, 12)));
    return out;
  }

  const ComponentBuild& work_;
  const BuildInput& input_;
  const builder::Buildah& builder_;
  const ComponentPlaces& places_;
  const std::function<void(std::string_view)>& tell_;
  std::map<std::string, std::string> secret_files_;
  std::vector<std::string> secret_values_;
};

}  // namespace

Result<ComponentResult> build_component(const ComponentBuild& work, const builder::Buildah& builder,
                                        const ComponentPlaces& places,
                                        const std::function<void(std::string_view)>& tell) {
  return ComponentBuilder(work, builder, places, tell).run();
}

}  // namespace mesh::controller
