#include <gtest/gtest.h>

#include <set>

#include "builder/build_key.h"
#include "builder/failure.h"
#include "builder/lock_file.h"
#include "builder/logged_run.h"
#include "os/files.h"

using namespace mesh;
using namespace mesh::builder;

namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(LockFileTest, ReadsWhatItWrote) {
  LockFile lock;
  lock.images["docker.io/library/debian:12"] = kDigest;
  lock.images["127.0.0.1:5000/a/b:1"] = "sha256:" + std::string(64, 'b');
  EXPECT_EQ(LockFile::parse(lock.text(), "mesh.lock").value(), lock);
  EXPECT_EQ(LockFile::parse("", "mesh.lock").value(), LockFile{});
  EXPECT_LT(lock.text().find("127.0.0.1"), lock.text().find("docker.io"));
}

TEST(LockFileTest, RefusesWhatIsNone) {
  for (const auto* text :
       {"[]", "{}", "x", R"({"version":1})", R"({"version":1,"images":{"a":"b"}})",
        R"({"version":1,"images":{"a@b":1}})", "<<<<<<< HEAD\n{}"}) {
    const auto parsed = LockFile::parse(text, "mesh.lock");
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, Code::Corrupt);
    EXPECT_NE(parsed.error().message.find("mesh.lock"), std::string::npos);
  }
  EXPECT_EQ(LockFile::parse(R"({"version":2,"images":{}})", "mesh.lock").error().code,
            Code::Corrupt)
      << "a file that is wrong: as the others";
  const auto merged = LockFile::parse("{\n<<<<<<< HEAD\n}", "mesh.lock");
  EXPECT_EQ(merged.error().place.file_name(), "mesh.lock");
  EXPECT_EQ(merged.error().place.line, 2);
  EXPECT_EQ(LockFile::parse("{}", "mesh.lock").error().hint.find("remove it"), std::string::npos)
      << "without the lock bases move";
}

TEST(BuildKeyTest, EachPartChangesIt) {
  const KeyParts base{"c", "FROM a", "t", {{"A", "1"}}, {"S"}, {"linux/amd64"}, {"a@d"}};
  std::vector<KeyParts> others(9, base);
  others[1].context = "d";
  others[2].containerfile = "FROM b";
  others[3].target = "";
  others[4].args["A"] = "2";
  others[5].args = {{"A1", ""}};
  others[6].secrets.clear();
  others[7].platforms.emplace_back("linux/arm64");
  others[8].bases = {"a@e"};
  std::set<std::string> keys;
  for (const auto& parts : others) {
    keys.insert(build_key(parts));
  }
  EXPECT_EQ(keys.size(), others.size());
  EXPECT_EQ(build_key(base), build_key(others[0]));
}

TEST(StepWatcherTest, NamesTheStepAndItsLine) {
  containerfile::Rewritten rewritten;
  rewritten.text = "FROM r/a@d AS mesh-stage-0\nRUN make   all\nCOPY a b\n";
  rewritten.lines = {1, 4, 9};
  StepWatcher watcher(rewritten);
  for (const auto* line :
       {"STEP 1/3: FROM r/a@d AS mesh-stage-0", "STEP 2/3: RUN make   all", "cc: no",
        R"(Error: building at STEP "RUN make   all": while running runtime: exit status 2)"}) {
    watcher.take(line);
  }
  const auto failure = watcher.failure("exit code 1", {"cc: no"});
  EXPECT_EQ(failure.line, 4);
  EXPECT_EQ(failure.step, "STEP 2/3: RUN make   all");
  EXPECT_EQ(failure.message, "RUN make   all: exit status 2");
  EXPECT_EQ(StepWatcher(rewritten).failure("exit code 125", {}).message, "exit code 125");
}

TEST(StepWatcherTest, ReadsVersions) {
  EXPECT_EQ(read_version("buildah version 1.28.2 (image-spec 1.1.0-rc2)"),
            (containerfile::BuilderVersion{1, 28}));
  EXPECT_EQ(read_version("buildah version 1.39.3"), (containerfile::BuilderVersion{1, 39}));
  EXPECT_FALSE(read_version("podman 4").has_value());
  EXPECT_FALSE(read_version("buildah version x").has_value());
}

TEST(StepWatcherTest, NamesALinkToNothing) {
  containerfile::Rewritten rewritten;
  StepWatcher watcher(rewritten);
  watcher.take("STEP 2/3: COPY dang /x");
  watcher.take(
      R"(Error: building at STEP "COPY dang /x": reading "/c/dang": error during bulk transfer: )"
      R"(copier: get: lstat "/dang"("/nowhere"): lstat /nowhere: no such file or directory)");
  EXPECT_EQ(watcher.failure("exit code 1", {}).message,
            "COPY dang /x: dang is a link to nowhere, which is not there");
}

TEST(PullTest, TellsWhatARegistryLostFromOneThatIsNotThere) {
  for (const char* text :
       {"copying system image: fetching blob: invalid status code from registry 404 (Not Found)",
        "storing blob: flate: corrupt input before offset 5",
        "reading manifest: manifest unknown"}) {
    EXPECT_TRUE(is_damage(text)) << text;
  }
  EXPECT_FALSE(is_damage("pinging container registry: dial tcp: connect: connection refused"));
}

TEST(LoggedRunTest, KeepsTheOutputWithoutSecrets) {
  const auto dir = os::make_temp_dir(::testing::TempDir(), "logged-").value();
  std::vector<std::string> seen;
  LoggedOptions options;
  options.argv = {"/bin/sh", "-c", "echo one; echo the hunter22 word >&2; echo two; exit 3"};
  options.log = dir + "/log";
  options.secrets = {"hunter22", "x"};
  options.timeout = os::Milliseconds{30'000};
  options.on_line = [&](std::string_view line) { seen.emplace_back(line); };
  const auto done = run_logged(options).value();
  EXPECT_EQ(done.status.code, 3);
  EXPECT_EQ(done.last_lines.size(), 3U);
  EXPECT_EQ(seen, done.last_lines);
  const auto log = os::read_file(options.log, 1 << 20).value();
  EXPECT_EQ(log.find("hunter22"), std::string::npos);
  EXPECT_NE(log.find("the *** word"), std::string::npos);
  EXPECT_TRUE(os::remove_tree(dir));
}

TEST(LoggedRunTest, EndsWithItsTimeAndItsChildren) {
  const auto dir = os::make_temp_dir(::testing::TempDir(), "logged-").value();
  LoggedOptions options;
  options.argv = {"/bin/sh", "-c", "sleep 600 & sleep 600"};
  options.log = dir + "/log";
  options.timeout = os::Milliseconds{100};
  EXPECT_EQ(run_logged(options).error().code, Code::Timeout);
  EXPECT_TRUE(os::remove_tree(dir));
}

TEST(RedactedTest, TakesEachLineOfASecret) {
  EXPECT_EQ(redacted("a abcd b efgh c", {"abcd\nefgh\nx"}), "a *** b *** c");
  EXPECT_EQ(redacted("nothing", {}), "nothing");
}

}  // namespace
