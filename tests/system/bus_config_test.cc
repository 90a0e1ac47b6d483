#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "broker/verify.h"
#include "controller/disk_files.h"
#include "model/read.h"
#include "natsconf/digest.h"
#include "os/process.h"
#include "tests/support/composed_config.h"
#include "tests/support/generated_mesh.h"
#include "tests/support/mesh_builder.h"
#include "tests/support/nats_server.h"
#include "tests/support/natsconf_corpus.h"

// The composed configuration, byte for byte, and what the servers themselves say to it.
namespace mesh {
namespace {

namespace fs = std::filesystem;

/// What `nats-server -t` says to a text: its exit code and its words.
os::RunResult judge(std::string_view version, const std::string& text, const fs::path& directory) {
  const fs::path file = directory / "nats.conf";
  std::ofstream(file, std::ios::binary) << text;
  os::RunOptions options;
  options.spawn.argv = {test::server_program(version).string(), "-t", "-c", file.string()};
  options.spawn.environment = os::Environment{{"HOME", directory.string()}};
  options.timeout = os::Milliseconds{120'000};
  auto result = os::run(options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : os::RunResult{};
}

std::string words(const os::RunResult& result) {
  return result.out + result.err;
}

/// The digest that the server printed, or an empty string.
std::string printed_digest(const os::RunResult& result) {
  const std::string text = words(result);
  const std::size_t at = text.find("(sha256:");
  return at == std::string::npos ? std::string{} : text.substr(at + 1, 71);
}

model::Mesh example(const std::string& name) {
  const controller::DiskFiles files(std::string(MESH_SOURCE_DIR) + "/examples/" + name);
  auto reading = model::read_mesh(files);
  EXPECT_TRUE(reading.mesh) << name;
  return reading.mesh ? std::move(*reading.mesh) : model::Mesh{};
}

/// Names that look like something else to the grammar.
model::Mesh awkward_mesh() {
  test::MeshBuilder builder;
  builder.node("true").node("007").node("5k").node("include").node("4e2abc");
  builder.seat("on", {"off", "yes"}, {"1-2"});
  builder.module("null", {"true", "007"}).emits("2006-01-02").emits("1.5").holds("on");
  builder.module("9kb", {"5k", "include"}).consumes("null.1.5").consumes("on:1-2").uses("on.off");
  builder.module("0", {"4e2abc"}).tool("no").consumes("on:1-2").holds("on");
  builder.module("accounts", {"007"}).calls("0.no");
  return builder.mesh();
}

struct Golden {
  std::string name;
  std::function<model::Mesh()> mesh;
  broker::ServerSettings settings;
};

std::vector<Golden> goldens() {
  broker::ServerSettings included;  // into an external server's own file
  return {{"small", [] { return example("small"); }, test::managed_settings()},
          {"small-2.15", [] { return example("small"); }, test::managed_settings(true)},
          {"small-external", [] { return example("small"); }, included},
          {"shop", [] { return example("shop"); }, test::managed_settings()},
          {"awkward-names", awkward_mesh, test::managed_settings()},
          {"empty", [] { return test::MeshBuilder().mesh(); }, test::managed_settings()}};
}

class GoldenTest : public testing::TestWithParam<Golden> {
 protected:
  test::TemporaryDirectory directory_;
};

TEST_P(GoldenTest, IsAsExpectedAndValid) {
  const Golden& golden = GetParam();
  const auto composed = test::compose_for(golden.mesh(), golden.settings);
  ASSERT_TRUE(composed.text) << composed.text.error().message;
  EXPECT_TRUE(broker::verify(*composed.text, composed.principals).empty());

  for (const auto& version : test::server_versions()) {
    if (golden.settings.ack_flag && version == "2.10") {
      continue;
    }
    const auto judged = judge(version, *composed.text, directory_.path());
    EXPECT_TRUE(judged.status.ok()) << version << ": " << words(judged);
    const auto document = natsconf::parse(*composed.text);
    ASSERT_TRUE(document);
    if (const std::string digest = printed_digest(judged); !digest.empty()) {
      EXPECT_EQ(natsconf::config_digest(*document), digest);
    }
  }

  const fs::path file =
      fs::path(MESH_SOURCE_DIR) / "tests/golden/bus-config" / golden.name / "expected.conf";
  if (std::getenv("MESH_ACCEPT") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << *composed.text;
    GTEST_SKIP() << "accepted as " << file;
  }
  EXPECT_EQ(*composed.text, test::file_bytes(file)) << "run with MESH_ACCEPT=1 to accept it";
}

INSTANTIATE_TEST_SUITE_P(BusConfig, GoldenTest, testing::ValuesIn(goldens()),
                         [](const auto& golden) {
                           std::string name = golden.param.name;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

class BusConfigTest : public testing::Test {
 protected:
  test::TemporaryDirectory directory_;
};

TEST_F(BusConfigTest, DrawnMeshesAreValid) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto composed = test::compose_for(test::generated_mesh(seed));
    ASSERT_TRUE(composed.text);
    for (const auto& version : test::server_versions()) {
      const auto judged = judge(version, *composed.text, directory_.path());
      ASSERT_TRUE(judged.status.ok()) << version << ", seed " << seed << ": " << words(judged);
    }
  }
}

/// Whether the server's reader took the text; what its options say to it is another matter.
bool grammar_accepts(const os::RunResult& result, const fs::path& file) {
  const std::string text = words(result);
  return text.find("is valid") != std::string::npos ||
         text.starts_with("nats-server: " + file.string() + ":");
}

TEST_F(BusConfigTest, TheServersStillReadTheCorpusAsWeDo) {
  for (const auto& text : test::natsconf_corpus()) {
    for (const auto& version : test::server_versions()) {
      const auto judged = judge(version, text.bytes, directory_.path());
      const bool accepted = grammar_accepts(judged, directory_.path() / "nats.conf");
      const bool expected = version == "2.10" ? text.accepted_210 : text.accepted_215;
      EXPECT_EQ(accepted, expected) << text.name << " on " << version << ": " << words(judged);
      if (const std::string digest = printed_digest(judged); !digest.empty()) {
        EXPECT_EQ(digest, text.digest) << text.name;
      }
    }
  }
}

}  // namespace
}  // namespace mesh
