#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace mesh::test {

/// The value, or the end of this test with the error's words. For helpers and constructors of
/// tests, where an ASSERT would only leave the helper and let the test go on with nothing.
template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message + "; " + result.error().hint);
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

}  // namespace mesh::test
