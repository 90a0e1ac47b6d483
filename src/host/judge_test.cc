#include "host/judge.h"

#include <gtest/gtest.h>

namespace mesh::host {
namespace {

using converge::Standing;
using converge::UnitState;
using std::chrono::seconds;

const converge::UnitName kName{"shop", "web", "1"};

class JudgeTest : public ::testing::Test {
 protected:
  void found(UnitState state, std::optional<int> exit = std::nullopt) {
    Found one;
    one.name = kName;
    one.state = state;
    one.exit_code = exit;
    if (state != UnitState::Created) {
      one.started = os::WallTime{std::chrono::milliseconds{run_}};
    }
    judge_.see(one, &component_, trusted_, now_, wall_);
  }
  void start() {
    ++run_;
    judge_.started(kName, wall_);
    found(UnitState::Running);
  }
  void pass(os::Milliseconds time) {
    now_ += time;
    wall_ += time;
    judge_.tick(now_, wall_);
  }
  [[nodiscard]] converge::Unit unit() const { return judge_.unit(kName, now_); }

  Judge judge_;
  declaration::Component component_;
  bool trusted_ = false;
  os::Monotonic now_{seconds{1000}};
  os::WallTime wall_{seconds{1'000'000}};
  int run_ = 0;
};

TEST_F(JudgeTest, OneWithoutACheckIsGoodOnceItHasRunAWhile) {
  found(UnitState::Created);
  EXPECT_TRUE(unit().due);
  start();
  EXPECT_EQ(unit().standing, Standing::Pending);
  EXPECT_EQ(judge_.next(), now_ + seconds{2});
  pass(seconds{2});
  EXPECT_EQ(unit().standing, Standing::Good);
  EXPECT_EQ(judge_.standing(kName).state, "running");
}

TEST_F(JudgeTest, OneThatWasGoodBeforeTheHostBeganIsGood) {
  trusted_ = true;
  run_ = 7;
  found(UnitState::Running);
  EXPECT_EQ(unit().standing, Standing::Good);
}

TEST_F(JudgeTest, ThreeEndsInARowAreBadAndTheDelaysDouble) {
  found(UnitState::Created);
  for (int round = 1; round <= 3; ++round) {
    start();
    pass(seconds{1});
    found(UnitState::Exited, 3);
    EXPECT_EQ(unit().standing, round < 3 ? Standing::Pending : Standing::Bad) << round;
    EXPECT_FALSE(unit().due);
    pass(seconds{1 << (round - 1)});
    EXPECT_TRUE(unit().due) << round;
  }
  EXPECT_EQ(judge_.standing(kName).restarts, 3);
  EXPECT_EQ(judge_.standing(kName).state, "backoff");
}

TEST_F(JudgeTest, TheDelayBeginsAnewAfterAMinuteThatWentWell) {
  start();
  pass(seconds{1});
  found(UnitState::Exited, 1);
  pass(seconds{1});
  start();
  pass(seconds{61});
  found(UnitState::Exited, 1);
  EXPECT_FALSE(unit().due);
  pass(seconds{1});
  EXPECT_TRUE(unit().due);
}

TEST_F(JudgeTest, WhatIsNotToRunAgainIsDoneOrFailed) {
  component_.restart = declaration::Restart::OnFailure;
  start();
  found(UnitState::Exited, 0);
  EXPECT_EQ(unit().standing, Standing::Good);
  EXPECT_FALSE(unit().due);
  EXPECT_EQ(judge_.standing(kName).state, "stopped");
  component_.restart = declaration::Restart::Never;
  JudgeTest::judge_ = Judge();
  start();
  found(UnitState::Exited, 2);
  EXPECT_EQ(unit().standing, Standing::Bad);
  EXPECT_FALSE(unit().due);
  EXPECT_EQ(judge_.standing(kName).because, "it ended with exit code 2");
}

TEST_F(JudgeTest, ACheckDecides) {
  component_.health = declaration::Health{};
  start();
  pass(seconds{3});
  EXPECT_EQ(unit().standing, Standing::Pending);
  EXPECT_EQ(judge_.due_checks(now_), std::vector{kName});
  EXPECT_TRUE(judge_.due_checks(now_).empty()) << "one is under way";
  judge_.checked(kName, false, "refused", now_, wall_);
  EXPECT_EQ(judge_.standing(kName).because, "refused");
  pass(seconds{10});
  EXPECT_EQ(judge_.due_checks(now_).size(), 1U);
  judge_.checked(kName, true, "", now_, wall_);
  EXPECT_EQ(unit().standing, Standing::Good);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(unit().unhealthy);
    judge_.checked(kName, false, "status 500", now_, wall_);
  }
  EXPECT_TRUE(unit().unhealthy);
  EXPECT_NE(judge_.standing(kName).because.find("status 500"), std::string::npos);
}

TEST_F(JudgeTest, OneThatComesUpIsAskedAgainSoonAndThenAtItsInterval) {
  component_.health = declaration::Health{};
  start();
  ASSERT_EQ(judge_.due_checks(now_).size(), 1U);
  for (const int wait : {250, 500, 1000, 2000, 4000, 8000, 10000, 10000}) {
    judge_.checked(kName, false, "refused", now_, wall_);
    pass(os::Milliseconds{wait - 1});
    EXPECT_TRUE(judge_.due_checks(now_).empty()) << wait;
    pass(os::Milliseconds{1});
    EXPECT_EQ(judge_.due_checks(now_).size(), 1U) << wait;
  }
  judge_.checked(kName, true, "", now_, wall_);
  pass(seconds{9});
  EXPECT_TRUE(judge_.due_checks(now_).empty()) << "its interval";
}

TEST_F(JudgeTest, ACheckThatNeverSucceedsIsBadAfterItsDeadline) {
  component_.health = declaration::Health{};
  start();
  judge_.checked(kName, false, "refused", now_, wall_);
  pass(seconds{65});
  EXPECT_EQ(unit().standing, Standing::Pending);
  pass(seconds{1});
  EXPECT_EQ(unit().standing, Standing::Bad);
  EXPECT_TRUE(unit().unhealthy);
}

TEST_F(JudgeTest, WhatTheHostStopsIsNoFailure) {
  start();
  pass(seconds{3});
  judge_.stopping(kName);
  found(UnitState::Exited, 143);
  EXPECT_EQ(judge_.standing(kName).restarts, 0);
  EXPECT_TRUE(unit().due);
}

TEST_F(JudgeTest, WhatIsFoundEndedAfterARebootIsDueAtOnce) {
  trusted_ = true;
  found(UnitState::Exited, 137);
  EXPECT_TRUE(unit().due);
  EXPECT_EQ(unit().standing, Standing::Pending);
}

TEST_F(JudgeTest, AClockThatMovesChangesNothing) {
  start();
  wall_ -= std::chrono::hours{24 * 365};
  pass(seconds{2});
  EXPECT_EQ(unit().standing, Standing::Good);
}

}  // namespace
}  // namespace mesh::host
