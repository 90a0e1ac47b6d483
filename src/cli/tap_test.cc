#include "cli/tap.h"

#include <gtest/gtest.h>

namespace mesh::cli {
namespace {

Json document_of(std::string data) {
  bus::Message message;
  message.subject = "mesh.mod.shop.event.order.placed";
  message.data = std::move(data);
  message.headers = {{"Nats-Msg-Id", "x"}};
  return message_document(message, "2024-01-02T03:04:05Z");
}

TEST(Tap, APayloadThatIsTextIsText) {
  for (const std::string text : {"", "{\"order\":17}", "grün €"}) {
    const auto document = document_of(text);
    EXPECT_EQ(document["data"], text);
    EXPECT_TRUE(document["data_base64"].is_null());
  }
}

TEST(Tap, EveryByteOfAPayloadThatIsNoTextIsThere) {
  const auto document = document_of("\xFF\xFE\x01");
  EXPECT_TRUE(document["data"].is_null());
  EXPECT_EQ(document["data_base64"], "//4B");
  EXPECT_EQ(document.dump(),
            R"({"time":"2024-01-02T03:04:05Z","subject":"mesh.mod.shop.event.order.placed",)"
            R"("reply":null,"headers":[{"name":"Nats-Msg-Id","value":"x"}],"data":null,)"
            R"("data_base64":"//4B"})");
}

}  // namespace
}  // namespace mesh::cli
