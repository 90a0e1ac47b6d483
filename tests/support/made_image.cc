#include "tests/support/made_image.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "http/loop.h"
#include "oci/digest.h"
#include "oci/media_type.h"
#include "os/clock.h"

namespace mesh::test {

namespace {

using Json = nlohmann::ordered_json;

Json descriptor(std::string_view type, const std::string& digest, std::size_t size) {
  return {{"mediaType", type}, {"digest", digest}, {"size", size}};
}

std::string add_blob(MadeImage& image, std::string bytes) {
  std::string digest = oci::digest_of(bytes).text();
  image.blobs.insert_or_assign(digest, std::move(bytes));
  return digest;
}

http::Fetched one_fetch(const http::Request& request) {
  const os::SystemClock clock;
  http::Loop loop(clock);
  std::optional<http::Fetched> got;
  loop.spawn([&] { got = loop.fetch(request); });
  static_cast<void>(loop.run().has_value());
  return std::move(*got);
}

Result<http::Response> send(const std::string& method, const std::string& url,
                            const std::string& type, const std::string& body) {
  http::Request request;
  request.method = method;
  request.url = url;
  if (!type.empty()) {
    request.headers.add("Content-Type", type);
  }
  request.body = body;
  auto got = one_fetch(request);
  if (!got) {
    return std::unexpected(got.error().error);
  }
  if (!got->ok()) {
    return fail(Code::Internal, fmt::format("{} {}: {} {}", method, url, got->status, got->body));
  }
  return std::move(*got);
}

Status push_blob(const std::string& root, const std::string& digest, const std::string& bytes) {
  MESH_TRY(const auto begun, send("POST", root + "/blobs/uploads/", "", ""));
  const std::string to(begun.headers.get("Location"));
  MESH_CHECK(send("PUT", to + (to.find('?') == std::string::npos ? "?" : "&") + "digest=" + digest,
                  "application/octet-stream", bytes));
  return {};
}

}  // namespace

std::string made_bytes(std::uint64_t seed, std::size_t size) {
  std::string out(size, '\0');
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (char& c : out) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    c = static_cast<char>(state >> 32U);
  }
  return out;
}

MadeImage made_image(std::uint64_t seed, const std::vector<std::size_t>& layers,
                     std::string_view architecture) {
  MadeImage image;
  Json manifest = {{"schemaVersion", 2}, {"mediaType", oci::kOciManifest}};
  const std::string config =
      Json{{"architecture", architecture}, {"os", "linux"}, {"x-seed", seed}}.dump();
  manifest["config"] = descriptor(oci::kOciConfig, add_blob(image, config), config.size());
  manifest["layers"] = Json::array();
  for (std::size_t at = 0; at < layers.size(); ++at) {
    const std::string digest = add_blob(image, made_bytes(seed * 1000 + at + 1, layers[at]));
    manifest["layers"].push_back(
        descriptor("application/vnd.oci.image.layer.v1.tar", digest, layers[at]));
  }
  std::string bytes = manifest.dump();
  std::string digest = oci::digest_of(bytes).text();
  image.manifests.push_back({std::move(digest), std::string(oci::kOciManifest), std::move(bytes)});
  return image;
}

MadeImage made_index(const std::vector<MadeImage>& children) {
  MadeImage image;
  Json index = {{"schemaVersion", 2}, {"mediaType", oci::kOciIndex}, {"manifests", Json::array()}};
  for (const MadeImage& child : children) {
    image.add_blobs(child);
    image.manifests.insert(image.manifests.end(), child.manifests.begin(), child.manifests.end());
    const MadeManifest& root = child.manifests.back();
    index["manifests"].push_back(descriptor(root.media_type, root.digest, root.bytes.size()));
  }
  std::string bytes = index.dump();
  std::string digest = oci::digest_of(bytes).text();
  image.manifests.push_back({std::move(digest), std::string(oci::kOciIndex), std::move(bytes)});
  return image;
}

Status push_made(const MadeImage& image, const std::string& address, const std::string& repository,
                 const std::string& tag) {
  const std::string root = fmt::format("http://{}/v2/{}", address, repository);
  for (const auto& [digest, bytes] : image.blobs) {
    MESH_CHECK(push_blob(root, digest, bytes));
  }
  for (const MadeManifest& one : image.manifests) {
    MESH_CHECK(send("PUT", root + "/manifests/" + one.digest, one.media_type, one.bytes));
  }
  if (!tag.empty()) {
    const MadeManifest& last = image.manifests.back();
    MESH_CHECK(send("PUT", root + "/manifests/" + tag, last.media_type, last.bytes));
  }
  return {};
}

int ask_registry(const std::string& method, const std::string& url, std::string* body) {
  http::Request request;
  request.method = method;
  request.url = url;
  request.most_body = std::size_t{64} << 20U;
  request.headers.add("Accept", std::string(oci::manifest_accept()));
  auto got = one_fetch(request);
  if (got && body != nullptr) {
    *body = std::move(got->body);
  }
  return got ? got->status : 0;
}

}  // namespace mesh::test
