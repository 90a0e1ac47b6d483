#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/events.h"
#include "host/driver.h"

namespace mesh::host {

struct ContainersOptions {
  engine::EngineOptions engine;
  std::string mesh;  // its id
  std::string node;
  /// A directory of the driver's own (mode 0700, made where it is missing): the declared files of
  /// components, which the engine mounts.
  std::string folder;
};

/// The driver for containers, by the Docker Engine API.
///
/// A container is named `mesh-<first 8 of the mesh's id>-<node>-<module>-<component>-<generation>`
/// and labelled `mesh.id`, `mesh.node`, `mesh.module`, `mesh.component`, `mesh.generation` and
/// `mesh.image`; a named volume is `mesh-<first 8>-<node>-<module>-<volume>`, so two modules never
/// share one by accident. The labels decide whose a container is, never its name.
///
/// The declared `files` of a component are written below `folder` and mounted one by one,
/// read-only, rather than uploaded into the container: so a container is whole as soon as it is
/// made (nothing is half there after a crash), they are there with a read-only root and inside of
/// volumes and tmpfs, and a declared byte is never changed by the program. They are readable by
/// every user of the container. `UnitSpec::files` is mounted as it is: what a program that does not
/// run as root must read has to be open to others (below a directory that is closed to them).
///
/// The engine restarts nothing and checks no health: that is the host's. An image's own HEALTHCHECK
/// is switched off.
class Containers final : public Driver {
 public:
  explicit Containers(ContainersOptions options);

  [[nodiscard]] Result<std::vector<Found>> list() override;
  [[nodiscard]] Status create(const UnitSpec& spec) override;
  [[nodiscard]] Status start(const converge::UnitName& name) override;
  [[nodiscard]] Result<bool> stop(const converge::UnitName& name, os::Milliseconds grace) override;
  [[nodiscard]] Status remove(const converge::UnitName& name) override;
  [[nodiscard]] Result<bool> has_image(const std::string& reference) override;
  [[nodiscard]] Status pull(const std::string& reference, const PullAccess& access) override;
  [[nodiscard]] Result<LogPiece> logs(const converge::UnitName& name, const LogCursor& cursor,
                                      std::size_t most) override;
  [[nodiscard]] Result<int> execute(const converge::UnitName& name,
                                    const std::vector<std::string>& command,
                                    os::Milliseconds timeout) override;
  /// As the engine knows them: `mesh-0123abcd-one-shop-data`.
  [[nodiscard]] Result<std::vector<std::string>> volumes() override;
  [[nodiscard]] Status remove_volume(const std::string& name) override;
  [[nodiscard]] int changes() const override { return events_.descriptor(); }
  [[nodiscard]] std::string about() override;
  /// Where a container on the default network reaches this machine. The interface may be there only
  /// while a container is (IP_FREEBIND binds before).
  [[nodiscard]] Result<std::string> gateway() override { return engine_.gateway(); }

 private:
  struct Known {
    std::string state;
    std::vector<std::string> check;  // the health command that it was made with
    Found found;
  };
  [[nodiscard]] std::string container_name(const converge::UnitName& name) const;
  [[nodiscard]] std::string volume_name(const std::string& module, const std::string& name) const;
  [[nodiscard]] engine::Labels our_labels() const;
  [[nodiscard]] bool is_ours(const engine::Labels& labels) const;
  /// The container of that name, where it is ours. Errors: NotFound, Conflict (another's).
  [[nodiscard]] Result<engine::Inspected> find(const converge::UnitName& name);
  [[nodiscard]] Result<Found> look_at(const engine::Listed& listed, bool rootless);
  void forget(const std::string& id);
  /// Empty: it has none.
  [[nodiscard]] Result<std::vector<std::string>> check_of(const converge::UnitName& name);
  [[nodiscard]] Status write_files(const UnitSpec& spec, engine::ContainerSpec& out) const;
  [[nodiscard]] Status mount_volumes(const UnitSpec& spec, engine::ContainerSpec& out);
  [[nodiscard]] Result<engine::ContainerSpec> container_spec(const UnitSpec& spec);
  /// Whether it is there, whole; what is ours and not whole is removed.
  [[nodiscard]] Result<bool> is_made(const converge::UnitName& name);
  [[nodiscard]] Status make(const engine::ContainerSpec& made);
  [[nodiscard]] std::string files_folder(const std::string& container) const;
  void sweep_files(const std::vector<engine::Listed>& listed);

  ContainersOptions options_;
  engine::Engine engine_;
  engine::Events events_;
  std::mutex mutex_;                    // guards what is below
  std::map<std::string, Known> known_;  // by id: what `inspect` said, until something happens
  std::set<std::string> making_;        // until the sweep: names whose files are in use
  bool swept_ = false;
};

}  // namespace mesh::host
