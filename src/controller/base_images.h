#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "builder/lock_file.h"
#include "controller/build_inputs.h"
#include "controller/workspace.h"
#include "inventory/inventory.h"
#include "oci/reference.h"
#include "registry/mirror.h"

namespace mesh::controller {

/// The bases of a run of builds: each distinct one is mirrored once and pinned.
class BaseImages {
 public:
  /// Everything is borrowed. `own` is the address of the mesh's registry.
  BaseImages(registry::Mirror& mirror, registry::Ledger& ledger, inventory::Inventory& inventory,
             std::string own, const Say& say)
      : mirror_(mirror), ledger_(ledger), inventory_(inventory), own_(std::move(own)), say_(say) {}

  /// Collects what these files need. Errors: InvalidArgument with the image's place.
  Status collect(const std::vector<BuildInput>& inputs);

  /// The images that components name as theirs, of modules that run somewhere. Errors: as above.
  Status collect_images(const model::Mesh& mesh);

  /// Makes them all held: with `lock`'s digests, unless `update`. What tags resolved to is put into
  /// `lock`, and said in `notes` where it moved. Where the lock does not know a tag and upstream
  /// cannot be asked, the digest that was last built on or mirrored is used, and that is said. A
  /// base that failed fails those that need it. Errors: the inventory's.
  Status bring(builder::LockFile& lock, bool update, std::vector<std::string>& notes);

  /// The base's digest, of its index where it has one. Errors: why it could not be brought.
  [[nodiscard]] Result<std::string> digest(const std::string& text) const;
  /// `OWN/repository@digest` of the manifest for that platform. Errors: as above; Unsupported (it
  /// has none for it).
  [[nodiscard]] Result<std::string> pin(const std::string& text, const std::string& platform);

  /// Tags that the files use, as the lock names them.
  [[nodiscard]] std::vector<std::string> locked_names() const;

 private:
  struct Base {
    oci::Reference reference;
    std::optional<oci::Repository> repository;
    std::string name;  // in the lock; empty where the file names a digest
    Result<std::string> digest = fail(Code::Internal, "the base was not brought");
  };
  Status add(const std::string& text, const oci::Reference& reference);
  [[nodiscard]] static Error locked_is_gone(const Base& base, Error error);
  void say_what_is_asked(const std::vector<Base*>& bases,
                         const std::vector<registry::MirrorPair>& pairs);

  registry::Mirror& mirror_;
  registry::Ledger& ledger_;
  inventory::Inventory& inventory_;
  std::string own_;
  const Say& say_;
  std::map<std::string, Base> bases_;  // by the text in the file
};

}  // namespace mesh::controller
