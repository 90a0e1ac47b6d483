// The real program: its exit codes, its documents, and that no secret is ever in what it prints.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "os/lock.h"
#include "os/process.h"
#include "tests/support/nats_server.h"

namespace mesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

const std::string kProgram = MESH_BINARY_DIR "/bin/mesh";

class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override {
    write("mesh.toml",
          "mesh = \"home\"\n[nodes.one]\n[modules.shop]\npath = \"shop\"\non = [\"one\"]\n"
          "[modules.audit]\npath = \"audit\"\non = [\"one\"]\n[bus]\nlisten = \"127.0.0.1:" +
              std::to_string(test::free_port()) + "\"\n");
    write("shop/module.toml",
          "emits = [\"order.placed\"]\n[components.main]\nrun = [\"sleep\", \"9\"]\n"
          "env = { KEY = { secret = \"KEY\" } }\nsecrets = [\"TOKEN\"]\n");
    write("audit/module.toml", "consumes = [\"shop.order.placed\"]\n");
  }
  void write(const std::string& path, std::string_view bytes) const {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string root() const { return directory_.path().string(); }

  [[nodiscard]] os::RunResult run(Words argv, std::string input = {}) const {
    os::RunOptions options;
    options.spawn.argv = std::move(argv);
    options.spawn.directory = root();
    options.input = std::move(input);
    options.timeout = os::Milliseconds{60'000};
    auto ran = os::run(options);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    return ran ? std::move(*ran) : os::RunResult{};
  }
  [[nodiscard]] os::RunResult mesh(Words words, std::string input = {}) const {
    words.insert(words.begin(), kProgram);
    return run(std::move(words), std::move(input));
  }
  [[nodiscard]] os::RunResult shell(const std::string& script) const {
    return run({"bash", "-c", "PATH=" MESH_BINARY_DIR "/bin:$PATH\n" + script});
  }

  test::TemporaryDirectory directory_;
};

TEST_F(CommandLine, ExitCodes) {
  EXPECT_EQ(mesh({"check"}).status.code, 0);
  EXPECT_EQ(mesh({"init"}).status.code, 0);
  EXPECT_EQ(mesh({"explain", "one.shop", "hear", "x"}).status.code, 1);
  EXPECT_EQ(mesh({"chekc"}).status.code, 64);
  EXPECT_EQ(mesh({}).status.code, 64);
  EXPECT_EQ(mesh({"rollback"}).status.code, 1);
  EXPECT_EQ(mesh({"env", "one.shop"}).status.code, 65) << "secrets are not set";
  EXPECT_EQ(mesh({"plan", "--timeout", "5s"}).status.code, 69);
  write("mesh.toml", "mesh = 1\n");
  EXPECT_EQ(mesh({"check"}).status.code, 65);
  EXPECT_EQ(mesh({"-C", "/", "check"}).status.code, 65);
}

TEST_F(CommandLine, EveryVerbHasHelpWithAnExample) {
  const auto list = Json::parse(mesh({"help", "--json"}).out);
  ASSERT_GE(list["verbs"].size(), 15U);
  for (const auto& verb : list["verbs"]) {
    const auto help = mesh({verb["name"], "--help"});
    EXPECT_EQ(help.status.code, 0);
    EXPECT_THAT(help.out, HasSubstr("\nexample:\n  ")) << verb["name"];
    EXPECT_THAT(help.out, HasSubstr("mesh " + verb["name"].get<std::string>()));
    EXPECT_THAT(help.err, IsEmpty());
  }
}

TEST_F(CommandLine, EveryVerbAnswersWithOneDocument) {
  const std::vector<Words> lines = {{"check"},
                                    {"grants"},
                                    {"who", "hear", ">"},
                                    {"explain", "one", "hear", ">"},
                                    {"explain", "shop"},
                                    {"init"},
                                    {"bus-config"},
                                    {"history"},
                                    {"secret", "list"},
                                    {"secret", "set", "X"},
                                    {"secret", "remove", "X"},
                                    {"env", "one.audit"},
                                    {"env", "one.shop"},
                                    {"backup", "b"},
                                    {"restore", "b"},
                                    {"plan"},
                                    {"push"},
                                    {"status"},
                                    {"call", "shop.price"},
                                    {"completion", "bash"},
                                    {"help"},
                                    {"nonsense"},
                                    {"lint", "x"}};
  for (auto line : lines) {
    line.insert(line.end(), {"--json", "--timeout", "5s"});
    const auto ran = mesh(line);
    const auto document = Json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << ::testing::PrintToString(line) << ran.out << ran.err;
    if (!document.contains("error")) {
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& [key, value] : document["error"].items()) {
      keys.push_back(key);
    }
    EXPECT_THAT(keys, ElementsAre("code", "message", "file", "line", "column", "hint"));
    EXPECT_NE(ran.status.code, 0);
  }
}

TEST_F(CommandLine, StdoutThatCannotBeWritten) {
  EXPECT_EQ(shell("mesh grants > /dev/full").status.code, 1);
  EXPECT_EQ(shell("mesh grants --json >&-").status.code, 1);
  EXPECT_EQ(shell("mesh history --json >&- 2>&-").status.code, 1)
      << "closed descriptors hit no file";
  EXPECT_EQ(mesh({"history"}).status.code, 0);
}

TEST_F(CommandLine, APipeThatNobodyReads) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  os::SpawnOptions options;
  options.argv = {kProgram, "grants"};
  options.directory = root();
  options.out = os::Output::to_fd(ends[1]);
  auto process = os::Process::spawn(options);
  ASSERT_TRUE(process);
  const auto status = process->wait(os::Milliseconds{30'000});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->text(), "exit code 1");
  close(ends[1]);
}

TEST_F(CommandLine, AnInterruptIs130) {
  ASSERT_EQ(mesh({"init"}).status.code, 0);
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  os::SpawnOptions options;
  options.argv = {kProgram, "secret", "set", "X"};
  options.directory = root();
  options.in = ends[0];
  auto process = os::Process::spawn(options);
  ASSERT_TRUE(process);
  // The lock file of the inventory is of no help here: wait until it reads its stdin.
  const auto wchan = "/proc/" + std::to_string(process->pid()) + "/wchan";
  const os::Deadline deadline(os::Milliseconds{20'000});
  std::string where;
  while (where.find("pipe") == std::string::npos && !deadline.passed()) {
    std::ifstream(wchan) >> where;
    if (process->wait(os::Milliseconds{20})) {
      break;
    }
  }
  process->signal(SIGINT);
  const auto status = process->wait(os::Milliseconds{20'000});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 130);
  EXPECT_EQ(status->signal, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(CommandLine, ACommandRunsWhereTheCallerStands) {
  ASSERT_EQ(mesh({"init"}).status.code, 0);
  EXPECT_EQ(mesh({"env", "one.audit", "--", "sh", "-c", "exit 42"}).status.code, 42);
  EXPECT_EQ(mesh({"env", "one.audit", "--", "/no/such/program"}).status.code, 127);
  const auto script = "cd / && MESH_CA_FILE=x OWN=1 mesh -C '" + root() +
                      "' env one.audit -- sh -c 'echo $PWD $OWN ${MESH_CA_FILE-unset} $MESH_USER; "
                      "cat $MESH_PASSWORD_FILE | wc -c'";
  EXPECT_EQ(shell(script).out, "/ 1 unset one.audit\n43\n");
  EXPECT_EQ(shell("set -o pipefail; mesh env one.audit -- yes 2>&1 | head -1").out, "y\n");
  EXPECT_THAT(shell("eval \"$(mesh env one.audit)\"; echo $MESH_CONSUMER").out,
              HasSubstr("EVENTS.one_audit"));
}

TEST_F(CommandLine, NoSecretIsPrinted) {
  ASSERT_EQ(mesh({"init"}).status.code, 0);
  ASSERT_EQ(mesh({"secret", "set", "KEY"}, "hush-key-1").status.code, 0);
  ASSERT_EQ(mesh({"secret", "set", "shop", "TOKEN"}, "hush-token-2").status.code, 0);
  const auto password = mesh({"env", "one.shop", "--", "sh", "-c", "cat $MESH_PASSWORD_FILE"}).out;
  ASSERT_EQ(password.size(), 43U);
  ASSERT_EQ(mesh({"env", "one.shop", "--", "sh", "-c", "printf %s $KEY"}).out, "hush-key-1");
  const std::vector<Words> lines = {{"env", "one.shop"},
                                    {"env", "one.shop", "--json"},
                                    {"bus-config"},
                                    {"grants"},
                                    {"secret", "list"},
                                    {"history"},
                                    {"backup", "b"},
                                    {"plan"},
                                    {"status"},
                                    {"push", "--timeout", "2s"},
                                    {"secret", "set", "KEY", "hush-key-1"}};
  for (const auto& line : lines) {
    const auto ran = mesh(line);
    const auto all = ran.out + ran.err;
    EXPECT_THAT(all, Not(HasSubstr(password))) << ::testing::PrintToString(line);
    EXPECT_THAT(all, Not(HasSubstr("hush-token-2")));
    if (line.size() < 4) {
      EXPECT_THAT(all, Not(HasSubstr("hush-key-1")));
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(root() + "/.mesh")) {
    struct stat found{};
    ASSERT_EQ(lstat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 077U, 0U) << entry.path();
  }
}

TEST_F(CommandLine, TheLockNamesItsHolder) {
  ASSERT_EQ(mesh({"init"}).status.code, 0);
  {
    const auto lock = os::Lock::take(root() + "/.mesh/lock", "push", "2026-01-02T03:04:05Z");
    ASSERT_TRUE(lock);
    const auto held = mesh({"bus-config", "--json"});
    EXPECT_EQ(held.status.code, 1);
    EXPECT_THAT(held.out, HasSubstr("\"conflict\""));
    EXPECT_THAT(held.out, HasSubstr("push"));
    EXPECT_EQ(mesh({"grants"}).status.code, 0);
    EXPECT_EQ(mesh({"history"}).status.code, 0);
  }
  EXPECT_EQ(mesh({"bus-config"}).status.code, 0);
}

TEST_F(CommandLine, EachServerAcceptsTheBusConfiguration) {
  ASSERT_EQ(mesh({"init"}).status.code, 0);
  ASSERT_EQ(mesh({"bus-config"}).status.code, 0);
  ASSERT_EQ(shell("mesh bus-config > nats.conf").status.code, 0);
  for (const auto& version : test::server_versions()) {
    const auto judged = run({test::server_program(version).string(), "-t", "-c", "nats.conf"});
    EXPECT_EQ(judged.status.code, 0) << version << judged.err;
  }
}

TEST_F(CommandLine, BashCompletes) {
  const auto complete = [&](const std::string& words) {
    return shell("source <(mesh completion bash)\nCOMP_WORDS=(mesh " + words +
                 ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_mesh\necho \"${COMPREPLY[*]}\"")
        .out;
  };
  EXPECT_EQ(complete("gra"), "grants\n");
  EXPECT_EQ(complete("env one."), "one.audit one.shop\n");
  EXPECT_EQ(complete("who hear ''"), "\n");
  EXPECT_EQ(complete("push --pl"), "--plan\n");
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const auto script = mesh({"completion", name});
    EXPECT_THAT(script.out, HasSubstr("mesh __complete"));
    // Judged by the shell itself, where it is there.
    EXPECT_EQ(shell("command -v " + name + " > /dev/null || exit 0; mesh completion " + name +
                    " > script && " + name + " -n script")
                  .status.code,
              0)
        << name;
  }
}

}  // namespace
}  // namespace mesh
