#include "builder/context.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "os/files.h"

using namespace mesh;
using namespace mesh::builder;

namespace {

class ContextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = os::make_temp_dir(::testing::TempDir(), "context-").value();
    dir_ = root_ + "/c";
    std::filesystem::create_directory(dir_);
  }
  void TearDown() override { EXPECT_TRUE(os::remove_tree(root_).has_value()); }

  void write(const std::string& path, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ + "/" + path).parent_path());
    std::ofstream(dir_ + "/" + path, std::ios::binary) << bytes;
  }
  [[nodiscard]] static std::string read(const std::string& path) {
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  static containerfile::IgnoreRules rules(std::string_view text) {
    std::vector<containerfile::Problem> problems;
    return containerfile::read_ignore_rules(text, problems);
  }
  [[nodiscard]] std::string digest(std::string_view ignored = {}) const {
    return hash_context(dir_, rules(ignored)).value().digest;
  }

  std::string root_;
  std::string dir_;
};

TEST_F(ContextTest, EachThingThatABuildSeesChangesTheDigest) {
  write("a", "1");
  write("d/b", "2");
  const auto first = digest();
  EXPECT_EQ(digest(), first);
  write("a", "2");
  const auto changed = digest();
  EXPECT_NE(changed, first);
  write("a", "1");
  EXPECT_EQ(digest(), first);
  ::chmod((dir_ + "/a").c_str(), 0755);
  EXPECT_NE(digest(), first);
  ::chmod((dir_ + "/a").c_str(), 0644);
  EXPECT_EQ(digest(), first);
  std::filesystem::create_directory(dir_ + "/empty");
  EXPECT_NE(digest(), first);
  std::filesystem::remove(dir_ + "/empty");
  std::filesystem::rename(dir_ + "/a", dir_ + "/A");
  EXPECT_NE(digest(), first);
  std::filesystem::rename(dir_ + "/A", dir_ + "/a");
  ASSERT_EQ(::symlink("nowhere", (dir_ + "/l").c_str()), 0);
  const auto linked = digest();
  EXPECT_NE(linked, first);
  std::filesystem::remove(dir_ + "/l");
  ASSERT_EQ(::symlink("elsewhere", (dir_ + "/l").c_str()), 0);
  EXPECT_NE(digest(), linked);
}

TEST_F(ContextTest, TimesAndWhatIsIgnoredDoNot) {
  write("a", "1");
  write("node_modules/x/y", "2");
  const auto first = digest("node_modules");
  write("node_modules/x/y", "3");
  std::filesystem::last_write_time(dir_ + "/a", std::filesystem::file_time_type{});
  EXPECT_EQ(digest("node_modules"), first);
  EXPECT_EQ(digest("node_modules\n.x"), first);
  EXPECT_NE(digest(), first);
}

TEST_F(ContextTest, PartsOfAPathAreNotTakenForContents) {
  write("a", "b");
  const auto first = digest();
  std::filesystem::remove(dir_ + "/a");
  write("a b", "");
  EXPECT_NE(digest(), first);
}

TEST_F(ContextTest, TheCopyIsWhatWasHashed) {
  write("a", "1");
  write("deep/er/b.txt", std::string(1 << 20, 'x'));
  write("deep/no", "left out");
  write("skip/me/keep.txt", "taken back");
  write("skip/me/drop", "left out");
  ::chmod((dir_ + "/a").c_str(), 0751);
  ::chmod((dir_ + "/deep").c_str(), 0700);
  ASSERT_EQ(::symlink("../outside", (dir_ + "/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  const auto ignored = rules("deep/no\nskip\n!skip/me/keep.txt\n");
  const auto into = root_ + "/copy";
  const auto staged = stage_context(dir_, ignored, into).value();
  EXPECT_EQ(staged.digest, hash_context(dir_, ignored).value().digest);
  EXPECT_EQ(staged.digest, hash_context(into, {}).value().digest) << "the copy is the same context";
  EXPECT_EQ(staged.left_out, std::vector<std::string>{"pipe"});
  EXPECT_EQ(staged.files, 4U);
  EXPECT_EQ(read(into + "/deep/er/b.txt").size(), std::size_t{1} << 20U);
  EXPECT_EQ(read(into + "/skip/me/keep.txt"), "taken back");
  EXPECT_FALSE(os::exists(into + "/deep/no"));
  EXPECT_FALSE(os::exists(into + "/skip/me/drop"));
  EXPECT_EQ(std::filesystem::read_symlink(into + "/link"), "../outside");
  EXPECT_EQ(std::filesystem::last_write_time(into + "/a"),
            std::filesystem::last_write_time(dir_ + "/a"));
}

TEST_F(ContextTest, TheCopyIsOpenToEveryUserOfTheBuild) {
  write("a", "1");
  ASSERT_TRUE(stage_context(dir_, {}, root_ + "/copy"));
  EXPECT_EQ(std::filesystem::status(root_ + "/copy").permissions(),
            static_cast<std::filesystem::perms>(0755));
}

TEST_F(ContextTest, PathsAreFollowedLinkByLinkAndNeverOut) {
  write("d/f", "1");
  for (const auto& [target, link] :
       std::vector<std::pair<const char*, const char*>>{{"d", "in"},
                                                        {"../d/./f", "d/up"},
                                                        {"in/up", "twice"},
                                                        {"/etc/passwd", "absolute"},
                                                        {"../../etc", "out"},
                                                        {"d/../../c", "back"},
                                                        {"loop", "loop"},
                                                        {"nothing", "gone"}}) {
    ASSERT_EQ(::symlink(target, (dir_ + "/" + link).c_str()), 0);
  }
  EXPECT_EQ(find_in_context(dir_, "d/f").value(), "d/f");
  EXPECT_EQ(find_in_context(dir_, "in//f").value(), "d/f");
  EXPECT_EQ(find_in_context(dir_, "twice").value(), "d/f");
  EXPECT_EQ(find_in_context(dir_, "").value(), "");
  for (const char* path : {"absolute", "out", "out/hosts", "back", "loop", "../c", "in/../.."}) {
    const auto found = find_in_context(dir_, path);
    ASSERT_FALSE(found) << path << " -> " << *found;
    EXPECT_EQ(found.error().code, Code::InvalidArgument) << path;
  }
  EXPECT_EQ(find_in_context(dir_, "out/hosts").error().message,
            "out/hosts leads out of the build context by the link out");
  EXPECT_EQ(find_in_context(dir_, "gone").error().code, Code::NotFound);
  EXPECT_EQ(find_in_context(dir_, "d/f/x").error().code, Code::NotFound);
}

TEST_F(ContextTest, FailuresAreNamed) {
  EXPECT_EQ(hash_context(dir_ + "/none", {}).error().code, Code::NotFound);
  write("file", "");
  EXPECT_EQ(hash_context(dir_ + "/file", {}).error().code, Code::InvalidArgument);
  std::string path = dir_;
  for (int i = 0; i < 210; ++i) {
    path += "/d";
  }
  std::filesystem::create_directories(path);
  EXPECT_EQ(hash_context(dir_, {}).error().code, Code::InvalidArgument);
}

TEST_F(ContextTest, TenThousandFilesTakeAboutAsLongAsReadingThem) {
  for (int i = 0; i < 10'000; ++i) {
    const auto folder = fmt::format("{}/d{}", dir_, i % 100);
    std::filesystem::create_directories(folder);
    std::ofstream(fmt::format("{}/f{}", folder, i))
        << std::string(2000, static_cast<char>('a' + i % 26));
  }
  const auto ignored = rules("**/*.md\n**/node_modules\n.git\n*.log\n!keep.log\n");
  using Clock = std::chrono::steady_clock;
  std::uint64_t bytes = 0;
  auto reading = std::chrono::nanoseconds::max();
  auto hashing = std::chrono::nanoseconds::max();
  for (int turn = 0; turn < 3; ++turn) {
    auto start = Clock::now();
    bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (entry.is_regular_file()) {
        bytes += os::read_file(entry.path(), 1 << 20).value().size();
      }
    }
    reading = std::min<std::chrono::nanoseconds>(reading, Clock::now() - start);
    start = Clock::now();
    EXPECT_EQ(hash_context(dir_, ignored).value().bytes, bytes);
    hashing = std::min<std::chrono::nanoseconds>(hashing, Clock::now() - start);
  }
  RecordProperty("reading_us", static_cast<int>(reading.count() / 1000));
  RecordProperty("hashing_us", static_cast<int>(hashing.count() / 1000));
  std::cout << "reading " << reading.count() / 1000 << " us, hashing " << hashing.count() / 1000
            << " us\n";
  EXPECT_LT(hashing, reading * 3) << "hashing is not of another order than reading";
}

}  // namespace
