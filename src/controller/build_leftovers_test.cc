#include "controller/build_leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"

using namespace mesh;
using namespace mesh::controller;

namespace {

class BuildLeftoversTest : public ::testing::Test {
 protected:
  void SetUp() override { root_ = os::make_temp_dir(::testing::TempDir(), "leftovers-").value(); }
  void TearDown() override { EXPECT_TRUE(os::remove_tree(root_)); }

  void write(const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << "opensesame";
  }
  [[nodiscard]] bool has(const std::string& path) const { return os::exists(root_ + "/" + path); }

  std::string root_;
};

TEST_F(BuildLeftoversTest, WhatNobodyHoldsGoesAndWhatABuildHoldsStays) {
  write("mesh-build-dead/TOKEN");
  write("mesh-build-dead/.lock");
  write("mesh-build-older/TOKEN");
  write("others-file/x");
  ASSERT_EQ(::symlink("others-file", (root_ + "/mesh-build-link").c_str()), 0);
  {
    const auto living = WorkFolder::make(root_, "mesh-build-").value();
    std::ofstream(living.path() + "/TOKEN") << "1";
    sweep_work_folders(root_, "mesh-build-");
    EXPECT_TRUE(os::exists(living.path() + "/TOKEN"));
    EXPECT_FALSE(has("mesh-build-dead"));
    EXPECT_FALSE(has("mesh-build-older"));
    EXPECT_TRUE(has("others-file/x"));
    EXPECT_TRUE(has("mesh-build-link")) << "no folder of ours";
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_), {}), 2)
      << "a folder goes with its object";
}

TEST_F(BuildLeftoversTest, TheNextBuildRemovesAllOfAKilledOne) {
  write("work/build-x/context/f");
  write("storage/overlay-containers/1/userdata/secrets/TOKEN");
  write("storage/overlay-containers/1/userdata/buildah.json");
  write("storage/vfs-containers/2/userdata/secrets/TOKEN");
  {
    const auto building = os::Lock::take(root_ + "/lock", "build", "").value();
    sweep_builds(root_);
    EXPECT_TRUE(has("work/build-x/context/f")) << "another one builds";
    EXPECT_TRUE(has("storage/overlay-containers/1/userdata/secrets/TOKEN"));
  }
  sweep_builds(root_);
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/work"));
  EXPECT_FALSE(has("storage/overlay-containers/1/userdata/secrets"));
  EXPECT_TRUE(has("storage/overlay-containers/1/userdata/buildah.json"));
  EXPECT_FALSE(has("storage/vfs-containers/2/userdata/secrets"));
}

}  // namespace
