#include "inventory/inventory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "inventory/sqlite.h"
#include "inventory/test_support.h"

namespace mesh::inventory {
namespace {

using secrets::Secret;

class InventoryTest : public testing::InventoryFixture {};

TEST_F(InventoryTest, KeepsTheIdentity) {
  create();
  Inventory inventory = reopen().value();
  const Identity identity = inventory.identity().value();
  EXPECT_EQ(identity.mesh_id, testing::test_identity().mesh_id);
  EXPECT_EQ(identity.mesh_id.size(), 32U);
  EXPECT_EQ(identity.name, "home");
  EXPECT_EQ(identity.signing_key, testing::test_identity().signing_key);
  EXPECT_EQ(identity.recovery_key, testing::test_identity().recovery_key);
  EXPECT_EQ(identity.created, "2026-08-21T09:30:00Z");
  EXPECT_TRUE(inventory.verify().has_value());
}

TEST_F(InventoryTest, IsMadeOnceAndFoundOnlyWhereItIs) {
  EXPECT_EQ(reopen().error().code, Code::NotFound);
  create();
  EXPECT_EQ(Inventory::create(path_, testing::test_key(), testing::test_identity(), clock_, random_)
                .error()
                .code,
            Code::Conflict);
}

TEST_F(InventoryTest, AllItsFilesAreClosedToOthersWhateverTheUmask) {
  const mode_t before = ::umask(0);
  Inventory inventory = create();
  ASSERT_TRUE(inventory.set_note("a", "b").has_value());
  for (const char* end : {"", "-wal", "-shm"}) {
    EXPECT_EQ(mode_of(path_ + end), 0600U) << end;
  }
  ::umask(before);
}

TEST_F(InventoryTest, RefusesAFileThatOthersCanRead) {
  create();
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  const auto refused = reopen();
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_EQ(refused.error().hint, "chmod 600 " + path_);
}

TEST_F(InventoryTest, AnotherKeyIsRefused) {
  create();
  const auto refused = Inventory::open(path_, testing::test_key('x'), clock_, random_);
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_EQ(refused.error().message, "the key file does not belong to this inventory");
}

// A copied database without the key gives nothing: no secret stands in any of its bytes.
TEST_F(InventoryTest, NoSecretStandsInItsBytes) {
  const std::string needle = "needle-in-the-database-";
  Inventory inventory = create();
  std::vector<NewCredential> credentials;
  credentials.push_back(credential("one.shop", needle + "1"));
  ASSERT_TRUE(inventory.add_credentials(credentials).has_value());
  ASSERT_TRUE(inventory.set_secret({"shop", "KEY"}, Secret(needle + "2")).has_value());
  const std::string key(inventory.module_key("shop").value().reveal());
  std::string all = inventory.snapshot().value();
  for (const char* end : {"", "-wal", "-shm"}) {
    all += os::read_file(path_ + end, 1U << 24U).value();
  }
  EXPECT_EQ(all.find(needle), std::string::npos);
  EXPECT_EQ(all.find(key), std::string::npos);
  EXPECT_EQ(all.find(std::string(32, 'k')), std::string::npos);
  EXPECT_NE(all.find("hash of one.shop"), std::string::npos);  // the search can find something
}

TEST_F(InventoryTest, CredentialsAreKeptReplacedAndFound) {
  Inventory inventory = create();
  std::vector<NewCredential> credentials;
  credentials.push_back(credential("two.audit", "b"));
  credentials.push_back(credential("one.shop", "a"));
  ASSERT_TRUE(inventory.add_credentials(credentials).has_value());
  EXPECT_EQ(inventory.hashes().value(),
            (Hashes{{"one.shop", "hash of one.shop"}, {"two.audit", "hash of two.audit"}}));
  EXPECT_EQ(inventory.credential_secret("two.audit").value().reveal(), "b");
  EXPECT_EQ(inventory.credential_secret("no").error().code, Code::NotFound);
  credentials[0].secret = Secret("new");
  credentials[0].hash = "other";
  ASSERT_TRUE(inventory.add_credentials(credentials).has_value());
  EXPECT_EQ(inventory.hashes().value().at("two.audit"), "other");
  EXPECT_EQ(inventory.credential_secret("two.audit").value().reveal(), "new");
}

TEST_F(InventoryTest, AValueMovedToAnothersPlaceDoesNotOpen) {
  {
    Inventory inventory = create();
    std::vector<NewCredential> credentials;
    credentials.push_back(credential("a", "of a"));
    credentials.push_back(credential("b", "of b"));
    ASSERT_TRUE(inventory.add_credentials(credentials).has_value());
  }
  ASSERT_TRUE(Database::open(path_)
                  .value()
                  .execute("UPDATE credential SET sealed = (SELECT sealed FROM credential "
                           "WHERE principal = 'a') WHERE principal = 'b'")
                  .has_value());
  EXPECT_EQ(reopen().value().credential_secret("b").error().code, Code::Corrupt);
}

TEST_F(InventoryTest, AnySecretThatIsSetOrRemovedIsSeen) {
  Inventory inventory = create();
  std::set<std::string> marks = {inventory.secrets_mark().value()};
  const auto changed = [&] { return marks.insert(inventory.secrets_mark().value()).second; };
  EXPECT_FALSE(changed());
  ASSERT_TRUE(inventory.set_secret({"", "KEY"}, Secret("a")).has_value());
  EXPECT_TRUE(changed());
  ASSERT_TRUE(inventory.set_secret({"", "KEY"}, Secret("b")).has_value());
  EXPECT_TRUE(changed()) << "within the same second, and as long";
  ASSERT_TRUE(inventory.set_secret({"shop", "KEY"}, Secret("b")).has_value());
  EXPECT_TRUE(changed());
  EXPECT_FALSE(changed());
  ASSERT_TRUE(inventory.remove_secret({"", "KEY"}).has_value());
  EXPECT_TRUE(changed());
}

TEST_F(InventoryTest, SecretsAreByteExactAndTheModulesOwnComesFirst) {
  Inventory inventory = create();
  const std::string bytes("\0\r\n\xff end\n", 9);
  ASSERT_TRUE(inventory.set_secret({"", "KEY"}, Secret("of the mesh")).has_value());
  EXPECT_EQ(inventory.find_secret("shop", "KEY").value().reveal(), "of the mesh");
  ASSERT_TRUE(inventory.set_secret({"shop", "KEY"}, Secret(bytes)).has_value());
  EXPECT_EQ(inventory.find_secret("shop", "KEY").value().reveal(), bytes);
  EXPECT_EQ(inventory.find_secret("audit", "KEY").value().reveal(), "of the mesh");
  const auto listed = inventory.secrets().value();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].name, (SecretName{"", "KEY"}));
  EXPECT_EQ(listed[1].bytes, bytes.size());
  EXPECT_EQ(listed[1].set_at, "2026-08-21T09:30:00Z");
  ASSERT_TRUE(inventory.remove_secret({"shop", "KEY"}).has_value());
  EXPECT_EQ(inventory.remove_secret({"shop", "KEY"}).error().code, Code::NotFound);
  EXPECT_EQ(inventory.find_secret("shop", "KEY").value().reveal(), "of the mesh");
}

TEST_F(InventoryTest, ASecretThatIsNotSetNamesTheVerbThatSetsIt) {
  Inventory inventory = create();
  const auto missing = inventory.find_secret("shop", "STRIPE_KEY");
  EXPECT_EQ(missing.error().code, Code::NotFound);
  EXPECT_EQ(missing.error().hint,
            "set it with `mesh secret set shop STRIPE_KEY`, its value on stdin");
}

TEST_F(InventoryTest, SecretsHaveLimits) {
  Inventory inventory = create();
  EXPECT_TRUE(inventory.set_secret({"", "A"}, Secret(std::string(65536, 'x'))).has_value());
  EXPECT_EQ(inventory.find_secret("", "A").value().size(), 65536U);
  EXPECT_EQ(inventory.set_secret({"", "A"}, Secret(std::string(65537, 'x'))).error().code,
            Code::InvalidArgument);
  EXPECT_TRUE(inventory.set_secret({"", "EMPTY"}, Secret()).has_value());
  EXPECT_TRUE(inventory.find_secret("", "EMPTY").value().empty());
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."),
                                  std::string("a\nb"), std::string("1A"), std::string(64, 'x')}) {
    EXPECT_EQ(inventory.set_secret({"", name}, Secret("x")).error().code, Code::InvalidArgument);
  }
}

TEST_F(InventoryTest, AModulesKeyIsMadeOnce) {
  Inventory inventory = create();
  const std::string key(inventory.module_key("shop").value().reveal());
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(inventory.module_key("shop").value().reveal(), key);
  EXPECT_NE(inventory.module_key("audit").value().reveal(), key);
  EXPECT_EQ(reopen().value().module_key("shop").value().reveal(), key);
}

TEST_F(InventoryTest, NotesAreReplaced) {
  Inventory inventory = create();
  EXPECT_EQ(inventory.note("a").value(), std::nullopt);
  ASSERT_TRUE(inventory.set_note("a", "1").has_value());
  ASSERT_TRUE(inventory.set_note("a", "").has_value());
  EXPECT_EQ(inventory.note("a").value(), "");
}

TEST_F(InventoryTest, DamageIsSaidWithWhatToDo) {
  create();
  std::string bytes = os::read_file(path_, 1U << 24U).value();
  const std::string whole = bytes;
  ASSERT_TRUE(
      os::write_file_atomic(path_, "no database at all, not even a small one", 0600).has_value());
  EXPECT_EQ(reopen().error().code, Code::Corrupt);
  ASSERT_TRUE(os::write_file_atomic(path_, "", 0600).has_value());
  EXPECT_EQ(reopen().error().code, Code::Corrupt);
  for (std::size_t i = 4096; i < bytes.size(); i += 3) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
  }
  ASSERT_TRUE(os::write_file_atomic(path_, bytes, 0600).has_value());
  auto opened = reopen();
  const Status damaged = opened ? opened->verify() : Status(std::unexpected(opened.error()));
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().code, Code::Corrupt);
  EXPECT_NE(damaged.error().hint.find("mesh restore"), std::string::npos);
  ASSERT_TRUE(os::write_file_atomic(path_, whole, 0600).has_value());
  EXPECT_TRUE(reopen().value().verify().has_value());
}

TEST_F(InventoryTest, ReadersDoNotWaitForAWriter) {
  Inventory inventory = create();
  ASSERT_TRUE(inventory.set_note("a", "1").has_value());
  Database writer = Database::open(path_).value();
  ASSERT_TRUE(writer.execute("BEGIN IMMEDIATE; UPDATE note SET value = '2'").has_value());
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(reopen().value().note("a").value(), "1");
  EXPECT_TRUE(inventory.history(10).has_value());
  EXPECT_TRUE(inventory.snapshot().has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  ASSERT_TRUE(writer.execute("COMMIT").has_value());
  EXPECT_EQ(inventory.note("a").value(), "2");
}

// Two writers take turns.
TEST_F(InventoryTest, TwoConnectionsWriteWithoutLosingAnything) {
  create();
  const auto write = [this](const std::string& mine) {
    os::SystemRandom random;
    Inventory inventory = Inventory::open(path_, testing::test_key(), clock_, random).value();
    for (int i = 0; i < 25; ++i) {
      ASSERT_TRUE(inventory.set_note(mine + std::to_string(i), "x").has_value());
    }
  };
  std::thread first(write, "first");
  std::thread second(write, "second");
  first.join();
  second.join();
  EXPECT_EQ(Database::open(path_).value().integer("SELECT COUNT(*) FROM note").value(), 50);
}

// 10,000 credentials are sealed and written in one transaction: measured 0.1 s in release builds;
// the bound leaves room for sanitizers and a busy machine.
TEST_F(InventoryTest, TenThousandCredentialsAreWrittenAtOnce) {
  Inventory inventory = create();
  Intent many = intent({{"mesh.toml", "x"}});
  for (int i = 0; i < 10000; ++i) {
    many.credentials.push_back(
        {"node.module-" + std::to_string(i), std::string(60, 'h'), Secret(std::string(43, 's'))});
  }
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(inventory.intend(many).has_value());
  const auto written = std::chrono::steady_clock::now();
  EXPECT_EQ(inventory.hashes().value().size(), 10000U);
  const auto read = std::chrono::steady_clock::now();
  RecordProperty("write_ms", static_cast<int>((written - before) / std::chrono::milliseconds(1)));
  RecordProperty("read_ms", static_cast<int>((read - written) / std::chrono::milliseconds(1)));
  EXPECT_LT(written - before, std::chrono::seconds(10));
}

TEST_F(InventoryTest, BuiltImagesAreFoundByTheirKey) {
  auto inventory = create();
  EXPECT_EQ(inventory.built("r:5000", "shop", "server", "k1").value(), std::nullopt);
  BuiltRecord record{"shop",     "server",      "k1", "r:5000", "mesh/shop/server",
                     "sha256:1", "linux/amd64", {}};
  ASSERT_TRUE(inventory.record_built(record));
  record.digest = "sha256:2";
  ASSERT_TRUE(inventory.record_built(record));
  const auto found = inventory.built("r:5000", "shop", "server", "k1").value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->digest, "sha256:2");
  EXPECT_FALSE(found->time.empty());
  EXPECT_EQ(inventory.built("other", "shop", "server", "k1").value(), std::nullopt);
  record.key = "k0";
  ASSERT_TRUE(inventory.record_built(record));
  EXPECT_EQ(inventory.built_images().value().size(), 2U);
}

}  // namespace
}  // namespace mesh::inventory
