#include "controller/held_manifests.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "oci/digest.h"
#include "oci/manifest.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLink = 256;

/// Fills in what the bytes say; leaves it unreadable where they are not what the digest names.
void read_contents(const std::string& bytes, HeldManifest& out) {
  const auto digest = oci::Digest::parse(out.digest);
  out.readable = false;
  if (!digest || oci::digest_of(bytes, digest->algorithm()) != *digest) {
    return;
  }
  oci::ManifestReading reading;
  reading.schema1 = true;
  reading.foreign_layers = true;
  const auto manifest = oci::read_manifest(bytes, reading);
  if (!manifest) {
    return;
  }
  out.readable = true;
  out.size = bytes.size();
  for (const auto& child : manifest->children) {
    out.children.push_back(child.digest.text());
  }
  out.subject = manifest->subject ? manifest->subject->digest.text() : std::string();
  if (manifest->config) {
    out.blobs.emplace_back(manifest->config->digest.text(), manifest->config->size.value_or(0));
  }
  for (const auto& layer : manifest->layers) {
    out.blobs.emplace_back(layer.digest.text(), layer.size.value_or(0));
  }
}

/// The digest that a link file of the storage holds.
std::string linked(const fs::path& file) {
  auto text = os::read_file(file.string(), kMostLink);
  return text ? *std::move(text) : std::string();
}

/// digest -> the tags that name it now.
std::map<std::string, std::vector<std::string>> tags_of(const fs::path& manifests) {
  std::map<std::string, std::vector<std::string>> out;
  std::error_code none;
  for (const auto& tag : fs::directory_iterator(manifests / "tags", none)) {
    out[linked(tag.path() / "current" / "link")].push_back(tag.path().filename().string());
  }
  for (auto& [digest, tags] : out) {
    std::ranges::sort(tags);
  }
  return out;
}

/// Reads one repository's `_manifests`.
class StorageReader {
 public:
  StorageReader(std::string storage, std::set<std::pair<std::string, std::string>> ours)
      : root_(fs::path(std::move(storage)) / "docker" / "registry" / "v2"),
        ours_(std::move(ours)) {}

  /// Repositories are folders that hold `_manifests`, below one another without a limit.
  Status walk(const fs::path& folder, const std::string& name) {
    std::error_code failed;
    for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
         each.increment(failed)) {
      const auto part = each->path().filename().string();
      if (part == "_manifests") {
        take(each->path(), name);
      } else if (!part.starts_with('_')) {
        MESH_CHECK(walk(each->path(), name.empty() ? part : name + "/" + part));
      }
    }
    if (failed && failed != std::errc::no_such_file_or_directory) {
      return fail(Code::Unavailable, fmt::format("{}: {}", folder.string(), failed.message()));
    }
    return {};
  }
  Status walk() { return walk(root_ / "repositories", ""); }

  std::vector<HeldManifest> take_all() { return std::move(out_); }

 private:
  void take(const fs::path& manifests, const std::string& repository) {
    const auto tags = tags_of(manifests);
    std::error_code none;
    for (const auto& algorithm : fs::directory_iterator(manifests / "revisions", none)) {
      for (const auto& revision : fs::directory_iterator(algorithm.path(), none)) {
        if (linked(revision.path() / "link").empty()) {
          continue;  // deleted: the folder stays without its link
        }
        HeldManifest one;
        one.repository = repository;
        one.digest =
            algorithm.path().filename().string() + ":" + revision.path().filename().string();
        const auto named = tags.find(one.digest);
        one.tags = named == tags.end() ? one.tags : named->second;
        one.ours = ours_.contains({repository, one.digest});
        const auto bytes = os::read_file(data_file(one.digest), oci::kMostManifestBytes);
        one.readable = bytes.has_value();
        if (bytes) {
          read_contents(*bytes, one);
        }
        out_.push_back(std::move(one));
      }
    }
  }

  [[nodiscard]] std::string data_file(const std::string& digest) const {
    const auto colon = digest.find(':');
    const auto hex = digest.substr(colon + 1);
    return (root_ / "blobs" / digest.substr(0, colon) / hex.substr(0, 2) / hex / "data").string();
  }

  fs::path root_;
  std::set<std::pair<std::string, std::string>> ours_;  // repository, digest
  std::vector<HeldManifest> out_;
};

/// (repository, digest) of every image that Mesh put there, and of the manifests that it consists
/// of: where removing it was cut off, these are left.
Result<std::set<std::pair<std::string, std::string>>> put_by_mesh(inventory::Inventory& inventory,
                                                                  const std::string& registry) {
  MESH_TRY(const auto holdings, inventory.holdings(registry, std::nullopt));
  std::set<std::pair<std::string, std::string>> out;
  for (const auto& holding : holdings) {
    out.emplace(holding.repository, holding.image);
    MESH_TRY(const auto image, inventory.image(registry, holding.image));
    for (const auto& member : image ? image->members : std::vector<inventory::ImageMember>()) {
      if (member.manifest) {
        out.emplace(holding.repository, member.digest);
      }
    }
  }
  return out;
}

}  // namespace

Result<std::vector<HeldManifest>> manifests_in_storage(const std::string& storage,
                                                       inventory::Inventory& inventory,
                                                       const std::string& registry) {
  MESH_TRY(auto ours, put_by_mesh(inventory, registry));
  StorageReader reader(storage, std::move(ours));
  MESH_CHECK(reader.walk());
  return reader.take_all();
}

Result<std::vector<HeldManifest>> manifests_on_record(inventory::Inventory& inventory,
                                                      const std::string& registry) {
  MESH_TRY(const auto holdings, inventory.holdings(registry, std::nullopt));
  std::map<std::pair<std::string, std::string>, HeldManifest> out;
  for (const auto& holding : holdings) {
    MESH_TRY(const auto image, inventory.image(registry, holding.image));
    for (const auto& member : image ? image->members : std::vector<inventory::ImageMember>()) {
      if (!member.manifest || out.contains({holding.repository, member.digest})) {
        continue;
      }
      HeldManifest one;
      one.repository = holding.repository;
      one.digest = member.digest;
      one.ours = true;
      MESH_TRY(const auto record, inventory.manifest(member.digest));
      one.readable = record.has_value();
      if (record) {
        read_contents(record->bytes, one);
      }
      out.emplace(std::pair(holding.repository, member.digest), std::move(one));
    }
  }
  std::vector<HeldManifest> list;
  for (auto& [key, one] : out) {
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace mesh::controller
