/// A managed registry beyond loopback, with the real programs, in a network of the test's own: TLS
/// by the mesh's authority, and a login that is each node's.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "controller/tls.h"
#include "http/loop.h"
#include "os/files.h"
#include "os/process.h"
#include "os/server_record.h"
#include "secrets/credential.h"
#include "tests/support/certificates.h"
#include "tests/support/made_image.h"
#include "tests/support/nats_server.h"
#include "tests/support/own_network.h"
#include "tests/support/registry_process.h"

namespace mesh::test {
namespace {

namespace fs = std::filesystem;
using controller::Served;

constexpr const char* kAddress = "10.77.0.1";
const bool kOwnNetwork = enter_own_network(kAddress);  // before anything has threads

class RegistryBeyondLoopback : public testing::Test {
 protected:
  void SetUp() override {
    const auto program = server_program("2.10").string();
    if (!kOwnNetwork) {
      GTEST_SKIP() << "a network of its own needs root";
    }
    write("mesh.toml",
          fmt::format("mesh = \"home\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = \"{}\"\n"
                      "[registry]\nlisten = \"{}:{}\"\n[nodes.one]\n[modules.shop]\npath = "
                      "\"shop\"\non = [\"one\"]\n",
                      free_port(), program, kAddress, port_));
    write("shop/module.toml", "");
    const auto up = mesh({"up", "--detach"});
    ASSERT_TRUE(up.status.ok()) << up.out << up.err;
  }
  ~RegistryBeyondLoopback() override {
    if (kOwnNetwork) {
      (void)mesh({"down"});
    }
  }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << text;
  }
  os::RunResult mesh(std::vector<std::string> arguments) {
    os::RunOptions options;
    options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh", "-C",
                          directory_.path().string()};
    options.spawn.argv.insert(options.spawn.argv.end(), arguments.begin(), arguments.end());
    options.spawn.environment = os::current_environment();
    // A proxy of the operator's is not for what is on this machine.
    (*options.spawn.environment)["https_proxy"] = "http://127.0.0.1:1";
    options.timeout = os::Milliseconds{120'000};
    auto result = os::run(options);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : os::RunResult{};
  }
  std::string check(const std::string& name) {
    const auto said = nlohmann::json::parse(mesh({"doctor", "--json"}).out, nullptr, false);
    for (const auto& one : said.value("checks", nlohmann::json::array())) {
      if (one.at("name") == name) {
        return one.at("state").get<std::string>();
      }
    }
    return "no such check";
  }

  inventory::State state() {
    return inventory::open_state((directory_.path() / ".mesh").string(), clock_, random_).value();
  }
  std::string password(const std::string& name) {
    auto opened = state();
    return std::string(opened.inventory.credential_secret(name).value().reveal());
  }
  std::string ca_file() { return (directory_.path() / ".mesh/ca.pem").string(); }
  std::string address() const { return fmt::format("{}:{}", kAddress, port_); }

  /// The status of the question; 0 where nobody is trusted who answers.
  int ask(const std::string& login, const std::string& ca_file, const std::string& target = "/v2/",
          const std::string& scheme = "https") {
    http::Loop loop(clock_);
    int status = 0;
    loop.spawn([&] {
      http::Request request;
      request.url = fmt::format("{}://{}{}", scheme, address(), target);
      request.ca_file = ca_file;
      request.headers.add("Accept", "application/vnd.oci.image.manifest.v1+json");
      if (!login.empty()) {
        request.headers.add("Authorization", "Basic " + base64(login));
      }
      const auto answer = loop.fetch(request);
      status = answer ? answer->status : 0;
    });
    EXPECT_TRUE(loop.run());
    return status;
  }
  std::optional<os::ServerRecord> record() {
    auto read = os::running_server((directory_.path() / ".mesh/registry/server.json").string());
    return read ? *read : std::nullopt;
  }

  TemporaryDirectory directory_;
  os::SystemClock clock_;
  os::SystemRandom random_;
  int port_ = free_port();
};

TEST_F(RegistryBeyondLoopback, AsksForTlsAndForANodesLogin) {
  const auto node = "one:" + password("one");
  EXPECT_EQ(ask(node, ca_file()), 200);
  EXPECT_EQ(ask("controller:" + password("controller"), ca_file()), 200);
  EXPECT_EQ(ask("", ca_file()), 401);
  EXPECT_EQ(ask("one:wrong", ca_file()), 401);
  EXPECT_EQ(ask("one.shop:" + password("one.shop"), ca_file()), 401) << "a module is no machine";
  EXPECT_EQ(ask("controller.system:" + password("controller.system"), ca_file()), 401);
  EXPECT_EQ(ask(node, ""), 0) << "the system's authorities know nothing of it";
  write("other.pem", make_certificates().ca_pem);
  EXPECT_EQ(ask(node, (directory_.path() / "other.pem").string()), 0);
  EXPECT_EQ(ask("", "", "/v2/", "http"), 400) << "no plain HTTP";
  EXPECT_EQ(check("registry"), "ok");
  EXPECT_EQ(check("registry certificate"), "ok");
  EXPECT_EQ(check("authority"), "ok");
}

TEST_F(RegistryBeyondLoopback, IsMirroredIntoBuiltForAndPruned) {
  auto upstream = RegistryProcess::start();
  ASSERT_TRUE(upstream) << upstream.error().message;
  const auto image = made_image(1, {100'000, 5'000});
  ASSERT_TRUE(push_made(image, upstream->address(), "team/base", "1"));
  const auto mirrored = mesh({"mirror", upstream->address() + "/team/base:1", "team/base"});
  ASSERT_TRUE(mirrored.status.ok()) << mirrored.err;
  EXPECT_EQ(mirrored.out, fmt::format("{}/team/base@{}\n", address(), image.digest()));
  const auto node = "one:" + password("one");
  const auto manifest = "/v2/team/base/manifests/" + image.digest();
  EXPECT_EQ(ask(node, ca_file(), manifest), 200);
  EXPECT_EQ(ask("", ca_file(), manifest), 401);

  write("shop/module.toml", "[components.server]\nbuild = \".\"\n");
  write("shop/Containerfile", "FROM scratch\nCOPY module.toml /\n");
  const auto built = mesh({"build"});
  ASSERT_TRUE(built.status.ok()) << built.err;
  const auto again = mesh({"build", "--json"});
  EXPECT_NE(again.out.find("\"built\":false"), std::string::npos) << again.out;

  const auto before = record();
  const auto pruned = mesh({"registry", "prune", "--yes"});
  ASSERT_TRUE(pruned.status.ok()) << pruned.err;
  EXPECT_EQ(ask(node, ca_file(), manifest), 404) << "nothing names it";
  ASSERT_TRUE(before && record());
  EXPECT_NE(record()->process, before->process) << "it was ended to collect, and came back";
}

TEST_F(RegistryBeyondLoopback, ANewPasswordHoldsAfterAPushWithoutARestart) {
  const auto before = record();
  const auto old = "one:" + password("one");
  auto random = random_.bytes(secrets::kCredentialRandomBytes);
  auto made = secrets::new_credential(random).value();
  std::vector<inventory::NewCredential> renewed;
  renewed.push_back({"one", made.hash, made.secret.copy()});
  {
    auto opened = state();
    ASSERT_TRUE(opened.inventory.add_credentials(renewed));
  }
  const auto pushed = mesh({"push"});
  ASSERT_TRUE(pushed.status.ok()) << pushed.err;
  EXPECT_EQ(ask(old, ca_file()), 401);
  EXPECT_EQ(ask("one:" + std::string(made.secret.reveal()), ca_file()), 200);
  ASSERT_TRUE(before && record());
  EXPECT_EQ(record()->process, before->process);
}

TEST_F(RegistryBeyondLoopback, APushRenewsItsCertificate) {
  const auto before = record();
  {
    auto opened = state();
    const auto reading = controller::read_declarations(
        {directory_.path().string(), (directory_.path() / ".mesh").string(), ""});
    ASSERT_TRUE(reading.mesh);
    ASSERT_TRUE(os::remove_tree(controller::certificate_file(opened.paths, Served::Registry)));
    ASSERT_TRUE(controller::renew_certificate(opened.paths, *reading.mesh, Served::Registry,
                                              clock_.now() - std::chrono::days{61}));
  }
  EXPECT_EQ(check("registry certificate"), "warning");
  const auto pushed = mesh({"push", "--json"});
  ASSERT_TRUE(pushed.status.ok()) << pushed.err;
  EXPECT_EQ(check("registry certificate"), "ok");
  ASSERT_TRUE(before && record());
  EXPECT_NE(record()->process, before->process) << "it reads its certificate when it starts";
  EXPECT_EQ(ask("one:" + password("one"), ca_file()), 200);
  const auto now = record();
  const auto nothing = mesh({"push"});
  EXPECT_TRUE(nothing.status.ok()) << nothing.err;
  EXPECT_EQ(record()->process, now->process);
}

}  // namespace
}  // namespace mesh::test
