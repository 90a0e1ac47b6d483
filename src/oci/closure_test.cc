#include "oci/closure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace mesh::oci {
namespace {

Digest named(const std::string& name) {
  return digest_of(name);
}

Descriptor entry(const std::string& name, std::string_view type,
                 std::optional<std::uint64_t> size = {}) {
  return {std::string(type), named(name), size ? size : name.size(), {}, {}, {}, {}, {}};
}

/// A world of manifests by name.
class World {
 public:
  Manifest& image(const std::string& name, const std::vector<std::string>& layers) {
    Manifest manifest;
    manifest.media_type = kOciManifest;
    manifest.config = entry(name + ".config", kOciConfig);
    for (const auto& layer : layers) {
      manifest.layers.push_back(entry(layer, "application/vnd.oci.image.layer.v1.tar"));
    }
    return put(name, std::move(manifest));
  }

  Manifest& index(const std::string& name, const std::vector<std::string>& children) {
    Manifest manifest;
    manifest.media_type = kOciIndex;
    manifest.kind = MediaKind::Index;
    for (const auto& child : children) {
      manifest.children.push_back(entry(child, kOciManifest));
    }
    return put(name, std::move(manifest));
  }

  /// Gives what is missing until nothing is, and counts what was given.
  Status walk(Closure& closure) {
    while (!closure.complete()) {
      for (const auto& wanted : closure.missing()) {
        const std::string& name = names_.at(wanted.digest);
        ++given[name];
        MESH_CHECK(closure.add(wanted.digest, name.size(), manifests_.at(name)));
      }
    }
    return {};
  }

  std::vector<std::string> names(const std::vector<Descriptor>& list) const {
    std::vector<std::string> out;
    for (const auto& one : list) {
      out.push_back(names_.contains(one.digest) ? names_.at(one.digest) : one.digest.text());
    }
    return out;
  }

  std::map<std::string, int> given;

 private:
  Manifest& put(const std::string& name, Manifest manifest) {
    names_.emplace(named(name), name);
    return manifests_.insert_or_assign(name, std::move(manifest)).first->second;
  }
  std::map<std::string, Manifest> manifests_;
  std::map<Digest, std::string> names_;
};

Descriptor root_of(const std::string& name) {
  return {"", named(name), {}, {}, {}, {}, {}, {}};
}

TEST(ClosureTest, FindsEachOnceAndPutsChildrenFirst) {
  World world;
  world.index("root", {"amd64", "arm64", "nested"});
  world.index("nested", {"arm64", "arm"});
  world.image("amd64", {"shared", "x"});
  world.image("arm64", {"shared", "y"});
  world.image("arm", {"shared", "shared"});
  Closure closure(root_of("root"));
  EXPECT_FALSE(closure.complete());
  EXPECT_EQ(closure.manifests().error().code, Code::InvalidArgument);
  ASSERT_TRUE(world.walk(closure).has_value());
  for (const auto& [name, times] : world.given) {
    EXPECT_EQ(times, 1) << name;
  }
  EXPECT_EQ(world.given.size(), 5U);
  EXPECT_EQ(world.names(closure.manifests().value()),
            (std::vector<std::string>{"amd64", "arm64", "arm", "nested", "root"}));
  ASSERT_EQ(closure.blobs().size(), 6U);  // three configs, three layers
  EXPECT_EQ(closure.blobs_of(named("arm")).size(), 2U);
  EXPECT_EQ(closure.blobs_of(named("nobody")).size(), 0U);
  const std::uint64_t manifests = 4 + 5 + 5 + 3 + 6;
  const std::uint64_t blobs = (5 + 5 + 3 + 3 * 7) + 6 + 1 + 1;
  EXPECT_EQ(closure.bytes(), manifests + blobs);
  const auto order = closure.manifests().value();
  for (const auto& manifest : order) {
    EXPECT_FALSE(manifest.media_type.empty());
    EXPECT_TRUE(manifest.size.has_value());
  }
}

TEST(ClosureTest, OfOneImageIsItself) {
  World world;
  world.image("image", {"layer"});
  Closure closure(root_of("image"));
  ASSERT_TRUE(world.walk(closure).has_value());
  EXPECT_EQ(world.names(closure.manifests().value()), std::vector<std::string>{"image"});
  EXPECT_EQ(closure.blobs().size(), 2U);
}

TEST(ClosureTest, ASubjectComesBeforeItsReferrer) {
  World world;
  world.index("root", {"statement", "image"});
  world.image("image", {"layer"});
  world.image("statement", {"note"}).subject = entry("image", kOciManifest);
  Closure closure(root_of("root"));
  ASSERT_TRUE(world.walk(closure).has_value());
  EXPECT_EQ(world.names(closure.manifests().value()),
            (std::vector<std::string>{"image", "statement", "root"}));
  EXPECT_TRUE(closure.outside_subjects().empty());
}

TEST(ClosureTest, ASubjectOutsideIsNamedAndNotWalked) {
  World world;
  world.image("signature", {"note"}).subject = entry("elsewhere", kOciManifest);
  Closure closure(root_of("signature"));
  ASSERT_TRUE(world.walk(closure).has_value());
  ASSERT_EQ(closure.outside_subjects().size(), 1U);
  EXPECT_EQ(closure.outside_subjects()[0].digest, named("elsewhere"));
  EXPECT_EQ(closure.manifests().value().size(), 1U);
}

TEST(ClosureTest, BlobsInAnIndexAreBlobs) {
  World world;
  Manifest& root = world.index("root", {});
  root.children = {entry("layer", "application/vnd.oci.image.layer.v1.tar"),
                   entry("config", kDockerConfig),
                   entry("new", "application/vnd.new.manifest.v9+json")};
  Closure closure(root_of("root"));
  ASSERT_TRUE(closure.add(named("root"), 4, root).has_value());
  EXPECT_EQ(closure.blobs().size(), 2U);
  ASSERT_EQ(closure.missing().size(), 1U);
  EXPECT_EQ(closure.missing()[0].digest, named("new"));
}

TEST(ClosureTest, RefusesCirclesAndDepth) {
  World world;  // digests make circles impossible; a registry that lies must not make us spin
  world.index("a", {"b"});
  world.index("b", {"c"});
  world.index("c", {"a"});
  Closure closure(root_of("a"));
  EXPECT_EQ(world.walk(closure).error().code, Code::Corrupt);

  World deep;
  for (int i = 0; i < 20; ++i) {
    deep.index("d" + std::to_string(i), {"d" + std::to_string(i + 1)});
  }
  Closure deep_closure(root_of("d0"));
  const auto refused = deep.walk(deep_closure);
  EXPECT_EQ(refused.error().code, Code::Corrupt);
  EXPECT_NE(refused.error().message.find("deeper than 8"), std::string::npos)
      << refused.error().message;
}

TEST(ClosureTest, TheLongestWayCountsForDepth) {
  World world;  // x is found at depth 1 first; its own chain is too deep only by the other way
  world.index("root", {"x", "y1"});
  world.index("y1", {"y2"});
  world.index("y2", {"y3"});
  world.index("y3", {"x"});
  world.index("x", {"x1"});
  world.image("x1", {});
  Closure fits(root_of("root"), {5, 100, 100});
  ASSERT_TRUE(world.walk(fits).has_value());
  EXPECT_EQ(world.names(fits.manifests().value()),
            (std::vector<std::string>{"x1", "x", "y3", "y2", "y1", "root"}));
  Closure too_deep(root_of("root"), {4, 100, 100});
  EXPECT_EQ(world.walk(too_deep).error().code, Code::Corrupt);
}

TEST(ClosureTest, RefusesCirclesOfSubjects) {
  World world;
  world.index("root", {"one", "two"});
  world.image("one", {}).subject = entry("two", kOciManifest);
  world.image("two", {}).subject = entry("one", kOciManifest);
  Closure closure(root_of("root"));
  ASSERT_TRUE(world.walk(closure).has_value());
  EXPECT_EQ(closure.manifests().error().code, Code::Corrupt);
}

TEST(ClosureTest, RefusesWhatContradicts) {
  World world;
  Manifest& root = world.index("root", {"a"});
  Closure closure(root_of("root"));
  EXPECT_EQ(closure.add(named("a"), 1, root).error().code, Code::InvalidArgument);
  ASSERT_TRUE(closure.add(named("root"), 4, root).has_value());
  EXPECT_EQ(closure.add(named("root"), 4, root).error().code, Code::InvalidArgument);
  EXPECT_EQ(closure.add(named("a"), 2, world.image("a", {})).error().code, Code::Corrupt);

  Manifest& two = world.image("two", {});
  two.layers = {entry("x", "", 5), entry("x", "", 6)};
  EXPECT_EQ(Closure(root_of("two")).add(named("two"), 3, two).error().code, Code::Corrupt);

  Manifest& children = world.index("children", {});
  children.children = {entry("x", kOciManifest, 5), entry("x", kOciManifest, 6)};
  EXPECT_EQ(Closure(root_of("children")).add(named("children"), 8, children).error().code,
            Code::Corrupt);
}

TEST(ClosureTest, IsBoundedInNumber) {
  World world;
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) {
    many.push_back("m" + std::to_string(i));
  }
  EXPECT_EQ(Closure(root_of("root"), {8, 50, 100})
                .add(named("root"), 4, world.index("root", many))
                .error()
                .code,
            Code::Corrupt);
  EXPECT_TRUE(Closure(root_of("root"), {8, 51, 100})
                  .add(named("root"), 4, world.index("root", many))
                  .has_value());
  EXPECT_EQ(Closure(root_of("image"), {8, 1, 50})
                .add(named("image"), 5, world.image("image", many))
                .error()
                .code,
            Code::Corrupt);
}

}  // namespace
}  // namespace mesh::oci
