#include "bus/nats_message.h"

#include <gtest/gtest.h>

namespace mesh::bus {
namespace {

TEST(Subject, IsChecked) {
  for (const char* good : {"a", "a.b", "$JS.API.CONSUMER.CREATE.S.c.>", "mesh.*.x", "é"}) {
    EXPECT_TRUE(check_subject(good)) << good;
  }
  for (const char* bad : {"", "a b", "a\r\nPUB b 0", "a\t", "a\x7f"}) {
    EXPECT_FALSE(check_subject(bad)) << bad;
  }
  EXPECT_FALSE(check_subject(std::string_view("a\0b", 3)));
}

TEST(NatsMessage, ComesBackAsItWas) {
  ASSERT_EQ(nats_Open(-1), NATS_OK);
  const Header headers[] = {{"B", "1"}, {"A", "x"}, {"B", "2"}};
  const std::string payload("\0bytes\xff", 7);
  const auto made = make_message("a.b", "c.d", payload, headers);
  ASSERT_TRUE(made) << made.error().message;
  const Message read = read_message(made->get());
  EXPECT_EQ(read.subject, "a.b");
  EXPECT_EQ(read.reply, "c.d");
  EXPECT_EQ(read.data, payload);
  EXPECT_EQ(read.header("A"), "x");
  EXPECT_EQ(read.header("B"), "2") << "the last of several";
  EXPECT_EQ(read.header("b"), "");
  EXPECT_EQ(read.headers.size(), 3U);
  EXPECT_EQ(read.status, 0);
}

TEST(NatsMessage, RefusesWhatWouldBeReadAsSomethingElse) {
  ASSERT_EQ(nats_Open(-1), NATS_OK);
  const Header bad[] = {{"", "x"}, {"a:b", "x"}, {"a\nb", "x"}, {"a", "x\r\ny: z"}};
  for (const Header& header : bad) {
    EXPECT_EQ(make_message("a", "", "", {&header, 1}).error().code, Code::InvalidArgument);
  }
  EXPECT_FALSE(make_message("a", "b c", "", {}));
}

TEST(Refusal, NamesTheSubject) {
  const Refusal publish = read_refusal("Permissions Violation for Publish to \"a.b\"");
  EXPECT_TRUE(publish.publish);
  EXPECT_EQ(publish.subject, "a.b");
  const Refusal hear =
      read_refusal("permissions violation for subscription to \"x.>\" (sid \"3\")");
  EXPECT_FALSE(hear.publish);
  EXPECT_EQ(hear.subject, "x.>");
  EXPECT_EQ(read_refusal("something else").subject, "something else");
}

}  // namespace
}  // namespace mesh::bus
