#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/image_records.h"
#include "inventory/records.h"
#include "os/clock.h"
#include "os/random.h"
#include "secrets/seal.h"

namespace mesh::inventory {

inline constexpr std::size_t kLargestSecret = 64U << 10U;

/// The records of one mesh, in one SQLite file of mode 0600; what is secret in it is sealed under a
/// key that is not in it. Readers never wait for a writer. One object is one connection: use it
/// from one thread at a time. Every function may also fail with Corrupt (a damaged file; the hint
/// says how to go back to a backup), Resource (disk full, I/O), Conflict (another writer for
/// longer than 10 s).
class Inventory {
 public:
  /// Creates the file with its identity, all or nothing. `clock` and `random` are borrowed for
  /// the object's life. Errors: Conflict (there is one already), PermissionDenied.
  [[nodiscard]] static Result<Inventory> create(const std::string& path,
                                                const secrets::SealKey& key,
                                                const Identity& identity, const os::Clock& clock,
                                                os::Random& random);
  /// Opens it and brings it to this version's schema, keeping a copy `<path>.v<N>` first. Errors:
  /// NotFound, Unsupported (written by a newer Mesh: the message says which), PermissionDenied
  /// (open to others; or the key belongs to another inventory).
  [[nodiscard]] static Result<Inventory> open(const std::string& path, const secrets::SealKey& key,
                                              const os::Clock& clock, os::Random& random);
  Inventory(Inventory&&) noexcept;
  Inventory& operator=(Inventory&&) noexcept;
  ~Inventory();

  [[nodiscard]] Result<Identity> identity();

  // Pushes. Callers hold the lock (state.h) from `intend` to `record`.

  /// Begins a push: gives it a number, keeps its files and credentials (one that exists is replaced
  /// by the new one), in one transaction. An unfinished push before it is given up: its number
  /// stays used. Returns the new number: one more than the greatest known and `intent.above`.
  [[nodiscard]] Result<std::int64_t> intend(const Intent& intent);
  /// Ends push `number`: what it intended holds. Credentials of `gone` principals are dropped; so
  /// are files that no recorded push has. Recording twice is no error. Errors: NotFound.
  [[nodiscard]] Status record(std::int64_t number, std::span<const std::string> gone);
  /// The latest recorded push, or nothing before the first.
  [[nodiscard]] Result<std::optional<Push>> latest();
  /// The push that was intended and never recorded, if it is the last one.
  [[nodiscard]] Result<std::optional<Push>> unfinished();
  /// Recorded pushes, the newest first, at most `most`.
  [[nodiscard]] Result<std::vector<Push>> history(std::size_t most);
  [[nodiscard]] Result<std::optional<Push>> push(std::int64_t number);
  /// The declarations that the push accepted, byte-exact, sorted by path.
  [[nodiscard]] Result<std::vector<model::AcceptedFile>> files(std::int64_t number);

  /// The images that the push's components run, sorted.
  [[nodiscard]] Result<std::vector<PushImage>> images(std::int64_t number);

  // Machines.

  /// All that are known, sorted by name.
  [[nodiscard]] Result<std::vector<NodeRecord>> nodes();
  [[nodiscard]] Result<std::optional<NodeRecord>> node(const std::string& name);
  /// Adds or replaces it.
  [[nodiscard]] Status put_node(const NodeRecord& node);
  [[nodiscard]] Status put_nodes(std::span<const NodeRecord> nodes);
  /// One that is not known is no error.
  [[nodiscard]] Status remove_node(const std::string& name);

  // Credentials.

  /// Every principal's hash, in one select.
  [[nodiscard]] Result<Hashes> hashes();
  /// The secret itself. Errors: NotFound.
  [[nodiscard]] Result<secrets::Secret> credential_secret(const std::string& principal);
  /// Keeps credentials outside a push (`mesh bus-config`); one that exists is replaced.
  [[nodiscard]] Status add_credentials(std::span<const NewCredential> credentials);

  /// `from` becomes `to`, replacing what that had. Errors: NotFound.
  [[nodiscard]] Status rename_credential(const std::string& from, const std::string& to);

  // Secrets of modules.

  /// Keeps a value byte-exact. Errors: InvalidArgument (longer than 64 KiB, or a name that no
  /// declaration can have, model::parse_secret_name).
  [[nodiscard]] Status set_secret(const SecretName& name, const secrets::Secret& value);
  /// Errors: NotFound.
  [[nodiscard]] Status remove_secret(const SecretName& name);
  /// Sorted by module and name; no values.
  [[nodiscard]] Result<std::vector<SecretInfo>> secrets();
  /// Secret -> a text that is another one after it was set; it says nothing of the value.
  [[nodiscard]] Result<std::map<SecretName, std::string>> secret_marks();
  /// A text that is another one after any secret was set or removed. It says nothing of the values.
  [[nodiscard]] Result<std::string> secrets_mark();
  /// The module's own value, else the mesh's. Errors: NotFound (the hint names the verb that sets
  /// it).
  [[nodiscard]] Result<secrets::Secret> find_secret(const std::string& module,
                                                    const std::string& name);
  /// The 32 bytes of MESH_KEY_FILE, the same on every node: made at the first question.
  [[nodiscard]] Result<secrets::Secret> module_key(const std::string& module);

  // What the mesh's registry holds. `registry` is HOST[:PORT], digests are their text.

  /// The image of that digest, where any repository of the registry holds it.
  [[nodiscard]] Result<std::optional<ImageRecord>> image(const std::string& registry,
                                                         const std::string& digest);
  /// Where images are held, or one image is; the latest verified first.
  [[nodiscard]] Result<std::vector<HoldingRecord>> holdings(
      const std::string& registry, const std::optional<std::string>& image);
  /// A repository that holds a blob or manifest as part of an image.
  [[nodiscard]] Result<std::optional<std::string>> home_of(const std::string& registry,
                                                           const std::string& member);
  [[nodiscard]] Result<std::optional<ManifestRecord>> manifest(const std::string& digest);
  /// Keeps manifests' bytes; those that are there stay as they are. All or none.
  [[nodiscard]] Status keep_manifests(std::span<const ManifestRecord> manifests);
  /// The repositories hold these images, verified now. All or none.
  [[nodiscard]] Status record_holdings(const std::string& registry,
                                       std::span<const NewHolding> holdings);
  /// One that is not recorded is no error.
  [[nodiscard]] Status forget_holding(const std::string& registry, const std::string& repository,
                                      const std::string& image);

  // Images that were built of components.

  /// What was built from the inputs of that key, if anything was.
  [[nodiscard]] Result<std::optional<BuiltRecord>> built(const std::string& registry,
                                                         const std::string& module,
                                                         const std::string& component,
                                                         const std::string& key);
  /// All, by module and component, the latest of each first.
  [[nodiscard]] Result<std::vector<BuiltRecord>> built_images();
  /// Keeps it with the time of now; the same key again replaces it.
  [[nodiscard]] Status record_built(const BuiltRecord& record);

  // Small facts of the controller (what the bus was last proved to hold, …): name -> text.
  [[nodiscard]] Result<std::optional<std::string>> note(const std::string& name);
  [[nodiscard]] Status set_note(const std::string& name, const std::string& value);

  /// A consistent copy of the whole database as bytes, whatever others write meanwhile.
  [[nodiscard]] Result<std::string> snapshot();
  /// Reads every page, follows every reference, opens what is sealed and hashes what is kept by its
  /// hash. Errors: Corrupt.
  [[nodiscard]] Status verify();

  struct Parts;  // defined in the room's own parts.h

 private:
  explicit Inventory(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mesh::inventory
