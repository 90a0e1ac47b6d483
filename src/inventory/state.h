#pragma once

#include <string>

#include "base/result.h"
#include "certificates/certificate.h"
#include "inventory/inventory.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/random.h"
#include "secrets/recovery_key.h"
#include "secrets/seal.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::inventory {

/// Where everything of a mesh lies: `.mesh/`, mode 0700.
class StatePaths {
 public:
  explicit StatePaths(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string database() const { return root_ + "/inventory.db"; }
  [[nodiscard]] std::string lock() const { return root_ + "/lock"; }
  [[nodiscard]] std::string keys() const { return root_ + "/keys"; }
  [[nodiscard]] std::string seal_key() const { return root_ + "/keys/seal.key"; }
  [[nodiscard]] std::string sign_key() const { return root_ + "/keys/sign.key"; }
  /// The mesh's certificate authority: its certificate and its key, in PEM form.
  [[nodiscard]] std::string authority() const { return root_ + "/keys/ca.key"; }
  /// Its certificate alone, for programs that are to trust it.
  [[nodiscard]] std::string authority_certificate() const { return root_ + "/ca.pem"; }
  [[nodiscard]] std::string bus() const { return root_ + "/bus"; }
  [[nodiscard]] std::string bus_config() const { return root_ + "/bus/nats.conf"; }
  [[nodiscard]] std::string jetstream() const { return root_ + "/bus/jetstream"; }
  [[nodiscard]] std::string registry() const { return root_ + "/registry"; }
  [[nodiscard]] std::string run() const { return root_ + "/run"; }
  /// The states of the mesh-hosts that `mesh up` runs, by node.
  [[nodiscard]] std::string hosts() const { return root_ + "/hosts"; }
  [[nodiscard]] std::string environments() const { return root_ + "/env"; }
  [[nodiscard]] std::string log() const { return root_ + "/log"; }

 private:
  std::string root_;
};

/// The inventory and the keys, opened.
struct State {
  StatePaths paths;
  secrets::SealKey seal_key;
  secrets::SigningKey sign_key;
  Inventory inventory;
  Identity identity;
};

/// A state that has just been made. The recovery key is shown once and kept nowhere.
struct NewState {
  State state;
  secrets::Secret recovery_text;
};

/// True where `root` holds a mesh's state (a half-made one, after a crash, does not count).
[[nodiscard]] bool state_exists(const std::string& root);

/// Makes the directory, the keys, the certificate authority and the inventory. The inventory comes
/// last, so that what was killed on the way is simply made again. `clock` and `random` are borrowed
/// for the state's life. Errors: Conflict (there is a state already), PermissionDenied, Resource.
[[nodiscard]] Result<NewState> create_state(const std::string& root, const std::string& mesh_name,
                                            const os::Clock& clock, os::Random& random);

/// A state that an earlier version made gets its certificate authority here. Errors: NotFound (no
/// state; the hint says `mesh init`), Corrupt (keys are missing or not those of the inventory), and
/// as `Inventory::open`.
[[nodiscard]] Result<State> open_state(const std::string& root, const os::Clock& clock,
                                       os::Random& random);

/// The mesh's certificate authority. Errors: NotFound, Corrupt (the file is damaged),
/// PermissionDenied (it is open to others).
[[nodiscard]] Result<certificates::Pair> read_authority(const StatePaths& paths);

/// The lock that pushes exclude each other by. The controller takes it for moments (`verb` is
/// `controller`), and so does who makes the state: any other verb waits for these up to 15 s, and
/// for no other verb at all. Errors: as `os::Lock::take`.
[[nodiscard]] Result<os::Lock> lock_state(const std::string& root, const std::string& verb,
                                          const os::Clock& clock);

}  // namespace mesh::inventory
