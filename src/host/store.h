#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "declaration/declaration.h"
#include "declaration/envelope.h"
#include "host/identity.h"

namespace mesh::host {

/// What the host notes of one module beside its declaration.
struct ModuleNote {
  std::string accepted;              // the generation that was last seen to run well
  std::int64_t accepted_number = 0;  // the declaration that has it
  std::string rejected;              // a generation that was tried and put back
  std::string because;               // why
  friend bool operator==(const ModuleNote&, const ModuleNote&) = default;
};

/// A declaration that was believed, with its sealed values opened.
struct Opened {
  declaration::Declaration declaration;
  declaration::Values values;
};

/// What the host keeps on the disk: enough to run everything without bus and controller. Each file
/// is replaced in one step, the directory synced; a declaration is kept before anything of it is
/// done.
class Store {
 public:
  /// Reads it. A declaration or notes that cannot be read are put aside (`.damaged`) and said in
  /// `troubles`: they never mean that nothing is declared.
  [[nodiscard]] static Result<Store> open(std::string directory, const Identity& identity);

  /// The last declaration that was accepted, or nothing before the first, or where it is damaged.
  [[nodiscard]] const std::optional<Opened>& current() const { return current_; }
  /// An earlier one, as long as a module's accepted state is of it.
  [[nodiscard]] const Opened* at(std::int64_t number) const;
  /// Its number, known also where it is damaged.
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] const std::map<std::string, ModuleNote>& notes() const { return notes_; }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

  /// Keeps a declaration that was accepted; from now on it is the current one.
  Status keep(const std::string& envelope, declaration::Accepted accepted,
              const Identity& identity);
  Status note(const std::string& module, ModuleNote note);
  /// Drops notes of modules that are not declared any more, and declarations that no note needs.
  Status sweep();

 private:
  explicit Store(std::string directory) : directory_(std::move(directory)) {}
  [[nodiscard]] std::string declaration_file(std::int64_t number) const;
  [[nodiscard]] std::string notes_file() const { return directory_ + "/notes.json"; }
  void read_notes();
  void read_declarations(const Identity& identity);
  [[nodiscard]] Status write_notes() const;
  void set_aside(const std::string& path, const std::string& why);

  std::string directory_;
  std::optional<Opened> current_;
  std::map<std::int64_t, Opened> former_;
  std::map<std::string, ModuleNote> notes_;
  std::int64_t number_ = 0;
  std::string trouble_;
};

/// Opens what is sealed to this machine. Errors: Corrupt (sealed to another key, or damaged).
[[nodiscard]] Result<Opened> open_values(declaration::Declaration declaration,
                                         const Identity& identity);

}  // namespace mesh::host
