#include "controller/build_inputs.h"

#include <gtest/gtest.h>

#include "controller/disk_files.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/random.h"
#include "tests/support/must.h"
#include "tests/support/nats_server.h"

namespace mesh::controller {
namespace {

/// A module of one built component on nodes `one` and `two`.
class BuildPlatforms : public testing::Test {
 protected:
  void SetUp() override {
    write("mesh.toml",
          "mesh = \"home\"\n[nodes.one]\n[nodes.two]\n[modules.shop]\npath = \"shop\"\n"
          "on = [\"one\", \"two\"]\n");
    write("shop/Containerfile", "FROM scratch\nCOPY . /\n");
    declare("build = \".\"");
  }
  void write(const std::string& path, const std::string& text) const {
    const auto file = location_.root + "/" + path;
    ASSERT_TRUE(os::make_dirs(os::dir_name(file)));
    ASSERT_TRUE(os::write_file_atomic(file, text, os::kOrdinaryFile));
  }
  void declare(const std::string& build) const {
    write("shop/module.toml", "[components.web]\n" + build + "\n");
  }
  /// What it is built for, where the nodes report this.
  [[nodiscard]] std::vector<std::string> platforms(
      std::map<std::string, std::string> reported) const {
    const auto reading = read_declarations(location_);
    const auto read = read_build_inputs(*reading.mesh, DiskFiles(location_.root), location_,
                                        {{}, "linux/amd64", std::move(reported)});
    std::vector<std::string> out;
    for (const auto& resolved : read.inputs.at(0).platforms) {
      out.push_back(resolved.settings.platform);
    }
    return out;
  }

  test::TemporaryDirectory directory_;
  Location location_{directory_.path().string(), directory_.path().string() + "/.mesh", ""};
};

using Platforms = std::vector<std::string>;

TEST_F(BuildPlatforms, AreThoseThatItsNodesReport) {
  EXPECT_EQ(platforms({}), Platforms{"linux/amd64"}) << "nobody knows";
  EXPECT_EQ(platforms({{"one", "linux/amd64"}, {"two", "linux/amd64"}}), Platforms{"linux/amd64"});
  EXPECT_EQ(platforms({{"one", "linux/arm64"}, {"two", "linux/arm64"}}), Platforms{"linux/arm64"});
  EXPECT_EQ(platforms({{"one", "linux/arm64"}, {"two", "linux/amd64"}}),
            (Platforms{"linux/amd64", "linux/arm64"}));
  EXPECT_EQ(platforms({{"two", "linux/arm/v7"}}), (Platforms{"linux/amd64", "linux/arm/v7"}));
  EXPECT_EQ(platforms({{"one", "nonsense"}, {"elsewhere", "linux/arm64"}}),
            Platforms{"linux/amd64"});
}

TEST_F(BuildPlatforms, AreWhatTheComponentSaysWhereItDoes) {
  declare("build = { context = \".\", platforms = [\"linux/s390x\"] }");
  EXPECT_EQ(platforms({{"one", "linux/arm64"}}), Platforms{"linux/s390x"});
}

TEST_F(BuildPlatforms, AreKeptWithTheMachinesThatHaveJoined) {
  const os::SystemClock clock;
  os::SystemRandom random;
  auto made = inventory::create_state(location_.state, "home", clock, random);
  ASSERT_TRUE(made);
  auto& inventory = made->state.inventory;
  inventory::NodeRecord one;
  one.name = "one";
  one.platform = "linux/arm64";
  ASSERT_TRUE(inventory.put_node(one));
  EXPECT_TRUE(test::must(node_platforms(inventory)).empty()) << "it has not joined";
  one.key = made->state.identity.signing_key;
  ASSERT_TRUE(inventory.put_node(one));
  EXPECT_EQ(test::must(node_platforms(inventory)),
            (std::map<std::string, std::string>{{"one", "linux/arm64"}}));
}

}  // namespace
}  // namespace mesh::controller
