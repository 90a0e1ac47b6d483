#include "controller/building.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "builder/buildah.h"
#include "builder/context.h"
#include "controller/base_images.h"
#include "controller/build_leftovers.h"
#include "controller/component_build.h"
#include "controller/disk_files.h"
#include "controller/image_ledger.h"
#include "controller/image_plan.h"
#include "controller/lock_file.h"
#include "controller/mirroring.h"
#include "controller/registry_link.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/timed_stop.h"

namespace mesh::controller {

namespace {

/// One run of `mesh build`, its parts in the order in which they happen.
class BuildRun {
 public:
  BuildRun(inventory::State& state, const Location& location, const model::Mesh& mesh,
           const BuildOptions& options, const registry::Services& services,
           registry::Progress& progress, const Say& say)
      : state_(state),
        location_(location),
        mesh_(mesh),
        options_(options),
        services_(services),
        say_(say),
        ledger_(state.inventory),
        own_(registry_address(mesh.registry)),
        mirror_(mirroring(), services, ledger_, progress),
        bases_(mirror_, ledger_, state.inventory, own_, say) {}

  Result<BuildOutcome> run() {
    MESH_TRY(auto platforms, node_platforms(state_.inventory));
    auto read = read_build_inputs(mesh_, DiskFiles(location_.root), location_,
                                  {options_.modules, machine_platform(), std::move(platforms)});
    out_.problems = std::move(read.problems);
    inputs_ = std::move(read.inputs);
    if (model::has_errors(out_.problems) || (inputs_.empty() && !has_images())) {
      return std::move(out_);
    }
    MESH_TRY(const auto lock, take_lock());
    sweep_builder(folder());
    wait_for("the mesh's registry " + own_);
    MESH_CHECK(reach_registry(state_, mesh_, location_.root, options_.stop_fd));
    MESH_CHECK(mirror_.reach());
    MESH_CHECK(inputs_.empty() ? bring_bases() : build_inputs());
    if (!model::has_errors(out_.problems)) {
      finish();
    }
    return std::move(out_);
  }

  /// What it is at, for whoever ends it early: `the mesh's registry 127.0.0.1:5000`. Not while
  /// `run` goes on.
  [[nodiscard]] std::string waited_for() const {
    std::vector<std::string> at;
    for (const auto& [name, line] : at_work_) {
      at.push_back(name + " (" + line + ")");
    }
    return at.empty() ? waiting_ : join(at, ", ");
  }

 private:
  void wait_for(std::string what) { waiting_ = std::move(what); }

  registry::MirrorOptions mirroring() {
    auto options = mirror_options(mesh_, location_.root, location_.state);
    options.stop_fd = options_.stop_fd;
    return options;
  }

  [[nodiscard]] std::string folder() const { return location_.in_state("builder"); }

  /// Images that are declared as such are brought too: by a push, and where tags are to move.
  [[nodiscard]] bool has_images() const {
    return (options_.images || options_.update) &&
           std::ranges::any_of(mesh_.modules, [](const auto& module) {
             return std::ranges::any_of(module.file->components,
                                        [](const auto& one) { return one.image.has_value(); });
           });
  }

  Status build_inputs() {
    wait_for("buildah");
    MESH_TRY(const auto builder, builder::Buildah::open(buildah_settings()));
    for (auto& problem : check_builder(inputs_, builder.version())) {
      out_.problems.push_back(std::move(problem));
    }
    if (model::has_errors(out_.problems)) {
      return {};
    }
    MESH_CHECK(bring_bases());
    wait_for("the mesh's registry " + own_);
    MESH_CHECK(find_work());
    wait_for("buildah");
    MESH_CHECK(build_all(builder));
    return record();
  }

  Result<os::Lock> take_lock() {
    MESH_CHECK(os::make_private_dir(folder()));
    return os::Lock::take(folder() + "/lock", "build", os::rfc3339(services_.clock.now()));
  }

  builder::BuildahSettings buildah_settings() {
    const auto options = mirroring();
    builder::BuildahSettings settings;
    settings.folder = folder();
    settings.registry = own_;
    const bool tls = mesh_.registry.tls();
    settings.insecure = options.access.insecure ||
                        (!tls && options.access.ca_file.empty() && oci::is_loopback_domain(own_));
    settings.ca_file = options.access.ca_file;
    settings.auth_file = options.access.auth_file;
    settings.direct = options.access.direct;
    settings.program = options_.program;
    settings.environment = os::current_environment();
    settings.stop_fd = options_.stop_fd;
    return settings;
  }

  Status bring_bases() {
    MESH_CHECK(bases_.collect(inputs_));
    if (has_images()) {
      MESH_CHECK(bases_.collect_images(mesh_));
    }
    MESH_TRY(auto lock, read_lock(location_));
    const auto before = lock;
    wait_for("the bases, of upstream or the mesh's registry " + own_);
    MESH_CHECK(bases_.bring(lock, options_.update, out_.report.notes));
    MESH_CHECK(report_images());
    if (options_.modules.empty()) {
      const auto used = used_names();
      std::erase_if(lock.images, [&](const auto& entry) {
        return std::ranges::find(used, entry.first) == used.end();
      });
    }
    return lock == before ? Status() : write_lock(location_, lock);
  }

  /// What mesh.lock must go on saying: the tags of bases, and of images that are declared.
  [[nodiscard]] std::vector<std::string> used_names() const {
    auto names = bases_.locked_names();
    for (const auto& module : mesh_.modules) {
      for (const auto& component : module.file->components) {
        const auto reference = oci::Reference::parse(component.image.value_or(""));
        if (reference) {
          names.push_back(lock_name(*reference));
        }
      }
    }
    return names;
  }

  /// Of the components that are images already: what they are now, or why they could not be had.
  Status report_images() {
    for (const auto& module : mesh_.modules) {
      for (const auto& component : module.file->components) {
        if (!component.image || module.on.empty() || !has_images()) {
          continue;
        }
        MESH_TRY(const auto reference, oci::Reference::parse(*component.image));
        MESH_TRY(const auto repository, repository_of_image(own_, reference));
        auto digest = bases_.digest(*component.image);
        const auto& name = module.name.text();
        if (!digest) {
          out_.report.troubles.push_back(
              {name, component.name.text(), std::move(digest).error(), {}, {}});
          continue;
        }
        out_.report.images.push_back(
            {name, component.name.text(), repository.text(), *std::move(digest)});
      }
    }
    return {};
  }

  /// Which components have changed. What cannot be told of one is its trouble alone.
  Status find_work() {
    for (const auto& input : inputs_) {
      auto work = work_of(input);
      if (!work && work.error().code == Code::Interrupted) {
        return std::unexpected(std::move(work).error());
      }
      if (!work) {
        trouble(input, std::move(work).error());
      } else if (*work) {
        work_.push_back(std::move(**work));
      }
    }
    return {};
  }

  /// The build to make, or nothing where the registry has its image.
  Result<std::optional<ComponentBuild>> work_of(const BuildInput& input) {
    ComponentBuild out;
    out.input = &input;
    MESH_CHECK(pin_bases(input, out));
    const auto& build = *input.component->build;
    for (const auto& name : build.secrets) {
      MESH_TRY(auto value, state_.inventory.find_secret(input.module->name.text(), name));
      out.secrets.emplace(name, std::move(value));
    }
    MESH_TRY(const auto hash, builder::hash_context(input.context, input.ignore, options_.stop_fd));
    out.context = hash.digest;
    out.key = key_of_build(input, hash.digest, out.bases);
    MESH_TRY(const auto record, state_.inventory.built(own_, input.module->name.text(),
                                                       input.component->name.text(), out.key));
    if (record) {
      MESH_TRY(const auto repository, oci::Repository::parse(record->repository));
      MESH_TRY(const auto digest, oci::Digest::parse(record->digest));
      MESH_TRY(const bool held, mirror_.holds(repository, digest));
      if (held) {
        done(input, record->repository, record->digest, false);
        return std::optional<ComponentBuild>();
      }
    }
    return std::optional(std::move(out));
  }

  Status pin_bases(const BuildInput& input, ComponentBuild& out) {
    for (const auto& resolved : input.platforms) {
      for (const auto& use : resolved.images) {
        auto pinned = bases_.pin(use.text, use.platform);
        if (!pinned) {
          auto error = std::move(pinned).error();
          error.place = input.place(use.spot);
          return std::unexpected(std::move(error));
        }
        out.pins[{use.text, use.platform}] = *pinned;
        MESH_TRY(const auto digest, bases_.digest(use.text));
        out.bases.push_back(base_line(use, digest));
        MESH_TRY(const auto reference, oci::Reference::parse(use.text));
        MESH_TRY(const auto repository, repository_of_image(own_, reference));
        MESH_TRY(const auto parsed, oci::Digest::parse(digest));
        out.mirror_words[use.text] = reference.pinned(parsed) + " " + repository.text();
      }
    }
    return {};
  }

  /// Several at once; each ends as it ends.
  Status build_all(const builder::Buildah& builder) {
    std::atomic<std::size_t> next{0};
    std::mutex saying;
    results_.resize(work_.size());
    const auto one_after_another = [&] {
      for (std::size_t at = next.fetch_add(1); at < work_.size(); at = next.fetch_add(1)) {
        const auto name = work_[at].input->name();
        const auto tell = [&](std::string_view line) {
          const std::lock_guard lock(saying);
          at_work_[name] = printable(line, 200);
          say_(name + ": " + std::string(line));
        };
        results_[at] = build_component(
            work_[at], builder,
            {folder(), location_.in_state("log"), options_.timeout, options_.stop_fd}, tell);
        if (results_[at]) {
          const std::lock_guard lock(saying);
          at_work_.erase(name);
        }
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min(std::max<std::size_t>(1, options_.at_once), work_.size());
         ++i) {
      threads.emplace_back(one_after_another);
    }
    for (auto& thread : threads) {
      thread.join();
    }
    return {};
  }

  Status record() {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      auto& result = results_[i];
      const auto& input = *work_[i].input;
      if (!result) {
        if (result.error().code == Code::Interrupted) {
          return std::unexpected(std::move(result).error());
        }
        trouble(input, std::move(result).error());
      } else if (result->trouble) {
        out_.report.troubles.push_back(std::move(*result->trouble));
      } else if (auto kept = keep(input, work_[i], *result); !kept) {
        trouble(input, std::move(kept).error());
      }
    }
    return {};
  }

  /// The ledger learns what the image consists of, and the inventory what it was built from.
  Status keep(const BuildInput& input, const ComponentBuild& work, const ComponentResult& result) {
    MESH_TRY(const auto reference, oci::Reference::parse(fmt::format(
                                       "{}/{}@{}", own_, result.repository, result.digest)));
    MESH_TRY(const auto repository, oci::Repository::parse(result.repository));
    registry::Progress quiet;
    registry::Mirror own(mirroring(), services_, ledger_, quiet);
    const std::vector<registry::MirrorPair> pairs{{reference, repository, std::nullopt}};
    const auto held = own.run(pairs);
    MESH_CHECK(held.front());
    std::vector<std::string> platforms;
    for (const auto& resolved : input.platforms) {
      platforms.push_back(resolved.platform());
    }
    MESH_CHECK(state_.inventory.record_built({input.module->name.text(),
                                              input.component->name.text(),
                                              work.key,
                                              own_,
                                              result.repository,
                                              result.digest,
                                              join(platforms, ","),
                                              {}}));
    done(input, result.repository, result.digest, true);
    return {};
  }

  void done(const BuildInput& input, const std::string& repository, const std::string& digest,
            bool built) {
    out_.report.components.push_back({input.module->name.text(), input.component->name.text(),
                                      fmt::format("{}/{}@{}", own_, repository, digest), digest,
                                      built});
    out_.report.images.push_back(
        {input.module->name.text(), input.component->name.text(), repository, digest});
  }

  void trouble(const BuildInput& input, Error error) {
    out_.report.troubles.push_back(
        {input.module->name.text(), input.component->name.text(), std::move(error), {}, {}});
  }

  void finish() {
    out_.report.upstream = mirror_.asked();
    out_.report.quotas = mirror_.quotas();
    const auto by_name = [](const auto& one) { return std::pair(one.module, one.component); };
    std::ranges::sort(out_.report.components, {}, by_name);
    std::ranges::sort(out_.report.troubles, {}, by_name);
  }

  inventory::State& state_;
  const Location& location_;
  const model::Mesh& mesh_;
  const BuildOptions& options_;
  const registry::Services& services_;
  const Say& say_;
  ImageLedger ledger_;
  std::string own_;
  registry::Mirror mirror_;
  BaseImages bases_;
  std::vector<BuildInput> inputs_;
  std::vector<ComponentBuild> work_;
  std::vector<Result<ComponentResult>> results_;
  std::string waiting_;
  std::map<std::string, std::string> at_work_;  // components that are built, and their last lines
  BuildOutcome out_;
};

}  // namespace

Result<BuildOutcome> build(inventory::State& state, const Location& location,
                           const model::Mesh& mesh, const BuildOptions& options,
                           const registry::Services& services, registry::Progress& progress,
                           const Say& say) {
  MESH_TRY(const auto stop, os::TimedStop::make(options.stop_fd, options.timeout));
  auto timed = options;
  timed.stop_fd = stop.descriptor();
  BuildRun building(state, location, mesh, timed, services, progress, say);
  auto out = building.run();
  if (!out && out.error().code == Code::Interrupted && stop.timed_out()) {
    return fail(Code::Timeout,
                fmt::format("the build did not end within {} s: it was waiting for {}",
                            options.timeout.count() / 1000, building.waited_for()),
                "--timeout gives it longer");
  }
  return out;
}

}  // namespace mesh::controller
