#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "converge/units.h"
#include "declaration/component.h"
#include "os/clock.h"

namespace mesh::host {

/// A unit as a driver finds it on the machine.
struct Found {
  converge::UnitName name;
  converge::UnitState state = converge::UnitState::Created;
  std::string id;                // the driver's own
  std::string image;             // the digest that it was made of; empty for a command
  std::optional<int> exit_code;  // of one that exited; 128 and the signal where one ended it
  bool out_of_memory = false;    // it was ended for that
  std::optional<os::WallTime> started;
  std::optional<os::WallTime> ended;
  std::string address;                // where its ports answer from this machine; may be empty
  std::map<int, int> ports;           // port of the component -> port of `address`
  std::vector<std::string> bindings;  // `80/tcp -> 127.0.0.1:49153`, for people
  std::int64_t pid = 0;               // of a command that runs
};

/// All that decides how a unit runs; its generation follows from this and nothing else.
struct UnitSpec {
  converge::UnitName name;
  declaration::Component component;                // its `env` and `secrets` are in the two below
  std::map<std::string, std::string> environment;  // the whole of it, byte-exact
  /// A directory with the files of the unit (password, key, tools.json, ca.pem, secrets/): a
  /// container sees it read-only at /run/mesh.
  std::string files;
  std::string folder;  // of the module in a checkout; empty: none is at hand. For commands alone.
};

/// Where a unit may read on: made by `logs`, opaque to everybody else; empty: from the beginning
/// of what is kept.
using LogCursor = std::string;

struct LogPiece {
  std::vector<std::string> lines;  // without their ends, oldest first
  LogCursor next;
};

/// The login of an image's registry.
struct PullAccess {
  std::string user;
  std::string password;  // goes to the engine and nowhere else; empty: none
};

/// What makes units run on this machine: containers, or supervised commands. What carries no label
/// of this mesh and node is never listed and never touched. Members may be called from several
/// threads at once. Errors by code: Unavailable and Timeout (the engine does not answer; try
/// again), NotFound (no such unit, image or program), Conflict (a name or port is another's: the
/// message names it), PermissionDenied (the machine does not allow it), Resource (the disk is
/// full), Unsupported (this driver cannot do that), InvalidArgument.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  /// Every unit of ours, in any state, sorted by name.
  [[nodiscard]] virtual Result<std::vector<Found>> list() = 0;

  /// Makes it, not started. Name and labels are written before anything can start; one that is
  /// there already, whole, is no error, and what was left half made is made anew.
  [[nodiscard]] virtual Status create(const UnitSpec& spec) = 0;
  /// One that runs is no error.
  [[nodiscard]] virtual Status start(const converge::UnitName& name) = 0;
  /// SIGTERM, and SIGKILL after `grace`; returns when it has ended. One that does not run is no
  /// error. True where it had to be killed.
  [[nodiscard]] virtual Result<bool> stop(const converge::UnitName& name,
                                          os::Milliseconds grace) = 0;
  /// Also one that runs, after killing it. One that is not there is no error. Named volumes stay.
  [[nodiscard]] virtual Status remove(const converge::UnitName& name) = 0;

  /// Whether the machine has the image (a reference with its digest).
  [[nodiscard]] virtual Result<bool> has_image(const std::string& reference) = 0;
  [[nodiscard]] virtual Status pull(const std::string& reference, const PullAccess& access) = 0;

  /// At most `most` of the lines after `cursor`; the last ones where the cursor is empty.
  [[nodiscard]] virtual Result<LogPiece> logs(const converge::UnitName& name,
                                              const LogCursor& cursor, std::size_t most) = 0;
  /// Runs a command beside the unit (in its container, or as its user): its exit code.
  [[nodiscard]] virtual Result<int> execute(const converge::UnitName& name,
                                            const std::vector<std::string>& command,
                                            os::Milliseconds timeout) = 0;

  /// Named volumes of this mesh and node, and their removal with all that is in them.
  [[nodiscard]] virtual Result<std::vector<std::string>> volumes() = 0;
  [[nodiscard]] virtual Status remove_volume(const std::string& name) = 0;

  /// Readable when units may have changed since the last `list`; -1 where the driver cannot tell.
  [[nodiscard]] virtual int changes() const { return -1; }
  /// This machine's address as a container on the bridge sees it. Errors: Unsupported.
  [[nodiscard]] virtual Result<std::string> gateway() {
    return fail(Code::Unsupported, "there is no bridge");
  }
  /// `podman 4.3.1`, for reports; empty: none.
  [[nodiscard]] virtual std::string about() = 0;
};

}  // namespace mesh::host
