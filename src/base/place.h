#pragma once

#include <memory>
#include <string>

namespace mesh {

/// A position in a file that an operator wrote. `line` and `column` count from 1; 0 means that only
/// the file is known. The name is shared, since thousands of places point into one file.
struct Place {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  /// The file's name as it is shown to the operator; empty where no file is known.
  [[nodiscard]] const std::string& file_name() const;
};

/// Why something is as it is: a sentence, and the declaration that it follows from.
struct Because {
  std::string text;
  Place place;
};

}  // namespace mesh
