#include "bus/jetstream_answers.h"

#include <gtest/gtest.h>

namespace mesh::bus {
namespace {

using nlohmann::json;

Message saying(const json& data) {
  return Message{"s", {}, data.dump(), {}, 0};
}

json error_answer(int code, int number, const char* text) {
  return {{"type", "x"}, {"error", {{"code", code}, {"err_code", number}, {"description", text}}}};
}

struct Case {
  int code;
  int number;
  Code expected;
};

TEST(ApiAnswer, MapsErrors) {
  const Case cases[] = {{404, 10059, Code::NotFound},        {404, 10014, Code::NotFound},
                        {400, 10149, Code::NotFound},        {400, 10148, Code::Conflict},
                        {400, 10058, Code::Conflict},        {400, 10065, Code::Conflict},
                        {503, 10039, Code::Unsupported},     {503, 10076, Code::Unsupported},
                        {400, 10026, Code::Unsupported},     {503, 10008, Code::Unavailable},
                        {429, 10167, Code::Unavailable},     {500, 10052, Code::InvalidArgument},
                        {400, 10025, Code::InvalidArgument}, {400, 99999, Code::InvalidArgument},
                        {412, 10180, Code::Unsupported},     {404, 99999, Code::NotFound}};
  for (const Case& each : cases) {
    const auto read = read_api_answer(saying(error_answer(each.code, each.number, "some text")));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, each.expected) << each.number;
    EXPECT_EQ(api_error_number(read.error()), each.number);
    EXPECT_TRUE(read.error().message.starts_with("some text")) << read.error().message;
  }
}

TEST(ApiAnswer, WithoutWordsIsSaidToBeRefused) {
  const auto read = read_api_answer(saying(error_answer(400, 10025, "")));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "the bus refused it (err_code 10025)");
}

TEST(ApiAnswer, KeepsItsNumberUnderAContext) {
  const auto read = read_api_answer(saying(error_answer(400, 10148, "consumer already exists")));
  ASSERT_FALSE(read);
  const Status wrapped = within("consumer a", read.error());
  EXPECT_EQ(api_error_number(wrapped.error()), 10148);
  EXPECT_EQ(api_error_number(Error{}), 0);
}

TEST(ApiAnswer, MustBeAnObject) {
  for (const char* bad : {"", "[]", "+OK", "{\"a\":", "\"x\""}) {
    const auto read = read_api_answer(Message{"s", {}, bad, {}, 0});
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, Code::Corrupt);
  }
  EXPECT_TRUE(read_api_answer(saying(json{{"success", true}})));
}

TEST(ApiAnswer, OfAnotherTypeIsRead) {
  const json odd{{"config", 3}, {"state", {{"messages", -1}, {"subjects", {1, 2}}}}};
  EXPECT_EQ(read_stream_info(odd).messages, 0U);
  EXPECT_EQ(read_consumer_info(json::array()).name, "");
  EXPECT_EQ(read_account_info(json{}).storage_limit, -1);
  EXPECT_FALSE(read_stored_message(json{{"message", {{"data", "!!"}}}}));
  EXPECT_FALSE(read_stored_message(json{{"message", 1}}));
}

TEST(ConsumerRequest, NamesAConsumerTwice) {
  const Request request =
      consumer_request({"EVENTS", {{"name", "one_a"}, {"ack_policy", "explicit"}}}, Raise::Create);
  EXPECT_EQ(request.subject, "$JS.API.CONSUMER.CREATE.EVENTS.one_a");
  const json body = json::parse(request.payload);
  EXPECT_EQ(body["action"], "create");
  EXPECT_EQ(body["stream_name"], "EVENTS");
  EXPECT_EQ(body["config"]["name"], "one_a");
  EXPECT_EQ(body["config"]["durable_name"], "one_a");
}

TEST(ConsumerRequest, PutsASingleFilterIntoTheSubject) {
  const Request one =
      consumer_request({"S", {{"name", "c"}, {"filter_subject", "a.*.>"}}}, Raise::Update);
  EXPECT_EQ(one.subject, "$JS.API.CONSUMER.CREATE.S.c.a.*.>");
  EXPECT_EQ(json::parse(one.payload)["action"], "update");
  const Request many =
      consumer_request({"S", {{"name", "c"}, {"filter_subjects", {"a", "b"}}}}, Raise::Create);
  EXPECT_EQ(many.subject, "$JS.API.CONSUMER.CREATE.S.c");
}

TEST(StoredMessage, IsDecoded) {
  const json answer{{"message",
                     {{"subject", "a.b"},
                      {"seq", 9},
                      {"hdrs", "TkFUUy8xLjANCkE6IGI6Yw0KQTpkDQoNCg=="},
                      {"data", "AAH/"},
                      {"time", "2026-01-01T00:00:00Z"}}}};
  const auto read = read_stored_message(answer);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->data, std::string("\0\1\xff", 3));
  EXPECT_EQ(read->sequence, 9U);
  ASSERT_EQ(read->headers.size(), 2U);
  EXPECT_EQ(read->headers[0].value, "b:c");
  EXPECT_EQ(read->headers[1].value, "d");
}

TEST(HeaderBlock, IsReadWhateverItHolds) {
  EXPECT_TRUE(read_header_block("").empty());
  EXPECT_TRUE(read_header_block("NATS/1.0\r\n\r\n").empty());
  EXPECT_TRUE(read_header_block("NATS/1.0 404 No\r\n\r\n").empty());
  const auto headers = read_header_block("NATS/1.0\r\nA:  b\r\nnothing\r\nC:\r\n");
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].value, "b");
  EXPECT_EQ(headers[1].value, "");
}

}  // namespace
}  // namespace mesh::bus
