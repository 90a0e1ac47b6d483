#include "os/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "os/files.h"
#include "os/log_file.h"
#include "tests/support/nats_server.h"

namespace mesh::os {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogReaderTest : public ::testing::Test {
 protected:
  void open(std::uint64_t most) { log_.emplace(LogFile::open(path_, most).value()); }
  void put(const std::string& text) { ASSERT_TRUE(log_->write(text)); }

  mesh::test::TemporaryDirectory directory_;
  std::string path_ = directory_.path().string() + "/log";
  std::optional<LogFile> log_;
};

TEST_F(LogReaderTest, NoLogYetIsNoLine) {
  const auto read = read_log(path_, "", 10).value();
  EXPECT_THAT(read.lines, IsEmpty());
  EXPECT_EQ(read.next, "");
}

TEST_F(LogReaderTest, TheLastLinesComeFirstAndThenWhatFollows) {
  open(1 << 20);
  put("one\ntwo\n\nfour\n");
  EXPECT_THAT(read_log(path_, "", 0).value().lines, IsEmpty());
  EXPECT_THAT(read_log(path_, "", 1).value().lines, ElementsAre("four"));
  EXPECT_THAT(read_log(path_, "", 3).value().lines, ElementsAre("two", "", "four"));
  auto read = read_log(path_, "", 10).value();
  EXPECT_THAT(read.lines, ElementsAre("one", "two", "", "four"));
  put("five\nsi");
  read = read_log(path_, read.next, 10).value();
  EXPECT_THAT(read.lines, ElementsAre("five"));
  put("x\nseven\n");
  read = read_log(path_, read.next, 1).value();
  EXPECT_THAT(read.lines, ElementsAre("six"));
  read = read_log(path_, read.next, 1).value();
  EXPECT_THAT(read.lines, ElementsAre("seven"));
  EXPECT_THAT(read_log(path_, read.next, 1).value().lines, IsEmpty());
}

TEST_F(LogReaderTest, FollowsFromOneFileIntoTheNext) {
  open(20);
  std::string cursor;
  std::vector<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    put(fmt::format("line {}\n", i));
    auto read = read_log(path_, cursor, 10).value();
    cursor = read.next;
    seen.insert(seen.end(), read.lines.begin(), read.lines.end());
  }
  ASSERT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen.back(), "line 99");
  EXPECT_THAT(read_log(path_, "", 3).value().lines, ElementsAre("line 97", "line 98", "line 99"));
}

TEST_F(LogReaderTest, WhatIsGoneIsSkipped) {
  open(20);
  put("line 0\n");
  const auto cursor = read_log(path_, "", 1).value().next;
  for (int i = 1; i < 9; ++i) {
    put(fmt::format("line {}\n", i));
  }
  EXPECT_THAT(read_log(path_, cursor, 100).value().lines,
              ElementsAre("line 6", "line 7", "line 8"));
}

TEST_F(LogReaderTest, MuchComesInPieces) {
  open(std::uint64_t{8} << 20U);
  const std::string line(9999, 'x');
  for (int i = 0; i < 500; ++i) {
    put(line + "\n");
  }
  std::size_t lines = 0;
  auto read = read_log(path_, "", 500).value();
  for (int pieces = 0; !read.lines.empty() && pieces < 50; ++pieces) {
    for (const auto& each : read.lines) {
      ASSERT_EQ(each, line);
    }
    lines += read.lines.size();
    read = read_log(path_, read.next, 500).value();
  }
  EXPECT_EQ(lines, 500U);
}

TEST_F(LogReaderTest, ACursorIsNotMadeUp) {
  open(100);
  put("a\n");
  for (const auto* cursor : {"x", "1:", ":x", "1:2:3", "a:-1"}) {
    EXPECT_EQ(read_log(path_, cursor, 1).error().code, Code::InvalidArgument) << cursor;
  }
}

}  // namespace
}  // namespace mesh::os
