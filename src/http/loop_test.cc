#include "http/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "os/interrupt.h"
#include "tests/support/nats_server.h"
#include "tests/support/scripted_http.h"

namespace mesh::http {
namespace {

using test::HttpReply;
using test::HttpRequest;
using test::ScriptedHttp;

const os::SystemClock kClock;

Request get(const std::string& url) {
  Request request;
  request.url = url;
  return request;
}

/// Runs one fetch as the only task of a loop.
Fetched fetch_alone(const Request& request) {
  Loop loop(kClock);
  std::optional<Fetched> got;
  loop.spawn([&] { got = loop.fetch(request); });
  EXPECT_TRUE(loop.run().has_value());
  return std::move(*got);
}

TEST(LoopProxy, OneThatCannotBeReachedIsCalledAProxy) {
  const auto port = test::free_port();
  ::setenv("http_proxy", fmt::format("http://127.0.0.1:{}", port).c_str(), 1);
  const auto got = fetch_alone(get("http://registry.test/v2/"));
  ::unsetenv("http_proxy");
  ASSERT_FALSE(got.has_value());
  const auto& error = got.error().error;
  EXPECT_TRUE(error.message.starts_with("cannot connect to the proxy for registry.test: "))
      << error.message;
  EXPECT_NE(error.hint.find("no_proxy"), std::string::npos) << error.hint;
  const auto place = fmt::format("127.0.0.1:{}", port);
  const auto plain = fetch_alone(get("http://" + place + "/v2/"));
  EXPECT_TRUE(plain.error().error.message.starts_with("cannot connect to " + place + ": "))
      << plain.error().error.message;
}

/// Takes at most `room` bytes and pauses until `more` is called.
class NarrowSink : public Sink {
 public:
  explicit NarrowSink(std::size_t room) : step_(room), room_(room) {}
  Status begin(const Response& head, Transfer& transfer) override {
    status = head.status;
    transfer_ = &transfer;
    return {};
  }
  Result<bool> take(std::string_view bytes) override {
    if (bytes.size() > room_) {
      ++pauses;
      full_ = true;
      return false;
    }
    room_ -= bytes.size();
    body += bytes;
    return true;
  }
  void end() override {
    transfer_ = nullptr;
    ++ends;
  }
  /// Takes as much again, once it has been full.
  void more() {
    if (!full_) {
      return;
    }
    full_ = false;
    room_ += step_;
    if (transfer_ != nullptr) {
      transfer_->resume();
    }
  }
  std::string body;
  int status = 0;
  int pauses = 0;
  int ends = 0;

 private:
  std::size_t step_;
  std::size_t room_;
  bool full_ = false;
  Transfer* transfer_ = nullptr;
};

/// Gives its text in pieces, each only after `more`.
class SlowSource : public Source {
 public:
  explicit SlowSource(std::string text) : text_(std::move(text)) {}
  void begin(Transfer& transfer) override { transfer_ = &transfer; }
  Result<std::optional<std::size_t>> give(std::span<char> room) override {
    const std::size_t count = std::min({room.size(), allowed_ - given_, text_.size() - given_});
    if (count == 0 && given_ < text_.size()) {
      return std::optional<std::size_t>();
    }
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(given_), count, room.begin());
    given_ += count;
    return std::optional<std::size_t>(count);
  }
  void end() override { transfer_ = nullptr; }
  void more(std::size_t bytes) {
    allowed_ = std::min(text_.size(), allowed_ + bytes);
    if (transfer_ != nullptr) {
      transfer_->resume();
    }
  }

 private:
  std::string text_;
  std::size_t allowed_ = 0;
  std::size_t given_ = 0;
  Transfer* transfer_ = nullptr;
};

std::string noise(std::size_t size) {
  std::string out(size, '\0');
  unsigned state = 1;
  for (char& c : out) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24U);
  }
  return out;
}

TEST(Loop, GivesStatusHeadersAndBody) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 201, .headers = {{"X-One", "1"}, {"x-one", "2"}}, .body = "hello"};
  });
  const auto got = fetch_alone(get(server.url("/x?y=1")));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->status, 201);
  EXPECT_EQ(got->headers.get("X-ONE"), "1");
  EXPECT_EQ(got->headers.all("X-One"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(got->body, "hello");
  EXPECT_EQ(server.requests(), std::vector<std::string>{"GET /x?y=1"});
}

TEST(Loop, SendsWhatIsAskedForAndNothingOfLibcurls) {
  HttpRequest seen;
  const ScriptedHttp server([&](const HttpRequest& request) {
    seen = request;
    return HttpReply{};
  });
  Request request = get(server.url("/"));
  request.method = "POST";
  request.headers = {{"X-Mine", "yes"}};
  ASSERT_TRUE(fetch_alone(request).has_value());
  EXPECT_EQ(seen.header("content-length"), "0");
  EXPECT_EQ(seen.header("x-mine"), "yes");
  EXPECT_EQ(seen.header("accept-encoding"), "identity");
  EXPECT_FALSE(seen.headers.contains("content-type"));
  EXPECT_FALSE(seen.headers.contains("expect"));

  request.method = "PUT";
  request.body = noise(300'000);
  ASSERT_TRUE(fetch_alone(request).has_value());
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.body, request.body);
  EXPECT_FALSE(seen.headers.contains("expect"));
}

TEST(Loop, DoesNotFollowRedirects) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 307, .headers = {{"Location", "/elsewhere"}}};
  });
  const auto got = fetch_alone(get(server.url("/")));
  EXPECT_EQ(got->status, 307);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(Loop, ManyTasksShareTheThreadAndConnectionsAreUsedAgain) {
  const ScriptedHttp server(
      [](const HttpRequest& request) { return HttpReply{.body = request.target}; });
  Loop loop(kClock);
  std::set<std::string> bodies;
  for (int task = 0; task < 5; ++task) {
    loop.spawn([&, task] {
      for (int round = 0; round < 20; ++round) {
        const auto got = loop.fetch(get(server.url(fmt::format("/{}/{}", task, round))));
        bodies.insert(got ? got->body : "");
      }
    });
  }
  ASSERT_TRUE(loop.run().has_value());
  EXPECT_EQ(bodies.size(), 100U);
  EXPECT_FALSE(bodies.contains(""));
  EXPECT_LE(server.connections(), 5);
}

TEST(Loop, ASinkThatPausesGetsEveryByteOnce) {
  const std::string body = noise(3'000'000);
  const ScriptedHttp server([&](const HttpRequest&) { return HttpReply{.body = body}; });
  Loop loop(kClock);
  NarrowSink sink(200'000);
  bool done = false;
  Request request = get(server.url("/"));
  request.sink = &sink;
  loop.spawn([&] {
    EXPECT_TRUE(loop.fetch(request).has_value());
    done = true;
  });
  loop.spawn([&] {
    while (!done) {
      EXPECT_TRUE(loop.sleep(os::Milliseconds(1)).has_value());
      sink.more();
    }
  });
  ASSERT_TRUE(loop.run().has_value());
  EXPECT_EQ(sink.body, body);
  EXPECT_GT(sink.pauses, 3);
  EXPECT_EQ(sink.ends, 1);
}

TEST(Loop, ASourceThatPausesSendsEveryByteOnce) {
  std::string received;
  const ScriptedHttp server([&](const HttpRequest& request) {
    received = request.body;
    return HttpReply{.status = 201};
  });
  const std::string body = noise(2'000'000);
  Loop loop(kClock);
  SlowSource source(body);
  bool done = false;
  Request request = get(server.url("/"));
  request.method = "PUT";
  request.source = &source;
  request.length = body.size();
  loop.spawn([&] {
    const auto got = loop.fetch(request);
    EXPECT_EQ(got ? got->status : 0, 201);
    done = true;
  });
  loop.spawn([&] {
    while (!done) {
      EXPECT_TRUE(loop.sleep(os::Milliseconds(1)).has_value());
      source.more(150'000);
    }
  });
  ASSERT_TRUE(loop.run().has_value());
  EXPECT_EQ(received, body);
}

TEST(Loop, ABodyOfAFailureIsKeptAndNotGivenToTheSink) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 404, .body = "not here" + std::string(200'000, '.')};
  });
  NarrowSink sink(1'000'000);
  Request request = get(server.url("/"));
  request.sink = &sink;
  const auto got = fetch_alone(request);
  EXPECT_EQ(got->status, 404);
  EXPECT_EQ(got->body.size(), std::size_t{64} << 10U);
  EXPECT_EQ(sink.ends, 0);
}

TEST(Loop, ABodyAboveItsLimitIsCorrupt) {
  const ScriptedHttp server([](const HttpRequest&) { return HttpReply{.body = noise(5000)}; });
  Request request = get(server.url("/"));
  request.most_body = 4999;
  const auto got = fetch_alone(request);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().error.code, Code::Corrupt);
  EXPECT_EQ(got.error().error.message, server.address() + " sent more than 4999 bytes");
}

TEST(Loop, NobodyThereIsUnavailableAndNamed) {
  const std::string place = fmt::format("127.0.0.1:{}", test::free_port());
  const auto got = fetch_alone(get("http://" + place + "/"));
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().stage, Failure::Stage::Connect);
  EXPECT_EQ(got.error().error.code, Code::Unavailable);
  EXPECT_NE(got.error().error.message.find("cannot connect to " + place), std::string::npos);
}

TEST(Loop, AConnectionThatBreaksInTheMiddleIsUnavailable) {
  const ScriptedHttp server(
      [](const HttpRequest&) { return HttpReply{.body = noise(100'000), .reset_after = 50'000}; });
  NarrowSink sink(1'000'000);
  Request request = get(server.url("/"));
  request.sink = &sink;
  const auto got = fetch_alone(request);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().stage, Failure::Stage::Exchange);
  EXPECT_EQ(got.error().error.code, Code::Unavailable);
  EXPECT_EQ(sink.ends, 1);
}

TEST(Loop, ATransferThatStallsIsEndedAndNamed) {
  const ScriptedHttp server(
      [](const HttpRequest&) { return HttpReply{.body = noise(100'000), .stall_after = 50'000}; });
  Request request = get(server.url("/"));
  request.limits.stall = os::Milliseconds(300);
  const auto got = fetch_alone(request);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().error.code, Code::Unavailable);
  EXPECT_NE(got.error().error.message.find("stalled: "), std::string::npos);
}

TEST(Loop, TimeInWhichItsSinkPausedATransferDoesNotCountAsAStall) {
  const std::string body = noise(900'000);
  const ScriptedHttp server([&](const HttpRequest&) { return HttpReply{.body = body}; });
  Loop loop(kClock);
  NarrowSink sink(300'000);
  Request request = get(server.url("/"));
  request.sink = &sink;
  request.limits.stall = os::Milliseconds(250);
  bool done = false;
  loop.spawn([&] {
    EXPECT_TRUE(loop.fetch(request).has_value());
    done = true;
  });
  loop.spawn([&] {
    while (!done) {
      EXPECT_TRUE(loop.sleep(os::Milliseconds(600)).has_value());
      sink.more();
    }
  });
  ASSERT_TRUE(loop.run().has_value());
  EXPECT_EQ(sink.body, body);
}

TEST(Loop, NoAnswerInTimeIsATimeout) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.headers = {{"Transfer-Encoding", "chunked"}}, .stall_after = 0};
  });
  Request request = get(server.url("/"));
  request.limits.overall = os::Milliseconds(300);
  const auto got = fetch_alone(request);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().error.code, Code::Timeout);
}

TEST(Loop, ASinkThatRefusesEndsTheTransferWithItsError) {
  class Refusing : public NarrowSink {
   public:
    Refusing() : NarrowSink(0) {}
    Result<bool> take(std::string_view) override { return fail(Code::Corrupt, "not that"); }
  };
  const ScriptedHttp server([](const HttpRequest&) { return HttpReply{.body = "x"}; });
  Refusing sink;
  Request request = get(server.url("/"));
  request.sink = &sink;
  const auto got = fetch_alone(request);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().stage, Failure::Stage::Ours);
  EXPECT_EQ(got.error().error.message, "not that");
}

TEST(Loop, AnInterruptEndsAllThatIsUnderWay) {
  const ScriptedHttp server(
      [](const HttpRequest&) { return HttpReply{.body = noise(1000), .stall_after = 500}; });
  os::Interrupt interrupt;
  Loop loop(kClock, {.idle = {}, .stop_fd = interrupt.descriptor(), .timeout = {}});
  int ended = 0;
  Waiters never;
  loop.spawn([&] {
    const auto got = loop.fetch(get(server.url("/")));
    ended += !got && got.error().error.code == Code::Interrupted ? 1 : 0;
  });
  loop.spawn([&] { ended += loop.sleep(std::chrono::hours(1)).has_value() ? 0 : 1; });
  loop.spawn([&] { ended += loop.wait(never).has_value() ? 0 : 1; });
  loop.spawn([&] {
    EXPECT_TRUE(loop.sleep(os::Milliseconds(20)).has_value());
    interrupt.request();
  });
  const Status ran = loop.run();
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code, Code::Interrupted);
  EXPECT_EQ(ended, 3);
}

TEST(Loop, SleepersWakeInTheOrderOfTheirTimeByTheClockThatIsGiven) {
  os::ManualClock clock(os::WallTime{});
  os::Milliseconds passed{0};
  Loop loop(clock, {.idle =
                        [&](os::Milliseconds time) {
                          passed += time;
                          clock.advance(time);
                        },
                    .stop_fd = -1,
                    .timeout = {}});
  std::string order;
  for (const int minutes : {30, 10, 20}) {
    loop.spawn([&, minutes] {
      EXPECT_TRUE(loop.sleep(std::chrono::minutes(minutes)).has_value());
      order += std::to_string(minutes) + " ";
    });
  }
  ASSERT_TRUE(loop.run().has_value());
  EXPECT_EQ(order, "10 20 30 ");
  EXPECT_EQ(passed, std::chrono::minutes(30));
}

TEST(Loop, ItsOwnTimeoutEndsWhatSleeps) {
  os::ManualClock clock(os::WallTime{});
  Loop loop(clock, {.idle = [&](os::Milliseconds time) { clock.advance(time); },
                    .stop_fd = -1,
                    .timeout = os::Milliseconds(5000)});
  loop.spawn([&] { EXPECT_FALSE(loop.sleep(std::chrono::hours(1)).has_value()); });
  const Status ran = loop.run();
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code, Code::Timeout);
}

TEST(Loop, WhatATaskThrowsComesOutOfRun) {
  Loop loop(kClock);
  loop.spawn([] { throw std::bad_alloc(); });
  EXPECT_THROW(static_cast<void>(loop.run().has_value()), std::bad_alloc);
}

}  // namespace
}  // namespace mesh::http
