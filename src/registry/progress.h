#pragma once

#include <cstdint>
#include <string>

namespace mesh::registry {

/// Told of what a mirror does, as it does it; on the mirror's thread. `image` is the pair's number,
/// from 0. The base class does nothing: override what is shown.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  virtual ~Progress() = default;

  enum class How {
    Fetched,  // from upstream
    Mounted,  // from another repository of the registry
    Held,     // was there already
  };

  /// An image's contents are known: so many blobs and bytes.
  virtual void image_known(std::size_t /*image*/, std::size_t /*blobs*/, std::uint64_t /*bytes*/) {}
  virtual void blob_begins(const std::string& /*digest*/, std::uint64_t /*size*/) {}
  /// `done` bytes of it have gone through; less than before where it had to begin again.
  virtual void blob_moves(const std::string& /*digest*/, std::uint64_t /*done*/) {}
  virtual void blob_ends(const std::string& /*digest*/, std::uint64_t /*size*/, How /*how*/) {}
  virtual void image_ends(std::size_t /*image*/, bool /*well*/) {}
  /// Something that takes long and why: `waiting 30 s for docker.io: …`.
  virtual void remark(const std::string& /*line*/) {}
};

}  // namespace mesh::registry
