#include "host/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "host/unit_files.h"
#include "os/files.h"
#include "os/poll.h"
#include "os/process_table.h"
#include "tests/support/command_units.h"
#include "tests/support/nats_server.h"

namespace mesh::host {
namespace {

using converge::UnitState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::command_unit;
using test::shell_unit;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kProgram = std::string(MESH_BINARY_DIR) + "/bin/commands_host";

/// Looks again until `met`; false after ten seconds.
bool eventually(const std::function<bool()>& met) {
  const os::Deadline deadline(seconds(10));
  while (!met()) {
    if (deadline.passed()) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

bool lives(pid_t pid) {
  return pid > 0 && os::mark_of(pid).has_value();
}

class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() {
    // Modules that have users of their own must be able to pass.
    EXPECT_EQ(::chmod(root_.path().c_str(), 0711), 0);
    commands_ = open();
  }
  ~CommandsTest() override {
    for (const auto& each : {"m1", "m2"}) {
      auto commands = open(each);
      const auto all = commands->list().value();
      for (const auto& unit : all) {
        EXPECT_TRUE(commands->remove(unit.name));
      }
    }
    commands_.reset();
    EXPECT_TRUE(os::is_empty_dir(path("state.m1/units")));
  }

  [[nodiscard]] CommandsOptions options(const std::string& mesh = "m1") const {
    CommandsOptions out;
    out.state = path("state." + mesh);
    out.homes = path("homes." + mesh);
    out.users = path("users");
    out.mesh = mesh;
    out.node = "one";
    out.keeper = {std::string(MESH_BINARY_DIR) + "/bin/mesh-keeper"};
    return out;
  }
  [[nodiscard]] std::unique_ptr<Commands> open(const std::string& mesh = "m1") const {
    auto commands = Commands::open(options(mesh), clock_);
    EXPECT_TRUE(commands.has_value());
    return std::move(*commands);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return root_.path().string() + "/" + name;
  }
  [[nodiscard]] UnitFiles files(const UnitSpec& spec) const {
    return UnitFiles(path("state.m1/units/" + unit_text(spec.name)));
  }
  [[nodiscard]] pid_t keeper(const UnitSpec& spec) const {
    return running_keeper(files(spec)).value_or(0);
  }
  void make(const UnitSpec& spec) const {
    const auto made = commands_->create(spec);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    const auto started = commands_->start(spec.name);
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  [[nodiscard]] Found found(const UnitSpec& spec) const {
    const auto all = commands_->list().value();
    for (const auto& each : all) {
      if (each.name == spec.name) {
        return each;
      }
    }
    return {};
  }
  [[nodiscard]] bool exits(const UnitSpec& spec) const {
    return eventually([&] { return found(spec).state == UnitState::Exited; });
  }
  [[nodiscard]] std::vector<std::string> lines(const UnitSpec& spec) const {
    return commands_->logs(spec.name, "", 1000).value().lines;
  }
  /// Waits until it printed that line.
  [[nodiscard]] bool prints(const UnitSpec& spec, const std::string& line) const {
    return eventually([&] {
      const auto all = lines(spec);
      return std::ranges::find(all, line) != all.end();
    });
  }

  os::SystemClock clock_;
  test::TemporaryDirectory root_;
  std::unique_ptr<Commands> commands_;
};

TEST_F(CommandsTest, AUnitIsMadeStartedStoppedAndRemoved) {
  const auto spec = shell_unit("shop", "main", 1, "echo up; exec sleep 1000");
  ASSERT_TRUE(commands_->create(spec));
  ASSERT_TRUE(commands_->create(spec));
  EXPECT_EQ(found(spec).state, UnitState::Created);
  ASSERT_TRUE(commands_->start(spec.name));
  const auto first = keeper(spec);
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(keeper(spec), first);
  const auto running = found(spec);
  EXPECT_EQ(running.state, UnitState::Running);
  EXPECT_TRUE(running.started.has_value());
  EXPECT_TRUE(lives(static_cast<pid_t>(running.pid)));
  EXPECT_TRUE(prints(spec, "up"));
  EXPECT_FALSE(os::wait_readable(commands_->changes(), milliseconds(0)));
  EXPECT_FALSE(commands_->stop(spec.name, seconds(10)).value());
  EXPECT_EQ(found(spec).state, UnitState::Exited);
  EXPECT_EQ(found(spec).exit_code, 128 + SIGTERM);
  EXPECT_FALSE(commands_->stop(spec.name, seconds(10)).value());
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
  ASSERT_TRUE(commands_->remove(spec.name));
  ASSERT_TRUE(commands_->remove(spec.name));
  EXPECT_THAT(commands_->list().value(), IsEmpty());
  EXPECT_TRUE(os::is_empty_dir(path("state.m1/units")));
  EXPECT_TRUE(!os::exists(path("homes.m1")) || os::is_empty_dir(path("homes.m1")));
}

TEST_F(CommandsTest, HowItEndedIsKnown) {
  struct Case {
    const char* script;
    int code;
  };
  int generation = 0;
  for (const auto& each : {Case{"exit 0", 0}, Case{"exit 3", 3}, Case{"kill -9 $$", 137},
                           Case{"kill -15 $$", 143}, Case{"exit 255", 255}}) {
    const auto spec = shell_unit("shop", "main", ++generation, each.script);
    make(spec);
    EXPECT_TRUE(exits(spec));
    EXPECT_EQ(found(spec).exit_code, each.code) << each.script;
    EXPECT_TRUE(found(spec).ended.has_value());
  }
}

TEST_F(CommandsTest, AnEndMakesTheDescriptorReadableUntilItIsSeen) {
  const auto spec = shell_unit("shop", "main", 1, "read x; exit 0");
  make(spec);
  EXPECT_TRUE(os::wait_readable(commands_->changes(), seconds(10)));
  EXPECT_TRUE(exits(spec));
  EXPECT_FALSE(os::wait_readable(commands_->changes(), milliseconds(0)));
}

TEST_F(CommandsTest, WhatCannotBeginSaysWhy) {
  const auto missing = command_unit("shop", "main", 1, {"no-such-program-here"});
  ASSERT_TRUE(commands_->create(missing));
  const auto started = commands_->start(missing.name);
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, Code::NotFound);
  EXPECT_THAT(started.error().message, HasSubstr("no-such-program-here"));
  EXPECT_EQ(found(missing).exit_code, 127);
  const auto plain = command_unit("shop", "side", 1, {"/etc/passwd"});
  ASSERT_TRUE(commands_->create(plain));
  const auto refused = commands_->start(plain.name);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::PermissionDenied) << refused.error().message;
  EXPECT_EQ(commands_->start({"shop", "other", "0"}).error().code, Code::NotFound);
  auto image = plain;
  image.name.component = "image";
  image.component.run.clear();
  EXPECT_EQ(commands_->create(image).error().code, Code::Unsupported);
}

TEST_F(CommandsTest, WhatIgnoresSigtermIsKilledWithAllThatItForked) {
  const auto spec = shell_unit("shop", "main", 1,
                               "trap '' TERM; sleep 1001 & setsid sleep 1002 & "
                               "(setsid sh -c 'sleep 1003 & echo $! >/dev/null; wait' &) ; "
                               "echo ready; while :; do sleep 1004; done");
  make(spec);
  ASSERT_TRUE(prints(spec, "ready"));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(commands_->stop(spec.name, milliseconds(300)).value());
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(took, milliseconds(300));
  EXPECT_LT(took, seconds(9));
  EXPECT_EQ(found(spec).exit_code, 137);
  for (const auto* duration : {"1001", "1002", "1003", "1004"}) {
    EXPECT_THAT(os::processes_with_arguments(std::vector<std::string>{"sleep", duration}),
                IsEmpty());
  }
}

TEST_F(CommandsTest, WhatACommandLeavesBehindGoesWithIt) {
  const auto spec = shell_unit("shop", "main", 1, "sleep 1011 & setsid sleep 1012 & exit 5");
  make(spec);
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 5);
  for (const auto* duration : {"1011", "1012"}) {
    EXPECT_THAT(os::processes_with_arguments(std::vector<std::string>{"sleep", duration}),
                IsEmpty());
  }
}

TEST_F(CommandsTest, TheHostsOwnProgramKeepsAsWell) {
  auto own = options();
  own.keeper = {kProgram, "keep"};
  const auto spec = shell_unit("shop", "main", 1, "exit 6");
  auto commands = Commands::open(own, clock_).value();
  ASSERT_TRUE(commands->create(spec));
  ASSERT_TRUE(commands->start(spec.name));
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 6);
}

TEST_F(CommandsTest, AnotherHostFindsAndControlsWhatOneStarted) {
  const auto spec = shell_unit("shop", "main", 1, "echo up; read x <&-; exec sleep 1021");
  make(spec);
  const auto before = found(spec);
  commands_ = open();
  const auto after = found(spec);
  EXPECT_EQ(after.state, UnitState::Running);
  EXPECT_EQ(after.pid, before.pid);
  EXPECT_EQ(after.started, before.started);
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(found(spec).pid, before.pid);
  EXPECT_FALSE(commands_->stop(spec.name, seconds(10)).value());
  EXPECT_EQ(found(spec).exit_code, 143);
}

TEST_F(CommandsTest, AKilledHostLeavesItRunningAndItsEndIsKnownLater) {
  os::SpawnOptions spawn;
  spawn.argv = {kProgram,
                "hold",
                path("state.m1"),
                path("homes.m1"),
                path("users"),
                "m1",
                "echo up; until [ -e " + path("state.m1") + "x ]; do sleep 0.01; done; exit 42"};
  spawn.out = os::Output::pipe();
  auto holder = os::Process::spawn(spawn).value();
  ASSERT_TRUE(os::wait_readable(holder.out().get(), seconds(20)));
  std::string said(64, ' ');
  said.resize(static_cast<std::size_t>(::read(holder.out().get(), said.data(), said.size())));
  ASSERT_EQ(said, "started\n");
  holder.signal(SIGKILL);
  ASSERT_TRUE(holder.wait(seconds(10)));
  const auto spec = shell_unit("shop", "main", 1, "");
  EXPECT_EQ(found(spec).state, UnitState::Running);
  EXPECT_TRUE(prints(spec, "up"));
  const auto first = keeper(spec);
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(keeper(spec), first);
  // As another user it cannot pass the state; what it looks at stands beside it.
  std::ofstream(path("state.m1") + "x") << "";
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 42);
}

// Killed anywhere between its first step and its last, the next host ends at one command.
TEST_F(CommandsTest, AHostThatIsKilledAnywhereLeavesNothingTwice) {
  const auto spec = shell_unit("shop", "main", 1, "exec sleep 1025");
  const std::vector<std::string> words{"sleep", "1025"};
  for (int round = 0; round < 40; ++round) {
    os::SpawnOptions spawn;
    spawn.argv = {kProgram,      "hold", path("state.m1"), path("homes.m1"),
                  path("users"), "m1",   "exec sleep 1025"};
    spawn.out = os::Output::discard();
    auto holder = os::Process::spawn(spawn).value();
    (void)os::wait_readable(holder.pidfd(), milliseconds(round));
    holder.signal(SIGKILL);
    ASSERT_TRUE(holder.wait(seconds(10)));
    commands_ = open();
    ASSERT_TRUE(commands_->list());
    make(spec);
    ASSERT_TRUE(eventually([&] { return os::processes_with_arguments(words).size() == 1; }))
        << "round " << round;
    EXPECT_EQ(found(spec).state, UnitState::Running) << "round " << round;
    ASSERT_TRUE(commands_->remove(spec.name));
    ASSERT_THAT(os::processes_with_arguments(words), IsEmpty()) << "round " << round;
  }
}

TEST_F(CommandsTest, AKilledKeeperTakesItsCommandWithIt) {
  const auto spec = shell_unit("shop", "main", 1,
                               "trap '' TERM; (trap '' TERM; sleep 1031) & echo ready; "
                               "while :; do sleep 1032; done");
  make(spec);
  ASSERT_TRUE(prints(spec, "ready"));
  const auto pid = static_cast<pid_t>(found(spec).pid);
  ASSERT_EQ(::kill(keeper(spec), SIGKILL), 0);
  EXPECT_TRUE(os::wait_readable(commands_->changes(), seconds(10)));
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 137);
  EXPECT_FALSE(lives(pid));
  for (const auto* duration : {"1031", "1032"}) {
    EXPECT_THAT(os::processes_with_arguments(std::vector<std::string>{"sleep", duration}),
                IsEmpty());
  }
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

TEST_F(CommandsTest, AKeeperThatHangsIsEnded) {
  const auto spec = shell_unit("shop", "main", 1, "exec sleep 1041");
  make(spec);
  const auto pid = static_cast<pid_t>(found(spec).pid);
  ASSERT_EQ(::kill(keeper(spec), SIGSTOP), 0);
  EXPECT_TRUE(commands_->stop(spec.name, milliseconds(10)).value());
  EXPECT_FALSE(lives(pid));
  EXPECT_EQ(found(spec).state, UnitState::Exited);
}

TEST_F(CommandsTest, SigtermToAKeeperStopsTheCommandInItsOwnGrace) {
  auto spec = shell_unit("shop", "main", 1,
                         "trap 'echo bye; exit 7' TERM; echo up; while :; do "
                         "sleep 0.01; done");
  spec.component.grace = seconds(10);
  make(spec);
  ASSERT_TRUE(prints(spec, "up"));
  ASSERT_EQ(::kill(keeper(spec), SIGTERM), 0);
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 7);
  EXPECT_EQ(lines(spec).front(), "up");
  EXPECT_EQ(lines(spec).back(), "bye");
}

TEST_F(CommandsTest, AfterARebootAllHasEnded) {
  const auto spec = shell_unit("shop", "main", 1, "exec sleep 1051");
  make(spec);
  ASSERT_EQ(::kill(keeper(spec), SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return keeper(spec) == 0; }));
  // The pid is another's by now, and the machine was started anew since.
  auto run = files(spec).read_run().value();
  run.keeper = os::mark_of(::getpid()).value();
  run.keeper.boot = "11111111-2222-3333-4444-555555555555";
  ASSERT_TRUE(files(spec).write_run(run));
  EXPECT_EQ(found(spec).state, UnitState::Exited);
  EXPECT_EQ(found(spec).exit_code, 137);
  EXPECT_TRUE(lives(::getpid()));
  // What lies where a reboot clears is made again.
  ASSERT_TRUE(os::remove_tree(path("homes.m1")));
  ASSERT_TRUE(commands_->start(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

TEST_F(CommandsTest, AnotherProcessWithThePidIsLeftAlone) {
  const auto spec = shell_unit("shop", "main", 1, "exit 0");
  make(spec);
  EXPECT_TRUE(exits(spec));
  os::SpawnOptions spawn;
  spawn.argv = {"sleep", "1061"};
  spawn.new_session = true;
  auto other = os::Process::spawn(spawn).value();
  auto run = files(spec).read_run().value();
  run.keeper.pid = other.pid();
  run.keeper.started -= 1;
  ASSERT_TRUE(files(spec).write_run(run));
  EXPECT_EQ(found(spec).state, UnitState::Exited);
  EXPECT_FALSE(commands_->stop(spec.name, seconds(1)).value());
  EXPECT_FALSE(other.poll().has_value());
}

TEST_F(CommandsTest, TheClockMayMove) {
  const auto spec = shell_unit("shop", "main", 1, "exec sleep 1071");
  make(spec);
  const auto now = found(spec).started.value();
  // As if the clock had stood in 1970 when it was started.
  auto run = files(spec).read_run().value();
  run.started = 1000;
  ASSERT_TRUE(files(spec).write_run(run));
  const auto told = found(spec).started.value();
  EXPECT_LT(std::chrono::abs(told - now), seconds(3));
}

TEST_F(CommandsTest, WhatWasLeftHalfMadeIsMadeAnew) {
  const auto spec = shell_unit("shop", "main", 1, "exit 4");
  for (const auto* left : {"", "lock", "log", "spec.json.new.AbCdEf", "run.json"}) {
    ASSERT_TRUE(os::make_private_dir(files(spec).directory()));
    if (*left != '\0') {
      ASSERT_TRUE(os::write_file_atomic(files(spec).directory() + "/" + left, "{", 0600));
    }
    EXPECT_THAT(commands_->list().value(), IsEmpty()) << left;
    make(spec);
    EXPECT_TRUE(exits(spec));
    EXPECT_EQ(found(spec).exit_code, 4) << left;
    ASSERT_TRUE(commands_->remove(spec.name));
  }
  ASSERT_TRUE(os::make_private_dir(files(spec).directory()));
  commands_ = open();
  EXPECT_FALSE(os::exists(files(spec).directory()));
}

TEST_F(CommandsTest, FilesThatWereCutAtAnyLengthStopNothing) {
  const auto spec = shell_unit("shop", "main", 1, "exit 4");
  make(spec);
  EXPECT_TRUE(exits(spec));
  for (const auto* name : {"run.json", "ended.json", "spec.json"}) {
    const auto file = files(spec).directory() + "/" + name;
    const auto whole = os::read_file(file, 1U << 20U).value();
    for (std::size_t length = 0; length < whole.size(); length += 7) {
      ASSERT_TRUE(os::write_file_atomic(file, whole.substr(0, length), 0600));
      ASSERT_TRUE(commands_->list().has_value()) << name << " " << length;
    }
    const auto made = commands_->create(spec);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    ASSERT_TRUE(commands_->start(spec.name)) << name;
    EXPECT_TRUE(exits(spec));
    EXPECT_EQ(found(spec).exit_code, 4) << name;
  }
}

TEST_F(CommandsTest, TheEnvironmentIsByteExact) {
  UnitSpec spec = command_unit("shop", "main", 1, {kProgram, "environment", "/dev/stdout"});
  std::string all;
  for (int byte = 1; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  const os::Environment nasty = {{"NEWLINES", "a\nb\n\nc\n"},
                                 {"QUOTES", R"("a" 'b' `c` \"d\")"},
                                 {"DOLLAR", "pa$1wor$D ${HOME} $(id) %h %%"},
                                 {"HASH", "# a # b"},
                                 {"EQUALS", "=a=b="},
                                 {"EMPTY", ""},
                                 {"SPACES", "  a  "},
                                 {"BACKSLASH", "a\\"},
                                 {"BOM",
                                  "\xEF\xBB\xBF"
                                  "a"},
                                 {"CRLF", "a\r\nb\r"},
                                 {"UNICODE", "größe 你好 🎉"},
                                 {"BYTES", all},
                                 {"LONG", std::string(100'000, 'x')},
                                 {"a b.c-d", "odd name"}};
  spec.environment = nasty;
  spec.environment["HOME"] = "/h";
  spec.environment["PATH"] = "/usr/bin:/bin";
  // Through a pipe, since the log knows lines and no NUL: a file in the module's own home.
  const auto out = path("homes.m1") + "/shop/home/out";
  spec.component.run = {kProgram, "environment", out};
  make(spec);
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 0);
  const auto text = os::read_file(out, 1U << 20U).value();
  std::string expected;
  for (const auto& [name, value] : spec.environment) {
    expected += name + "=" + value + std::string(1, '\0');
  }
  EXPECT_EQ(text, expected);
}

TEST_F(CommandsTest, PathAndHomeAreGivenWhereNothingElseIs) {
  const auto spec = command_unit("shop", "main", 1, {"env"});
  make(spec);
  EXPECT_TRUE(exits(spec));
  std::vector<std::string> names;
  for (const auto& line : lines(spec)) {
    names.push_back(line.substr(0, line.find('=')));
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("PATH", "HOME"));
  auto bad = spec;
  bad.name.component = "bad";
  bad.environment = {{"A=B", "c"}};
  EXPECT_EQ(commands_->create(bad).error().code, Code::InvalidArgument);
  bad.environment = {{"A", std::string("a\0b", 3)}};
  EXPECT_EQ(commands_->create(bad).error().code, Code::InvalidArgument);
}

TEST_F(CommandsTest, TheLogIsBoundedAndACursorHoldsWhenItBeginsAnew) {
  auto spec = shell_unit("shop", "main", 1,
                         "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done; "
                         "echo end");
  spec.component.log_size = 64 << 10;
  make(spec);
  std::vector<std::string> seen;
  LogCursor cursor;
  const auto follow = [&] {
    auto piece = commands_->logs(spec.name, cursor, 50).value();
    cursor = piece.next;
    seen.insert(seen.end(), piece.lines.begin(), piece.lines.end());
    return !piece.lines.empty();
  };
  const os::Deadline deadline(seconds(20));
  while ((seen.empty() || seen.back() != "end") && !deadline.passed()) {
    follow();
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), "end");
  // What a slow reader misses is gone (LogReaderTest has what a quick one sees); nothing comes
  // twice.
  for (std::size_t i = 1; i + 1 < seen.size(); ++i) {
    EXPECT_GT(std::stoi(seen[i].substr(5)), std::stoi(seen[i - 1].substr(5))) << i;
  }
  EXPECT_FALSE(follow());
  EXPECT_TRUE(exits(spec));
  EXPECT_THAT(commands_->logs(spec.name, "", 2).value().lines, ElementsAre("line 8999", "end"));
  EXPECT_LE(os::read_file(files(spec).log(), 1U << 20U).value().size() +
                os::read_file(files(spec).log() + ".1", 1U << 20U).value().size(),
            64U << 10U);
  EXPECT_EQ(commands_->logs(spec.name, "nonsense", 2).error().code, Code::InvalidArgument);
}

TEST_F(CommandsTest, LongLinesAndOnesWithoutAnEndAreKept) {
  const auto spec =
      shell_unit("shop", "main", 1, "head -c 40000 /dev/zero | tr '\\0' x; echo; printf tail");
  make(spec);
  EXPECT_TRUE(exits(spec));
  const auto kept = lines(spec);
  std::string joined;
  for (const auto& line : kept) {
    joined += line;
  }
  EXPECT_EQ(joined, std::string(40000, 'x') + "tail");
  EXPECT_EQ(kept.back(), "tail");
}

TEST_F(CommandsTest, ExecuteRunsAsTheUnitDoes) {
  auto spec = shell_unit("shop", "main", 1, "id -u >uid; echo up; exec sleep 1081");
  spec.environment = {{"COLOUR", "blue"}};
  make(spec);
  ASSERT_TRUE(prints(spec, "up"));
  const auto run = [&](const std::string& script, milliseconds timeout = seconds(10)) {
    return commands_->execute(spec.name, {"sh", "-c", script}, timeout);
  };
  EXPECT_EQ(run("exit 3").value(), 3);
  EXPECT_EQ(run("kill -9 $$").value(), 137);
  EXPECT_EQ(run("[ $COLOUR = blue ] && [ \"$(cat uid)\" = \"$(id -u)\" ]").value(), 0);
  EXPECT_EQ(run("sleep 1082", milliseconds(50)).error().code, Code::Timeout);
  // It was killed; the kernel takes a moment to see it off.
  EXPECT_TRUE(eventually([] {
    return os::processes_with_arguments(std::vector<std::string>{"sleep", "1082"}).empty();
  }));
  EXPECT_EQ(commands_->execute(spec.name, {"no-such"}, seconds(1)).error().code, Code::NotFound);
}

TEST_F(CommandsTest, TwoMeshesDoNotTouchEachOther) {
  const auto spec = shell_unit("shop", "main", 1, "exec sleep 1091");
  make(spec);
  const auto other = open("m2");
  EXPECT_THAT(other->list().value(), IsEmpty());
  ASSERT_TRUE(other->create(spec));
  ASSERT_TRUE(other->start(spec.name));
  ASSERT_TRUE(other->remove(spec.name));
  EXPECT_EQ(found(spec).state, UnitState::Running);
  // Even where somebody gave both the same directory.
  auto same = options();
  same.mesh = "m2";
  auto wrong = Commands::open(same, clock_).value();
  EXPECT_THAT(wrong->list().value(), IsEmpty());
  EXPECT_EQ(wrong->start(spec.name).error().code, Code::NotFound);
  EXPECT_FALSE(wrong->stop(spec.name, seconds(1)).value());
  EXPECT_EQ(wrong->remove(spec.name).error().code, Code::Conflict);
  EXPECT_EQ(found(spec).state, UnitState::Running);
}

TEST_F(CommandsTest, EachModuleHasAUserOfItsOwnAsRoot) {
  if (!commands_->separate()) {
    GTEST_SKIP() << "needs root";
  }
  const auto folder = path("checkout");
  const auto secrets = path("secrets");
  ASSERT_TRUE(os::make_dirs(folder + "/.git"));
  ASSERT_TRUE(os::write_file_atomic(folder + "/data.txt", "of the checkout", 0600));
  ASSERT_TRUE(os::make_private_dir(secrets));
  ASSERT_TRUE(os::write_file_atomic(secrets + "/password", "pw", 0400));
  auto spec = shell_unit("shop", "main", 1,
                         "id -u; id -g; cat data.txt; echo; cat $MESH_PASSWORD_FILE; echo; "
                         "echo own >$HOME/own; stat -c %a $HOME; ls -A; exec sleep 1101");
  spec.folder = folder;
  spec.files = secrets;
  spec.environment = {{"MESH_PASSWORD_FILE", secrets + "/password"},
                      {"OTHER", secrets + "/password"}};
  make(spec);
  ASSERT_TRUE(eventually([&] { return lines(spec).size() >= 6; }));
  const auto told = lines(spec);
  EXPECT_GE(std::stoi(told[0]), 200'000);
  EXPECT_EQ(told[1], told[0]);
  EXPECT_THAT(std::vector<std::string>(told.begin() + 2, told.end()),
              ElementsAre("of the checkout", "pw", "700", "data.txt"));
  EXPECT_EQ(
      commands_
          ->execute(spec.name, {"sh", "-c", "[ $OTHER = " + secrets + "/password ]"}, seconds(10))
          .value(),
      0);
  // Another module sees none of it, nor the state.
  auto other = shell_unit("audit", "main", 1, "id -u; exec sleep 1102");
  make(other);
  const auto home = path("homes.m1") + "/shop";
  for (const auto& place :
       {home, home + "/home/own", home + "/home", path("state.m1/units"), files(spec).spec(),
        secrets, home + "/folder.main." + spec.name.generation}) {
    EXPECT_NE(commands_->execute(other.name, {"ls", place + "/."}, seconds(10)).value(), 0)
        << place;
    EXPECT_NE(commands_->execute(other.name, {"cat", place}, seconds(10)).value(), 0) << place;
  }
  ASSERT_TRUE(prints(other, std::to_string(std::stoi(told[0]) + 1)));
  // The next generation has its own copy and finds the home as it was left.
  ASSERT_TRUE(os::write_file_atomic(folder + "/data.txt", "of the next", 0600));
  auto next = shell_unit("shop", "main", 2, "cat data.txt; echo; cat $HOME/own; exec sleep 1103");
  next.folder = folder;
  make(next);
  ASSERT_TRUE(prints(next, "own"));
  EXPECT_THAT(lines(next), ElementsAre("of the next", "own"));
  EXPECT_EQ(
      commands_->execute(spec.name, {"grep", "-q", "of the checkout", "data.txt"}, seconds(10))
          .value(),
      0);
  ASSERT_TRUE(commands_->remove(spec.name));
  EXPECT_TRUE(os::exists(home + "/home/own"));
  ASSERT_TRUE(commands_->remove(next.name));
  EXPECT_FALSE(os::exists(home));
}

TEST_F(CommandsTest, AHomeThatNobodyCanReachIsRefused) {
  if (!commands_->separate()) {
    GTEST_SKIP() << "needs root";
  }
  ASSERT_EQ(::chmod(root_.path().c_str(), 0700), 0);
  const auto made = commands_->create(shell_unit("shop", "main", 1, "exit 0"));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::PermissionDenied);
  EXPECT_THAT(made.error().hint, HasSubstr("chmod"));
}

TEST_F(CommandsTest, LimitsAreHeldWhereTheMachineCan) {
  auto spec =
      command_unit("shop", "main", 1, {"sh", "-c", "head -c 200M /dev/zero | tail | wc -c"});
  spec.component.memory = 64 << 20;
  spec.component.pids = 20;
  spec.component.cpus = 0.5;
  const auto missing = commands_->not_held(spec.component);
  make(spec);
  EXPECT_TRUE(exits(spec));
  const bool held = std::ranges::none_of(
      missing, [](const std::string& why) { return why.starts_with("memory"); });
  EXPECT_EQ(found(spec).out_of_memory, held);
  auto forks = shell_unit("shop", "forks", 1,
                          "i=0; while [ $i -lt 40 ]; do sleep 1111 & i=$((i+1)); done; echo all");
  forks.component.pids = 20;
  if (commands_->not_held(forks.component).empty()) {
    make(forks);
    EXPECT_TRUE(exits(forks));
    EXPECT_NE(found(forks).exit_code, 0);
  }
}

TEST_F(CommandsTest, AFullDiskLosesLinesAndNoEnd) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const auto disk = path("state.m1/units");
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) {
    GTEST_SKIP() << "cannot mount";
  }
  auto spec = shell_unit("shop", "main", 1,
                         "i=0; while [ $i -lt 20000 ]; do echo a line that fills the disk $i; "
                         "i=$((i+1)); done; echo ready >&2; sleep 0.2; exit 9");
  make(spec);
  EXPECT_TRUE(exits(spec));
  EXPECT_EQ(found(spec).exit_code, 9);
  auto second = shell_unit("shop", "side", 1, "exit 0");
  const auto made = commands_->create(second);
  const auto started = made ? commands_->start(second.name) : made;
  if (!started) {
    EXPECT_EQ(started.error().code, Code::Resource) << started.error().message;
  }
  EXPECT_TRUE(commands_->remove(second.name));
  EXPECT_TRUE(commands_->remove(spec.name));
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST_F(CommandsTest, ListingTwentyIsCheap) {
  for (int i = 0; i < 20; ++i) {
    auto spec = shell_unit("m" + std::to_string(i), "main", 1, "exec sleep 1121");
    spec.environment["LONG"] = std::string(100'000, 'x');
    make(spec);
  }
  (void)commands_->list().value();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(commands_->list().value().size(), 20U);
  }
  const auto each = (std::chrono::steady_clock::now() - begun) / 20;
  RecordProperty(
      "microseconds",
      static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(each).count()));
  EXPECT_LT(each, milliseconds(50));
}

}  // namespace
}  // namespace mesh::host
