#include "controller/recorded.h"

#include <algorithm>

#include <fmt/format.h>

namespace mesh::controller {

namespace {

/// `./a//b/` and `a/b` are one path.
std::string plain(const std::string& path) {
  std::string out;
  std::size_t at = 0;
  const bool absolute = path.starts_with('/');
  while (at < path.size()) {
    auto end = path.find('/', at);
    end = end == std::string::npos ? path.size() : end;
    const auto piece = path.substr(at, end - at);
    if (!piece.empty() && piece != ".") {
      out += (out.empty() ? "" : "/") + piece;
    }
    at = end + 1;
  }
  return absolute ? "/" + out : out;
}

}  // namespace

RecordedFiles::RecordedFiles(std::vector<model::AcceptedFile> files) : files_(std::move(files)) {
  for (auto& file : files_) {
    file.path = plain(file.path);
  }
  std::ranges::sort(files_, {}, &model::AcceptedFile::path);
}

model::Files::Kind RecordedFiles::kind(const std::string& path) const {
  const auto wanted = plain(path);
  const auto found = std::ranges::lower_bound(files_, wanted, {}, &model::AcceptedFile::path);
  if (found != files_.end() && found->path == wanted) {
    return Kind::File;
  }
  // A file beside module.toml that is only handed on has a suffix, as a rule; a directory has none.
  const auto name = wanted.substr(wanted.rfind('/') + 1);
  const bool below = std::ranges::any_of(
      files_, [&](const auto& file) { return file.path.starts_with(wanted + "/"); });
  return below || wanted.empty() || name.find('.', 1) == std::string::npos ? Kind::Directory
                                                                           : Kind::File;
}

Result<std::string> RecordedFiles::read(const std::string& path) const {
  const auto wanted = plain(path);
  const auto found = std::ranges::lower_bound(files_, wanted, {}, &model::AcceptedFile::path);
  if (found == files_.end() || found->path != wanted) {
    return fail(Code::NotFound, "the records hold no file " + path);
  }
  return found->bytes;
}

Result<Recorded> mesh_of_push(inventory::Inventory& inventory, inventory::Push push) {
  MESH_TRY(auto files, inventory.files(push.number));
  auto reading = model::read_mesh(RecordedFiles(std::move(files)));
  if (!reading.mesh) {
    const auto first = reading.problems.empty() ? std::string("no reason")
                                                : model::to_text(reading.problems.front());
    return fail(Code::Corrupt, fmt::format("the declarations of push {} cannot be read again: {}",
                                           push.number, first));
  }
  return Recorded{std::move(push), std::move(*reading.mesh)};
}

Result<std::optional<Recorded>> recorded_mesh(inventory::Inventory& inventory) {
  MESH_TRY(auto push, inventory.latest());
  if (!push) {
    return std::optional<Recorded>();
  }
  MESH_TRY(auto recorded, mesh_of_push(inventory, std::move(*push)));
  return std::optional(std::move(recorded));
}

}  // namespace mesh::controller
