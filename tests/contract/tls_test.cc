#include <gtest/gtest.h>

#include <fmt/format.h>

#include "bus/connection.h"
#include "bus/server_hello.h"
#include "tests/contract/servers.h"
#include "tests/support/certificates.h"

namespace mesh::bus {
namespace {

using test::as;
using test::NatsServer;
using namespace std::chrono_literals;

class TlsOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    test::write_certificates(certificates_, directory_.path());
    auto server = NatsServer::start(
        GetParam(),
        fmt::format("tls {{ cert_file: \"{0}/server.pem\", key_file: \"{0}/server.key\" "
                    "}}\n{1}",
                    directory_.path().string(), test::kSmallServer));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::make_unique<NatsServer>(*std::move(server));
  }

  test::Certificates certificates_ = test::make_certificates();
  test::TemporaryDirectory directory_;
  std::unique_ptr<NatsServer> server_;
};

TEST_P(TlsOn, ConnectsToAServerOfTheAuthority) {
  ConnectOptions options = as(*server_, "admin");
  options.ca_pem = certificates_.ca_pem;
  auto connection = Connection::connect(options);
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_TRUE(connection->request("$JS.API.INFO", "", 5s));
  EXPECT_TRUE(read_hello("127.0.0.1", server_->port(), 5s)) << "INFO comes before the encryption";
}

TEST_P(TlsOn, RefusesAServerOfAnotherAuthority) {
  ConnectOptions options = as(*server_, "admin");
  options.ca_pem = test::make_certificates().ca_pem;
  const auto other = Connection::connect(options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::Unavailable) << other.error().message;
  options.ca_pem.clear();
  EXPECT_FALSE(Connection::connect(options)) << "no plain login to a server that wants TLS";
}

TEST_P(TlsOn, NeverLogsInWithoutEncryptionWhereAnAuthorityIsGiven) {
  auto plain = NatsServer::start(GetParam(), test::kSmallServer);
  ASSERT_TRUE(plain) << plain.error().message;
  ConnectOptions options = as(*plain, "admin");
  options.ca_pem = certificates_.ca_pem;
  const auto refused = Connection::connect(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unavailable) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Servers, TlsOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
