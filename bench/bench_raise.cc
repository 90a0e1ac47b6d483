/// bench_raise URL USER PASSWORD ROUNDS: takes the consumers that `EVENTS` has, removes them, and
/// makes them again, in turn by Mesh's own code and by a bare loop over the client library that
/// keeps as many requests in flight and looks at nothing. Prints the rates of each round as JSON.
#include <nats/nats.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bus/connection.h"
#include "bus/jetstream.h"

namespace {

namespace bus = mesh::bus;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kInFlight = 64;

double rate(std::size_t count, Clock::time_point since) {
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - since).count();
}

/// The configuration that was asked for, out of the echo: without what the server adds.
nlohmann::json as_asked(nlohmann::json config) {
  if (config.contains("metadata")) {
    for (const auto* key : {"_nats.ver", "_nats.level", "_nats.req.level"}) {
      config["metadata"].erase(key);
    }
  }
  return config;
}

double by_mesh(bus::JetStream& jetstream, const std::vector<bus::WantedConsumerConfig>& wanted) {
  std::size_t made = 0;
  const auto start = Clock::now();
  jetstream.raise_consumers(wanted, bus::Raise::Create, [&](std::size_t, const auto& echo) {
    if (echo) {
      ++made;
    }
  });
  return made == wanted.size() ? rate(made, start) : 0;
}

struct Bare {
  std::mutex mutex;
  std::condition_variable answered;
  std::size_t answers = 0;

  static void on_answer(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    auto* self = static_cast<Bare*>(closure);
    natsMsg_Destroy(message);
    const std::lock_guard lock(self->mutex);
    ++self->answers;
    self->answered.notify_one();
  }
};

double by_bare_loop(natsConnection* connection, const std::vector<bus::Request>& requests) {
  Bare bare;
  natsSubscription* subscription = nullptr;
  if (natsConnection_Subscribe(&subscription, connection, "_INBOX.bare.*", Bare::on_answer,
                               &bare) != NATS_OK) {
    return 0;
  }
  const auto start = Clock::now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    {
      std::unique_lock lock(bare.mutex);
      bare.answered.wait(lock, [&] { return i - bare.answers < kInFlight; });
    }
    const auto inbox = "_INBOX.bare." + std::to_string(i);
    natsConnection_PublishRequest(connection, requests[i].subject.c_str(), inbox.c_str(),
                                  requests[i].payload.data(),
                                  static_cast<int>(requests[i].payload.size()));
  }
  {
    std::unique_lock lock(bare.mutex);
    bare.answered.wait(lock, [&] { return bare.answers == requests.size(); });
  }
  const double found = rate(requests.size(), start);
  natsSubscription_Destroy(subscription);
  return found;
}

natsConnection* bare_connection(char** argv) {
  natsOptions* options = nullptr;
  natsConnection* connection = nullptr;
  natsOptions_Create(&options);
  natsOptions_SetURL(options, argv[1]);
  natsOptions_SetUserInfo(options, argv[2], argv[3]);
  natsOptions_SetSendAsap(options, true);
  natsConnection_Connect(&connection, options);
  natsOptions_Destroy(options);
  return connection;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_raise URL USER PASSWORD ROUNDS\n");
    return 64;
  }
  bus::ConnectOptions options;
  options.urls = {argv[1]};
  options.user = argv[2];
  options.password = argv[3];
  auto connection = bus::Connection::connect(options);
  auto* bare = bare_connection(argv);
  if (!connection || bare == nullptr) {
    std::fprintf(stderr, "cannot connect\n");
    return 69;
  }
  bus::JetStream jetstream(*connection, bus::Milliseconds{60'000});
  const auto consumers = jetstream.consumers("EVENTS");
  if (!consumers || consumers->empty()) {
    std::fprintf(stderr, "no consumers\n");
    return 1;
  }
  std::vector<bus::WantedConsumerConfig> wanted;
  std::vector<bus::Request> requests;
  for (const auto& consumer : *consumers) {
    wanted.push_back({"EVENTS", as_asked(consumer.config)});
    requests.push_back(bus::consumer_request(wanted.back(), bus::Raise::Create));
  }
  const auto remove_all = [&] {
    std::vector<bus::Request> removals;
    for (const auto& consumer : *consumers) {
      removals.push_back({"$JS.API.CONSUMER.DELETE.EVENTS." + consumer.name, "", {}});
    }
    connection->request_many(removals, kInFlight, bus::Milliseconds{60'000},
                             [](std::size_t, const auto&) {});
  };
  nlohmann::json rounds = nlohmann::json::array();
  for (int i = 0; i < std::stoi(argv[4]); ++i) {
    remove_all();
    const double ours = by_mesh(jetstream, wanted);
    remove_all();
    const double theirs = by_bare_loop(bare, requests);
    rounds.push_back({{"mesh", ours}, {"bare", theirs}});
  }
  std::printf("%s\n",
              nlohmann::json({{"consumers", wanted.size()}, {"rounds", rounds}}).dump().c_str());
  natsConnection_Destroy(bare);
  return 0;
}
