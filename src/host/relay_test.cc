#include "host/relay.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace mesh::host {
namespace {

sockaddr_in at(const char* host, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &out.sin_addr);
  return out;
}

const sockaddr* any(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT
}

/// A server that sends back what it gets, until its peer is done.
class Echo {
 public:
  Echo() {
    listener_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto where = at("127.0.0.1", 0);
    EXPECT_EQ(::bind(listener_.get(), any(where), sizeof where), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size);  // NOLINT
    port = ntohs(bound.sin_port);
    thread_ = std::thread([this] {
      const os::Fd peer(::accept(listener_.get(), nullptr, nullptr));
      std::array<char, 4096> bytes{};
      ssize_t got = 0;
      while ((got = ::recv(peer.get(), bytes.data(), bytes.size(), 0)) > 0) {
        for (ssize_t sent = 0; sent < got;) {
          const auto some = ::send(peer.get(), bytes.data() + sent,
                                   static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
          if (some <= 0) {
            return;
          }
          sent += some;
        }
      }
    });
  }
  ~Echo() { thread_.join(); }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  int port = 0;

 private:
  os::Fd listener_;
  std::thread thread_;
};

TEST(RelayTest, CarriesEveryByteAndTheEnd) {
  Echo echo;
  const auto relay = Relay::start("127.9.8.7", echo.port);
  ASSERT_TRUE(relay) << relay.error().message;
  const os::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto where = at("127.9.8.7", echo.port);
  ASSERT_EQ(::connect(fd.get(), any(where), sizeof where), 0);
  std::string sent(1U << 20U, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<char>(i * 31 + i / 251);
  }
  std::thread writer([&] {
    for (std::size_t done = 0; done < sent.size();) {
      const auto some = ::send(fd.get(), sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
      ASSERT_GT(some, 0);
      done += static_cast<std::size_t>(some);
    }
    ::shutdown(fd.get(), SHUT_WR);
  });
  std::string back;
  std::array<char, 4096> bytes{};
  ssize_t got = 0;
  while ((got = ::recv(fd.get(), bytes.data(), bytes.size(), 0)) > 0) {
    back.append(bytes.data(), static_cast<std::size_t>(got));
  }
  writer.join();
  EXPECT_EQ(got, 0);
  EXPECT_TRUE(back == sent);
}

TEST(RelayTest, ALoopbackAddressIsKnown) {
  EXPECT_EQ(loopback_port("nats://127.0.0.1:4222"), 4222);
  EXPECT_EQ(loopback_port("nats://localhost:1"), 1);
  EXPECT_EQ(loopback_port("nats://10.0.0.1:4222"), 0);
  EXPECT_EQ(loopback_port("tls://bus.example:4222"), 0);
  EXPECT_EQ(loopback_port("nats://127.0.0.1"), 0);
}

}  // namespace
}  // namespace mesh::host
