#include "inventory/backup.h"

#include <gtest/gtest.h>
#include <random>

#include "base/digest.h"
#include "inventory/archive.h"
#include "inventory/test_support.h"
#include "secrets/recovery_key.h"

namespace mesh::inventory {
namespace {

using secrets::SigningKey;

class Backup : public testing::InventoryFixture {
 protected:
  void SetUp() override {
    InventoryFixture::SetUp();
    root_ = dir_ + "/.mesh";
    NewState made = create_state(root_, "home", clock_, random_).value();
    recovery_ = std::make_unique<SigningKey>(
        secrets::from_recovery_text(made.recovery_text.reveal()).value());
    state_ = std::make_unique<State>(std::move(made.state));
    ASSERT_TRUE(
        state_->inventory.set_secret({"shop", "KEY"}, secrets::Secret("needle")).has_value());
    const auto number = state_->inventory.intend(intent({{"mesh.toml", "mesh"}})).value();
    ASSERT_TRUE(state_->inventory.record(number, {}).has_value());
  }
  void TearDown() override {
    state_.reset();
    InventoryFixture::TearDown();
  }
  std::string backup() { return make_backup(*state_, "pinned = 1\n", random_).value(); }
  Result<Restored> restore(const std::string& root, std::string_view bytes) {
    return restore_backup(root, bytes, *recovery_, clock_, random_);
  }
  std::string root_;
  std::unique_ptr<SigningKey> recovery_;
  std::unique_ptr<State> state_;
};

TEST_F(Backup, BringsEverythingBack) {
  const std::string bytes = backup();
  EXPECT_EQ(bytes.find("needle"), std::string::npos);
  EXPECT_EQ(bytes.find("mesh.toml"), std::string::npos);
  const std::string root = dir_ + "/other/.mesh";
  const Restored restored = restore(root, bytes).value();
  EXPECT_EQ(restored.identity.mesh_id, state_->identity.mesh_id);
  EXPECT_EQ(restored.lock_file, "pinned = 1\n");
  State state = open_state(root, clock_, random_).value();
  EXPECT_EQ(state.inventory.find_secret("shop", "KEY").value().reveal(), "needle");
  EXPECT_EQ(state.inventory.latest().value()->number, 1);
  EXPECT_EQ(state.inventory.files(1).value().at(0).bytes, "mesh");
  EXPECT_EQ(mode_of(root), 0700U);
  EXPECT_EQ(mode_of(StatePaths(root).database()), 0600U);
  EXPECT_EQ(mode_of(StatePaths(root).seal_key()), 0600U);
  EXPECT_EQ(mode_of(StatePaths(root).authority()), 0600U);
  EXPECT_EQ(read_authority(StatePaths(root)).value().certificate,
            read_authority(state_->paths).value().certificate);
  EXPECT_FALSE(os::exists(root + ".restoring"));
  // The restored one can be backed up again.
  EXPECT_TRUE(make_backup(state, "", random_).has_value());
}

TEST_F(Backup, IsOfOnePointInTimeWhileOthersWrite) {
  Inventory other =
      Inventory::open(StatePaths(root_).database(), state_->seal_key, clock_, random_).value();
  const std::string before = backup();
  ASSERT_TRUE(other.set_note("later", "x").has_value());
  ASSERT_TRUE(restore(dir_ + "/a", before).has_value());
  EXPECT_EQ(open_state(dir_ + "/a", clock_, random_).value().inventory.note("later").value(),
            std::nullopt);
  ASSERT_TRUE(restore(dir_ + "/b", backup()).has_value());
  EXPECT_EQ(open_state(dir_ + "/b", clock_, random_).value().inventory.note("later").value(), "x");
}

TEST_F(Backup, GoesOnlyWhereNothingIs) {
  const std::string bytes = backup();
  const auto refused = restore(root_, bytes);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_TRUE(open_state(root_, clock_, random_).has_value());
  ASSERT_TRUE(os::make_dirs(dir_ + "/empty").has_value());
  EXPECT_TRUE(restore(dir_ + "/empty", bytes).has_value());
  ASSERT_TRUE(os::write_file_atomic(dir_ + "/file", "", 0600).has_value());
  EXPECT_EQ(restore(dir_ + "/file", bytes).error().code, Code::Conflict);
}

TEST_F(Backup, AnotherMeshsKeyIsToldFromDamage) {
  const std::string bytes = backup();
  const SigningKey other = SigningKey::from_seed(std::string(32, 'o')).value();
  const auto refused = restore_backup(dir_ + "/x", bytes, other, clock_, random_);
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  for (std::size_t i = 12; i < bytes.size(); i += 1 + bytes.size() / 200) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 16);
    EXPECT_EQ(restore(dir_ + "/x", damaged).error().code, Code::Corrupt) << i;
    EXPECT_EQ(restore(dir_ + "/x", bytes.substr(0, i)).error().code, Code::Corrupt) << i;
  }
  EXPECT_EQ(restore(dir_ + "/x", "PK\x03\x04").error().code, Code::InvalidArgument);
  EXPECT_EQ(restore(dir_ + "/x", "").error().code, Code::InvalidArgument);
  EXPECT_FALSE(os::exists(dir_ + "/x"));
  EXPECT_FALSE(os::exists(dir_ + "/x.restoring"));
}

TEST_F(Backup, ANewerFormatIsSaidToBeSo) {
  std::string bytes = backup();
  bytes.replace(0, 14, "mesh-backup 2\n");
  bytes.replace(bytes.size() - 64, 64, sha256_hex(bytes.substr(0, bytes.size() - 64)));
  EXPECT_EQ(restore(dir_ + "/x", bytes).error().code, Code::Unsupported);
}

TEST_F(Backup, KilledAnywhereARestoreIsWholeOrNotThere) {
  const std::string bytes = backup();
  const std::string root = dir_ + "/restored";
  std::mt19937 generator(3);  // NOLINT: the same moments in each run
  const auto put_back = [&] { EXPECT_TRUE(restore(root, bytes).has_value()); };
  const auto whole = testing::time_of(put_back);
  int restored = 0;
  for (int round = 0; round < 30; ++round) {
    if (os::exists(root)) {
      State state = open_state(root, clock_, random_).value();
      EXPECT_TRUE(state.inventory.verify().has_value());
      ++restored;
      ASSERT_TRUE(os::remove_tree(root).has_value());
    }
    testing::kill_during(whole, generator, put_back);
  }
  RecordProperty("restored", restored);
  ASSERT_TRUE(os::remove_tree(root).has_value());
  ASSERT_TRUE(restore(root, bytes).has_value());
  EXPECT_FALSE(os::exists(root + ".restoring"));
}

TEST(ArchiveTest, UnpacksWhatItPackedAndNothingElse) {
  const Archive files = {{"", "x"}, {"a/b", std::string("\0\xff", 2)}, {"empty", ""}};
  const std::string packed = pack(files);
  EXPECT_EQ(unpack(packed).value(), files);
  EXPECT_TRUE(unpack("").value().empty());
  EXPECT_EQ(unpack(packed + packed).error().code, Code::Corrupt);
  for (std::size_t i = 1; i < packed.size(); ++i) {
    const auto cut = unpack(std::string_view(packed).substr(0, i));
    EXPECT_TRUE(!cut || cut->size() < files.size()) << i;
  }
  EXPECT_EQ(unpack(std::string(12, '\xff')).error().code, Code::Corrupt);
}

}  // namespace
}  // namespace mesh::inventory
