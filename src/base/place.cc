#include "base/place.h"

namespace mesh {

const std::string& Place::file_name() const {
  static const std::string kNone;
  return file ? *file : kNone;
}

}  // namespace mesh
