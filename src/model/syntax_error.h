#pragma once

#include <string>
#include <string_view>

#include "base/place.h"

namespace mesh::model {

struct SyntaxError {
  Place place;
  std::string code;
  std::string message;
  std::string hint;
};

/// The TOML library's complaint in plain words. `description` is its text (toml++ 3.3 and 3.4);
/// what is not recognised is passed on without its preamble. Each text that the library has is one
/// of the tests.
[[nodiscard]] SyntaxError explain_syntax(std::string_view description, std::string_view bytes,
                                         Place place);

}  // namespace mesh::model
