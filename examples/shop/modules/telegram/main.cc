// Does the work of the seat telegram-sender: for each `send` one line that stands for a text sent,
// and the event `delivered`. Plain libnats with nothing of Mesh but the environment: it binds to
// the seat's queue, which hands each piece of work to one holder, and never creates anything.
#include <nats/nats.h>
#include <openssl/hmac.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::json;

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* owned) const {
    destroy(owned);
  }
};
using Options = std::unique_ptr<natsOptions, Destroy<natsOptions_Destroy>>;
using Connection = std::unique_ptr<natsConnection, Destroy<natsConnection_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroy<natsSubscription_Destroy>>;
using Message = std::unique_ptr<natsMsg, Destroy<natsMsg_Destroy>>;

constexpr std::string_view kSeat = "telegram-sender";
constexpr int kAnswerWithin = 2000;  // milliseconds
constexpr int kAttempts = 10;

std::atomic<bool> stopping = false;

void say(const std::string& text) {
  std::cout << text << std::endl;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The bytes of a file that the environment names; empty when there is none.
std::string file_of(const char* name) {
  std::ifstream file(variable(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Where the seat's work comes from: the stream and the consumer, out of MESH_SEATS.
struct Queue {
  std::string stream;
  std::string consumer;
};

std::optional<Queue> queue_of(std::string_view seat) {
  for (const std::string& entry : split(variable("MESH_SEATS"), ',')) {
    const auto pair = split(entry, '=');
    if (pair.size() == 2 && pair[0] == seat) {
      const auto names = split(pair[1], '.');
      return Queue{names.front(), names.back()};
    }
  }
  return std::nullopt;
}

/// The connection as this instance; null when there is none. libnats gives up for good when the
/// password was changed: the program then ends, and is started again with the new one.
Connection join() {
  natsOptions* made = nullptr;
  natsOptions_Create(&made);
  const Options options(made);
  const auto servers = split(variable("MESH_BUS"), ',');
  std::vector<const char*> urls;
  urls.reserve(servers.size());
  for (const std::string& server : servers) {
    urls.push_back(server.c_str());
  }
  natsOptions_SetServers(made, urls.data(), static_cast<int>(urls.size()));
  natsOptions_SetUserInfo(made, variable("MESH_USER").c_str(),
                          file_of("MESH_PASSWORD_FILE").c_str());
  natsOptions_SetCustomInboxPrefix(made, variable("MESH_INBOX").c_str());
  natsOptions_SetName(made, (variable("MESH_USER") + "." + variable("MESH_COMPONENT")).c_str());
  natsOptions_SetMaxReconnect(made, -1);
  natsOptions_SetReconnectWait(made, 500);
  natsOptions_SetSendAsap(made, true);
  if (const std::string ca = variable("MESH_CA_FILE"); !ca.empty()) {
    natsOptions_SetSecure(made, true);
    natsOptions_LoadCATrustedCertificates(made, ca.c_str());
  }
  natsConnection* connection = nullptr;
  if (const natsStatus status = natsConnection_Connect(&connection, made); status != NATS_OK) {
    say(std::string("cannot connect: ") + natsStatus_GetText(status));
  }
  return Connection(connection);
}

/// An id that nobody without this module's key can make, the same for the same key: the stream
/// stores a repetition once.
std::string id_of(const std::string& event, const std::string& key) {
  const std::string secret = file_of("MESH_KEY_FILE");
  const std::string text = event + '\0' + key;
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  std::array<unsigned char, 64> printed{};
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(), nullptr);
  EVP_EncodeBlock(printed.data(), hash.data(), 32);
  std::string id(reinterpret_cast<const char*>(printed.data()), 32);
  for (char& c : id) {
    c = c == '+' ? '-' : c == '/' ? '_' : c;
  }
  return id;
}

std::string data_of(const natsMsg* message) {
  return {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

/// True when the stream says that the event is stored; asked again while no answer comes.
bool emit(natsConnection* bus, const std::string& event, const Json& data, const std::string& key) {
  const std::string subject = "mesh.seat." + std::string(kSeat) + ".event." + event;
  const std::string text = data.dump();
  natsMsg* made = nullptr;
  natsMsg_Create(&made, subject.c_str(), nullptr, text.data(), static_cast<int>(text.size()));
  const Message message(made);
  natsMsgHeader_Set(made, "Nats-Msg-Id", id_of(event, key).c_str());
  for (int left = kAttempts; left > 0; --left) {
    natsMsg* got = nullptr;
    const natsStatus status = natsConnection_RequestMsg(&got, bus, made, kAnswerWithin);
    const Message answer(got);
    if (status == NATS_OK) {
      const Json stored = Json::parse(data_of(got), nullptr, false);
      return stored.is_object() && stored.contains("seq") && !stored.contains("error");
    }
    if (status != NATS_TIMEOUT) {
      nats_Sleep(200);
    }
  }
  return false;
}

/// Answers a piece of work: "+ACK", "-NAK" (again, later) or "+TERM" (never again). A reply subject
/// is the sender's choice, so nothing is ever sent to one that is not of this seat's own queue.
void answer(natsConnection* bus, const Queue& queue, natsMsg* work, const char* verdict) {
  const std::string reply = natsMsg_GetReply(work) == nullptr ? "" : natsMsg_GetReply(work);
  if (!reply.starts_with("$JS.ACK." + queue.stream + "." + queue.consumer + ".")) {
    say("not answered, its reply subject is not this queue's: " + reply);
    return;
  }
  natsMsg* got = nullptr;
  natsConnection_RequestString(&got, bus, reply.c_str(), verdict, kAnswerWithin);
  natsMsg_Destroy(got);
}

/// One text sent, as far as an example sends texts.
void work_on(natsConnection* bus, const Queue& queue, natsMsg* work) {
  const Json text = Json::parse(data_of(work), nullptr, false);
  if (!text.is_object() || !text.value("text", Json()).is_string() ||
      !text.value("order", Json()).is_string()) {
    say("refused telegram-sender.send: a text and an order are needed");
    return answer(bus, queue, work, "+TERM");
  }
  const std::string order = text["order"].get<std::string>();
  say("did telegram-sender.send " + order + " \"" + text["text"].get<std::string>() + "\"");
  if (!emit(bus, "delivered", {{"order", order}}, order)) {
    say("telegram-sender:delivered was not stored; the work comes again");
    return answer(bus, queue, work, "-NAK {\"delay\": 1000000000}");
  }
  say("emitted telegram-sender:delivered " + order);
  answer(bus, queue, work, "+ACK");
}

/// Works until told to stop; what was handed out and not started is given back. False when the
/// connection is gone for good.
bool work_until_stopped(natsConnection* bus, natsSubscription* subscription, const Queue& queue) {
  while (true) {
    natsMsg* got = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&got, subscription, 200);
    const Message work(got);
    if (status == NATS_OK && !stopping) {
      work_on(bus, queue, got);
    } else if (status == NATS_OK) {
      answer(bus, queue, got, "-NAK");
    } else if (stopping) {
      return true;
    } else if (status != NATS_TIMEOUT) {
      say(std::string("the bus is gone: ") + natsStatus_GetText(status));
      return false;
    }
    if (stopping) {
      natsSubscription_Drain(subscription);
    }
  }
}

}  // namespace

int main() {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::signal(signal, [](int) { stopping = true; });
  }
  const auto queue = queue_of(kSeat);
  const Connection bus = join();
  if (!queue || !bus) {
    return EXIT_FAILURE;
  }
  natsSubscription* made = nullptr;
  const std::string subject = "_DELIVER." + queue->consumer;
  natsConnection_QueueSubscribeSync(&made, bus.get(), subject.c_str(), queue->consumer.c_str());
  const Subscription subscription(made);
  say("holds telegram-sender");
  const bool orderly = work_until_stopped(bus.get(), made, *queue);
  natsConnection_Flush(bus.get());
  say("stopped");
  return orderly ? EXIT_SUCCESS : EXIT_FAILURE;
}
