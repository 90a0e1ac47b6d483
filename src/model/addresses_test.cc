#include "model/addresses.h"

#include <gtest/gtest.h>

namespace mesh::model {
namespace {

TEST(Addresses, HostsAndPorts) {
  EXPECT_EQ(parse_host_port("127.0.0.1:4222")->port, 4222);
  EXPECT_EQ(parse_host_port("[::1]:4222")->host, "::1");
  EXPECT_EQ(parse_host_port("bus.example:1")->host, "bus.example");
  for (const auto* text :
       {"", ":", "a", "a:", "a:0", "a:65536", "a:-1", "a:1x", "::1:4222", "[::1]", "[x]:1", "a b:1",
        "a:1:2", ".a:1", "-a:1", "a..b:1", "[::1:1"}) {
    EXPECT_FALSE(parse_host_port(text)) << text;
  }
}

TEST(Addresses, WhatIsLoopback) {
  for (const auto* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const auto* host : {"0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "example", "127."}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Addresses, BusUrls) {
  EXPECT_EQ(parse_bus_url("nats://10.0.0.1:4222").value(), "nats://10.0.0.1:4222");
  EXPECT_EQ(parse_bus_url("tls://bus.example").value(), "tls://bus.example");
  EXPECT_EQ(parse_bus_url("10.0.0.1:4222").value(), "nats://10.0.0.1:4222");
  for (const auto* text : {"", "nats://", "ws://a", "http://a", "nats://a/b", "nats://u:p@a",
                           "nats://a,nats://b", "nats://a b"}) {
    EXPECT_FALSE(parse_bus_url(text)) << text;
  }
}

TEST(Addresses, APasswordInAUrlIsNotRepeated) {
  EXPECT_EQ(parse_bus_url("nats://user:hunter2@a").error().message.find("hunter2"),
            std::string::npos);
}

TEST(Addresses, Ports) {
  const auto plain = parse_port("8080:80").value();
  EXPECT_EQ(plain.address, "127.0.0.1");
  EXPECT_EQ(plain.host, 8080);
  EXPECT_EQ(plain.container, 80);
  EXPECT_FALSE(plain.udp);
  const auto full = parse_port("[::]:0:53/udp").value();
  EXPECT_EQ(full.address, "::");
  EXPECT_EQ(full.host, 0);
  EXPECT_TRUE(full.udp);
  for (const auto* text : {"", "80", ":80", "80:", "a:80", "80:0", "0:0", "1.2.3:1:1", "::1:1:1",
                           "[1.2.3.4]:1:1", "1:1/tcp", "1:1/", "-1:1", "+1:1", "65536:1"}) {
    EXPECT_FALSE(parse_port(text)) << text;
  }
}

TEST(Addresses, Volumes) {
  EXPECT_EQ(parse_volume("data:/data")->source, "data");
  EXPECT_FALSE(parse_volume("data:/data")->read_only);
  EXPECT_TRUE(parse_volume("/srv/a:/a:ro")->read_only);
  for (const auto* text :
       {"", "data", "data:", ":/data", "data:data", "./a:/a", "a/b:/a", "a:/a:x", "a:/a:ro:ro"}) {
    EXPECT_FALSE(parse_volume(text)) << text;
  }
}

}  // namespace
}  // namespace mesh::model
