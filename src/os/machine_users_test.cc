#include "os/machine_users.h"

#include <gtest/gtest.h>

#include "os/clock.h"
#include "os/files.h"
#include "tests/support/nats_server.h"

namespace mesh::os {
namespace {

TEST(MachineUsers, NoTwoInstancesOfAnyMeshShareOne) {
  UserTable taken;
  for (const auto* who : {"m1 one.a", "m2 one.a", "m1 one.b"}) {
    const auto uid = user_for(taken, who);
    EXPECT_FALSE(taken.contains(uid)) << who;
    taken[uid] = who;
    EXPECT_EQ(user_for(taken, who), uid);
  }
  EXPECT_EQ(taken.begin()->first, 200'000U);
}

TEST(MachineUsers, AGapIsFilled) {
  EXPECT_EQ(user_for({{200'000, "a"}, {200'002, "b"}}, "c"), 200'001U);
}

TEST(MachineUsers, AreKeptBetweenProcesses) {
  const mesh::test::TemporaryDirectory directory;
  const SystemClock clock;
  const auto path = directory.path().string() + "/mesh";
  const auto first = machine_user(path, "m1", "one.a", clock);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto other = machine_user(path, "m2", "one.a", clock);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(*first, *other);
  EXPECT_EQ(machine_user(path, "m1", "one.a", clock).value(), *first);
}

TEST(MachineUsers, AnUnreadableTableIsNotBegunAnew) {
  const mesh::test::TemporaryDirectory directory;
  const SystemClock clock;
  const auto path = directory.path().string();
  ASSERT_TRUE(write_file_atomic(path + "/users.json", "{\"m1 one.a\":2000", kPrivateFile));
  EXPECT_EQ(machine_user(path, "m1", "one.b", clock).error().code, Code::Corrupt);
}

}  // namespace
}  // namespace mesh::os
