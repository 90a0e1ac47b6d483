#include "controller/lock_file.h"

#include <string>

#include "os/files.h"

namespace mesh::controller {
namespace {

constexpr std::size_t kMostLockBytes = std::size_t{1} << 20U;

}  // namespace

Result<builder::LockFile> read_lock(const Location& location) {
  const auto path = location.root + "/mesh.lock";
  if (!os::exists(path)) {
    return builder::LockFile{};
  }
  MESH_TRY(const auto text, os::read_file(path, kMostLockBytes));
  return builder::LockFile::parse(text, location.shown_prefix + "mesh.lock");
}

Status write_lock(const Location& location, const builder::LockFile& lock) {
  MESH_TRY(const auto file, os::file_to_replace(location.root + "/mesh.lock"));
  return os::write_file_atomic(file, lock.text(), os::kOrdinaryFile);
}

}  // namespace mesh::controller
