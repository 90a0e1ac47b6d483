#include "broker/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

Lines names(Direction direction, const std::string& subject) {
  Lines out;
  const auto all = principals(test::shop_mesh());
  const auto answer = who(all, direction, subject);
  if (!answer) {
    return {answer.error().message};
  }
  for (const auto& able : *answer) {
    EXPECT_FALSE(able.because.empty()) << able.name;
    out.push_back(able.name);
  }
  return out;
}

struct Said {
  std::string verdict;
  Lines because;
};

Said say(const std::string& name, Direction direction, const std::string& subject,
         const model::Mesh& mesh = test::shop_mesh()) {
  const auto all = principals(mesh);
  const auto answer = explain(all, name, direction, subject);
  Said out;
  if (!answer) {
    return {answer.error().message + " (" + answer.error().hint + ")", {}};
  }
  out.verdict = verdict_name(answer->verdict);
  for (const auto& because : answer->because) {
    EXPECT_NE(because.place.file_name(), "") << because.text;
    out.because.push_back(because.text);
  }
  return out;
}

constexpr auto kPublish = Direction::Publish;
constexpr auto kHear = Direction::Hear;

TEST(Who, NamesEveryoneWhoMay) {
  EXPECT_THAT(names(kHear, "mesh.mod.shop.event.order.placed"),
              ElementsAre("controller", "two.audit"));
  EXPECT_THAT(names(kPublish, "mesh.mod.shop.event.order.placed"),
              ElementsAre("controller", "two.shop"));
  EXPECT_THAT(names(kPublish, "mesh.mod.audit.tool.search"),
              ElementsAre("controller", "controller.tools", "two.shop"));
  EXPECT_THAT(names(kPublish, "mesh.node.one.declare"), ElementsAre("controller"));
  EXPECT_THAT(names(kHear, "mesh.node.one.declare"), ElementsAre("controller", "one"));
}

TEST(Who, AnswersThroughWildcards) {
  EXPECT_THAT(names(kHear, "mesh.seat.*.event.>"), ElementsAre("controller", "two.shop"));
  EXPECT_THAT(names(kPublish, "mesh.seat.>"),
              ElementsAre("controller", "one.telegram", "two.shop"));
  EXPECT_THAT(names(kPublish, "$JS.API.CONSUMER.MSG.NEXT.EVENTS.*"),
              ElementsAre("controller", "one.telegram", "two.audit", "two.shop"));
  EXPECT_THAT(names(kPublish, "$JS.API.STREAM.>"), ElementsAre("controller"));
  EXPECT_EQ(names(kHear, ">").size(), 7U);
}

TEST(Who, RefusesWhatIsNoSubject) {
  const auto all = principals(test::small_mesh());
  const auto answer = who(all, kHear, "mesh..x");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::InvalidArgument);
}

TEST(Explain, SaysYesWithTheDeclaration) {
  const auto said = say("two.shop", kPublish, "mesh.mod.audit.tool.search");
  EXPECT_EQ(said.verdict, "yes");
  EXPECT_THAT(said.because, ElementsAre("calls audit.search"));
}

TEST(Explain, SaysFromWhomItComes) {
  const auto said = say("two.audit", kHear, "mesh.mod.shop.event.order.placed");
  EXPECT_EQ(said.verdict, "yes");
  EXPECT_THAT(said.because,
              ElementsAre("consumes shop.order.placed",
                          "mesh.mod.shop.event.order.placed comes from two.shop: emits "
                          "order.placed"));
  EXPECT_THAT(say("two.audit", kHear, "mesh.mod.audit.tool.>").because,
              Contains("mesh.mod.audit.tool.> comes from two.shop: calls audit.search"));
  EXPECT_THAT(say("one", kHear, "mesh.node.one.ask").because,
              Contains(HasSubstr("comes from controller.tools: ")));
  EXPECT_THAT(say("one", kHear, "mesh.node.one.declare").because,
              Contains(HasSubstr("comes from controller: ")));
}

TEST(Explain, SaysPartOfAWiderQuestion) {
  const auto said = say("one.telegram", kPublish, "mesh.seat.telegram-sender.event.*");
  EXPECT_EQ(said.verdict, "part");
  EXPECT_THAT(said.because,
              ElementsAre("mesh.seat.telegram-sender.event.delivered: holds telegram-sender, which "
                          "emits delivered",
                          "mesh.seat.telegram-sender.event.failed: holds telegram-sender, which "
                          "emits failed"));
  EXPECT_EQ(say("controller", kHear, "mesh.>").verdict, "yes");
  EXPECT_EQ(say("two.audit", kHear, "mesh.mod.audit.>").verdict, "part");
  EXPECT_EQ(say("two.audit", kHear, "mesh.mod.audit.tool.*").verdict, "yes");
}

TEST(Explain, SaysNoWithWhatIsMissing) {
  const auto no = [](const std::string& name, Direction direction, const std::string& subject) {
    const auto said = say(name, direction, subject);
    EXPECT_EQ(said.verdict, "no") << name << ' ' << subject;
    return said.because.front();
  };
  EXPECT_EQ(no("one.telegram", kHear, "mesh.mod.shop.event.order.placed"),
            "telegram would have to consume shop.order.placed");
  EXPECT_EQ(no("two.audit", kPublish, "mesh.mod.shop.event.order.placed"),
            "only instances of shop emit its events");
  EXPECT_EQ(no("two.shop", kPublish, "mesh.mod.shop.event.order.gone"),
            "shop would have to emit order.gone");
  EXPECT_EQ(no("one.telegram", kPublish, "mesh.mod.audit.tool.search"),
            "telegram would have to call audit.search");
  EXPECT_EQ(no("two.audit", kPublish, "mesh.seat.telegram-sender.accept.send"),
            "audit would have to use telegram-sender.send");
  EXPECT_EQ(no("two.audit", kHear, "mesh.seat.telegram-sender.event.failed"),
            "audit would have to consume telegram-sender:failed");
  EXPECT_EQ(no("two.audit", kHear, "mesh.seat.telegram-sender.accept.send"),
            "audit would have to hold telegram-sender, which would have to accept send");
  EXPECT_EQ(no("two.audit", kPublish, "mesh.node.one.declare"),
            "only the controller declares and asks what a machine runs");
  EXPECT_EQ(no("two.audit", kHear, "mesh.mod.shop.tool.price"),
            "only instances of shop hear the calls of its tools");
  EXPECT_EQ(no("two.audit", kPublish, "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_shop"),
            "a consumer is there for the one principal that it is named after");
  EXPECT_EQ(no("two.audit", kPublish, "$JS.API.STREAM.PURGE.EVENTS"),
            "only the controller makes, changes, reads and removes streams and consumers");
  EXPECT_EQ(no("one", kHear, "mesh.mod.shop.event.order.placed"),
            "one has what every node has, and no declaration adds to it");
  EXPECT_EQ(no("two.audit", kPublish, "anything"), "no declaration grants it");
}

TEST(Explain, MentionsAnswersAndWhatHasNoEffect) {
  EXPECT_THAT(say("two.audit", kPublish, "_INBOX.two.shop.x").because,
              Contains(HasSubstr("but it may answer what it is asked: 1 answer")));
  EXPECT_THAT(say("controller", kPublish, "mesh.mod.audit.tool.search").because,
              Contains(HasSubstr("asked as controller.tools")));
  EXPECT_THAT(say("one.telegram", kPublish, "$JS.API.CONSUMER.INFO.EVENTS.one_telegram").because,
              Contains("telegram consumes nothing, so there is no such consumer yet"));
}

TEST(Explain, KnowsNobodyElse) {
  EXPECT_EQ(say("two.audi", kHear, "a").verdict,
            "there is no principal `two.audi` (did you mean `two.audit`?)");
}

}  // namespace
}  // namespace mesh::broker
