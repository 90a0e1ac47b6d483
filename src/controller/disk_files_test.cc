#include "controller/disk_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mesh::controller {
namespace {

namespace fs = std::filesystem;
using Kind = model::Files::Kind;

class DiskFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mesh-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& bytes) const {
    std::ofstream(root_ / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] DiskFiles files() const { return DiskFiles(root_.string()); }
  [[nodiscard]] Code code_of(const std::string& path) const {
    const auto bytes = files().read(path);
    return bytes ? Code::Internal : bytes.error().code;
  }

  fs::path root_;
};

TEST_F(DiskFilesTest, ReadsTheBytesAsTheyAre) {
  const std::string bytes("a\r\n\0b\xFF", 6);
  write("file", bytes);
  EXPECT_EQ(files().kind("file"), Kind::File);
  EXPECT_EQ(files().read("file").value(), bytes);
  EXPECT_EQ(files().read((root_ / "file").string()).value(), bytes);
  write("empty", "");
  EXPECT_EQ(files().read("empty").value(), "");
}

TEST_F(DiskFilesTest, ReadsWhatDoesNotKnowItsSize) {
  const auto bytes = DiskFiles("/proc/self").read("status");
  ASSERT_TRUE(bytes);
  EXPECT_NE(bytes->find("Name:"), std::string::npos);
}

TEST_F(DiskFilesTest, SaysWhatIsMissing) {
  EXPECT_EQ(files().kind("none"), Kind::Missing);
  EXPECT_EQ(code_of("none"), Code::NotFound);
  write("file", "");
  EXPECT_EQ(code_of("file/below"), Code::NotFound);
  EXPECT_EQ(files().kind("file/below"), Kind::Unreadable);
}

TEST_F(DiskFilesTest, RefusesWhatIsNoFile) {
  fs::create_directory(root_ / "folder");
  EXPECT_EQ(files().kind("folder"), Kind::Directory);
  EXPECT_EQ(code_of("folder"), Code::InvalidArgument);
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(files().kind("pipe"), Kind::Other);
  EXPECT_EQ(code_of("pipe"), Code::InvalidArgument);
}

TEST_F(DiskFilesTest, RefusesWhatIsTooLarge) {
  write("limit", std::string(model::kLargestFile, 'x'));
  EXPECT_EQ(files().read("limit").value().size(), model::kLargestFile);
  write("over", std::string(model::kLargestFile + 1, 'x'));
  EXPECT_EQ(code_of("over"), Code::InvalidArgument);
}

TEST_F(DiskFilesTest, RefusesWhatMayNotBeRead) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  write("secret", "x");
  fs::permissions(root_ / "secret", fs::perms::none);
  EXPECT_EQ(code_of("secret"), Code::PermissionDenied);
}

TEST_F(DiskFilesTest, FollowsLinks) {
  write("file", "bytes");
  fs::create_symlink("file", root_ / "link");
  EXPECT_EQ(files().kind("link"), Kind::File);
  EXPECT_EQ(files().read("link").value(), "bytes");
  fs::create_symlink("circle", root_ / "circle");
  EXPECT_EQ(code_of("circle"), Code::InvalidArgument);
  EXPECT_EQ(files().kind("circle"), Kind::Unreadable);
  fs::create_symlink("nowhere", root_ / "dangling");
  EXPECT_EQ(files().kind("dangling"), Kind::Unreadable);
  EXPECT_EQ(code_of("dangling"), Code::InvalidArgument);
  EXPECT_EQ(files().kind("dangling/below"), Kind::Missing);
}

}  // namespace
}  // namespace mesh::controller
