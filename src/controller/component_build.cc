#include "controller/component_build.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "builder/context.h"
#include "builder/logged_run.h"
#include "controller/build_leftovers.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr mode_t kProgram = 0755;

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

/// Whether a RUN may change the copy of the context.
bool writes_context(const containerfile::File& file) {
  return std::ranges::any_of(file.stages, [](const auto& stage) {
    return std::ranges::any_of(stage.instructions, [](const auto& instruction) {
      return std::ranges::any_of(instruction.mounts, [](const auto& mount) {
        return mount.type == "bind" && mount.writable && mount.from.empty();
      });
    });
  });
}

/// The first word of a step that is a link of the context to nothing, and what it leads to; empty
/// where there is none. What buildah says of one is "broken pipe", now and then.
std::string dangling_link(const std::string& step, const std::string& context) {
  for (const auto part : split(step, ' ')) {
    std::string word(part);
    std::erase_if(
        word, [](char c) { return std::string_view("[]\",").find(c) != std::string_view::npos; });
    const auto path = std::filesystem::path(context) / std::filesystem::path(word).relative_path();
    std::error_code error;
    const auto target = std::filesystem::read_symlink(path, error);
    const auto full = target.is_absolute() ? std::filesystem::path(context) / target.relative_path()
                                           : path.parent_path() / target;
    if (!error && !word.empty() && !os::exists(full.string())) {
      return fmt::format("{} is a link to {}, which is not in the build context", printable(word),
                         printable(target.string()));
    }
  }
  return {};
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
    // buildah makes copies of its own beside the containers of its storage for as long as a RUN
    // goes on. What a kill leaves of either the next build removes.
    MESH_TRY(const auto secret_folder,
             WorkFolder::make(secrets_parent(places_.folder), kSecretsPrefix));
    MESH_CHECK(write_secrets(secret_folder.path()));
    keep_last_log();
    std::string context = folder.path() + "/context";
    MESH_CHECK(stage(context, true));
    std::vector<std::string> images;
    for (std::size_t i = 0; i < input_.platforms.size(); ++i) {
      if (i > 0 && writes_context(input_.file)) {
        context = fmt::format("{}/context-{}", folder.path(), i);
        MESH_CHECK(stage(context, false));
      }
      MESH_TRY(auto built, build_platform(input_.platforms[i],
                                          fmt::format("{}/{}", folder.path(), i), context));
      if (built.failure) {
        return failed(std::move(*built.failure), context);
      }
      images.push_back(std::move(built.image));
    }
    return push(images);
  }

 private:
  /// The context as it was hashed, in a folder that is made.
  Status stage(const std::string& into, bool tell) {
    MESH_TRY(const auto staged,
             builder::stage_context(input_.context, input_.ignore, into, places_.stop_fd));
    if (staged.digest != work_.context) {
      return fail(Code::Conflict, "the files changed while they were read", "build again");
    }
    for (const auto& path : tell ? staged.left_out : std::vector<std::string>()) {
      tell_(printable(path) + " is neither a file nor a folder nor a link, and left out");
    }
    return {};
  }

  /// A log is of one build; the one before is kept beside it.
  void keep_last_log() const {
    std::error_code error;  // there may be none
    std::filesystem::rename(log(), log() + ".1", error);
  }

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
        auto pulled = builder_.pull(reference, use.platform);
        if (!pulled) {
          return std::unexpected(pull_error(use, std::move(pulled).error()));
        }
        configs[reference] = *std::move(pulled);
      }
      MESH_CHECK(check_triggers(use, configs.at(reference)));
    }
    const auto pins = [&](const containerfile::ImageUse& use) {
      const auto& reference = work_.pins.at({use.text, use.platform});
      const auto& config = configs.at(reference);
      return containerfile::PinnedImage{reference, config.env, config.shell};
    };
    const auto paths = [&](const std::string& path) {
      return builder::find_in_context(context, path);
    };
    auto rewritten = containerfile::rewrite(input_.file, resolved, pins, paths, builder_.version());
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

  [[nodiscard]] Error pull_error(const containerfile::ImageUse& use, Error error) const {
    error.place = input_.place(use.spot);
    const auto words = work_.mirror_words.find(use.text);
    if (error.code == Code::Corrupt && words != work_.mirror_words.end()) {
      error.message = "the mesh's registry does not give back what it holds of " +
                      printable(use.text) + ": " + error.message;
      error.hint = fmt::format("`mesh mirror {} --verify` fetches again what is gone or damaged",
                               words->second);
    }
    return error;
  }

  /// What a base's ONBUILD mounts nobody has looked at.
  [[nodiscard]] Status check_triggers(const containerfile::ImageUse& use,
                                      const builder::BaseConfig& config) const {
    const auto mounts = [](const std::string& trigger) {
      return trigger.find("--mount") != std::string::npos;
    };
    if (use.kind == containerfile::ImageUse::Kind::From &&
        std::ranges::any_of(config.triggers, mounts)) {
      return fail(Code::Unsupported,
                  fmt::format("the base {} has an ONBUILD RUN --mount", printable(use.text)),
                  "take a base without it, and write the RUN into this file",
                  input_.place(use.spot));
    }
    return {};
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
    job.args = containerfile::used_args(input_.file, resolved);
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

  Result<ComponentResult> failed(builder::BuildFailure failure, const std::string& context) {
    BuildTrouble trouble{input_.module->name.text(), input_.component->name.text(), {}, {}, log()};
    trouble.error.code = Code::Unavailable;
    const auto link = dangling_link(failure.step, context);
    trouble.error.message = link.empty() ? failure.message : link;
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
