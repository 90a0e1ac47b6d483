#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "broker/config_view.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// The configuration's file as it is on disk: what a plan compares with.
struct BusFile {
  std::string path;
  bool exists = false;
  std::string text;                        // empty where there is none
  std::optional<broker::ConfigView> view;  // none where there is no file or it cannot be read
  /// The server was last proved to run with exactly this text. False after a push that was cut off
  /// between the file and the proof.
  bool proved = false;

  [[nodiscard]] const broker::ConfigView* in_force() const { return view ? &*view : nullptr; }
};

/// The file that Mesh owns: in the state, or [bus] config of an external server.
[[nodiscard]] Result<BusFile> read_bus_file(inventory::State& state, const model::Mesh& mesh,
                                            const std::string& root);

/// How a new configuration was put in force.
struct Reloaded {
  bool proved = true;  // false: an external server without `test`, or that tells no load time
  std::string note;    // what was not proved, for people
};

/// Puts `text` in force: the very program that runs proves it (`-t`, or [bus] test), the file is
/// replaced in one step, the server reads it again, `twice` where accounts are new, and the reload
/// is proved. Where any of it fails the old file is back and the server was told to read it again;
/// the error says at what it failed. Errors: PermissionDenied (the server refuses the file),
/// Unavailable, Timeout.
class BusFileSwap {
 public:
  /// All is borrowed.
  BusFileSwap(inventory::State& state, const model::Mesh& mesh, std::string root, BusFile file,
              Steps& steps)
      : state_(state), mesh_(mesh), root_(std::move(root)), file_(std::move(file)), steps_(steps) {}

  [[nodiscard]] Result<Reloaded> put(BusLink& link, const std::string& text, bool twice);
  /// Puts the old file back, after something later failed, and reloads.
  [[nodiscard]] Status put_back(BusLink& link);
  /// Writes a first file before anybody can log in (external), and runs [bus] test and reload.
  [[nodiscard]] Status put_unconnected(const std::string& text);

 private:
  [[nodiscard]] Result<std::string> prove_managed(const BusLink& link, const std::string& text);
  [[nodiscard]] Status write(const std::string& text);
  [[nodiscard]] Status restore_file();
  [[nodiscard]] Status test_external();
  [[nodiscard]] Status reload(BusLink& link, bool twice, const std::string& digest);
  [[nodiscard]] Status reload_by_command(BusLink& link, bool twice);
  [[nodiscard]] Status remember(const std::string& text);
  [[nodiscard]] Status tell_of_old(BusLink& link);
  [[nodiscard]] Error undone(BusLink& link, Error error);
  [[nodiscard]] bool by_command() const { return !mesh_.bus.managed && !mesh_.bus.reload.empty(); }

  inventory::State& state_;
  const model::Mesh& mesh_;
  std::string root_;
  BusFile file_;
  Steps& steps_;
};

/// Keeps that the server was proved to run with `text`.
[[nodiscard]] Status remember_proved(inventory::State& state, const std::string& text);

}  // namespace mesh::controller
