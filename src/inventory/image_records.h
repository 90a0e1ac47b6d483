#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace mesh::inventory {

/// A content that an image consists of.
struct ImageMember {
  std::string digest;
  std::uint64_t size = 0;
  bool manifest = false;  // otherwise a blob
  friend bool operator==(const ImageMember&, const ImageMember&) = default;
};

/// An image: its index or manifest, and all that belongs to it.
struct ImageRecord {
  std::string digest;
  std::string media_type;
  std::vector<ImageMember> members;
  friend bool operator==(const ImageRecord&, const ImageRecord&) = default;
};

struct ManifestRecord {
  std::string digest;
  std::string media_type;
  std::string bytes;
  friend bool operator==(const ManifestRecord&, const ManifestRecord&) = default;
};

/// An image that a repository holds now.
struct NewHolding {
  std::string repository;
  ImageRecord image;
};

/// An image in a repository of a registry, and when all of it was last found there.
struct HoldingRecord {
  std::string registry;  // HOST[:PORT]
  std::string repository;
  std::string image;
  std::string verified;
  friend bool operator==(const HoldingRecord&, const HoldingRecord&) = default;
};

/// The image that a component of a push runs.
struct PushImage {
  std::string module;
  std::string component;
  std::string repository;  // of the mesh's registry
  std::string digest;
  friend auto operator<=>(const PushImage&, const PushImage&) = default;
};

/// An image that was built of a component, by the key over all that went into it.
struct BuiltRecord {
  std::string module;
  std::string component;
  std::string key;
  std::string registry;  // HOST[:PORT]
  std::string repository;
  std::string digest;
  std::string platforms;  // separated by commas
  std::string time;       // set by the inventory
  friend bool operator==(const BuiltRecord&, const BuiltRecord&) = default;
};

}  // namespace mesh::inventory
