// The files that a unit's environment names, on the disk.

#include <sys/stat.h>

#include <fmt/format.h>

#include "host/specs.h"
#include "os/files.h"

namespace mesh::host {

namespace {

constexpr mode_t kOpenDirectory = 0755;
constexpr mode_t kOpenFile = 0444;
constexpr mode_t kClosedFile = 0400;

}  // namespace

std::string files_directory(const Premises& place, const converge::UnitName& name) {
  return fmt::format("{}/{}.{}.{}", place.files, name.module, name.component, name.generation);
}

Status write_files(const ReadyUnit& unit) {
  const bool contained = !unit.spec.component.image.empty();
  const auto& directory = unit.spec.files;
  MESH_CHECK(os::make_private_dir(directory));
  const auto secrets = directory + "/secrets";
  MESH_CHECK(os::make_private_dir(secrets));
  for (const auto& [name, bytes] : unit.files) {
    MESH_CHECK(
        os::write_file_atomic(directory + "/" + name, bytes, contained ? kOpenFile : kClosedFile));
  }
  if (contained && (::chmod(secrets.c_str(), kOpenDirectory) != 0 ||
                    ::chmod(directory.c_str(), kOpenDirectory) != 0)) {
    return fail(Code::PermissionDenied, "cannot open " + directory + " to its container");
  }
  return {};
}

}  // namespace mesh::host
