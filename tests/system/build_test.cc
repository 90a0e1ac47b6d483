// mesh build, with Debian's buildah, the mesh's registry and an upstream on loopback.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/fd.h"
#include "os/files.h"
#include "os/process.h"
#include "tests/support/made_image.h"
#include "tests/support/nats_server.h"
#include "tests/support/registry_process.h"

namespace mesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

os::RunResult run_in(const std::string& directory, Words argv, std::string input = {}) {
  os::RunOptions options;
  options.spawn.argv = std::move(argv);
  options.spawn.directory = directory;
  options.input = std::move(input);
  options.timeout = os::Milliseconds{600'000};
  auto ran = os::run(options);
  EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
  return ran ? std::move(*ran) : os::RunResult{};
}

/// An upstream with three bases: busybox, and a file that tells them apart.
class Upstream {
 public:
  Upstream() : registry(test::RegistryProcess::start().value()) {
    const auto root = folder_.path().string();
    fs::copy("/bin/busybox", folder_.path() / "busybox");
    for (const int number : {1, 2, 3}) {
      std::ofstream(folder_.path() / "Containerfile")
          << "FROM scratch\nCOPY busybox /bin/busybox\nRUN [\"/bin/busybox\", \"--install\", "
             "\"-s\", \"/bin\"]\n"
          << "ENV PATH=/bin BASE=" << number << "\nRUN echo " << number << " > /base\n";
      const auto image = registry.address() + "/lib/base:" + std::to_string(number);
      EXPECT_TRUE(buildah({"build", "--isolation=chroot", "--network=host", "-t", image, root}));
      EXPECT_TRUE(buildah({"push", "--quiet", "--tls-verify=false", image}));
    }
    (void)registry.new_requests();
  }

  bool buildah(Words words) const {
    Words argv{"buildah",
               "--root",
               (folder_.path() / "storage").string(),
               "--runroot",
               (folder_.path() / "run").string(),
               "--storage-driver",
               "vfs"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto ran = run_in(folder_.path().string(), argv);
    EXPECT_TRUE(ran.status.ok()) << ran.err;
    return ran.status.ok();
  }
  [[nodiscard]] std::string base(int number) const {
    return fmt::format("{}/lib/base:{}", registry.address(), number);
  }

  test::TemporaryDirectory folder_;
  test::RegistryProcess registry;
};

class BuildTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { upstream_ = new Upstream; }
  static void TearDownTestSuite() { delete upstream_; }

  void SetUp() override { (void)upstream_->registry.new_requests(); }

  void write(const std::string& path, std::string_view bytes) const {
    fs::create_directories((directory_.path() / path).parent_path());
    std::ofstream(directory_.path() / path, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::stringstream bytes;
    bytes << std::ifstream(directory_.path() / path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  /// A mesh of modules with one component each, `site`, built from their folders.
  void declare(const Words& modules) const {
    std::string text = fmt::format(
        "mesh = \"home\"\n[registry]\nserver = \"external\"\nadvertise = \"{}\"\n[nodes.one]\n",
        own_.address());
    for (const auto& name : modules) {
      text += fmt::format("[modules.{0}]\npath = \"{0}\"\non = [\"one\"]\n", name);
      write(name + "/module.toml", "[components.site]\nbuild = \".\"\n");
    }
    write("mesh.toml", text);
  }
  [[nodiscard]] os::RunResult mesh(Words words, std::string input = {}) const {
    words.insert(words.begin(), MESH_BINARY_DIR "/bin/mesh");
    return run_in(directory_.path().string(), std::move(words), std::move(input));
  }
  [[nodiscard]] Json build(int exit = 0, Words more = {}) const {
    more.insert(more.begin(), {"build", "--json"});
    const auto ran = mesh(more);
    EXPECT_EQ(ran.status.code, exit) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }
  static std::size_t built(const Json& document) {
    return static_cast<std::size_t>(
        std::count_if(document["components"].begin(), document["components"].end(),
                      [](const Json& one) { return one["built"].get<bool>(); }));
  }
  /// A file of a built image, through its layers.
  [[nodiscard]] std::string file_of(const std::string& digest, const std::string& module,
                                    const std::string& path) const {
    const auto image = fmt::format("{}/mesh/{}/site@{}", own_.address(), module, digest);
    EXPECT_TRUE(upstream_->buildah({"pull", "--quiet", "--tls-verify=false", image}));
    const auto out = directory_.path() / "unpacked";
    fs::remove_all(out);
    const auto ran = run_in(
        directory_.path().string(),
        {"sh", "-c",
         fmt::format(
             "b='buildah --root {0}/storage --runroot {0}/run --storage-driver vfs'; "
             "c=$($b from --pull-never {1}) && m=$($b mount $c) && cat $m{2}; $b rm $c >/dev/null",
             upstream_->folder_.path().string(), image, path)});
    return ran.out;
  }

  static Upstream* upstream_;
  test::TemporaryDirectory directory_;
  test::RegistryProcess own_ = test::RegistryProcess::start().value();
};

Upstream* BuildTest::upstream_ = nullptr;

TEST_F(BuildTest, BuildsWhatChangedAndNothingElse) {
  declare({"a", "b"});
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nCOPY . /app\n");
  write("b/Dockerfile", "FROM " + upstream_->base(1) + "\nCOPY --chmod=700 f /f\n");
  write("b/f", "1");
  const auto first = build();
  EXPECT_EQ(built(first), 2U);
  EXPECT_FALSE(first["upstream"].empty());
  (void)upstream_->registry.new_requests();
  const auto second = build();
  EXPECT_EQ(built(second), 0U);
  EXPECT_TRUE(second["upstream"].empty());
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty());
  EXPECT_EQ(second["components"][0]["digest"], first["components"][0]["digest"]);
  write("b/f", "2");
  const auto third = build();
  EXPECT_EQ(built(third), 1U);
  EXPECT_EQ(third["components"][0]["built"], false);
  EXPECT_EQ(third["components"][1]["built"], true);
  write("b/f", "1");
  EXPECT_EQ(built(build()), 0U) << "what was built of these files before is still there";
  EXPECT_THAT(read("mesh.lock"), HasSubstr(upstream_->base(1)));
  EXPECT_FALSE(fs::exists(directory_.path() / "a/Containerfile.mesh"))
      << "nothing is written beside the sources";
}

TEST_F(BuildTest, AFailedBuildShowsItsStepAndTheOthersGoOn) {
  declare({"a", "b"});
  write("a/Containerfile",
        "FROM " + upstream_->base(1) + "\n\nRUN echo says this \\\n  && false\n");
  write("b/Containerfile", "FROM " + upstream_->base(1) + "\n");
  const auto ran = mesh({"build"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("a/Containerfile:3"), HasSubstr("| says this"),
                             HasSubstr("exit status 1"), HasSubstr("log/build-a-site.log")));
  EXPECT_THAT(ran.out, HasSubstr("b/site: built"));
  const auto json = mesh({"build", "--json"});
  EXPECT_EQ(json.status.code, 1);
  EXPECT_THAT(json.err, HasSubstr("a/Containerfile:3")) << "a document does not silence stderr";
  const auto again = Json::parse(json.out, nullptr, false);
  EXPECT_TRUE(again["components"][0]["digest"].is_null());
  const auto& because = again["components"][0]["because"];
  EXPECT_THAT(because["text"].dump(), HasSubstr("exit status 1"));
  EXPECT_EQ(because["file"], "a/Containerfile");
  EXPECT_EQ(because["line"], 3);
  EXPECT_THAT(again["components"][0]["log"].dump(), HasSubstr("log/build-a-site.log"));
  EXPECT_EQ(again["components"][1]["built"], false);
  EXPECT_TRUE(again["components"][1]["because"].is_null());
}

TEST_F(BuildTest, HeredocsVariablesStagesAndSecretsAreAsTheirAuthorsMean) {
  declare({"a"});
  write("a/module.toml",
        "[components.site]\nbuild = { args = { V = \"x.tar.gz\" }, secrets = [\"TOKEN\"] }\n");
  write("a/.dockerignore", "secret-file\n");
  write("a/secret-file", "not in the image");
  write("a/Containerfile",
        "# syntax=docker/dockerfile:1\nARG B=1\nFROM " + upstream_->registry.address() +
            "/lib/base:${B%x} AS One\n"
            "RUN <<EOF\necho \"first $BASE\" > /r\nFROM() { :; }\nFROM nobody.example/image\nEOF\n"
            "FROM " +
            upstream_->base(2) +
            "\nARG V\nENV W=${V%%.*} X=${V}\nCOPY --link --from=ONE /r /r\n"
            "COPY <<one <<'two' /d/\nW=$W BASE=$BASE\none\n$raw\ntwo\n"
            "RUN --mount=type=secret,id=TOKEN test $(wc -c < /run/secrets/TOKEN) = 10 && "
            "cat /run/secrets/TOKEN\n"
            "RUN --mount=type=bind,target=/c cat /r /d/one /d/two >> /all; ls -A /c >> /all\n"
            "RUN <<EOF\n#!/bin/sh\necho program >> /all\nEOF\n");
  ASSERT_EQ(mesh({"secret", "set", "a", "TOKEN"}, "opensesame").status.code, 0);
  // FROM in the here-document is a function of the shell, and no instruction.
  const auto document = build();
  ASSERT_EQ(built(document), 1U);
  const auto all = file_of(document["components"][0]["digest"], "a", "/all");
  EXPECT_THAT(all, AllOf(HasSubstr("first 1\n"), HasSubstr("W=x BASE=2\n"), HasSubstr("$raw\n"),
                         HasSubstr("program\n"), HasSubstr("Containerfile\n"),
                         Not(HasSubstr("secret-file"))));
  const auto log = read(".mesh/log/build-a-site.log");
  EXPECT_THAT(log, AllOf(HasSubstr("***"), Not(HasSubstr("opensesame"))));
  const auto found = run_in(directory_.path().string(), {"grep", "-rlaF", "opensesame",
                                                         own_.storage().string(), ".mesh/builder"});
  EXPECT_EQ(found.out, "") << "no layer, configuration or file of the builder holds the secret";
  for (const auto& request : upstream_->registry.new_requests()) {
    EXPECT_THAT(request, Not(HasSubstr("nobody"))) << request;
  }
}

TEST_F(BuildTest, WhatTheBuilderCannotReadIsSaidBeforeAnybodyIsAsked) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->base(3) +
                               " AS b\nCOPY --parents=true x y\nRUN --security=insecure z\n");
  write("a/x", "");
  const auto ran = mesh({"build"});
  EXPECT_EQ(ran.status.code, 65);
  EXPECT_THAT(ran.err, HasSubstr("a/Containerfile:3:5: error"));
  write("a/Containerfile",
        "FROM " + upstream_->base(3) + "\nCOPY --from=later x y\nFROM scratch AS later\n");
  EXPECT_EQ(mesh({"check"}).status.code, 65);
  EXPECT_EQ(mesh({"build"}).status.code, 65);
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty());
}

TEST_F(BuildTest, ACatalogueAsksUpstreamOnceForEachBaseAndThenNever) {
  Words modules;
  for (int i = 0; i < 30; ++i) {
    modules.push_back(fmt::format("m{}", i));
    write(fmt::format("m{}/Containerfile", i),
          fmt::format("FROM {}\nCOPY f /f\n", upstream_->base(i % 3 + 1)));
    write(fmt::format("m{}/f", i), std::to_string(i));
  }
  declare(modules);
  EXPECT_EQ(built(build()), 30U);
  std::map<std::string, int> asked;
  for (const auto& request : upstream_->registry.new_requests()) {
    ++asked[request];
  }
  int manifests = 0;
  for (const auto& [request, times] : asked) {
    EXPECT_EQ(times, 1) << request;
    manifests +=
        request.starts_with("GET ") && request.find("/manifests/") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(manifests, 3);
  upstream_->registry.kill();
  for (int i = 0; i < 30; ++i) {
    write(fmt::format("m{}/f", i), "changed " + std::to_string(i));
  }
  const auto again = build();
  EXPECT_EQ(built(again), 30U);
  EXPECT_TRUE(again["upstream"].empty());
  ASSERT_TRUE(upstream_->registry.restart());
}

TEST_F(BuildTest, UpdateMovesTheLockAndSaysFromWhatToWhat) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->registry.address() + "/lib/moving:1\n");
  const auto moving = upstream_->registry.address() + "/lib/moving:1";
  ASSERT_TRUE(upstream_->buildah(
      {"push", "--quiet", "--tls-verify=false", upstream_->base(1), "docker://" + moving}));
  EXPECT_EQ(built(build()), 1U);
  const auto before = read("mesh.lock");
  ASSERT_TRUE(upstream_->buildah(
      {"push", "--quiet", "--tls-verify=false", upstream_->base(2), "docker://" + moving}));
  EXPECT_EQ(built(build()), 0U) << "a build uses the lock";
  EXPECT_EQ(read("mesh.lock"), before);
  const auto ran = mesh({"build", "--update"});
  EXPECT_EQ(ran.status.code, 0);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("lib/moving:1: sha256:"), HasSubstr(" -> sha256:")));
  EXPECT_THAT(ran.out, HasSubstr("a/site: built"));
  EXPECT_NE(read("mesh.lock"), before);
}

TEST_F(BuildTest, WithoutTheLockAndUpstreamItGoesOnWithTheBaseThatIsHeld) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\n");
  ASSERT_EQ(built(build()), 1U);
  const auto lock = read("mesh.lock");
  fs::remove(directory_.path() / "mesh.lock");
  upstream_->registry.kill();
  const auto ran = mesh({"build"});
  EXPECT_EQ(ran.status.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("upstream cannot be asked"), HasSubstr("going on with")));
  EXPECT_EQ(read("mesh.lock"), lock) << "the same digest again";
  const auto update = mesh({"build", "--update", "--json"});
  ASSERT_TRUE(upstream_->registry.restart());
  EXPECT_EQ(update.status.code, 0) << update.err;
  EXPECT_THAT(update.err, HasSubstr("upstream cannot be asked"));
  const auto document = Json::parse(update.out, nullptr, false);
  EXPECT_THAT(document["notes"].dump(), HasSubstr("upstream cannot be asked"));
}

TEST_F(BuildTest, ALockedDigestThatIsGoneAndARegistryThatIsAwayAreCalledSo) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\n");
  write("mesh.lock", fmt::format(R"({{"version": 1, "images": {{"{}": "sha256:{}"}}}})",
                                 upstream_->base(1), std::string(64, '7')));
  const auto gone = mesh({"build"});
  EXPECT_EQ(gone.status.code, 1) << gone.err;
  EXPECT_THAT(gone.err, AllOf(HasSubstr("mesh.lock says that " + upstream_->base(1)),
                              HasSubstr("`mesh build --update`")));
  own_.kill();
  (void)upstream_->registry.new_requests();
  const auto away = mesh({"build", "--update"});
  EXPECT_EQ(away.status.code, 69);
  EXPECT_THAT(away.err, AllOf(HasSubstr("asking the mesh's registry whether it answers"),
                              Not(HasSubstr("upstream is asked for"))));
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty());
}

TEST_F(BuildTest, SeveralPlatformsMakeAnIndex) {
  declare({"a"});
  write("a/module.toml",
        "[components.site]\nbuild = { platforms = [\"linux/amd64\", \"linux/arm64\"] }\n");
  write("a/Containerfile", "FROM --platform=$BUILDPLATFORM " + upstream_->base(1) +
                               " AS b\nARG TARGETARCH\nRUN echo $TARGETARCH > /arch\nFROM "
                               "scratch\nCOPY --from=b /arch /\n");
  const auto document = build();
  ASSERT_EQ(built(document), 1U);
  const auto digest = document["components"][0]["digest"].get<std::string>();
  std::ifstream file(own_.data_file(digest));
  const auto index = Json::parse(file, nullptr, false);
  ASSERT_EQ(index["manifests"].size(), 2U) << index.dump();
  EXPECT_EQ(index["manifests"][0]["platform"]["architecture"], "amd64");
  EXPECT_EQ(index["manifests"][1]["platform"]["architecture"], "arm64");
}

TEST_F(BuildTest, AnInterruptedBuildLeavesNothingBehind) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nRUN echo begun; sleep 271828\n");
  os::SpawnOptions spawn;
  spawn.argv = {MESH_BINARY_DIR "/bin/mesh", "build"};
  spawn.directory = directory_.path().string();
  spawn.out = os::Output::discard();
  spawn.err = os::Output::discard();
  auto process = os::Process::spawn(spawn).value();
  const os::Deadline deadline(os::Milliseconds{120'000});
  while (read(".mesh/log/build-a-site.log").find("begun") == std::string::npos &&
         !deadline.passed()) {
    (void)process.wait(os::Milliseconds{20});
  }
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(os::Milliseconds{30'000}).value().code, 130);
  EXPECT_NE(run_in("/", {"pgrep", "-f", "sleep 271828"}).status.code, 0) << "a child is left";
  EXPECT_TRUE(fs::is_empty(directory_.path() / ".mesh/builder/work"));
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\n");
  EXPECT_EQ(built(build()), 1U);
  EXPECT_THAT(os::read_file("/proc/mounts", 1U << 22U).value_or(""),
              Not(HasSubstr(directory_.path().string())))
      << "nothing stays mounted";
}

TEST_F(BuildTest, TheStateIsNoPartOfAContext) {
  declare({"a"});
  write("a/module.toml",
        "[components.site]\nbuild = { context = \"..\", containerfile = \"Containerfile\" }\n");
  write(".dockerignore", "!.mesh\n");
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nCOPY . /all\nRUN find /all > /list\n");
  const auto document = build();
  const auto list = file_of(document["components"][0]["digest"], "a", "/list");
  EXPECT_THAT(list, AllOf(HasSubstr("/all/mesh.toml"), Not(HasSubstr(".mesh"))));
  EXPECT_EQ(built(build()), 0U);
}

TEST_F(BuildTest, NoMountReadsOrWritesTheHost) {
  declare({"a"});
  const auto host = (directory_.path() / "host").string();
  write("host/f", "of the host");
  write("a/d/inside", "of the context");
  fs::create_symlink(host + "/f", directory_.path() / "a/vf");
  fs::create_symlink("../../host", directory_.path() / "a/d/out");
  fs::create_symlink("d", directory_.path() / "a/in");
  const auto from = "FROM " + upstream_->base(1);
  const auto refused = [&](const std::string& file, int exit, int line, const std::string& text) {
    write("a/Containerfile", file);
    const auto ran = mesh({"build"});
    EXPECT_EQ(ran.status.code, exit) << file << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(fmt::format("a/Containerfile:{}:", line)), HasSubstr(text),
                               Not(HasSubstr("of the host"))));
  };
  for (const char* source : {"vf", "d/out/f", "in/out/f", "$S", "./vf"}) {
    refused(from + "\nARG S=vf\nRUN --mount=type=bind,source=" + source +
                ",target=/m,rw cat /m; echo overwritten > /m\n",
            65, 3, "leads out of the build context by the link");
  }
  const auto stage = from + " AS s\nRUN ln -s / /root2; ln -s " + host + " /esc\n" + from;
  refused(stage + "\nRUN --mount=type=cache,from=s,source=/esc,target=/m echo x > /m/written\n", 65,
          4, "follow a link there to the host");
  refused(stage + "\nRUN --mount=type=bind,from=s,source=/esc,target=/m ls /m\n", 1, 4, "esc");
  refused(stage + "\nRUN --mount=from=s,source=/root2/esc/f,target=/m cat /m\n", 1, 4, "esc");
  write("a/Containerfile",
        from +
            " AS s\nRUN echo of a stage > /s; mkdir /part; echo part > /part/f; chown 5 /part/f; "
            "chmod 750 /part/f; ln -s /part/f /part/l\n" +
            from + "\nARG ID=../../../../../../../.." + host +
            "\nRUN --mount=type=cache,id=$ID/victim,target=/m touch /m/written; ls /m > /kept\n"
            "RUN --mount=type=bind,source=in/inside,target=/i --mount=from=s,target=/s cat /i /s/s "
            ">> /kept\n"
            "RUN --mount=from=s,source=/part,target=/p --mount=from=s,source=/part/l,target=/l cat "
            "/p/f /l >> /kept; stat -c '%a %u' /p/f /l >> /kept\n");
  const auto document = build();
  ASSERT_EQ(built(document), 1U);
  EXPECT_EQ(file_of(document["components"][0]["digest"], "a", "/kept"),
            "written\nof the contextof a stage\npart\npart\n750 5\n750 5\n");
  EXPECT_EQ(read("host/f"), "of the host");
  EXPECT_EQ(std::distance(fs::directory_iterator(host), {}), 1) << "nothing was made there";
}

TEST_F(BuildTest, WhatAKilledBuildLeavesIsGoneAfterTheNext) {
  declare({"a"});
  write("a/module.toml", "[components.site]\nbuild = { secrets = [\"TOKEN\"] }\n");
  write("a/Containerfile", "FROM " + upstream_->base(1) +
                               "\nRUN --mount=type=secret,id=TOKEN echo begun; sleep 314159\n");
  ASSERT_EQ(mesh({"secret", "set", "a", "TOKEN"}, "killedsesame").status.code, 0);
  os::SpawnOptions spawn;
  spawn.argv = {MESH_BINARY_DIR "/bin/mesh", "build"};
  spawn.directory = directory_.path().string();
  spawn.out = os::Output::discard();
  spawn.err = os::Output::discard();
  auto process = os::Process::spawn(spawn).value();
  const auto begun = [&] {
    return read(".mesh/log/build-a-site.log").find("\nbegun") != std::string::npos;
  };
  for (const os::Deadline deadline(os::Milliseconds{120'000}); !begun() && !deadline.passed();) {
    (void)process.wait(os::Milliseconds{20});
  }
  process.signal(SIGKILL);
  (void)process.wait(os::Milliseconds{30'000});
  const auto holding = [&] {
    std::string found;
    for (const char* where : {"/dev/shm", ".mesh/builder"}) {
      found += run_in(directory_.path().string(), {"grep", "-rlaF", "killedsesame", where}).out;
    }
    return found;
  };
  EXPECT_FALSE(fs::is_empty(directory_.path() / ".mesh/builder/work")) << "nothing was left";
  EXPECT_THAT(holding(), HasSubstr("/TOKEN")) << "nothing was left";
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\n");
  EXPECT_EQ(built(build()), 1U);
  EXPECT_EQ(holding(), "");
  EXPECT_TRUE(fs::is_empty(directory_.path() / ".mesh/builder/work"));
}

TEST_F(BuildTest, TheTimeOutIsOfTheWholeVerb) {
  declare({"a"});
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nRUN sleep 600\n");
  ::kill(own_.pid(), SIGSTOP);
  const auto stopped = mesh({"build", "--timeout", "2s"});
  ::kill(own_.pid(), SIGCONT);
  EXPECT_EQ(stopped.status.code, 1) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("did not end within 2 s"), HasSubstr(own_.address())));
  const auto slow = mesh({"build", "--timeout", "8s"});
  EXPECT_EQ(slow.status.code, 1) << slow.err;
  EXPECT_THAT(slow.err, AllOf(HasSubstr("did not end within 8 s"), HasSubstr("a/site ("),
                              HasSubstr("RUN sleep 600")));
}

TEST_F(BuildTest, ABaseThatTheRegistryLostIsNamedWithItsRemedy) {
  declare({"a"});
  write("a/Containerfile", "\nFROM " + upstream_->base(1) + "\nCOPY f /f\n");
  write("a/f", "1");
  EXPECT_EQ(built(build()), 1U);
  // Its largest blob is cut, and the builder has no copy of it.
  std::pair<std::uintmax_t, fs::path> largest;
  for (const auto& entry : fs::recursive_directory_iterator(own_.storage())) {
    if (entry.is_regular_file()) {
      largest = std::max(largest, {entry.file_size(), entry.path()});
    }
  }
  const auto broken = [&](const std::string& text) {
    (void)os::remove_tree((directory_.path() / ".mesh/builder").string());
    write("a/f", text);
    return mesh({"build"});
  };
  fs::resize_file(largest.second, largest.first / 2);
  for (const char* text : {"2", "3"}) {
    const auto ran = broken(text);
    EXPECT_EQ(ran.status.code, 1) << ran.err;
    const auto start = ran.err.find("mesh mirror ");
    EXPECT_THAT(ran.err, AllOf(HasSubstr("a/Containerfile:2:6"), HasSubstr(upstream_->base(1)),
                               HasSubstr("--verify")));
    ASSERT_NE(start, std::string::npos);
    fs::remove(largest.second);
    if (text[0] == '3') {
      Words words{
          "sh", "-c",
          MESH_BINARY_DIR "/bin/" + ran.err.substr(start, ran.err.find('`', start) - start)};
      const auto mended = run_in(directory_.path().string(), std::move(words));
      EXPECT_EQ(mended.status.code, 0) << mended.err;
    }
  }
  EXPECT_EQ(broken("4").status.code, 0) << "what the hint says helps";
}

TEST_F(BuildTest, WordsUsersAndPlatformsAreAsBuildKitHasThem) {
  declare({"a", "b"});
  write("a/file.txt", "read\n");
  write("a/module.toml", "[components.site]\nbuild = { target = \"1\" }\n");
  write("a/Containerfile",
        "# escape=`\nFROM scratch\nFROM " + upstream_->base(1) +
            "\nENV X=a\\b Z=`$HOME\nWORKDIR /w\\d\nCOPY file.txt /p\\q/\n"
            "RUN echo \"$X $Z $PWD\" > /all; cat '/p\\q/file.txt' >> /all; chmod 666 /all\n"
            "USER 1000:1000\nRUN --mount=type=bind,target=/ctx cat /ctx/file.txt >> /all\n"
            "FROM scratch\n");
  write("b/Containerfile", "FROM --platform=linux/arm64 scratch\nCOPY Containerfile /\n");
  const auto document = build();
  ASSERT_EQ(built(document), 2U);
  EXPECT_EQ(file_of(document["components"][0]["digest"], "a", "/all"),
            "a\\b $HOME /w\\d\nread\nread\n");
  EXPECT_THAT(read(".mesh/log/build-a-site.log"), Not(HasSubstr("build args were not consumed")));
  const auto json_of = [&](const std::string& digest) {
    std::ifstream file(own_.data_file(digest));
    return Json::parse(file, nullptr, false);
  };
  const auto manifest = json_of(document["components"][1]["digest"]);
  EXPECT_EQ(json_of(manifest["config"]["digest"])["architecture"], "arm64");
  write("b/module.toml", "[components.site]\nbuild = { platforms = [\"linux/amd64\"] }\n");
  const auto other = mesh({"build"});
  EXPECT_EQ(other.status.code, 65);
  EXPECT_THAT(other.err, HasSubstr("b/Containerfile:1:1: error"));
}

TEST_F(BuildTest, LinksOutAndToNothingAreNamed) {
  declare({"a"});
  test::TemporaryDirectory outside;
  fs::create_symlink(outside.path(), directory_.path() / "a/elsewhere");
  fs::create_symlink("gone", directory_.path() / "a/dang");
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nCOPY dang /x\n");
  for (int turn = 0; turn < 3; ++turn) {
    const auto ran = mesh({"build"});
    EXPECT_EQ(ran.status.code, 1) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("a/Containerfile:2"),
                               HasSubstr("building a/site: dang is a link to gone")));
  }
  write("a/module.toml",
        "[components.site]\nbuild = { context = \"elsewhere\", containerfile = \"Containerfile\" "
        "}\n");
  const auto ran = mesh({"check"});
  EXPECT_EQ(ran.status.code, 65);
  EXPECT_THAT(ran.err + ran.out, HasSubstr("leads out of the folder of mesh.toml"));
}

// Admitted in ASSURANCE.md.
TEST_F(BuildTest, ARunSeesTheMachine) {
  declare({"a"});
  write("a/Containerfile",
        "FROM " + upstream_->base(1) +
            fmt::format("\nRUN cat /proc/{}/comm > /seen && test -e /dev/shm\n", ::getpid()));
  const auto document = build();
  ASSERT_EQ(built(document), 1U);
  EXPECT_EQ(file_of(document["components"][0]["digest"], "a", "/seen"), "system_build_te\n");
}

/// A mesh whose bus runs, so that what is declared can be pushed.
class PushedImages : public BuildTest {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    port_ = test::free_port();
  }
  void TearDown() override {
    if (controller_) {
      (void)controller_->stop(os::Milliseconds{30'000});
    }
  }
  void declare_with_bus(const std::string& modules) {
    write("mesh.toml", fmt::format("mesh = \"home\"\n[bus]\nlisten = \"127.0.0.1:{}\"\n"
                                   "[registry]\nserver = \"external\"\nadvertise = \"{}\"\n"
                                   "[nodes.one]\n{}",
                                   port_, own_.address(), modules));
  }
  void start_controller() {
    os::SpawnOptions options;
    options.argv = {MESH_BINARY_DIR "/bin/mesh", "controller"};
    options.directory = directory_.path().string();
    const auto log = (directory_.path() / "controller.log").string();
    const os::Fd said(::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    options.out = os::Output::discard();
    options.err = os::Output::to_fd(said.get());
    controller_ = std::move(os::Process::spawn(options)).value();
    const os::Deadline deadline(os::Milliseconds{60'000});
    while (mesh({"status"}).status.code != 0) {
      ASSERT_FALSE(deadline.passed() || controller_->poll())
          << "the controller does not come up: " << os::read_file(log, 65536).value_or("");
    }
  }
  [[nodiscard]] Json plan() const {
    return Json::parse(mesh({"plan", "--json"}).out, nullptr, false);
  }
  static std::size_t images(const Json& plan) {
    return static_cast<std::size_t>(
        std::count_if(plan["changes"].begin(), plan["changes"].end(),
                      [](const Json& one) { return one["kind"] == "image"; }));
  }

  int port_ = 0;
  std::optional<os::Process> controller_;
};

TEST_F(PushedImages, APushBringsWhatIsMissingFirstAndNothingTwice) {
  declare_with_bus(
      "[modules.a]\npath = \"a\"\non = [\"one\"]\n[modules.b]\npath = \"b\"\non = [\"one\"]\n");
  write("a/module.toml", "[components.site]\nbuild = \".\"\n");
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nCOPY f /f\n");
  write("a/f", "1");
  write("b/module.toml", "[components.tool]\nimage = \"" + upstream_->base(2) + "\"\n");
  start_controller();
  const auto planned = plan();
  EXPECT_EQ(images(planned), 2U) << planned.dump();
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty()) << "a plan asks nobody";
  const auto first = mesh({"push", "--plan", planned["digest"].get<std::string>(), "--no-wait"});
  EXPECT_EQ(first.status.code, 0) << first.err;
  EXPECT_FALSE(upstream_->registry.new_requests().empty());
  EXPECT_THAT(read("mesh.lock"),
              AllOf(HasSubstr(upstream_->base(1)), HasSubstr(upstream_->base(2))));
  EXPECT_TRUE(plan()["changes"].empty()) << plan().dump();
  EXPECT_EQ(mesh({"push", "--no-wait"}).status.code, 0);
  EXPECT_EQ(built(build()), 0U) << "the push built it";
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty());
  EXPECT_THAT(read("mesh.lock"), HasSubstr(upstream_->base(2))) << "a build keeps what images are";

  write("a/f", "2");
  const auto touched = plan();
  EXPECT_EQ(images(touched), 1U) << touched.dump();
  write("a/f", "3");
  EXPECT_NE(plan()["digest"], touched["digest"]) << "other files would be built";
  const auto other = mesh({"push", "--plan", touched["digest"].get<std::string>(), "--no-wait"});
  EXPECT_EQ(other.status.code, 1);
  EXPECT_THAT(other.err, HasSubstr("the plan is another by now"));
  write("a/f", "2");
  EXPECT_EQ(plan()["digest"], touched["digest"]);
  EXPECT_EQ(mesh({"push", "--no-wait"}).status.code, 0);
  EXPECT_TRUE(plan()["changes"].empty());
  EXPECT_THAT(upstream_->registry.new_requests(), IsEmpty());

  // Somebody takes an image out of the registry: a push notices and brings it back.
  const auto gone = build()["components"][0]["digest"].get<std::string>();
  const auto url = "http://" + own_.address() + "/v2/mesh/a/site/manifests/" + gone;
  ASSERT_EQ(test::ask_registry("DELETE", url), 202);
  const auto noticed = plan();
  EXPECT_EQ(images(noticed), 1U) << noticed.dump();
  EXPECT_THAT(noticed["changes"].dump(), HasSubstr("the registry does not have it any more"));
  const auto again = mesh({"push", "--no-wait"});
  EXPECT_EQ(again.status.code, 0) << again.err;
  EXPECT_EQ(test::ask_registry("GET", url), 200) << "the same image, built again";
  own_.kill();
  const auto blind = plan();
  EXPECT_TRUE(blind["changes"].empty()) << blind.dump();
  EXPECT_THAT(blind["notes"].dump(), HasSubstr("was not looked at"));
}

TEST_F(PushedImages, AFailedBuildEndsThePushWithNothingChanged) {
  declare_with_bus("[modules.a]\npath = \"a\"\non = [\"one\"]\n");
  write("a/module.toml", "[components.site]\nbuild = \".\"\n");
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nRUN echo says this && false\n");
  start_controller();
  const auto ran = mesh({"push", "--no-wait"});
  EXPECT_EQ(ran.status.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("a/Containerfile:2"), HasSubstr("| says this"),
                             HasSubstr("nothing else was changed")));
  EXPECT_EQ(Json::parse(mesh({"history", "--json"}).out)["pushes"].size(), 0U);
  write("a/Containerfile", "FROM " + upstream_->base(1) + "\nRUN echo says this\n");
  EXPECT_EQ(mesh({"push", "--no-wait"}).status.code, 0);
  EXPECT_EQ(Json::parse(mesh({"history", "--json"}).out)["pushes"].size(), 1U);
}

}  // namespace
}  // namespace mesh
