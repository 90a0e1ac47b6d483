#include "inventory/migrate.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/digest.h"
#include "inventory/inventory.h"
#include "inventory/test_support.h"

namespace mesh::inventory {
namespace {

class Migrate : public testing::InventoryFixture {
 protected:
  // All schemas as they are, and a further one of this test.
  static std::vector<const char*> one_more(const char* further) {
    std::vector<const char*> steps(migrations().begin(), migrations().end());
    steps.push_back(further);
    return steps;
  }
  static std::int64_t latest() { return static_cast<std::int64_t>(migrations().size()); }
  // Called once for each schema, before it is released: MESH_ACCEPT_SCHEMA=1 inventory_test.
  void write_fixture() {
    {
      Inventory inventory = create();
      Intent first = intent({{"mesh.toml", "mesh = \"home\"\n"}});
      first.credentials.push_back(credential("one.shop", "the secret of one.shop"));
      ASSERT_TRUE(inventory.record(inventory.intend(first).value(), {}).has_value());
      ASSERT_TRUE(inventory.set_secret({"shop", "KEY"}, secrets::Secret("a value")).has_value());
      ASSERT_TRUE(inventory.module_key("shop").has_value());
    }
    const std::string to = std::string(MESH_SOURCE_DIR) + "/src/inventory/fixtures/schema_1";
    ASSERT_TRUE(os::write_file_atomic(to + ".db", os::read_file(path_, 1U << 24U).value(), 0644)
                    .has_value());
    ASSERT_TRUE(os::write_file_atomic(to + ".sha256", sha256_hex(migrations()[0]) + "\n", 0644)
                    .has_value());
  }

  Result<std::int64_t> version() {
    return Database::open(path_).value().integer("PRAGMA user_version");
  }
};

TEST_F(Migrate, AnInventoryOfANewerMeshIsRefusedByName) {
  create();
  ASSERT_TRUE(Database::open(path_)
                  .value()
                  .execute("UPDATE writer SET version = '9.8.7'; PRAGMA user_version = 99")
                  .has_value());
  const auto refused = reopen();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Unsupported);
  EXPECT_NE(refused.error().message.find("written by Mesh 9.8.7 (schema 99)"), std::string::npos);
  EXPECT_EQ(refused.error().hint, "use Mesh 9.8.7 or a later one");
  EXPECT_EQ(version().value(), 99);
}

// fixtures/schema_1.db was written by the first version that had an inventory: with its identity,
// a push, a credential, a secret and a key under the key of the tests.
TEST_F(Migrate, OpensWhatTheFirstVersionWrote) {
  if (std::getenv("MESH_ACCEPT_SCHEMA") != nullptr) {
    write_fixture();
    ASSERT_TRUE(os::remove_tree(path_).has_value());
  }
  const std::string fixture =
      os::read_file(std::string(MESH_SOURCE_DIR) + "/src/inventory/fixtures/schema_1.db", 1U << 24U)
          .value();
  ASSERT_TRUE(os::write_file_atomic(path_, fixture, 0600).has_value());
  Inventory inventory = reopen().value();
  EXPECT_EQ(inventory.identity().value().mesh_id, testing::test_identity().mesh_id);
  EXPECT_EQ(inventory.latest().value()->number, 1);
  EXPECT_EQ(inventory.files(1).value().at(0).bytes, "mesh = \"home\"\n");
  EXPECT_EQ(inventory.credential_secret("one.shop").value().reveal(), "the secret of one.shop");
  EXPECT_EQ(inventory.find_secret("shop", "KEY").value().reveal(), "a value");
  EXPECT_EQ(inventory.module_key("shop").value().size(), 32U);
  EXPECT_TRUE(inventory.verify().has_value());
}

TEST_F(Migrate, KeepsACopyAndAllThatWasThere) {
  {
    Inventory inventory = create();
    ASSERT_TRUE(inventory.set_note("kept", "yes").has_value());
  }
  const auto steps = one_more("ALTER TABLE note ADD COLUMN set_at TEXT NOT NULL DEFAULT ''");
  {
    Database database = Database::open(path_).value();
    ASSERT_TRUE(migrate(database, path_, steps).has_value());
    ASSERT_TRUE(migrate(database, path_, steps).has_value());
    EXPECT_EQ(
        database.integer("SELECT COUNT(*) FROM note WHERE value = 'yes' AND set_at = ''").value(),
        1);
  }
  const std::string kept = path_ + ".v" + std::to_string(latest());
  EXPECT_EQ(version().value(), latest() + 1);
  EXPECT_EQ(mode_of(kept), 0600U);
  EXPECT_EQ(reopen().error().code, Code::Unsupported);  // this Mesh does not know it
  Database copy = Database::open(kept).value();
  EXPECT_EQ(copy.integer("PRAGMA user_version").value(), latest());
  EXPECT_EQ(copy.integer("SELECT COUNT(*) FROM note").value(), 1);
}

TEST_F(Migrate, AStepThatFailsLeavesTheOldSchema) {
  create();
  const auto steps =
      one_more("CREATE TABLE extra (a INTEGER) STRICT; CREATE TABLE note (x) STRICT");
  Database database = Database::open(path_).value();
  EXPECT_FALSE(migrate(database, path_, steps).has_value());
  EXPECT_EQ(version().value(), latest());
  EXPECT_EQ(database.integer("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'extra'").value(), 0);
  EXPECT_TRUE(reopen().has_value());
}

TEST_F(Migrate, AnotherProgramsDatabaseIsNoInventory) {
  create();
  ASSERT_TRUE(Database::open(path_).value().execute("PRAGMA application_id = 0").has_value());
  EXPECT_EQ(reopen().error().code, Code::Corrupt);
}

// A schema that was released is never edited: a change here means a new file, schema_2.sql.
TEST_F(Migrate, TheReleasedSchemaIsUnchanged) {
  const std::string kept =
      os::read_file(std::string(MESH_SOURCE_DIR) + "/src/inventory/fixtures/schema_1.sha256", 100)
          .value();
  EXPECT_EQ(sha256_hex(migrations()[0]) + "\n", kept);
}

}  // namespace
}  // namespace mesh::inventory
