#include <gtest/gtest.h>

#include "inventory/inventory.h"
#include "inventory/test_support.h"

namespace mesh::inventory {
namespace {

class Images : public testing::InventoryFixture {
 protected:
  static ImageRecord image_of(const std::string& name, const std::vector<std::string>& blobs) {
    ImageRecord image{"sha256:" + name, "application/vnd.oci.image.manifest.v1+json", {}};
    for (const auto& blob : blobs) {
      image.members.push_back({"sha256:" + blob, 10, false});
    }
    image.members.push_back({image.digest, 20, true});
    return image;
  }
};

TEST_F(Images, AreKeptWithAllTheirMembersInOrder) {
  Inventory inventory = create();
  const ImageRecord image = image_of("image", {"b", "a", "c"});
  ASSERT_TRUE(inventory.record_holdings("reg:5000", {{{"base", image}}}).has_value());
  EXPECT_EQ(reopen().value().image("reg:5000", image.digest).value(), image);
}

TEST_F(Images, OfAnotherRegistryDoNotCount) {
  Inventory inventory = create();
  const ImageRecord image = image_of("image", {"a"});
  ASSERT_TRUE(inventory.record_holdings("reg:5000", {{{"base", image}}}).has_value());
  EXPECT_FALSE(inventory.image("other:5000", image.digest).value().has_value());
  EXPECT_FALSE(inventory.home_of("other:5000", "sha256:a").value().has_value());
  EXPECT_TRUE(inventory.holdings("other:5000", std::nullopt).value().empty());
}

TEST_F(Images, AreHeldByEachRepositoryUntilItIsForgotten) {
  Inventory inventory = create();
  const ImageRecord one = image_of("one", {"shared", "a"});
  const ImageRecord two = image_of("two", {"shared", "b"});
  ASSERT_TRUE(inventory.record_holdings("reg", {{{"x", one}, {"y", one}, {"z", two}}}).has_value());
  // Recording again is no error.
  ASSERT_TRUE(inventory.record_holdings("reg", {{{"x", one}}}).has_value());
  EXPECT_EQ(inventory.holdings("reg", one.digest).value().size(), 2U);
  EXPECT_EQ(inventory.holdings("reg", std::nullopt).value().size(), 3U);
  EXPECT_EQ(inventory.home_of("reg", "sha256:b").value(), "z");

  ASSERT_TRUE(inventory.forget_holding("reg", "z", two.digest).has_value());
  ASSERT_TRUE(inventory.forget_holding("reg", "z", two.digest).has_value());
  EXPECT_FALSE(inventory.home_of("reg", "sha256:b").value().has_value());
  EXPECT_FALSE(inventory.image("reg", two.digest).value().has_value());
  EXPECT_TRUE(inventory.home_of("reg", "sha256:shared").value().has_value());
  EXPECT_TRUE(inventory.verify().has_value());
}

TEST_F(Images, ManifestsAreKeptByteForByteAndOnce) {
  Inventory inventory = create();
  const ManifestRecord manifest{"sha256:m", "type", std::string("{\0\xff}", 4)};
  ManifestRecord again = manifest;
  again.bytes = "other";
  ASSERT_TRUE(inventory.keep_manifests({{manifest}}).has_value());
  ASSERT_TRUE(inventory.keep_manifests({{again}}).has_value());
  EXPECT_EQ(inventory.manifest("sha256:m").value(), manifest);
  EXPECT_FALSE(inventory.manifest("sha256:n").value().has_value());
}

}  // namespace
}  // namespace mesh::inventory
