// What only a real engine can show.

#include "base/text.h"
#include "tests/contract/containers_fixture.h"
#include "tests/support/nats_server.h"
#include "tests/support/registry_process.h"

namespace mesh::host {
namespace {

/// What a program in a container finds out about its container.
class DriverOnPodmanTest : public DriverTest {
 protected:
  /// The output of a shell command in a container of this component.
  [[nodiscard]] std::string told(UnitSpec spec, const std::string& script) {
    spec.component.command = {"sh", "{ " + script + "; } >/out/told 2>&1"};
    mount_out(spec);
    run(spec);
    EXPECT_EQ(ended(spec).exit_code, 0);
    test::must(driver_->remove(spec.name));
    return driver_bytes(out() / "told");
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DriverOnPodmanTest, testing::Values("podman"),
                         [](const auto& one) { return std::string(one.param); });

std::string interfaces_here() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator("/sys/class/net")) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return join(names, "\n") + "\n";
}

TEST_P(DriverOnPodmanTest, EveryKeyIsInForce) {
  UnitSpec spec = unit({});
  fs::permissions(out(), fs::perms::all);
  spec.component.user = "1234:5678";
  EXPECT_EQ(told(spec, "busybox id -u; busybox id -g"), "1234\n5678\n");
  spec.component.user.reset();
  spec.component.read_only = true;
  spec.component.tmpfs = {"/scratch:size=1m"};
  EXPECT_EQ(
      told(spec, "echo x 2>/dev/null >/x || echo ro; echo y >/scratch/y && busybox cat /scratch/y"),
      "ro\ny\n");
  spec.component.read_only = false;
  spec.component.network = "none";
  EXPECT_EQ(told(spec, "busybox ls /sys/class/net"), "lo\n");
  spec.component.network = "host";
  EXPECT_EQ(told(spec, "busybox ls /sys/class/net"), interfaces_here());
  spec.component.network = "bridge";
  spec.component.capabilities = {"net_admin"};
  EXPECT_EQ(told(spec, "busybox ip link set lo down && echo may"), "may\n");
  spec.component.capabilities = {};
  EXPECT_THAT(told(spec, "busybox ip link set lo down || echo may not"), HasSubstr("may not"));
  spec.component.devices = {"/dev/full:/dev/mine:r"};
  EXPECT_EQ(told(spec, "test -c /dev/mine && echo there"), "there\n");
  spec.component.devices = {};
  spec.component.init = true;
  EXPECT_THAT(told(spec, "busybox cat /proc/1/comm"), HasSubstr("init"));
  spec.component.init = false;
  EXPECT_EQ(told(spec, "busybox cat /proc/1/comm"), "busybox\n");
  spec.component.entrypoint = {"/bin/busybox", "env"};
  spec.component.entrypoint = {};
  spec.component.pids = 20;
  spec.component.cpus = 0.5;
  spec.component.memory = 64 << 20;
  EXPECT_EQ(told(spec, "for x in 1 2 3 4 5; do busybox sleep 0.1 & done; wait; echo few"), "few\n");
  EXPECT_THAT(
      told(spec,
           "(for x in $(busybox seq 40); do busybox sleep 1 & done; wait) || true; echo many"),
      HasSubstr("fork"));
}

TEST_P(DriverOnPodmanTest, AVolumeIsItsUsersToWriteTo) {
  UnitSpec spec = unit({});
  fs::permissions(out(), fs::perms::all);
  spec.component.user = "1234";
  spec.component.volumes = {{"data", "/new/place", false}};
  EXPECT_EQ(told(spec, "echo kept >/new/place/x && busybox stat -c %u /new/place"), "1234\n");
  spec.name.generation = "00000000000000ab";
  EXPECT_EQ(told(spec, "busybox cat /new/place/x"), "kept\n");
  spec.component.volumes[0].read_only = true;
  EXPECT_EQ(told(spec, "echo y 2>/dev/null >/new/place/y || echo ro"), "ro\n");
}

TEST_P(DriverOnPodmanTest, TheLogIsCapped) {
  UnitSpec spec = unit({"say", "20000"});
  spec.component.log_size = 65536;
  run(spec);
  LogPiece last;
  for (const os::Deadline deadline(kPatience); !deadline.passed();) {
    last = test::must(driver_->logs(spec.name, "", 1));
    if (!last.lines.empty() && last.lines[0] == "line 20000") {
      break;
    }
  }
  ASSERT_EQ(last.lines.size(), 1U);
  EXPECT_EQ(last.lines[0], "line 20000");
  EXPECT_LT(test::must(driver_->logs(spec.name, "", 100'000)).lines.size(), 5000U);
}

TEST_P(DriverOnPodmanTest, LongLinesArePutTogether) {
  const UnitSpec spec = unit({"sh", "busybox seq -s '' 1 20000; echo end"});
  run(spec);
  const Found one = ended(spec);
  // (podman 4.3 drops the beginning of such a line where the last lines alone are asked for.)
  engine::Engine engine({socket_});
  const auto lines = test::must(engine.logs(one.id, {}));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text.size(), 88'894U);
  EXPECT_EQ(lines[1].text, "end");
}

TEST_P(DriverOnPodmanTest, APortThatIsTakenIsAConflict) {
  const int port = test::free_port();
  UnitSpec one = unit({"forever"});
  one.component.ports = {{"127.0.0.1", port, 80, false}};
  run(one);
  EXPECT_THAT(found(one).bindings, ElementsAre(fmt::format("80/tcp -> 127.0.0.1:{}", port)));
  UnitSpec two = unit({"forever"}, "two");
  two.component.ports = one.component.ports;
  test::must(driver_->create(two));
  const Status started = driver_->start(two.name);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::Conflict) << started.error().message;
  EXPECT_THAT(started.error().message, HasSubstr(std::to_string(port)));
}

TEST_P(DriverOnPodmanTest, AProgramThatIsNotThereIsNotFound) {
  UnitSpec spec = unit({"forever"});
  spec.component.entrypoint = {"/bin/nothing"};
  spec.component.init = false;  // it would be there, and exit with 1 and the reason in its log
  test::must(driver_->create(spec));
  const Status started = driver_->start(spec.name);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::NotFound) << started.error().message;
}

TEST_P(DriverOnPodmanTest, ACommandThatHangsIsKilled) {
  const UnitSpec spec = unit({"forever"});
  run(spec);
  const auto hung = driver_->execute(spec.name, {"/bin/act", "hang"}, Milliseconds{1000});
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, Code::Timeout);
  EXPECT_EQ(
      test::must(driver_->execute(spec.name, {"/bin/busybox", "pidof", "-s", "hang"}, kPatience)),
      1);
}

/// `node` and `pass word`.
constexpr const char* kLogin = "node:$2y$04$0KzgIiYLEYrOuyLicGf22Odg/CsRQZAqFue5aZtohmE.tPQQ7Tnqy";

TEST_P(DriverOnPodmanTest, ImagesComeByDigestFromARegistry) {
  const auto registry = test::must(test::RegistryProcess::start({.htpasswd = kLogin, .more = {}}));
  const std::string repository = registry.address() + "/act";
  const std::string digest_file = (directory_.path() / "digest").string();
  test::must(the_podman().run({"push", "--tls-verify=false", "--creds", "node:pass word",
                               "--digestfile", digest_file, kImage, repository + ":1"}));
  const std::string reference = repository + "@" + driver_bytes(digest_file);
  EXPECT_FALSE(test::must(driver_->has_image(reference)));

  const Status stranger = driver_->pull(reference, {"node", "wrong"});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::PermissionDenied) << stranger.error().message;
  EXPECT_THAT(stranger.error().message, testing::Not(HasSubstr("wrong")));
  const Status missing =
      driver_->pull(repository + "@sha256:" + std::string(64, 'a'), {"node", "pass word"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::NotFound) << missing.error().message;

  test::must(driver_->pull(reference, {"node", "pass word"}));
  EXPECT_TRUE(test::must(driver_->has_image(reference)));
  UnitSpec spec = unit({"forever"});
  spec.component.image = reference;
  run(spec);
  EXPECT_EQ(found(spec).image, driver_bytes(digest_file));
}

TEST_P(DriverOnPodmanTest, ARegistryThatIsAwayIsUnavailable) {
  const std::string reference =
      fmt::format("127.0.0.1:{}/act@sha256:{}", test::free_port(), std::string(64, 'a'));
  const Status pulled = driver_->pull(reference, {});
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, Code::Unavailable) << pulled.error().message;
}

TEST_P(DriverOnPodmanTest, ANameThatTheStorageAloneHasIsFreed) {
  const UnitSpec spec = unit({"forever"});
  test::must(driver_->create(spec));
  // As a crash leaves it: the engine's records are gone, the storage's are not.
  the_podman().kill();
  fs::rename(the_podman().directory() / "root/libpod/bolt_state.db", directory_.path() / "old.db");
  test::must(the_podman().restart());
  EXPECT_TRUE(test::must(driver_->list()).empty());
  test::must(driver_->create(spec));
  test::must(driver_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

}  // namespace
}  // namespace mesh::host
