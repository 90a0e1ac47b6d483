#include "os/errno_error.h"

#include <cerrno>
#include <system_error>

namespace mesh::os {
namespace {

Code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ESRCH:
      return Code::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::PermissionDenied;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
    case ETXTBSY:
      return Code::Conflict;
    case EINVAL:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case E2BIG:
    case ENOEXEC:
      return Code::InvalidArgument;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::Unsupported;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::Resource;
    case ETIMEDOUT:
      return Code::Timeout;
    default:
      return Code::Unavailable;
  }
}

std::string hint_of(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return "make room on the disk, then do it again";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return {};
  }
}

std::string system_text(int number) {
  std::string text = std::generic_category().message(number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

Error errno_error(std::string what, int number) {
  return Error{code_of(number), std::move(what) + ": " + system_text(number), hint_of(number), {}};
}

std::unexpected<Error> fail_errno(std::string what, int number) {
  return std::unexpected(errno_error(std::move(what), number));
}

}  // namespace mesh::os
