#include "bus/connection.h"

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/contract/servers.h"

namespace mesh::bus {
namespace {

using test::as;
using test::NatsServer;
using namespace std::chrono_literals;

/// What came, and a wait for it.
class Heard {
 public:
  void put(Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    came_.notify_all();
  }
  std::vector<Message> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, 5s, [&] { return messages_.size() >= count; });
    return messages_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Message> messages_;
};

class ConnectionOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto server = NatsServer::start(GetParam(), test::kSmallServer);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::make_unique<NatsServer>(*std::move(server));
  }
  Connection connect(const std::string& user) {
    auto connection = Connection::connect(as(*server_, user));
    if (!connection) {
      throw std::runtime_error(connection.error().message);
    }
    return *std::move(connection);
  }

  std::unique_ptr<NatsServer> server_;
};

TEST_P(ConnectionOn, TellsWhyItCannotConnect) {
  ConnectOptions options = as(*server_, "admin");
  options.password = "not-this-one";
  auto refused = Connection::connect(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_NE(refused.error().message.find("refused the login of admin"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("not-this-one"), std::string::npos);
  options.urls = {"nats://127.0.0.1:1"};
  EXPECT_EQ(Connection::connect(options).error().code, Code::Unavailable);
  options.urls = {};
  EXPECT_EQ(Connection::connect(options).error().code, Code::InvalidArgument);
}

TEST_P(ConnectionOn, TriesTheNextAddress) {
  ConnectOptions options = as(*server_, "admin");
  options.urls = {"nats://127.0.0.1:1", server_->url()};
  EXPECT_TRUE(Connection::connect(options));
}

TEST_P(ConnectionOn, AnswersOneRequest) {
  Connection admin = connect("admin");
  Connection other = connect("admin");
  auto subscription = other.subscribe("echo", "", [&](const Message& message) {
    const Header header{"Kind", std::string(message.header("Asks"))};
    EXPECT_TRUE(other.publish(message.reply, message.data + "!", {&header, 1}));
  });
  ASSERT_TRUE(subscription);
  ASSERT_TRUE(other.flush(5s));
  const Header header{"Asks", "nicely"};
  auto answer = admin.request("echo", "hello", 5s, {&header, 1});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->data, "hello!");
  EXPECT_EQ(answer->header("Kind"), "nicely");
  EXPECT_EQ(answer->status, 0);
}

TEST_P(ConnectionOn, TellsThatNobodyAnswers) {
  Connection admin = connect("admin");
  auto answer = admin.request("nobody.here", "", 5s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::Unavailable);
  EXPECT_NE(answer.error().message.find("nobody.here"), std::string::npos);
}

TEST_P(ConnectionOn, TimesOut) {
  Connection admin = connect("admin");
  auto silent = admin.subscribe("silent", "", [](const Message&) {});
  ASSERT_TRUE(silent);
  auto answer = admin.request("silent", "", 50ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::Timeout);
}

TEST_P(ConnectionOn, TellsARefusedRequestFromATimeout) {
  Connection small = connect("small");
  const auto before = std::chrono::steady_clock::now();
  auto answer = small.request("must.not", "", 20s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::PermissionDenied);
  EXPECT_NE(answer.error().message.find("must.not"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
  EXPECT_TRUE(small.is_connected());
  EXPECT_TRUE(small.flush(5s)) << "a request's refusal is told once";
}

TEST_P(ConnectionOn, TellsRefusalsAtTheFlush) {
  Connection small = connect("small");
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(small.publish("may.pub", "x"));
    ASSERT_TRUE(small.flush(5s)) << round;
    ASSERT_TRUE(small.publish("must.not", "x"));
    auto refused = small.flush(5s);
    ASSERT_FALSE(refused) << round;
    EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  }
  ASSERT_TRUE(small.publish("must.not." + std::string(400, 'x'), ""));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(small.flush(5s)) << "a long subject, which libnats cuts in the text it keeps";
  EXPECT_LT(std::chrono::steady_clock::now() - before, 1500ms);
  auto heard = small.subscribe("must.not.hear", "", [](const Message&) {});
  ASSERT_TRUE(heard);
  auto refused = small.flush(5s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("not hear must.not.hear"), std::string::npos);
}

TEST_P(ConnectionOn, TellsWhoMayNotHearAnswers) {
  ConnectOptions options = as(*server_, "small");
  options.inbox = "_INBOX.another";
  auto small = Connection::connect(options);
  ASSERT_TRUE(small);
  auto answer = small->request("may.pub", "", 20s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::PermissionDenied);
  EXPECT_NE(answer.error().message.find("_INBOX.another."), std::string::npos);
}

TEST_P(ConnectionOn, RefusesWhatCannotBeSent) {
  Connection admin = connect("admin");
  EXPECT_EQ(admin.publish("two words", "").error().code, Code::InvalidArgument);
  EXPECT_EQ(admin.publish("", "").error().code, Code::InvalidArgument);
  EXPECT_EQ(admin.publish("a", "", {}, "x\r\nPUB b 0").error().code, Code::InvalidArgument);
  const Header header{"Name", "x\r\nOther: y"};
  EXPECT_EQ(admin.publish("a", "", {&header, 1}).error().code, Code::InvalidArgument);
  EXPECT_EQ(admin.publish("a", std::string(2'000'000, 'x')).error().code, Code::InvalidArgument);
  EXPECT_TRUE(admin.flush(5s));
}

TEST_P(ConnectionOn, KeepsManyRequestsInFlight) {
  Connection admin = connect("admin");
  Connection other = connect("admin");
  auto subscription = other.subscribe("number.*", "", [&](const Message& message) {
    if (message.data != "7") {
      EXPECT_TRUE(other.publish(message.reply, message.data));
    }
  });
  ASSERT_TRUE(subscription && other.flush(5s));
  std::vector<Request> requests;
  for (int i = 0; i < 5000; ++i) {
    requests.push_back({fmt::format("number.{}", i), std::to_string(i), {}});
  }
  requests[9].subject = "nobody.9";
  std::vector<int> seen(requests.size(), 0);
  admin.request_many(requests, 64, 500ms, [&](std::size_t index, const Result<Message>& answer) {
    ++seen[index];
    if (index == 7) {
      EXPECT_EQ(answer.error().code, Code::Timeout);
    } else if (index == 9) {
      EXPECT_EQ(answer.error().code, Code::Unavailable);
    } else {
      EXPECT_TRUE(answer && answer->data == std::to_string(index)) << index;
    }
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 5000);
}

TEST_P(ConnectionOn, TakesSeveralAnswers) {
  Connection admin = connect("admin");
  auto subscription = admin.subscribe("many", "", [&](const Message& message) {
    for (const char* part : {"a", "b", "c"}) {
      EXPECT_TRUE(admin.publish(message.reply, part));
    }
  });
  ASSERT_TRUE(subscription);
  std::string all;
  EXPECT_TRUE(admin.request_stream("many", "", 5s, [&](const Message& answer) {
    all += answer.data;
    return all.size() < 3 ? Milliseconds{5000} : Milliseconds{0};
  }));
  EXPECT_EQ(all, "abc");
}

TEST_P(ConnectionOn, SharesAQueue) {
  Connection admin = connect("admin");
  Heard one;
  Heard two;
  {
    auto first =
        admin.subscribe("work", "q", [&](Message message) { one.put(std::move(message)); });
    auto second =
        admin.subscribe("work", "q", [&](Message message) { two.put(std::move(message)); });
    ASSERT_TRUE(first && second);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(admin.publish("work", ""));
    }
    ASSERT_TRUE(admin.publish("work", "last"));
    ASSERT_TRUE(admin.flush(5s));
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    while (one.wait(0).size() + two.wait(0).size() < 101 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(one.wait(0).size() + two.wait(0).size(), 101U);
  ASSERT_TRUE(admin.publish("work", "nobody hears it"));
  ASSERT_TRUE(admin.flush(5s));
  EXPECT_EQ(one.wait(0).size() + two.wait(0).size(), 101U);
}

TEST_P(ConnectionOn, ASubscriptionMayEndItself) {
  Connection admin = connect("admin");
  Heard heard;
  Subscription subscription;
  // Shared with the callback, which lets go of it after the test has heard.
  const auto mutex = std::make_shared<std::mutex>();
  {
    const std::lock_guard lock(*mutex);
    auto made = admin.subscribe("once", "", [&, mutex](Message message) {
      const std::lock_guard inner(*mutex);
      subscription = Subscription{};
      heard.put(std::move(message));
    });
    ASSERT_TRUE(made);
    subscription = *std::move(made);
  }
  ASSERT_TRUE(admin.publish("once", "1"));
  EXPECT_EQ(heard.wait(1).size(), 1U);
}

TEST_P(ConnectionOn, FailsAtOnceWhenTheServerDies) {
  Connection admin = connect("admin");
  auto silent = admin.subscribe("silent", "", [&](const Message&) { server_->kill(); });
  ASSERT_TRUE(silent);
  auto answer = admin.request("silent", "", 30s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::Unavailable);
  EXPECT_EQ(admin.request("silent", "", 30s).error().code, Code::Unavailable);
  EXPECT_EQ(admin.publish("silent", "").error().code, Code::Unavailable);
  EXPECT_FALSE(admin.is_connected());
}

TEST_P(ConnectionOn, ComesBackWhereItShould) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Link> links;
  ConnectOptions options = as(*server_, "admin");
  options.reconnect = true;
  options.on_link = [&](Link link) {
    const std::lock_guard lock(mutex);
    links.push_back(link);
    changed.notify_all();
  };
  auto admin = Connection::connect(options);
  ASSERT_TRUE(admin);
  Heard heard;
  auto kept = admin->subscribe("kept", "", [&](Message message) { heard.put(std::move(message)); });
  ASSERT_TRUE(kept);
  ASSERT_TRUE(admin->request("$JS.API.INFO", "", 5s));
  ASSERT_TRUE(server_->restart());
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 20s, [&] { return links.size() == 2; }));
    EXPECT_EQ(links, (std::vector{Link::Lost, Link::Back}));
  }
  ASSERT_TRUE(admin->request("$JS.API.INFO", "", 5s)) << "its inbox came back too";
  ASSERT_TRUE(admin->publish("kept", "again"));
  EXPECT_EQ(heard.wait(1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Servers, ConnectionOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
