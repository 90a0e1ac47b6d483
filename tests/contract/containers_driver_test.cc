// What every engine of containers has to keep, on the fake one and on a real podman.

#include "tests/contract/containers_fixture.h"

namespace mesh::host {
namespace {

INSTANTIATE_TEST_SUITE_P(Engines, DriverTest, testing::Values("fake", "podman"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(DriverTest, AUnitIsMadeStartedStoppedAndRemoved) {
  const UnitSpec spec = unit({"say", "1"});
  EXPECT_TRUE(test::must(driver_->list()).empty());
  test::must(driver_->create(spec));
  Found one = found(spec);
  EXPECT_EQ(one.state, UnitState::Created);
  EXPECT_FALSE(one.exit_code || one.started || one.ended);
  EXPECT_EQ(one.id.size(), 64U);

  test::must(driver_->start(spec.name));
  one = found(spec);
  EXPECT_EQ(one.state, UnitState::Running);
  EXPECT_TRUE(one.started);
  EXPECT_FALSE(one.exit_code);

  // Once it has said something it listens to signals.
  for (const os::Deadline deadline(kPatience);
       test::must(driver_->logs(spec.name, {}, 1)).lines.empty() && !deadline.passed();) {
    ::poll(nullptr, 0, 5);
  }
  EXPECT_FALSE(test::must(driver_->stop(spec.name, Milliseconds{5000})));
  one = found(spec);
  EXPECT_EQ(one.state, UnitState::Exited);
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_TRUE(one.ended);

  test::must(driver_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
  test::must(driver_->remove(spec.name));
  EXPECT_TRUE(test::must(driver_->list()).empty());
}

TEST_P(DriverTest, EverythingTwiceIsOnce) {
  const UnitSpec spec = unit({"forever"});
  test::must(driver_->create(spec));
  const std::string id = found(spec).id;
  test::must(driver_->create(spec));
  EXPECT_EQ(found(spec).id, id);
  test::must(driver_->start(spec.name));
  const auto started = found(spec).started;
  test::must(driver_->start(spec.name));
  test::must(driver_->create(spec));
  EXPECT_EQ(found(spec).started, started);
  EXPECT_FALSE(test::must(driver_->stop(spec.name, Milliseconds{5000})));
  EXPECT_FALSE(test::must(driver_->stop(spec.name, Milliseconds{5000})));
  test::must(driver_->remove(spec.name));
  test::must(driver_->remove(spec.name));
  EXPECT_FALSE(test::must(driver_->stop(spec.name, Milliseconds{5000})));
  EXPECT_EQ(driver_->start(spec.name).error().code, Code::NotFound);
}

TEST_P(DriverTest, OneThatWillNotStopIsKilled) {
  UnitSpec spec = unit({"deaf"});
  spec.component.grace = Milliseconds{60'000};
  run(spec);
  EXPECT_TRUE(test::must(driver_->stop(spec.name, Milliseconds{1000})));
  EXPECT_EQ(found(spec).exit_code, 137);
  // A removal waits for no grace.
  test::must(driver_->start(spec.name));
  const os::Deadline deadline(Milliseconds{20'000});
  test::must(driver_->remove(spec.name));
  EXPECT_FALSE(deadline.passed());
}

TEST_P(DriverTest, AnEndIsSeenWithItsCode) {
  const UnitSpec three = unit({"exit", "3"});
  run(three);
  const Found one = ended(three);
  EXPECT_EQ(one.exit_code, 3);
  EXPECT_FALSE(one.out_of_memory);
  ASSERT_TRUE(one.started && one.ended);
  // podman notes the start of one that ends at once after it noted its end.
  EXPECT_LE(*one.started, *one.ended + Milliseconds{1'000});
}

TEST_P(DriverTest, OneThatTakesTooMuchMemoryIsSeen) {
  UnitSpec spec = unit({"eat"});
  spec.component.memory = 32 << 20;
  run(spec);
  const Found one = ended(spec);
  EXPECT_EQ(one.exit_code, 137);
  if (!is_podman()) {
    EXPECT_TRUE(one.out_of_memory);
  }
}

const std::map<std::string, std::string>& nasty_values() {
  static const std::map<std::string, std::string> kValues{
      {"NEWLINES", "one\ntwo\n\nthree\n"},
      {"CARRIAGE", "one\r\ntwo\r"},
      {"QUOTES", R"(he said "it's" `so`)"},
      {"DOLLAR", "pa$1wor$D $HOME ${HOME} $$ $("},
      {"HASH", "a # b #c"},
      {"PERCENT", "100% %h %%n %20"},
      {"BACKSLASH", R"(C:\new\table\)"},
      {"SPACES", "  leading and trailing  "},
      {"TABS", "\ta\tb\t"},
      {"EQUALS", "=a=b="},
      {"EMPTY", ""},
      {"UNICODE", "Grüße, 世界 🚀 \u202e\ufeff"},
      {"BOM", "\xEF\xBB\xBFx"},
      {"CONTROL", "\x01\x02\x1b[31m\x7f"},
      {"JSON", R"({"a":[1,"b\n"]})"},
      {"LARGE", std::string(100'000, 'x')},
      {"lower.and-odd", "1"},
  };
  return kValues;
}

std::map<std::string, std::string> environ_of(const std::string& bytes) {
  std::map<std::string, std::string> out;
  std::istringstream entries(bytes);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    const auto equals = entry.find('=');
    out[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return out;
}

TEST_P(DriverTest, VariablesAndFilesComeByteForByte) {
  std::vector<std::string> command{"show"};
  UnitSpec spec = unit({});
  spec.environment = nasty_values();
  auto files = nasty_values();
  files["BINARY"] = std::string("\0\xff\xfe\n\0", 5);
  for (const auto& [name, bytes] : files) {
    const std::string path = fmt::format("/etc/nasty/a dir/{}", name);
    spec.component.files[path] = bytes;
    command.push_back(path);
  }
  std::ofstream(directory_.path() / "run/password") << "s3cret";
  command.emplace_back("/run/mesh/password");
  spec.component.command = command;
  mount_out(spec);
  run(spec);
  EXPECT_EQ(ended(spec).exit_code, 0);

  const auto seen = environ_of(driver_bytes(out() / "environ"));
  for (const auto& [name, value] : nasty_values()) {
    ASSERT_TRUE(seen.contains(name)) << name;
    EXPECT_TRUE(seen.at(name) == value) << name << " became " << seen.at(name).substr(0, 200);
  }
  for (std::size_t at = 1; at < command.size(); ++at) {
    const auto wanted = files.find(command[at].substr(command[at].rfind('/') + 1));
    const std::string got = driver_bytes(out() / std::to_string(at - 1));
    EXPECT_TRUE(got == (wanted == files.end() ? "s3cret" : wanted->second)) << command[at];
  }
}

TEST_P(DriverTest, WhatNoEngineCanCarryIsRefused) {
  UnitSpec spec = unit({"forever"});
  for (const std::string& value : {std::string("\xff"), std::string("a\0b", 3)}) {
    spec.environment = {{"SECRET", value}};
    const Status made = driver_->create(spec);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::InvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("SECRET"));
  }
}

TEST_P(DriverTest, OthersContainersAreNeitherSeenNorTouched) {
  const auto other = new_driver("two");
  const UnitSpec spec = unit({"forever"});
  run(spec);
  test::must(other->create(spec));
  EXPECT_EQ(test::must(driver_->list()).size(), 1U);
  EXPECT_EQ(test::must(other->list()).size(), 1U);
  test::must(other->remove(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

TEST_P(DriverTest, ANameThatAnothersContainerHasIsAConflict) {
  engine::Engine engine({socket_});
  engine::ContainerSpec foreign;
  const UnitSpec spec = unit({"forever"});
  foreign.name = "mesh-0123abcd-one-shop-server-00000000000000aa";
  foreign.image = kImage;
  const std::string id = test::must(engine.create(foreign));
  EXPECT_TRUE(test::must(driver_->list()).empty());
  const Status made = driver_->create(spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Conflict);
  EXPECT_THAT(made.error().message, HasSubstr(foreign.name));
  EXPECT_EQ(driver_->start(spec.name).error().code, Code::Conflict);
  EXPECT_EQ(driver_->remove(spec.name).error().code, Code::Conflict);
  EXPECT_EQ(test::must(engine.inspect(id)).state, "created");
  test::must(engine.remove(id));
}

TEST_P(DriverTest, AnImageThatIsNotHereIsNotFound) {
  const std::string missing = "127.0.0.1:1/none@sha256:" + std::string(64, 'a');
  EXPECT_TRUE(test::must(driver_->has_image(kImage)));
  EXPECT_FALSE(test::must(driver_->has_image(missing)));
  UnitSpec spec = unit({"forever"});
  spec.component.image = missing;
  EXPECT_EQ(driver_->create(spec).error().code, Code::NotFound);
  EXPECT_FALSE(driver_->pull(missing, {}));
  EXPECT_EQ(driver_->has_image("a b").error().code, Code::InvalidArgument);
}

TEST_P(DriverTest, NamedVolumesStayAndAreTheModulesOwn) {
  UnitSpec spec = unit({"forever"});
  spec.component.volumes = {{"data", "/data", false}};
  test::must(driver_->create(spec));
  UnitSpec other = spec;
  other.name.module = "blog";
  test::must(driver_->create(other));
  EXPECT_THAT(test::must(driver_->volumes()),
              ElementsAre("mesh-0123abcd-one-blog-data", "mesh-0123abcd-one-shop-data"));
  EXPECT_TRUE(test::must(new_driver("two")->volumes()).empty());
  EXPECT_EQ(driver_->remove_volume("mesh-0123abcd-one-shop-data").error().code, Code::Conflict);
  test::must(driver_->remove(spec.name));
  EXPECT_EQ(test::must(driver_->volumes()).size(), 2U);
  test::must(driver_->remove_volume("mesh-0123abcd-one-shop-data"));
  test::must(driver_->remove_volume("mesh-0123abcd-one-shop-data"));
  EXPECT_THAT(test::must(driver_->volumes()), ElementsAre("mesh-0123abcd-one-blog-data"));
}

TEST_P(DriverTest, APathThatIsNotThereIsToldBefore) {
  UnitSpec spec = unit({"forever"});
  spec.component.volumes = {{(out() / "missing").string(), "/data", false}};
  const Status made = driver_->create(spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::NotFound);
  EXPECT_THAT(made.error().message, HasSubstr("missing"));
}

TEST_P(DriverTest, LogsAreReadOnFromACursor) {
  const UnitSpec spec = unit({"say", "1000"});
  run(spec);
  ASSERT_EQ(all_lines(spec, 1000).size(), 1000U);
  LogPiece last = test::must(driver_->logs(spec.name, "", 10));
  ASSERT_EQ(last.lines.size(), 10U);
  EXPECT_EQ(last.lines.front(), "line 991");
  EXPECT_EQ(last.lines.back(), "line 1000");
  EXPECT_TRUE(test::must(driver_->logs(spec.name, last.next, 10)).lines.empty());
  // Behind the cursor comes what is new, once, in pieces.
  test::must(driver_->stop(spec.name, Milliseconds{5000}));
  test::must(driver_->start(spec.name));
  std::vector<std::string> more;
  for (const os::Deadline deadline(kPatience); more.size() < 1000 && !deadline.passed();) {
    const LogPiece piece = test::must(driver_->logs(spec.name, last.next, 70));
    EXPECT_LE(piece.lines.size(), 70U);
    more.insert(more.end(), piece.lines.begin(), piece.lines.end());
    last = piece;
  }
  ASSERT_EQ(more.size(), 1000U);
  for (std::size_t at = 0; at < more.size(); ++at) {
    ASSERT_EQ(more[at], fmt::format("line {}", at + 1));
  }
  EXPECT_EQ(driver_->logs(spec.name, "nonsense", 10).error().code, Code::InvalidArgument);
}

TEST_P(DriverTest, CommandsRunBesideAUnit) {
  const UnitSpec spec = unit({"forever"});
  run(spec);
  EXPECT_EQ(test::must(driver_->execute(spec.name, {"/bin/act", "exit", "0"}, kPatience)), 0);
  EXPECT_EQ(test::must(driver_->execute(spec.name, {"/bin/act", "exit", "7"}, kPatience)), 7);
}

TEST_P(DriverTest, AHealthCommandLeavesNothing) {
  UnitSpec good = unit({"forever"});
  good.component.health.emplace();
  good.component.health->kind = declaration::Health::Kind::Command;
  good.component.health->command = {"/bin/act", "sh", "[ 'a b' = \"a b\" ] && exit 0"};
  UnitSpec bad = unit({"forever"}, "bad");
  bad.component.health = good.component.health;
  bad.component.health->command = {"/bin/act", "exit", "7"};
  run(good);
  run(bad);
  const auto before = is_podman() ? the_podman().remains().size() : 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(test::must(driver_->execute(good.name, good.component.health->command, kPatience)),
              0);
    EXPECT_NE(test::must(driver_->execute(bad.name, bad.component.health->command, kPatience)), 0);
  }
  EXPECT_LE(is_podman() ? the_podman().remains().size() : 0, before);
  test::must(driver_->stop(good.name, Milliseconds{5000}));
  EXPECT_EQ(driver_->execute(good.name, good.component.health->command, kPatience).error().code,
            Code::Conflict);
}

TEST_P(DriverTest, AChangeIsHeardWithoutAsking) {
  const UnitSpec spec = unit({"forever"});
  run(spec);
  const auto heard = [&](int wait) {
    pollfd one{driver_->changes(), POLLIN, 0};
    return ::poll(&one, 1, wait) == 1;
  };
  const auto settle = [&] {
    for (const os::Deadline deadline(kPatience); heard(300) && !deadline.passed();) {
      (void)test::must(driver_->list());
    }
  };
  (void)test::must(driver_->list());
  settle();
  ASSERT_FALSE(heard(0));
  // Health checks are no change.
  (void)test::must(driver_->execute(spec.name, {"/bin/act", "exit", "0"}, kPatience));
  EXPECT_FALSE(heard(300));
  engine::Engine engine({socket_});
  test::must(engine.kill(found(spec).id, "KILL"));
  EXPECT_TRUE(heard(static_cast<int>(kPatience.count())));
  EXPECT_EQ(ended(spec).exit_code, 137);
}

TEST_P(DriverTest, PortsAreOpenedWhereTheyAreDeclared) {
  UnitSpec spec = unit({"forever"});
  spec.component.ports = {{"127.0.0.1", 0, 80, false}, {"127.0.0.1", 0, 53, true}};
  run(spec);
  const Found one = found(spec);
  ASSERT_EQ(one.bindings.size(), 2U);
  EXPECT_THAT(one.bindings[0], HasSubstr("53/udp -> 127.0.0.1:"));
  EXPECT_THAT(one.bindings[1], HasSubstr("80/tcp -> 127.0.0.1:"));
  EXPECT_FALSE(one.address.empty());
  EXPECT_TRUE(one.ports.contains(80));
}

TEST_P(DriverTest, AnEngineThatIsAwayIsUnavailable) {
  ContainersOptions options;
  options.engine.socket = (directory_.path() / "nobody.sock").string();
  options.mesh = kMesh;
  options.node = "one";
  options.folder = folder("one");
  Containers nobody(options);
  const auto listed = nobody.list();
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::Unavailable);
  EXPECT_THAT(listed.error().hint, HasSubstr("podman.socket"));
  EXPECT_EQ(nobody.about(), "");
  EXPECT_GE(nobody.changes(), 0);
}

TEST_P(DriverTest, AfterARebootTheSameUnitsStartAgain) {
  const UnitSpec spec = unit({"forever"});
  const UnitSpec made = unit({"forever"}, "made");
  run(spec);
  test::must(driver_->create(made));
  const Found before = found(spec);
  if (is_podman()) {
    test::must(the_podman().reboot());
  } else {
    fake_->reboot();
  }
  Found after = found(spec);
  EXPECT_EQ(after.state, UnitState::Exited);
  EXPECT_EQ(after.id, before.id);
  EXPECT_EQ(found(made).state, UnitState::Created);
  test::must(driver_->create(spec));
  test::must(driver_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

TEST_P(DriverTest, ContainersOutliveTheirEngine) {
  const UnitSpec spec = unit({"forever"});
  run(spec);
  const Found before = found(spec);
  is_podman() ? the_podman().kill() : fake_->leave();
  const auto away = driver_->list();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::Unavailable);
  if (is_podman()) {
    test::must(the_podman().restart());
  } else {
    fake_->come_back();
  }
  const Found after = found(spec);
  EXPECT_EQ(after.state, UnitState::Running);
  EXPECT_EQ(after.id, before.id);
  EXPECT_EQ(after.started, before.started);
  EXPECT_FALSE(test::must(driver_->stop(spec.name, Milliseconds{5000})));
}

}  // namespace
}  // namespace mesh::host
