/// A second machine: the package as `./dev package` makes it, in a network namespace with an
/// address of its own, from which nothing leads to the controller's loopback. The link can be cut.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/process.h"
#include "tests/support/must.h"
#include "tests/support/nats_server.h"
#include "tests/support/own_network.h"

namespace mesh::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr os::Milliseconds kLong{60'000};
constexpr const char* kController = "10.79.0.1";
constexpr const char* kMachine = "10.79.0.2";
const bool kOwnNetwork = enter_own_network("10.79.1.1");  // before anything has threads

class SecondMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (!kOwnNetwork) {
      GTEST_SKIP() << "networks of its own need root";
    }
    ASSERT_TRUE(fs::exists(server_program("2.10"))) << "no nats-server: ./dev test fetches it";
    make_networks();
    install();
    declare("1");
    spawn({MESH_BINARY_DIR "/bin/mesh", "controller"}, "controller.log");
    ASSERT_TRUE(comes_true([&] { return mesh({"status"}).status.ok(); })) << read("controller.log");
  }
  void TearDown() override {
    while (started_.size() > 1) {  // the namespace goes last
      (void)started_.back().stop(kLong);
      started_.pop_back();
    }
    if (!started_.empty()) {
      (void)there({host_, "stop", "--all", "--state", root() + "/machine"});
    }
    if (HasFailure()) {
      std::cerr << read("controller.log") << "== host\n" << read("host.log");
    }
  }

  [[nodiscard]] std::string root() const { return directory_.path().string(); }
  [[nodiscard]] std::string read(const std::string& path) const {
    return os::read_file((directory_.path() / path).string(), 1U << 22U).value_or("");
  }
  void write(const std::string& path, std::string_view bytes) const {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] static os::RunResult run(Words argv, std::string input = {},
                                         const std::string& directory = {}) {
    os::RunOptions options;
    options.spawn.argv = std::move(argv);
    options.spawn.directory = directory;
    options.input = std::move(input);
    options.timeout = kLong * 2;
    return must(os::run(options));
  }
  [[nodiscard]] os::RunResult mesh(Words words) const {
    words.insert(words.begin(), MESH_BINARY_DIR "/bin/mesh");
    return run(std::move(words), {}, root());
  }
  /// A command on the second machine.
  [[nodiscard]] os::RunResult there(Words words, std::string input = {}) const {
    return run(on_machine(std::move(words)), std::move(input));
  }
  [[nodiscard]] Words on_machine(Words words) const {
    words.insert(words.begin(), {"nsenter", "-t", std::to_string(started_.front().pid()), "-n"});
    return words;
  }
  void spawn(Words argv, const std::string& log) {
    os::SpawnOptions options;
    options.argv = std::move(argv);
    options.directory = root();
    const os::Fd said(
        ::open((root() + "/" + log).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    options.out = os::Output::to_fd(said.get());
    options.err = os::Output::to_fd(said.get());
    started_.push_back(must(os::Process::spawn(options)));
  }
  template <class Condition>
  [[nodiscard]] static bool comes_true(Condition condition) {
    const os::Deadline deadline(kLong);
    while (!condition()) {
      if (deadline.passed()) {
        return false;
      }
    }
    return true;
  }
  static void ip(const Words& words) {
    Words argv{"ip"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto ran = run(argv);
    ASSERT_TRUE(ran.status.ok()) << ran.err;
  }
  void make_networks() {
    spawn({"unshare", "-n", "sleep", "600"}, "namespace.log");
    const auto pid = std::to_string(started_.front().pid());
    ASSERT_TRUE(comes_true([&] {
      return fs::read_symlink("/proc/" + pid + "/ns/net") != fs::read_symlink("/proc/self/ns/net");
    }));
    ip({"link", "add", "mesh0", "type", "veth", "peer", "name", "mesh1"});
    ip({"link", "set", "mesh1", "netns", pid});
    ip({"address", "add", fmt::format("{}/24", kController), "dev", "mesh0"});
    ip({"link", "set", "mesh0", "up"});
    for (const auto& words :
         {Words{"ip", "address", "add", fmt::format("{}/24", kMachine), "dev", "mesh1"},
          {"ip", "link", "set", "mesh1", "up"},
          {"ip", "link", "set", "lo", "up"}}) {
      ASSERT_TRUE(there(words).status.ok());
    }
  }
  void install() {
    const auto packed = run({MESH_SOURCE_DIR "/scripts/package.sh", MESH_BINARY_DIR, root()});
    ASSERT_TRUE(packed.status.ok()) << packed.err;
    const auto deb = packed.out.substr(0, packed.out.find('\n'));
    ASSERT_TRUE(run({"dpkg-deb", "--extract", deb, root() + "/installed"}).status.ok());
    host_ = root() + "/installed/usr/bin/mesh-host";
  }
  void declare(const std::string& version) const {
    write("mesh.toml",
          fmt::format("mesh = \"home\"\n[bus]\nlisten = \"{}:{}\"\nprogram = \"{}\"\n[nodes.two]\n"
                      "[modules.shop]\npath = \"shop\"\non = [\"two\"]\n",
                      kController, port_, server_program("2.10").string()));
    write("shop/module.toml",
          fmt::format("emits = [\"sold\"]\n[components.web]\nrun = [\"sh\", \"-c\", \"echo version "
                      "{} dials $MESH_BUS; exec sleep 1000\"]\ngrace = \"1s\"\n",
                      version));
  }
  [[nodiscard]] bool connects(const std::string& host) const {
    return there({"bash", "-c", fmt::format("exec 3<>/dev/tcp/{}/{}", host, port_)}).status.ok();
  }
  [[nodiscard]] Json node(const os::RunResult& pushed) const {
    const auto document = Json::parse(pushed.out, nullptr, false);
    return document.is_object() && document.contains("nodes") ? document["nodes"][0] : Json();
  }

  TemporaryDirectory directory_;
  int port_ = free_port();
  std::string host_;
  std::vector<os::Process> started_;  // the first holds the machine's namespace
};

TEST_F(SecondMachine, JoinsByTlsRunsIsCutOffAndComesBack) {
  EXPECT_FALSE(connects("127.0.0.1")) << "its loopback is its own";
  EXPECT_TRUE(connects(kController));
  ASSERT_TRUE(mesh({"push"}).status.ok());
  const auto token = mesh({"node", "add", "two"});
  ASSERT_TRUE(token.status.ok()) << token.err;
  const auto joined = there({host_, "join", "-", "--state", root() + "/machine"}, token.out);
  ASSERT_TRUE(joined.status.ok()) << joined.err;
  write("host.toml", "run = true\n");
  spawn(
      on_machine({host_, "run", "--state", root() + "/machine", "--config", root() + "/host.toml"}),
      "host.log");
  const auto pushed = mesh({"push", "--json"});
  EXPECT_EQ(node(pushed)["state"], "converged") << pushed.out << pushed.err;
  EXPECT_THAT(mesh({"logs", "shop"}).out,
              HasSubstr(fmt::format("version 1 dials tls://{}:{}", kController, port_)));

  // Cut off: what runs goes on, and a push ends without it.
  ASSERT_TRUE(there({"ip", "link", "set", "mesh1", "down"}).status.ok());
  declare("2");
  const auto alone = mesh({"push", "--json", "--timeout", "3s"});
  EXPECT_EQ(alone.status.code, 1) << alone.out << alone.err;
  EXPECT_EQ(node(alone)["state"], "converging") << alone.out;
  const auto shown = there({host_, "show", "--state", root() + "/machine"});
  EXPECT_EQ(Json::parse(shown.out)["node"], "two");
  EXPECT_TRUE(run({"pgrep", "-f", root() + "/machine/units/shop.web"}).status.ok());

  // And back.
  ASSERT_TRUE(there({"ip", "link", "set", "mesh1", "up"}).status.ok());
  const auto back = mesh({"push", "--json"});
  EXPECT_EQ(node(back)["state"], "converged") << back.out << back.err;
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 2"));
}

}  // namespace
}  // namespace mesh::test
