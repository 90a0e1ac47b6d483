#include "engine/answers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/streams.h"

namespace mesh::engine {
namespace {

using nlohmann::json;

TEST(Answers, TheCodeFollowsFromStatusAndWords) {
  struct Case {
    int status;
    const char* words;
    Code code;
  };
  for (const Case& one : std::vector<Case>{
           {404, "No such container: x", Code::NotFound},
           {409, "Conflict. The container name \"/x\" is already in use", Code::Conflict},
           {400, "invalid mount config: no space left on device", Code::Resource},
           {400, "invalid reference format", Code::InvalidArgument},
           {403, "access denied", Code::PermissionDenied},
           {501, "not implemented", Code::Unsupported},
           {500, "creating container storage: the container name \"x\" is already in use by 0",
            Code::Conflict},
           {500, "listen tcp 127.0.0.1:80: bind: address already in use", Code::Conflict},
           {500, "Bind for 0.0.0.0:80 failed: port is already allocated", Code::Conflict},
           {500, "write /x: No space left on device", Code::Resource},
           {500, "fork/exec: cannot allocate memory", Code::Resource},
           {500, "exec: \"x\": executable file not found in $PATH", Code::NotFound},
           {500, "reading manifest sha256:0 in x: manifest unknown", Code::NotFound},
           {500, "dial tcp 127.0.0.1:1: connect: connection refused", Code::Unavailable},
           {500, "pinging container registry x: Get: net/http: TLS handshake timeout",
            Code::Unavailable},
           {500, "unable to retrieve auth token: invalid username/password: unauthorized",
            Code::PermissionDenied},
           {500, "something else", Code::Internal},
       }) {
    EXPECT_EQ(code_of(one.status, one.words), one.code) << one.words;
  }
}

TEST(Answers, AnErrorHasTheEnginesWords) {
  const Error error = error_of("starting container x", 500, R"({"message":"it broke\n\u001b[0m"})");
  EXPECT_EQ(error.message, "starting container x: it broke\\x0a\\x1b[0m");
  EXPECT_EQ(error_of("x", 500, "").message, "x, without a word");
  EXPECT_EQ(error_of("x", 502, "<html>").message, "x: <html>");
}

TEST(Answers, WhatIsMissingOrOfAnotherKindIsEmpty) {
  for (const char* text : {"null", "[]", "{}", "3", R"({"State":[],"Config":{"Labels":null}})",
                           R"({"NetworkSettings":{"Ports":{"80/tcp":null}},"Mounts":{}})"}) {
    const json answer = json::parse(text);
    const Inspected inspected = inspected_from(answer);
    EXPECT_TRUE(inspected.id.empty() && inspected.ports.empty() && !inspected.started) << text;
    EXPECT_TRUE(volumes_from(answer).empty());
    EXPECT_EQ(about_from(answer, answer).name, "docker");
  }
  EXPECT_FALSE(time_of("0001-01-01T00:00:00Z"));
  EXPECT_FALSE(time_of(7));
  EXPECT_TRUE(time_of("2026-12-01T00:45:32.735913016Z"));
}

TEST(Answers, TheApisVersionIsOneThatBothHave) {
  const auto api = [](const char* oldest, const char* newest) {
    return about_from({{"ApiVersion", newest}, {"MinAPIVersion", oldest}}, {}).api;
  };
  EXPECT_EQ(api("1.24", "1.41"), "1.41");
  EXPECT_EQ(api("1.24", "1.52"), "1.41");
  EXPECT_EQ(api("1.44", "1.52"), "1.44");
  EXPECT_EQ(api("1.12", "1.38"), "1.38");
}

std::string frame_of(int stream, const std::string& payload) {
  std::string out{static_cast<char>(stream), 0, 0, 0, 0, 0, 0, 0};
  out[6] = static_cast<char>(payload.size() / 256);
  out[7] = static_cast<char>(payload.size() % 256);
  return out + payload;
}

class NoTransfer : public http::Transfer {
 public:
  void resume() override {}
  void cancel(Error error) override { cancelled = std::move(error); }
  std::optional<Error> cancelled;
};

TEST(Streams, FramesBecomeLinesHoweverTheyArrive) {
  const std::string stream = frame_of(1, "T1 one\n") + frame_of(2, "T1 err") +
                             frame_of(1, "T2 \n") + frame_of(2, "T2 or\n") +
                             frame_of(1, "T3 a b \n") + frame_of(1, "T4 cut");
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    const LogQuery query;
    LogSink sink(query);
    NoTransfer transfer;
    ASSERT_TRUE(sink.begin({}, transfer));
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(sink.take(std::string_view(stream).substr(at, step)));
    }
    sink.end();
    const auto lines = sink.take_lines();
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0].text, "one");
    EXPECT_EQ(lines[1].text, "");
    EXPECT_EQ(lines[2].text, "error");
    EXPECT_EQ(lines[2].time, "T1");
    EXPECT_TRUE(lines[2].error && !lines[3].error);
    EXPECT_EQ(lines[3].text, "a b ");
    EXPECT_EQ(lines[4].text, "cut");
  }
}

TEST(Streams, NoMoreIsReadThanWasWanted) {
  LogQuery query;
  query.most_lines = 2;
  LogSink sink(query);
  NoTransfer transfer;
  ASSERT_TRUE(sink.begin({}, transfer));
  ASSERT_TRUE(sink.take(frame_of(1, "T a\n") + frame_of(1, "T b\n") + frame_of(1, "T c\n")));
  EXPECT_TRUE(transfer.cancelled && sink.full());
  sink.end();
  EXPECT_EQ(sink.take_lines().size(), 2U);
  EXPECT_FALSE(LogSink(query).take(std::string("\1\0\0\0\x7f\0\0\0", 8)));
}

TEST(Streams, AnErrorInAPullThatBeganWellIsFound) {
  for (const char* text :
       {"{\"status\":\"x\"}\r\n{\"errorDetail\":{\"message\":\"why\"},\"error\":\"why\"}\r\n",
        "{\"stream\":\"x\"}\n{\"error\":\"why\"}",
        "no json\n{\"error\":\"why\"}\n{\"id\":\"\"}\n"}) {
    PullSink sink;
    for (const char c : std::string_view(text)) {
      ASSERT_TRUE(sink.take(std::string_view(&c, 1)));
    }
    sink.end();
    EXPECT_EQ(sink.trouble(), "why");
  }
  PullSink good;
  ASSERT_TRUE(good.take("{\"status\":\"Download complete\"}\n{\"images\":[\"x\"],\"id\":\"x\"}\n"));
  good.end();
  EXPECT_EQ(good.trouble(), "");
}

}  // namespace
}  // namespace mesh::engine
