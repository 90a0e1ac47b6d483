/// Whom a client trusts and what it logs in with, and how it says what is wrong with that.

#include <fstream>

#include "registry/client_fixture.h"

namespace mesh::registry {
namespace {

using test::HttpReply;
using test::HttpRequest;
using test::ScriptedHttp;
using testing::ClientTest;
using testing::with_queries;

TEST_F(ClientTest, WhereAServerWantsHttpsItIsTriedAlsoAfterAHeadAndBothAreNamed) {
  const ScriptedHttp server([](const HttpRequest& request) {
    return HttpReply{.status = 400,
                     .body = request.method == "HEAD"
                                 ? ""
                                 : "Client sent an HTTP request to an HTTPS server.\n"};
  });
  for (const bool head : {true, false}) {
    Client one = client(server.address());
    const auto error = in_task(
        [&] { return head ? one.head("a/b", "1").error() : one.manifest("a/b", "1").error(); });
    EXPECT_EQ(error.code, Code::Unavailable) << error.message;
    EXPECT_NE(error.message.find("plain http: it wants https; https: "), std::string::npos)
        << error.message;
  }
}

TEST_F(ClientTest, ADeclaredAuthorityMeansHttpsAlone) {
  const ScriptedHttp server([](const HttpRequest&) { return HttpReply{}; });
  const auto ca = (home_.path() / "my-ca.pem").string();
  std::ofstream(ca) << "no certificate";
  Client one = client(server.address(), {.insecure = false, .ca_file = ca, .mirror = {}});
  const auto error = in_task([&] { return one.head("a/b", "1").error(); });
  EXPECT_NE((error.message + error.hint).find("my-ca.pem"), std::string::npos) << error.message;
  EXPECT_TRUE(server.requests().empty()) << with_queries(server.requests());
}

TEST_F(ClientTest, AWrongPasswordIsSentOnceAndItsFileNamed) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=x"}}};
  });
  give_credentials(server.address(), "me:wrong");
  Client one = client(server.address());
  const auto error = in_task([&] { return one.head("a/b", "1").error(); });
  EXPECT_EQ(error.code, Code::PermissionDenied);
  EXPECT_NE(error.message.find("refuses the user and the password of"), std::string::npos);
  EXPECT_NE(error.message.find("auth.json"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("podman login"), std::string::npos) << error.hint;
  EXPECT_EQ(server.requests().size(), 2U) << with_queries(server.requests());
}

TEST_F(ClientTest, AHelperThatIsNotThereIsNamedWithItsFile) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=x"}}};
  });
  std::ofstream(home_.path() / "auth.json")
      << fmt::format(R"({{"credHelpers": {{"{}": "nowhere-at-all"}}}})", server.address());
  Client one = client(server.address());
  const auto error = in_task([&] { return one.head("a/b", "1").error(); });
  EXPECT_EQ(error.code, Code::PermissionDenied);
  EXPECT_NE(error.message.find("docker-credential-nowhere-at-all, which "), std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("auth.json names is not on PATH"), std::string::npos)
      << error.message;
}

}  // namespace
}  // namespace mesh::registry
