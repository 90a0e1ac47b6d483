#include "base/result.h"

namespace mesh {

const char* code_name(Code code) {
  switch (code) {
    case Code::InvalidArgument:
      return "invalid-argument";
    case Code::Usage:
      return "usage";
    case Code::NotFound:
      return "not-found";
    case Code::Conflict:
      return "conflict";
    case Code::PermissionDenied:
      return "permission-denied";
    case Code::Unavailable:
      return "unavailable";
    case Code::Timeout:
      return "timeout";
    case Code::Corrupt:
      return "corrupt";
    case Code::Unsupported:
      return "unsupported";
    case Code::Interrupted:
      return "interrupted";
    case Code::Internal:
      return "internal";
  }
  return "internal";
}

}  // namespace mesh
