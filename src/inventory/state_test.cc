#include "inventory/state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "inventory/sqlite.h"
#include "inventory/test_support.h"
#include "secrets/recovery_key.h"

namespace mesh::inventory {
namespace {

class StateTest : public testing::InventoryFixture {
 protected:
  void SetUp() override {
    InventoryFixture::SetUp();
    root_ = dir_ + "/deep/.mesh";
  }
  std::string root_;
};

TEST_F(StateTest, IsMadeOnceAndOpened) {
  EXPECT_FALSE(state_exists(root_));
  EXPECT_EQ(open_state(root_, clock_, random_).error().code, Code::NotFound);
  std::string id;
  {
    const NewState made = create_state(root_, "home", clock_, random_).value();
    id = made.state.identity.mesh_id;
    const auto recovery = secrets::from_recovery_text(made.recovery_text.reveal()).value();
    EXPECT_EQ(recovery.public_key(), made.state.identity.recovery_key);
    EXPECT_EQ(create_state(root_, "home", clock_, random_).error().code, Code::Conflict);
  }
  EXPECT_TRUE(state_exists(root_));
  const State state = open_state(root_, clock_, random_).value();
  EXPECT_EQ(state.identity.mesh_id, id);
  EXPECT_EQ(secrets::mesh_id(state.sign_key.public_key()), id);
}

TEST_F(StateTest, IsClosedToOthers) {
  ASSERT_TRUE(create_state(root_, "home", clock_, random_).has_value());
  const StatePaths paths(root_);
  EXPECT_EQ(mode_of(root_), 0700U);
  EXPECT_EQ(mode_of(paths.keys()), 0700U);
  for (const std::string& path :
       {paths.database(), paths.seal_key(), paths.sign_key(), paths.lock()}) {
    EXPECT_EQ(mode_of(path), 0600U) << path;
  }
}

TEST_F(StateTest, HasAnAuthorityThatStays) {
  const StatePaths paths(root_);
  ASSERT_TRUE(create_state(root_, "home", clock_, random_).has_value());
  const auto authority = read_authority(paths).value();
  EXPECT_EQ(mode_of(paths.authority()), 0600U);
  EXPECT_EQ(os::read_file(paths.authority_certificate(), 65536).value(), authority.certificate);
  ASSERT_TRUE(os::remove_tree(paths.authority_certificate()).has_value());
  ASSERT_TRUE(open_state(root_, clock_, random_).has_value());
  EXPECT_EQ(os::read_file(paths.authority_certificate(), 65536).value(), authority.certificate);
  EXPECT_EQ(read_authority(paths).value().certificate, authority.certificate);
}

TEST_F(StateTest, OfAnEarlierVersionGetsAnAuthority) {
  const StatePaths paths(root_);
  ASSERT_TRUE(create_state(root_, "home", clock_, random_).has_value());
  for (const std::string& path : {paths.authority(), paths.authority_certificate()}) {
    ASSERT_TRUE(os::remove_tree(path).has_value());
  }
  ASSERT_TRUE(Database::open(paths.database())
                  .value()
                  .execute("DELETE FROM note WHERE name = 'authority'")
                  .has_value());
  ASSERT_TRUE(open_state(root_, clock_, random_).has_value());
  EXPECT_TRUE(read_authority(paths).has_value());
}

TEST_F(StateTest, GetsNoOtherAuthorityUnasked) {
  const StatePaths paths(root_);
  ASSERT_TRUE(create_state(root_, "home", clock_, random_).has_value());
  const auto other = certificates::make_authority("other", clock_.now()).value();
  const auto foreign = other.together();
  ASSERT_TRUE(
      os::write_file_atomic(paths.authority(), foreign.reveal(), os::kPrivateFile).has_value());
  EXPECT_EQ(open_state(root_, clock_, random_).error().code, Code::Corrupt);
  ASSERT_TRUE(os::write_file_atomic(paths.authority(), "damaged", os::kPrivateFile).has_value());
  EXPECT_EQ(open_state(root_, clock_, random_).error().code, Code::Corrupt);
  ASSERT_TRUE(os::remove_tree(paths.authority()).has_value());
  EXPECT_EQ(open_state(root_, clock_, random_).error().code, Code::Corrupt);
}

TEST_F(StateTest, TheRecoveryKeyIsKeptNowhere) {
  const NewState made = create_state(root_, "home", clock_, random_).value();
  const auto recovery = secrets::from_recovery_text(made.recovery_text.reveal()).value();
  const StatePaths paths(root_);
  for (const std::string& path : {paths.database(), paths.seal_key(), paths.sign_key()}) {
    const std::string bytes = os::read_file(path, 1U << 24U).value();
    EXPECT_EQ(bytes.find(recovery.seed().reveal()), std::string::npos) << path;
    EXPECT_EQ(bytes.find(made.recovery_text.reveal()), std::string::npos) << path;
  }
}

TEST_F(StateTest, KeysWithoutAnInventoryAreUsedAgain) {
  const std::string id =
      create_state(root_, "home", clock_, random_).value().state.identity.mesh_id;
  ASSERT_TRUE(os::remove_tree(StatePaths(root_).database()).has_value());
  EXPECT_FALSE(state_exists(root_));
  EXPECT_EQ(create_state(root_, "home", clock_, random_).value().state.identity.mesh_id, id);
}

TEST_F(StateTest, MissingForeignAndDamagedKeysAreSaid) {
  ASSERT_TRUE(create_state(root_, "home", clock_, random_).has_value());
  const StatePaths paths(root_);
  const std::string seal = os::read_file(paths.seal_key(), 100).value();
  const std::string sign = os::read_file(paths.sign_key(), 100).value();
  const auto code = [&] { return open_state(root_, clock_, random_).error().code; };
  const auto put = [](const std::string& path, const std::string& bytes) {
    ASSERT_TRUE(os::write_file_atomic(path, bytes, 0600).has_value());
  };
  put(paths.seal_key(), std::string(32, 'x'));
  EXPECT_EQ(code(), Code::PermissionDenied);
  put(paths.seal_key(), seal.substr(1));
  EXPECT_EQ(code(), Code::Corrupt);
  put(paths.seal_key(), seal);
  put(paths.sign_key(), std::string(32, 'x'));
  EXPECT_EQ(code(), Code::Corrupt);
  ASSERT_EQ(::unlink(paths.sign_key().c_str()), 0);
  EXPECT_EQ(code(), Code::Corrupt);
  put(paths.sign_key(), sign);
  EXPECT_TRUE(open_state(root_, clock_, random_).has_value());
}

}  // namespace
}  // namespace mesh::inventory
