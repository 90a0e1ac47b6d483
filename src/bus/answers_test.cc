#include "bus/answers.h"

#include <gtest/gtest.h>

#include <thread>

namespace mesh::bus {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

Message saying(std::string data, int status = 0) {
  return Message{"subject", {}, std::move(data), {}, status};
}

TEST(PendingRequests, GivesEachAnswerToItsCallerOnce) {
  PendingRequests pending;
  const auto one = std::make_shared<Answers>();
  const auto two = std::make_shared<Answers>();
  const std::string first = pending.add("a", one, 7, false);
  const std::string second = pending.add("a", two, 8, false);
  EXPECT_NE(first, second);
  pending.answer(second, saying("to two"));
  pending.answer(first, saying("to one"));
  pending.answer(first, saying("again"));
  pending.answer("unknown", saying("nobody"));
  const auto answer = one->take(in(0ms));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->index, 7U);
  EXPECT_EQ(answer->message->data, "to one");
  EXPECT_FALSE(one->take(in(0ms)));
  EXPECT_EQ(two->take(in(0ms))->message->data, "to two");
}

TEST(PendingRequests, KeepsOneThatHasManyAnswers) {
  PendingRequests pending;
  const auto answers = std::make_shared<Answers>();
  const std::string token = pending.add("a", answers, 0, true);
  pending.answer(token, saying("1"));
  pending.answer(token, saying("2"));
  pending.remove(token);
  pending.answer(token, saying("3"));
  EXPECT_EQ(answers->take(in(0ms))->message->data, "1");
  EXPECT_EQ(answers->take(in(0ms))->message->data, "2");
  EXPECT_FALSE(answers->take(in(0ms)));
}

TEST(PendingRequests, TellsThatNobodyAnswers) {
  PendingRequests pending;
  const auto answers = std::make_shared<Answers>();
  pending.answer(pending.add("who.is.there", answers, 0, false), saying("", 503));
  const auto answer = answers->take(in(0ms));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message.error().code, Code::Unavailable);
  EXPECT_NE(answer->message.error().message.find("who.is.there"), std::string::npos);
}

TEST(PendingRequests, RefusesAllOfOneSubject) {
  PendingRequests pending;
  const auto answers = std::make_shared<Answers>();
  const std::string token = pending.add("a", answers, 1, false);
  static_cast<void>(pending.add("a", answers, 2, true));
  const std::string other = pending.add("b", answers, 3, false);
  const Error error{Code::PermissionDenied, "no", {}, {}};
  EXPECT_TRUE(pending.refuse("a", error));
  EXPECT_FALSE(pending.refuse("a", error));
  pending.answer(token, saying("too late"));
  EXPECT_EQ(answers->take(in(0ms))->message.error().code, Code::PermissionDenied);
  EXPECT_EQ(answers->take(in(0ms))->message.error().code, Code::PermissionDenied);
  EXPECT_FALSE(answers->take(in(0ms)));
  pending.answer(other, saying("in time"));
  EXPECT_EQ(answers->take(in(0ms))->index, 3U);
}

TEST(PendingRequests, EndsAll) {
  PendingRequests pending;
  const auto answers = std::make_shared<Answers>();
  static_cast<void>(pending.add("a", answers, 1, false));
  static_cast<void>(pending.add("b", answers, 2, false));
  pending.fail_all(Error{Code::Unavailable, "lost", {}, {}});
  pending.fail_all(Error{Code::Unavailable, "lost", {}, {}});
  EXPECT_FALSE(answers->take(in(0ms))->message);
  EXPECT_FALSE(answers->take(in(0ms))->message);
  EXPECT_FALSE(answers->take(in(0ms)));
}

TEST(Answers, WaitForAnotherThread) {
  Answers answers;
  std::thread other([&] { answers.put({4, saying("x")}); });
  const auto answer = answers.take(in(10s));
  other.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->index, 4U);
}

}  // namespace
}  // namespace mesh::bus
