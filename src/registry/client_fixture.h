#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "os/random.h"
#include "registry/client.h"
#include "tests/support/nats_server.h"
#include "tests/support/scripted_http.h"

/// For tests: a client of scripted registries.
namespace mesh::registry::testing {

inline std::string with_queries(const std::vector<std::string>& requests) {
  std::string out;
  for (const auto& one : requests) {
    out += one + "\n";
  }
  return out;
}

/// A client whose clock jumps over every wait, and what it asks for.
class ClientTest : public ::testing::Test {
 protected:
  ClientTest()
      : loop_(clock_, {.idle =
                           [this](os::Milliseconds time) {
                             waited_ += time;
                             clock_.advance(time);
                           },
                       .stop_fd = -1,
                       .timeout = {}}),
        credentials_(services_) {}

  Client client(const std::string& domain, Access access = {}) {
    return Client({.loop = loop_,
                   .services = services_,
                   .credentials = credentials_,
                   .account = &account_,
                   .domain = domain,
                   .access = std::move(access),
                   .remark = [this](const std::string& line) { remarks_.push_back(line); }});
  }
  /// Does `work` as the only task.
  template <class Work>
  auto in_task(Work work) {
    std::optional<decltype(work())> result;
    loop_.spawn([&] { result = work(); });
    EXPECT_TRUE(loop_.run().has_value());
    return std::move(*result);
  }
  Status download(Client& from, const Expected& expected, std::string* bytes = nullptr) {
    return in_task([&] {
      Window window(expected.size);
      Incoming incoming(expected, &window, {});
      Status done = from.blob("a/b", expected, incoming);
      if (done && bytes != nullptr) {
        bytes->resize(expected.size);
        EXPECT_EQ(window.get(*bytes), expected.size);
      }
      return done;
    });
  }
  /// Uploads `bytes` from a window that is full already.
  Status upload(Client& to, const std::string& bytes, const std::string& from = "") {
    return in_task([&]() -> Status {
      const oci::Digest digest = oci::digest_of(bytes);
      MESH_TRY(const Upload begun, to.begin_upload("a/b", digest, from));
      if (begun.done) {
        return {};
      }
      Window window(bytes.size());
      EXPECT_TRUE(window.put(bytes));
      window.release();
      return to.upload("a/b", digest, *begun.onward, window);
    });
  }
  void give_credentials(const std::string& domain, const std::string& pair) {
    std::ofstream(home_.path() / "auth.json")
        << fmt::format(R"({{"auths": {{"{}": {{"auth": "{}"}}}}}})", domain, base64(pair));
  }

  test::TemporaryDirectory home_;
  os::ManualClock clock_{os::WallTime(std::chrono::hours(24 * 365 * 56))};
  os::SystemRandom random_;
  Services services_{
      clock_, random_, [this](const std::string& name) -> std::optional<std::string> {
        return name == "REGISTRY_AUTH_FILE" ? std::optional((home_.path() / "auth.json").string())
                                            : std::nullopt;
      }};
  os::Milliseconds waited_{0};
  http::Loop loop_;
  Credentials credentials_;
  Account account_;
  std::vector<std::string> remarks_;
};

}  // namespace mesh::registry::testing
