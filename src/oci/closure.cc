#include "oci/closure.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace mesh::oci {

namespace {

/// How far a walk has come with a manifest.
enum class Mark { None, Open, Done };

/// Whether an index's child is a blob by its type; a type that is not known may be a manifest's.
bool is_blob(const Descriptor& child) {
  const MediaKind kind = child.kind();
  return kind == MediaKind::Config || kind == MediaKind::Layer || kind == MediaKind::ForeignLayer;
}

std::unexpected<Error> two_sizes(const Digest& digest) {
  return fail(Code::Corrupt, fmt::format("{} is listed with two sizes", digest.text()));
}

/// Keeps the first of each.
void keep_once(std::vector<Digest>& list) {
  std::set<Digest> seen;
  std::erase_if(list, [&](const Digest& digest) { return !seen.insert(digest).second; });
}

}  // namespace

Closure::Closure(Descriptor root, ClosureLimits limits) : root_(root.digest), limits_(limits) {
  found_.push_back(root_);
  nodes_.emplace(root_, Node{std::move(root), 0, false, {}, {}, {}});
}

std::vector<Descriptor> Closure::missing() const {
  std::vector<Descriptor> out;
  for (const auto& digest : found_) {
    const Node& node = nodes_.at(digest);
    if (!node.known) {
      out.push_back(node.descriptor);
    }
  }
  return out;
}

Status Closure::deepen(const Digest& digest, std::size_t depth) {
  if (depth > limits_.depth) {
    return fail(Code::Corrupt, fmt::format("{} lies deeper than {} indexes, or contains itself",
                                           digest.text(), limits_.depth));
  }
  Node& node = nodes_.at(digest);
  if (node.depth >= depth) {
    return {};
  }
  node.depth = depth;
  for (const auto& child : node.children) {
    MESH_CHECK(deepen(child, depth + 1));
  }
  return {};
}

Status Closure::refer(const Descriptor& child, Node& parent, std::size_t depth) {
  const auto known = nodes_.find(child.digest);
  if (known == nodes_.end()) {
    if (nodes_.size() >= limits_.manifests || depth > limits_.depth) {
      return fail(Code::Corrupt,
                  fmt::format("{} has more than {} manifests, or lies deeper than {} indexes",
                              root_.text(), limits_.manifests, limits_.depth));
    }
    nodes_.emplace(child.digest, Node{child, depth, false, {}, {}, {}});
    found_.push_back(child.digest);
    ++missing_;
  } else {
    auto& size = known->second.descriptor.size;
    if (size && child.size && *size != *child.size) {
      return two_sizes(child.digest);
    }
    size = size ? size : child.size;
  }
  parent.children.push_back(child.digest);
  return deepen(child.digest, depth);
}

Status Closure::take_blob(const Descriptor& blob, Node& parent) {
  const auto [known, added] = blob_sizes_.emplace(blob.digest, blob.size);
  if (!added && known->second && blob.size && *known->second != *blob.size) {
    return two_sizes(blob.digest);
  }
  if (added) {
    blobs_.push_back(blob);
  }
  if (blobs_.size() > limits_.blobs) {
    return fail(Code::Corrupt,
                fmt::format("{} has more than {} blobs", root_.text(), limits_.blobs));
  }
  parent.blobs.push_back(blob.digest);
  return {};
}

Status Closure::add(const Digest& digest, std::uint64_t size, const Manifest& manifest) {
  const auto found = nodes_.find(digest);
  if (found == nodes_.end() || found->second.known) {
    return fail(Code::InvalidArgument, fmt::format("{} was not asked for", digest.text()));
  }
  Node& node = found->second;
  if (node.descriptor.size && *node.descriptor.size != size) {
    return fail(Code::Corrupt, fmt::format("manifest {} has {} bytes, its descriptor says {}",
                                           digest.text(), size, *node.descriptor.size));
  }
  node.descriptor.size = size;
  node.descriptor.media_type = manifest.media_type;
  if (manifest.config) {
    MESH_CHECK(take_blob(*manifest.config, node));
  }
  for (const auto& layer : manifest.layers) {
    MESH_CHECK(take_blob(layer, node));
  }
  for (const auto& child : manifest.children) {
    MESH_CHECK(is_blob(child) ? take_blob(child, node) : refer(child, node, node.depth + 1));
  }
  keep_once(node.children);
  keep_once(node.blobs);
  node.subject = manifest.subject;
  node.known = true;
  --missing_;
  return {};
}

Result<std::vector<Descriptor>> Closure::manifests() const {
  if (!complete()) {
    return fail(Code::InvalidArgument,
                fmt::format("{} manifests of {} are not known yet", missing_, root_.text()));
  }
  std::map<Digest, Mark> marks;
  std::vector<Descriptor> order;
  std::vector<Digest> stack{root_};
  while (!stack.empty()) {
    const Digest digest = stack.back();
    const Node& node = nodes_.at(digest);
    Mark& mark = marks[digest];
    if (mark != Mark::None) {
      if (mark == Mark::Open) {
        mark = Mark::Done;
        order.push_back(node.descriptor);
      }
      stack.pop_back();
      continue;
    }
    mark = Mark::Open;
    const auto before = [&](const Digest& other) -> Status {
      const Mark seen = marks[other];
      if (seen == Mark::Open) {
        return fail(Code::Corrupt,
                    fmt::format("{} and {} need each other", digest.text(), other.text()));
      }
      if (seen == Mark::None) {
        stack.push_back(other);
      }
      return {};
    };
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      MESH_CHECK(before(*child));
    }
    if (node.subject && nodes_.contains(node.subject->digest)) {
      MESH_CHECK(before(node.subject->digest));
    }
  }
  return order;
}

std::vector<Digest> Closure::blobs_of(const Digest& manifest) const {
  const auto found = nodes_.find(manifest);
  return found == nodes_.end() ? std::vector<Digest>() : found->second.blobs;
}

std::vector<Descriptor> Closure::outside_subjects() const {
  std::vector<Descriptor> out;
  for (const auto& digest : found_) {
    const auto& subject = nodes_.at(digest).subject;
    const auto same = [&](const Descriptor& other) { return other.digest == subject->digest; };
    if (subject && !nodes_.contains(subject->digest) &&
        std::none_of(out.begin(), out.end(), same)) {
      out.push_back(*subject);
    }
  }
  return out;
}

std::uint64_t Closure::bytes() const {
  std::uint64_t sum = 0;
  const auto count = [&](const std::optional<std::uint64_t>& size) {
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - sum;
    sum += std::min(size.value_or(0), room);
  };
  for (const auto& [digest, node] : nodes_) {
    count(node.descriptor.size);
  }
  for (const auto& [digest, size] : blob_sizes_) {
    count(size);
  }
  return sum;
}

}  // namespace mesh::oci
