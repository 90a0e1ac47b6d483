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
    case Code::Resource:
      return "resource";
    case Code::Internal:
      return "internal";
  }
  return "internal";
}

Code code_named(std::string_view name) {
  for (const Code code : {Code::InvalidArgument, Code::Usage, Code::NotFound, Code::Conflict,
                          Code::PermissionDenied, Code::Unavailable, Code::Timeout, Code::Corrupt,
                          Code::Unsupported, Code::Interrupted, Code::Resource}) {
    if (name == code_name(code)) {
      return code;
    }
  }
  return Code::Internal;
}

}  // namespace mesh
