#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/place.h"

namespace mesh {

/// What kind of failure it was. Callers decide by the code, never by the text. `Unavailable` and
/// `Timeout` may be tried again.
enum class Code {
  InvalidArgument,   // what was given cannot be used: a file, a declaration, a name
  Usage,             // the command line is wrong
  NotFound,          // what was asked for does not exist
  Conflict,          // somebody else holds it, or it is another mesh's
  PermissionDenied,  // refused by the other side or by the operating system
  Unavailable,       // the other side could not be reached
  Timeout,           // it did not answer within its deadline
  Corrupt,           // what was read is damaged
  Unsupported,       // this version, machine or server cannot do it
  Interrupted,       // the operator stopped it
  Resource,          // of this machine: the disk is full or fails, no memory, no descriptors
  Internal,          // a defect of Mesh
};

/// The code's name as it stands in JSON: `invalid-argument`, `not-found`, …
[[nodiscard]] const char* code_name(Code code);

/// The code of that name, for errors that another process of Mesh wrote; Internal where there is
/// none.
[[nodiscard]] Code code_named(std::string_view name);

/// A failure: what happened (lower case, no full stop), what to do about it (`hint`, may be empty)
/// and where (may be unknown). It never holds a secret.
struct Error {
  Code code = Code::Internal;
  std::string message;
  std::string hint;
  Place place;
};

/// A value or an Error. A dropped Result is a compiler error.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

using Status = Result<void>;

/// Makes the failing side: `return fail(Code::NotFound, "…", "hint")`.
[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string message,
                                                 std::string hint = {}, Place place = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(hint), std::move(place)});
}

/// Puts `context: ` before an error's message and passes it on.
[[nodiscard]] inline std::unexpected<Error> within(std::string context, Error error) {
  error.message = std::move(context) + ": " + error.message;
  return std::unexpected(std::move(error));
}

}  // namespace mesh

#define MESH_JOIN_(a, b) a##b
#define MESH_JOIN(a, b) MESH_JOIN_(a, b)

/// `MESH_TRY(auto x, f());` declares x with f()'s value, or returns f()'s error.
#define MESH_TRY(decl, expr) MESH_TRY_(decl, expr, MESH_JOIN(mesh_try_, __COUNTER__))
#define MESH_TRY_(decl, expr, tmp)                  \
  auto tmp = (expr);                                \
  if (!tmp) {                                       \
    return std::unexpected(std::move(tmp).error()); \
  }                                                 \
  decl = std::move(*tmp)

/// `MESH_CHECK(f());` returns f()'s error where it has one (f returns a Result of anything).
#define MESH_CHECK(expr) MESH_CHECK_(expr, MESH_JOIN(mesh_check_, __COUNTER__))
#define MESH_CHECK_(expr, tmp)                        \
  do {                                                \
    auto tmp = (expr);                                \
    if (!tmp) {                                       \
      return std::unexpected(std::move(tmp).error()); \
    }                                                 \
  } while (false)
