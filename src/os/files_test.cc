#include "os/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "os/errno_error.h"
#include "os/fd.h"

namespace mesh::os {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override { dir_ = make_temp_dir(::testing::TempDir(), "files-").value(); }
  void TearDown() override { EXPECT_TRUE(remove_tree(dir_).has_value()); }
  std::string at(const std::string& name) const { return dir_ + "/" + name; }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    return info.st_mode & 07777U;
  }
  static Code code_of(const Status& status) {
    return status ? Code::Internal : status.error().code;
  }
  std::string dir_;
};

TEST_F(Files, WritesAndReadsBytesExactly) {
  const std::string bytes("a\0b\r\n\xff", 6);
  ASSERT_TRUE(write_file_atomic(at("x"), bytes, 0640).has_value());
  EXPECT_EQ(read_file(at("x"), 6).value(), bytes);
  EXPECT_EQ(mode_of(at("x")), 0640U);
}

TEST_F(Files, RefusesWhatIsTooLargeMissingOrNoFile) {
  ASSERT_TRUE(write_file_atomic(at("x"), "1234567", 0644).has_value());
  EXPECT_EQ(read_file(at("x"), 6).error().code, Code::InvalidArgument);
  EXPECT_EQ(read_file(at("y"), 6).error().code, Code::NotFound);
  EXPECT_EQ(read_file(dir_, 6).error().code, Code::InvalidArgument);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(at("fifo"), 6).error().code, Code::InvalidArgument);
}

TEST_F(Files, ReplacesALinkInsteadOfFollowingIt) {
  ASSERT_TRUE(write_file_atomic(at("target"), "old", 0644).has_value());
  ASSERT_EQ(::symlink("target", at("link").c_str()), 0);
  ASSERT_TRUE(write_file_atomic(at("link"), "new", 0644).has_value());
  EXPECT_EQ(read_file(at("target"), 9).value(), "old");
  EXPECT_EQ(read_file(at("link"), 9).value(), "new");
}

TEST_F(Files, WhatIsReplacedIsAFileOrNothingAndBehindItsLinks) {
  ASSERT_TRUE(make_dirs(at("inner")).has_value());
  ASSERT_TRUE(write_file_atomic(at("inner/target"), "old", 0644).has_value());
  ASSERT_EQ(::symlink("inner/second", at("first").c_str()), 0);
  ASSERT_EQ(::symlink("target", at("inner/second").c_str()), 0);
  EXPECT_EQ(file_to_replace(at("first")).value(), at("inner/target"));
  EXPECT_EQ(file_to_replace(at("new")).value(), at("new"));
  ASSERT_EQ(::symlink("inner/nothing", at("dangling").c_str()), 0);
  EXPECT_EQ(file_to_replace(at("dangling")).value(), at("inner/nothing"));
  ASSERT_EQ(::symlink("circle", at("circle").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/null", at("null").c_str()), 0);
  for (const auto& path : {at("circle"), at("fifo"), at("null"), dir_, std::string("/dev/null")}) {
    EXPECT_EQ(file_to_replace(path).error().code, Code::InvalidArgument) << path;
  }
}

TEST_F(Files, AFullDiskIsThisMachinesAffair) {
  for (const int number : {ENOSPC, EDQUOT, EIO, EMFILE}) {
    EXPECT_EQ(errno_error("x", number).code, Code::Resource) << number;
  }
  EXPECT_EQ(errno_error("x", ECONNREFUSED).code, Code::Unavailable);
}

TEST_F(Files, LeavesNothingBehindWhereAWriteFails) {
  ASSERT_TRUE(make_dirs(at("taken/inner")).has_value());
  EXPECT_FALSE(write_file_atomic(at("taken"), "x", 0644).has_value());
  EXPECT_EQ(code_of(write_file_atomic(at("no/such"), "x", 0644)), Code::NotFound);
  ASSERT_TRUE(remove_tree(at("taken")).has_value());
  EXPECT_TRUE(is_empty_dir(dir_));
}

TEST_F(Files, AReaderSeesTheOldOrTheNewWhole) {
  const std::string old_bytes(100000, 'a');
  const std::string new_bytes(200000, 'b');
  ASSERT_TRUE(write_file_atomic(at("x"), old_bytes, 0644).has_value());
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(write_file_atomic(at("x"), i % 2 == 0 ? new_bytes : old_bytes, 0644).has_value());
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto bytes = read_file(at("x"), 1U << 20U);
    ASSERT_TRUE(bytes.has_value());
    EXPECT_TRUE(*bytes == old_bytes || *bytes == new_bytes);
  }
  writer.join();
}

TEST_F(Files, PrivateFilesAreRefusedWhenOthersCouldRead) {
  ASSERT_TRUE(write_file_atomic(at("key"), "k", kPrivateFile).has_value());
  EXPECT_EQ(read_private_file(at("key"), 9).value(), "k");
  ASSERT_EQ(::symlink("key", at("link").c_str()), 0);
  EXPECT_EQ(read_private_file(at("link"), 9).error().code, Code::PermissionDenied);
  ASSERT_EQ(::chmod(at("key").c_str(), 0640), 0);
  const auto refused = read_private_file(at("key"), 9);
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_EQ(refused.error().hint, "chmod 600 " + at("key"));
  EXPECT_EQ(read_private_file(at("none"), 9).error().code, Code::NotFound);
}

TEST_F(Files, PrivateDirectoriesAreClosedToOthers) {
  ASSERT_TRUE(make_private_dir(at("a/b")).has_value());
  EXPECT_EQ(mode_of(at("a/b")), 0700U);
  ASSERT_EQ(::chmod(at("a/b").c_str(), 0755), 0);
  ASSERT_TRUE(make_private_dir(at("a/b")).has_value());
  EXPECT_EQ(mode_of(at("a/b")), 0700U);
  ASSERT_TRUE(write_file_atomic(at("file"), "", 0644).has_value());
  EXPECT_EQ(code_of(make_private_dir(at("file"))), Code::InvalidArgument);
  ASSERT_EQ(::symlink("a", at("link").c_str()), 0);
  EXPECT_EQ(code_of(make_private_dir(at("link"))), Code::InvalidArgument);
}

TEST_F(Files, RemovingATreeDoesNotFollowLinks) {
  ASSERT_TRUE(make_dirs(at("keep")).has_value());
  ASSERT_TRUE(write_file_atomic(at("keep/x"), "x", 0644).has_value());
  ASSERT_TRUE(make_dirs(at("tree/deep/er")).has_value());
  ASSERT_EQ(::symlink("../keep", at("tree/link").c_str()), 0);
  ASSERT_TRUE(remove_tree(at("tree")).has_value());
  EXPECT_FALSE(exists(at("tree")));
  EXPECT_TRUE(exists(at("keep/x")));
  EXPECT_TRUE(remove_tree(at("tree")).has_value());
}

TEST(FilesPath, DirName) {
  EXPECT_EQ(dir_name("a"), ".");
  EXPECT_EQ(dir_name("/a"), "/");
  EXPECT_EQ(dir_name("a/b/c"), "a/b");
}

}  // namespace
}  // namespace mesh::os
