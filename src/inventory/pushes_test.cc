#include <gtest/gtest.h>

#include <map>
#include <random>

#include "inventory/inventory.h"
#include "inventory/sqlite.h"
#include "inventory/test_support.h"

namespace mesh::inventory {
namespace {

using FileMap = std::map<std::string, std::string>;

std::vector<model::AcceptedFile> list(const FileMap& files) {
  std::vector<model::AcceptedFile> out;
  for (const auto& [path, bytes] : files) {
    out.push_back({path, bytes});
  }
  return out;
}

FileMap map_of(const std::vector<model::AcceptedFile>& files) {
  FileMap out;
  for (const auto& file : files) {
    out.emplace(file.path, file.bytes);
  }
  return out;
}

class Pushes : public testing::InventoryFixture {
 protected:
  static std::int64_t push(Inventory& inventory, const FileMap& files) {
    const std::int64_t number = inventory.intend(intent(list(files))).value();
    EXPECT_TRUE(inventory.record(number, {}).has_value());
    return number;
  }
  std::int64_t count(const std::string& table) {
    return Database::open(path_).value().integer("SELECT COUNT(*) FROM " + table).value();
  }
};

TEST_F(Pushes, BeginIntendedAndEndRecorded) {
  Inventory inventory = create();
  EXPECT_EQ(inventory.latest().value(), std::nullopt);
  EXPECT_EQ(inventory.unfinished().value(), std::nullopt);
  const std::int64_t number = inventory.intend(intent({{"mesh.toml", "a"}})).value();
  EXPECT_EQ(number, 1);
  EXPECT_EQ(inventory.latest().value(), std::nullopt);
  const Push unfinished = inventory.unfinished().value().value();
  EXPECT_EQ(unfinished.state, PushState::Intended);
  EXPECT_EQ(unfinished.time, "2026-08-21T09:30:00Z");
  EXPECT_EQ(unfinished.by, "user@host");
  EXPECT_EQ(map_of(inventory.files(number).value()), (FileMap{{"mesh.toml", "a"}}));
  ASSERT_TRUE(inventory.record(number, {}).has_value());
  ASSERT_TRUE(inventory.record(number, {}).has_value());
  EXPECT_EQ(inventory.unfinished().value(), std::nullopt);
  EXPECT_EQ(inventory.latest().value()->number, 1);
  EXPECT_EQ(inventory.push(1).value()->state, PushState::Recorded);
  EXPECT_EQ(inventory.push(2).value(), std::nullopt);
}

TEST_F(Pushes, NumbersGrowAndAreNeverUsedTwice) {
  Inventory inventory = create();
  EXPECT_EQ(push(inventory, {}), 1);
  EXPECT_EQ(inventory.intend(intent({})).value(), 2);
  EXPECT_EQ(inventory.intend(intent({})).value(), 3);  // 2 was given up
  EXPECT_EQ(inventory.record(2, {}).error().code, Code::NotFound);
  ASSERT_TRUE(inventory.record(3, {}).has_value());
  Intent later = intent({});
  later.above = 40;
  EXPECT_EQ(inventory.intend(later).value(), 41);
  ASSERT_TRUE(inventory.record(41, {}).has_value());
  later.above = 7;
  EXPECT_EQ(inventory.intend(later).value(), 42);
  std::vector<std::int64_t> numbers;
  const auto history = inventory.history(10).value();
  numbers.reserve(history.size());
  for (const Push& push : history) {
    numbers.push_back(push.number);
  }
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{41, 3, 1}));
  EXPECT_EQ(inventory.history(1).value().size(), 1U);
}

TEST_F(Pushes, FilesOfEachPushStayByteExact) {
  Inventory inventory = create();
  const std::vector<FileMap> versions = {
      {{"mesh.toml", "1"}, {"a/module.toml", std::string("\0\xff\r\n", 4)}},
      {{"mesh.toml", "2"}, {"a/module.toml", std::string("\0\xff\r\n", 4)}, {"b", ""}},
      {{"mesh.toml", "1"}},
      {},
      {{"b", "back"}, {"mesh.toml", "1"}},
  };
  std::vector<std::int64_t> numbers;
  numbers.reserve(versions.size());
  for (const FileMap& files : versions) {
    numbers.push_back(push(inventory, files));
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    EXPECT_EQ(map_of(inventory.files(numbers[i]).value()), versions[i]) << i;
  }
}

TEST_F(Pushes, AGivenUpPushLeavesNoFilesBehind) {
  Inventory inventory = create();
  push(inventory, {{"mesh.toml", "1"}});
  ASSERT_TRUE(inventory.intend(intent({{"mesh.toml", "2"}, {"x", "y"}})).has_value());
  EXPECT_EQ(count("blob"), 3);
  const std::int64_t last = push(inventory, {{"mesh.toml", "3"}});
  EXPECT_EQ(map_of(inventory.files(last).value()), (FileMap{{"mesh.toml", "3"}}));
  EXPECT_EQ(count("blob"), 2);
}

TEST_F(Pushes, HistoryStaysSmall) {
  Inventory inventory = create();
  FileMap files;
  for (int i = 0; i < 200; ++i) {
    files["module-" + std::to_string(i)] = "same";
  }
  for (int i = 0; i < 20; ++i) {
    files["module-7"] = std::to_string(i);
    push(inventory, files);
  }
  EXPECT_EQ(count("file_change"), 200 + 19);
  EXPECT_EQ(count("blob"), 1 + 20);
}

TEST_F(Pushes, CredentialsComeWithTheIntentAndGoWithTheRecord) {
  Inventory inventory = create();
  Intent first = intent({});
  first.credentials.push_back(credential("one.shop", "a"));
  first.credentials.push_back(credential("one.audit", "b"));
  const std::int64_t number = inventory.intend(first).value();
  EXPECT_EQ(inventory.hashes().value().size(), 2U);
  const std::vector<std::string> gone = {"one.audit", "never-there"};
  ASSERT_TRUE(inventory.record(number, gone).has_value());
  EXPECT_EQ(inventory.hashes().value(), (Hashes{{"one.shop", "hash of one.shop"}}));
}

TEST_F(Pushes, APathTwiceIsRefusedAndNothingIsKept) {
  Inventory inventory = create();
  Intent twice = intent({{"a", "1"}, {"a", "2"}});
  twice.credentials.push_back(credential("one.shop", "a"));
  EXPECT_FALSE(inventory.intend(twice).has_value());
  EXPECT_EQ(inventory.unfinished().value(), std::nullopt);
  EXPECT_TRUE(inventory.hashes().value().empty());
  EXPECT_EQ(inventory.intend(intent({})).value(), 1);
}

// Random histories against a plain map of what each push held.
TEST_F(Pushes, AgreeWithAPlainModel) {
  Inventory inventory = create();
  std::mt19937 generator(7);  // NOLINT: the same history in each run
  const auto below = [&](unsigned n) { return static_cast<unsigned>(generator()) % n; };
  std::map<std::int64_t, FileMap> model;
  FileMap files;
  for (int i = 0; i < 150; ++i) {
    for (unsigned j = below(4); j > 0; --j) {
      files["file-" + std::to_string(below(8))] = std::to_string(below(5));
    }
    if (below(3) == 0) {
      files.erase("file-" + std::to_string(below(8)));
    }
    const std::int64_t number = inventory.intend(intent(list(files))).value();
    EXPECT_EQ(map_of(inventory.files(number).value()), files);
    if (below(4) != 0) {
      ASSERT_TRUE(inventory.record(number, {}).has_value());
      model[number] = files;
    }
  }
  for (const auto& [number, held] : model) {
    EXPECT_EQ(map_of(inventory.files(number).value()), held) << number;
  }
  EXPECT_TRUE(inventory.verify().has_value());
}

}  // namespace
}  // namespace mesh::inventory
