#include "registry/client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "registry/client_fixture.h"
#include "tests/support/scripted_http.h"

namespace mesh::registry {
namespace {

using testing::ClientTest;
using testing::with_queries;

using test::HttpReply;
using test::HttpRequest;
using test::ScriptedHttp;

Expected expected_blob(const std::string& bytes) {
  return {oci::digest_of(bytes), bytes.size(), "application/octet-stream", "the blob"};
}

const std::string kManifest = R"({"schemaVersion":2})";

TEST_F(ClientTest, AManifestIsAskedForWithAllFourTypesAndHashed) {
  HttpRequest seen;
  const ScriptedHttp server([&](const HttpRequest& request) {
    seen = request;
    return HttpReply{.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"}},
                     .body = kManifest};
  });
  Client one = client(server.address());
  const auto got = in_task([&] { return one.manifest("a/b", "latest"); });
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(got->bytes, kManifest);
  EXPECT_EQ(got->digest, oci::digest_of(kManifest));
  for (const char* type :
       {"oci.image.index.v1", "oci.image.manifest.v1", "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2"}) {
    EXPECT_NE(seen.header("accept").find(type), std::string::npos) << type;
  }
}

TEST_F(ClientTest, AManifestThatTheRegistryFailsOverIsUnreadable) {
  int status = 500;
  const ScriptedHttp server([&](const HttpRequest&) { return HttpReply{.status = status}; });
  Client one = client(server.address());
  const auto ask = [&] {
    return in_task([&] { return one.standing("a/b", oci::digest_of(kManifest)); });
  };
  EXPECT_EQ(ask().value(), Standing::Unreadable);
  EXPECT_EQ(server.requests().size(), 2U) << "a second look, and no more";
  status = 404;
  EXPECT_EQ(ask().value(), Standing::Missing);
  status = 200;
  EXPECT_EQ(ask().value(), Standing::There);
  status = 503;
  EXPECT_EQ(ask().error().code, Code::Unavailable) << "it cannot say now";
}

TEST_F(ClientTest, ARegistryThatLiesAboutAManifestIsNamed) {
  std::string header;
  std::string type = "application/vnd.oci.image.manifest.v1+json";
  std::string body = kManifest;
  const ScriptedHttp server([&](const HttpRequest&) {
    return HttpReply{.headers = {{"Content-Type", type}, {"Docker-Content-Digest", header}},
                     .body = body};
  });
  Client one = client(server.address());
  const auto ask = [&](const std::string& target) {
    return in_task([&] { return one.manifest("a/b", target); });
  };
  const std::string digest = oci::digest_of(kManifest).text();
  header = digest;
  EXPECT_TRUE(ask(digest).has_value());
  header = oci::digest_of("other").text();
  EXPECT_EQ(ask("tag").error().code, Code::Corrupt);
  EXPECT_NE(ask("tag").error().message.find(server.address()), std::string::npos);
  // A header of another algorithm is compared by that algorithm.
  header = oci::digest_of(kManifest, oci::Algorithm::Sha512).text();
  EXPECT_TRUE(ask(digest).has_value());
  header = "";
  EXPECT_EQ(ask(oci::digest_of("wanted").text()).error().code, Code::Corrupt);
  type = "text/html; charset=utf-8";
  EXPECT_NE(ask("tag").error().message.find("HTML page"), std::string::npos);
  type = "application/vnd.oci.image.manifest.v1+json";
  body = std::string((4U << 20U) + 1, ' ');
  EXPECT_EQ(ask("tag").error().code, Code::Corrupt);
}

TEST_F(ClientTest, ATokenIsAskedForOnceAndUsedForAll) {
  std::vector<std::string> seen;
  ScriptedHttp* self = nullptr;
  ScriptedHttp server([&](const HttpRequest& request) {
    if (request.path() == "/token") {
      EXPECT_EQ(request.header("authorization"), "Basic " + base64("me:secret"));
      EXPECT_NE(request.target.find("scope=repository%3Aa%2Fb%3Apull"), std::string::npos)
          << request.target;
      return HttpReply{.body = R"({"token":"T1","expires_in":300})"};
    }
    seen.push_back(request.header("authorization"));
    if (request.header("authorization") != "Bearer T1") {
      return HttpReply{
          .status = 401,
          .headers = {{"WWW-Authenticate",
                       fmt::format(R"(Bearer realm="{}",service="x, y")", self->url("/token"))}}};
    }
    return HttpReply{.body = kManifest};
  });
  self = &server;
  give_credentials(server.address(), "me:secret");
  Client one = client(server.address());
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(in_task([&] { return one.manifest("a/b", "x"); }).has_value());
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"", "Bearer T1", "Bearer T1", "Bearer T1"}));
  // The account of requests holds nothing secret.
  for (const auto& asked : account_.asked()) {
    EXPECT_EQ(asked.url.find('?'), std::string::npos);
  }
  EXPECT_EQ(account_.asked().size(), 5U);
}

TEST_F(ClientTest, AnExpiredTokenIsRenewedBeforeItIsUsedAndAfterA401) {
  int tokens = 0;
  int valid = 1;
  ScriptedHttp* self = nullptr;
  ScriptedHttp server([&](const HttpRequest& request) {
    if (request.path() == "/token") {
      return HttpReply{.body = fmt::format(R"({{"token":"T{}","expires_in":100}})", ++tokens)};
    }
    if (request.header("authorization") != fmt::format("Bearer T{}", valid)) {
      return HttpReply{.status = 401,
                       .headers = {{"WWW-Authenticate",
                                    fmt::format(R"(Bearer realm="{}")", self->url("/token"))}}};
    }
    return HttpReply{.body = kManifest};
  });
  self = &server;
  Client one = client(server.address());
  const auto ask = [&] { return in_task([&] { return one.manifest("a/b", "x"); }).has_value(); };
  EXPECT_TRUE(ask());
  valid = 2;
  clock_.advance(std::chrono::seconds(95));
  EXPECT_TRUE(ask());  // near its end: a new one first
  EXPECT_EQ(server.requests().size(), 5U);
  valid = 3;  // revoked early: asked for again after the 401
  EXPECT_TRUE(ask());
  EXPECT_EQ(server.requests().size(), 8U);
  valid = 99;  // and no endless circle
  EXPECT_FALSE(ask());
}

TEST_F(ClientTest, CredentialsAreNotSentToAStrangeRealm) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{.status = 401,
                     .headers = {{"WWW-Authenticate",
                                  R"(Bearer realm="http://token.example/token",service="s")"}}};
  });
  give_credentials(server.address(), "me:secret");
  Client one = client(server.address());
  const auto refused = in_task([&] { return one.manifest("a/b", "x"); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
  EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
}

TEST_F(ClientTest, ARedirectToAnotherHostCarriesNoCredentialsNotEvenAfterIts401) {
  const std::string blob = "the bytes";
  std::vector<std::string> elsewhere;
  int status = 200;
  const ScriptedHttp storage([&](const HttpRequest& request) {
    elsewhere.push_back(request.header("authorization"));
    return status == 200
               ? HttpReply{.body = blob}
               : HttpReply{.status = status, .headers = {{"WWW-Authenticate", "Basic realm=x"}}};
  });
  const ScriptedHttp server([&](const HttpRequest& request) {
    if (request.header("authorization").empty()) {
      return HttpReply{.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=x"}}};
    }
    return HttpReply{.status = 307, .headers = {{"Location", storage.url("/signed?key=value")}}};
  });
  give_credentials(server.address(), "me:secret");
  Client one = client(server.address());
  EXPECT_TRUE(download(one, expected_blob(blob)).has_value());
  status = 401;
  EXPECT_FALSE(download(one, expected_blob(blob)).has_value());
  EXPECT_EQ(elsewhere, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(account_.asked().back().url, storage.url("/signed"));
}

TEST_F(ClientTest, ABrokenDownloadIsContinuedWhereItStands) {
  std::string blob(100'000, 'x');
  blob[99'999] = 'y';
  std::vector<std::string> ranges;
  bool honours = true;
  const ScriptedHttp server([&](const HttpRequest& request) {
    ranges.push_back(request.header("range"));
    if (ranges.size() == 1) {
      return HttpReply{.body = blob, .reset_after = 60'000};
    }
    const std::size_t from = honours ? std::stoul(ranges.back().substr(6)) : 0;
    HttpReply reply{.status = honours ? 206 : 200, .body = blob.substr(from)};
    if (honours) {
      reply.headers.emplace_back("Content-Range",
                                 fmt::format("bytes {}-{}/{}", from, blob.size() - 1, blob.size()));
    }
    return reply;
  });
  Client one = client(server.address());
  std::string got;
  ASSERT_TRUE(download(one, expected_blob(blob), &got).has_value());
  EXPECT_TRUE(got == blob);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[1].find("bytes="), 0U);
  // A server that begins again from the first byte is understood as well.
  ranges.clear();
  honours = false;
  ASSERT_TRUE(download(one, expected_blob(blob), &got).has_value());
  EXPECT_TRUE(got == blob);
}

TEST_F(ClientTest, ABlobThatIsNotWhatItShouldBeIsRefused) {
  const std::string blob(1000, 'b');
  HttpReply reply;
  const ScriptedHttp server([&](const HttpRequest&) { return reply; });
  Client one = client(server.address());
  const auto code = [&] {
    const Status done = download(one, expected_blob(blob));
    return done ? "none" : code_name(done.error().code) + (": " + done.error().message);
  };
  reply = {.body = std::string(1000, 'a')};
  EXPECT_NE(code().find("corrupt: the blob came with the content of sha256:"), std::string::npos);
  reply = {.body = std::string(2000, 'b')};
  EXPECT_NE(code().find("corrupt: the blob is announced with 2000 bytes"), std::string::npos);
  reply = {.body = std::string(999, 'b')};
  EXPECT_NE(code().find("corrupt: the blob is announced with 999 bytes"), std::string::npos);
  reply = {.headers = {{"Content-Type", "text/html"}}, .body = std::string(1000, 'b')};
  EXPECT_NE(code().find("corrupt: an HTML page came with status 200"), std::string::npos);
  reply = {.headers = {{"Content-Encoding", "gzip"}}, .body = std::string(1000, 'b')};
  EXPECT_NE(code().find("corrupt: the blob came encoded as gzip"), std::string::npos);
  reply = {.status = 206,
           .headers = {{"Content-Range", "bytes 5-1004/1005"}},
           .body = std::string(1000, 'b')};
  EXPECT_NE(code().find("corrupt"), std::string::npos);
  reply = {.status = 404};
  EXPECT_NE(code().find("not-found"), std::string::npos);
}

TEST_F(ClientTest, A429IsWaitedForAsItSaysForTheWholeHost) {
  int refusals = 2;
  std::string after = "7";
  const ScriptedHttp server([&](const HttpRequest&) {
    if (refusals-- > 0) {
      return HttpReply{.status = 429, .headers = {{"Retry-After", after}}, .body = "slow down"};
    }
    return HttpReply{.body = kManifest};
  });
  Client one = client(server.address());
  EXPECT_TRUE(in_task([&] { return one.manifest("a/b", "x"); }).has_value());
  EXPECT_GE(waited_, std::chrono::seconds(14));
  EXPECT_LT(waited_, std::chrono::seconds(18));  // a little more each, so that not all ask at once
  EXPECT_EQ(remarks_.size(), 2U);
  // Too long to wait for: it fails at once, says so, and asks no more.
  refusals = 100;
  after = "90000";
  const auto refused = in_task([&] { return one.manifest("a/b", "x"); });
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  const std::size_t asked = server.requests().size();
  EXPECT_FALSE(in_task([&] { return one.manifest("a/b", "y"); }).has_value());
  EXPECT_EQ(server.requests().size(), asked);
}

TEST_F(ClientTest, ASpentQuotaIsNotAskedAgain) {
  const ScriptedHttp server([](const HttpRequest&) {
    return HttpReply{
        .status = 429,
        .headers = {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "0;w=21600"}},
        .body = R"({"errors":[{"code":"TOOMANYREQUESTS",
                                 "message":"You have reached your pull rate limit."}]})"};
  });
  Client one = client(server.address());
  EXPECT_EQ(in_task([&] { return one.manifest("a/b", "x"); }).error().code, Code::Unavailable);
  EXPECT_FALSE(in_task([&] { return one.head("c", "x"); }).has_value());
  EXPECT_EQ(server.requests().size(), 1U);
  ASSERT_TRUE(one.quota().has_value());
  EXPECT_EQ(one.quota()->remaining, 0);
  EXPECT_EQ(one.quota()->limit, 100);
}

TEST_F(ClientTest, AServersFailureIsTriedAgainAndThenNamed) {
  int failures = 2;
  const ScriptedHttp server([&](const HttpRequest&) {
    return failures-- > 0 ? HttpReply{.status = 502, .body = "<html>bad gateway</html>"}
                          : HttpReply{.body = kManifest};
  });
  Client one = client(server.address());
  EXPECT_TRUE(in_task([&] { return one.manifest("a/b", "x"); }).has_value());
  failures = 1000;
  const auto refused = in_task([&] { return one.manifest("a/b", "x"); });
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_NE(refused.error().message.find("502"), std::string::npos);
}

TEST_F(ClientTest, ARefusedMountGoesOnWithAnUpload) {
  const std::string blob = "bytes";
  int refusal = 202;
  std::string location = "/v2/a/b/blobs/uploads/one?_state=x";
  const ScriptedHttp server([&](const HttpRequest& request) {
    if (request.method == "PUT") {
      EXPECT_EQ(request.body, blob);
      return HttpReply{.status = 201};
    }
    if (request.method == "HEAD") {
      return HttpReply{.status = 404};
    }
    const bool mount = request.target.find("mount=") != std::string::npos;
    return HttpReply{.status = mount ? refusal : 202, .headers = {{"Location", location}}};
  });
  for (const int status : {202, 400, 401, 403, 405}) {
    refusal = status;
    Client one = client(server.address());
    const Status done = upload(one, blob, "other");
    EXPECT_TRUE(done.has_value()) << status << ": " << (done ? "" : done.error().message);
  }
  const auto requests = with_queries(server.requests());
  EXPECT_NE(requests.find("PUT /v2/a/b/blobs/uploads/one?_state=x&digest=sha256%3A"),
            std::string::npos)
      << requests;
}

TEST_F(ClientTest, A401AtTheEndOfAnUploadRepeatsThatRequestAlone) {
  const std::string blob(300'000, 'z');
  int tokens = 0;
  std::string received;
  ScriptedHttp* self = nullptr;
  ScriptedHttp server([&](const HttpRequest& request) {
    if (request.path() == "/token") {
      return HttpReply{.body = fmt::format(R"({{"token":"T{}"}})", ++tokens)};
    }
    const bool expired = request.method == "PUT" && request.header("authorization") == "Bearer T1";
    if (request.header("authorization").empty() || expired) {
      return HttpReply{.status = 401,
                       .headers = {{"WWW-Authenticate",
                                    fmt::format(R"(Bearer realm="{}")", self->url("/token"))}}};
    }
    if (request.method == "PUT") {
      received = request.body;
      return HttpReply{.status = 201};
    }
    return HttpReply{.status = 202, .headers = {{"Location", self->url("/upload/1")}}};
  });
  self = &server;
  Client one = client(server.address());
  const Status done = upload(one, blob);
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_TRUE(received == blob);
  const auto requests = server.requests();
  EXPECT_EQ(std::ranges::count(requests, "POST /v2/a/b/blobs/uploads/"), 2);  // 401, then 202
}

TEST_F(ClientTest, NobodyAtALoopbackAddressNamesBothTries) {
  const std::string place = fmt::format("127.0.0.1:{}", test::free_port());
  Client one = client(place);
  const auto refused = in_task([&] { return one.manifest("a/b", "x"); });
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_NE(refused.error().message.find("plain http: "), std::string::npos);
  EXPECT_NE(refused.error().message.find("; https: "), std::string::npos);
}

TEST_F(ClientTest, ADigestThatIsNotNamedByHeadIsUnknown) {
  const ScriptedHttp server([](const HttpRequest&) { return HttpReply{.body = kManifest}; });
  Client one = client(server.address());
  const auto head = in_task([&] { return one.head("a/b", "x"); });
  ASSERT_TRUE(head.has_value());
  EXPECT_FALSE(head->digest.has_value());
}

}  // namespace
}  // namespace mesh::registry
