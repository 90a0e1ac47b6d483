// A node whose modules are containers: built by a push, pulled by digest, run by podman.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/process.h"
#include "tests/support/nats_server.h"
#include "tests/support/podman_service.h"

namespace mesh {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr os::Milliseconds kLong{120'000};

class HostContainers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs::exists(test::server_program("2.10"))) << "nats-server is missing";
    auto podman = test::PodmanService::start();
    ASSERT_TRUE(podman) << podman.error().message;
    podman_.emplace(*std::move(podman));
    bus_ = test::free_port();
    registry_ = test::free_port();
    fs::copy("/bin/busybox", (directory_.path() / "busybox"));
    declare("1");
  }
  void start_controller() {
    daemon({MESH_BINARY_DIR "/bin/mesh", "controller"}, "controller");
    const os::Deadline deadline(kLong);
    while (!fs::exists(directory_.path() / ".mesh/run/controller.json")) {
      (void)daemons_.front().wait(os::Milliseconds{20}).has_value();
      ASSERT_FALSE(deadline.passed() || daemons_.front().poll()) << read("controller.log");
    }
  }
  void TearDown() override {
    while (daemons_.size() > 1) {
      (void)daemons_.back().stop(kLong);
      daemons_.pop_back();
    }
    if (podman_) {
      (void)host({"stop", "--all", "--volumes"});
      EXPECT_THAT(podman_->remains(), IsEmpty()) << "containers or mounts are left";
    }
    if (!daemons_.empty()) {
      (void)daemons_.back().stop(kLong);
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
  /// A container on the bridge that looks whether the bus speaks to it, and then stays.
  void declare(const std::string& version, const std::string& more = "exec sleep 1000") const {
    write("mesh.toml",
          fmt::format("mesh = \"home\"\n[bus]\nlisten = \"127.0.0.1:{}\"\nprogram = \"{}\"\n"
                      "[registry]\nlisten = \"127.0.0.1:{}\"\n[nodes.one]\n"
                      "[modules.shop]\npath = \"shop\"\non = [\"one\"]\n",
                      bus_, test::server_program("2.10").string(), registry_));
    write("shop/module.toml",
          fmt::format("[components.web]\nbuild = \".\"\nenv = {{ VERSION = "
                      "\"{} \\\"$x' #\" }}\ngrace = \"2s\"\nnetwork = \"bridge\"\n"
                      "volumes = [\"data:/data\"]\n",
                      version));
    write("shop/act.sh",
          "#!/bin/sh\nhost=${MESH_BUS#nats://}\necho \"version $VERSION of $MESH_USER\"\n"
          "echo hello | nc -w 2 ${host%:*} ${host##*:} | head -c 4\necho\n"
          "wc -c < $MESH_PASSWORD_FILE\n" +
              more + "\n");
    fs::copy_file(directory_.path() / "busybox", directory_.path() / "shop/busybox",
                  fs::copy_options::overwrite_existing);
    write("shop/Containerfile",
          "FROM scratch\nCOPY busybox /bin/busybox\nRUN [\"/bin/busybox\", \"--install\", \"-s\", "
          "\"/bin\"]\nENV PATH=/bin\nCOPY act.sh /act.sh\nCMD [\"/bin/sh\", \"/act.sh\"]\n");
  }
  [[nodiscard]] os::RunResult run(Words argv, std::string input = {}) const {
    os::RunOptions options;
    options.spawn.argv = std::move(argv);
    options.spawn.directory = root();
    options.input = std::move(input);
    options.timeout = kLong * 2;
    auto ran = os::run(options);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    return ran ? std::move(*ran) : os::RunResult{};
  }
  [[nodiscard]] os::RunResult mesh(Words words) const {
    words.insert(words.begin(), MESH_BINARY_DIR "/bin/mesh");
    return run(std::move(words));
  }
  [[nodiscard]] Words host_words(Words words) const {
    words.insert(words.begin(), MESH_BINARY_DIR "/bin/mesh-host");
    words.insert(words.end(), {"--state", root() + "/host", "--config", root() + "/none.toml",
                               "--engine", podman_->socket()});
    return words;
  }
  [[nodiscard]] os::RunResult host(Words words, std::string input = {}) const {
    return run(host_words(std::move(words)), std::move(input));
  }
  void daemon(Words argv, const std::string& name) {
    os::SpawnOptions options;
    options.argv = std::move(argv);
    options.directory = root();
    const int fd = ::open((root() + "/" + name + ".log").c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    options.out = os::Output::to_fd(fd);
    options.err = os::Output::to_fd(fd);
    auto made = os::Process::spawn(options);
    ::close(fd);
    ASSERT_TRUE(made);
    daemons_.push_back(*std::move(made));
  }
  [[nodiscard]] Json push(int exit = 0) const {
    const auto pushed = mesh({"push", "--json", "--timeout", "120s"});
    EXPECT_EQ(pushed.status.code, exit) << pushed.err << pushed.out;
    return Json::parse(pushed.out, nullptr, false);
  }

  test::TemporaryDirectory directory_;
  std::optional<test::PodmanService> podman_;
  std::vector<os::Process> daemons_;
  int bus_ = 0;
  int registry_ = 0;
};

TEST_F(HostContainers, ABuiltModuleRunsReachesTheBusIsReplacedAndPutBack) {
  start_controller();
  EXPECT_EQ(push()["nodes"][0]["state"], "unknown");
  const auto token = mesh({"node", "add", "one"});
  ASSERT_EQ(token.status.code, 0) << token.err;
  ASSERT_EQ(host({"join", "-"}, token.out).status.code, 0);
  daemon(host_words({"run"}), "host");
  const auto first = push();
  ASSERT_EQ(first["nodes"][0]["state"], "converged") << first.dump();
  const auto said = mesh({"logs", "shop"}).out;
  EXPECT_THAT(said, HasSubstr("version 1 \"$x' # of one.shop"));
  EXPECT_THAT(said, HasSubstr("INFO")) << "the bus answers on the bridge";
  EXPECT_THAT(said, HasSubstr("| 43")) << "the password, without a line end";

  // The host dies in the middle of an update.
  declare("2");
  EXPECT_EQ(mesh({"push", "--no-wait"}).status.code, 0);
  daemons_.back().signal(SIGKILL);
  (void)daemons_.back().wait(kLong).has_value();
  daemons_.pop_back();
  daemon(host_words({"run"}), "host");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 2"));

  // podman's service goes and comes back underneath.
  podman_->kill();
  ASSERT_TRUE(podman_->restart());
  declare("3", "exit 7");
  const auto failed = push(1);
  EXPECT_EQ(failed["nodes"][0]["state"], "failed") << failed.dump();
  EXPECT_THAT(failed["nodes"][0]["because"].dump(), HasSubstr("exit code 7"));
  const os::Deadline deadline(kLong);
  while (mesh({"logs", "shop"}).out.find("version 2") == std::string::npos) {
    ASSERT_FALSE(deadline.passed()) << mesh({"status"}).out;
  }
}

// The whole mesh on one machine: its host is one that `mesh up` started, with the same engine.
TEST_F(HostContainers, MeshUpRunsImagesAndLeavesNothing) {
  const auto up = mesh({"up", "--detach", "--engine", podman_->socket()});
  ASSERT_EQ(up.status.code, 0) << up.err << read(".mesh/run/up.log") << read(".mesh/hosts/one.log");
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 1"));
  EXPECT_THAT(podman_->run({"volume", "ls", "--quiet"}).value_or(""), HasSubstr("data"));
  declare("2");
  EXPECT_EQ(push()["nodes"][0]["state"], "converged");
  EXPECT_THAT(mesh({"logs", "shop"}).out, HasSubstr("version 2"));

  const auto down = mesh({"down"});
  EXPECT_EQ(down.status.code, 0) << down.err;
  EXPECT_THAT(podman_->run({"ps", "--all", "--quiet"}).value_or("?"), IsEmpty());
  EXPECT_THAT(podman_->run({"volume", "ls", "--quiet"}).value_or(""), HasSubstr("data"));
  EXPECT_EQ(mesh({"down", "--volumes"}).status.code, 0);
  EXPECT_THAT(podman_->run({"volume", "ls", "--quiet"}).value_or("?"), IsEmpty());
}

}  // namespace
}  // namespace mesh
