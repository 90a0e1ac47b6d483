#include "controller/named_images.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "controller/tag_notes.h"
#include "os/files.h"
#include "os/random.h"
#include "tests/support/nats_server.h"

namespace mesh::controller {
namespace {

using namespace std::chrono_literals;

std::string digest_of(char letter) {
  return "sha256:" + std::string(64, letter);
}

/// Pushes and builds at the times that a test says.
class NamedImages : public testing::Test {
 protected:
  NamedImages() {
    auto made = inventory::create_state(location_.state, "home", clock_, random_);
    EXPECT_TRUE(made);
    state_.emplace(std::move(made->state));
    write("mesh.toml", "mesh = \"home\"\n[nodes.one]\n");
  }

  void write(const std::string& path, const std::string& text) {
    const auto file = location_.root + "/" + path;
    ASSERT_TRUE(os::make_dirs(os::dir_name(file)));
    ASSERT_TRUE(os::write_file_atomic(file, text, os::kOrdinaryFile));
  }

  static std::string with_module(const std::string& name) {
    return fmt::format(
        "mesh = \"home\"\n[nodes.one]\n[modules.{0}]\npath = \"{0}\"\non = "
        "[\"one\"]\n",
        name);
  }

  void push(const std::string& module, const std::string& component) {
    inventory::Intent intent;
    intent.by = "me";
    intent.verb = "push";
    intent.files = {{"mesh.toml", with_module(module)}, {module + "/module.toml", component}};
    const auto number = state_->inventory.intend(intent);
    ASSERT_TRUE(number);
    ASSERT_TRUE(state_->inventory.record(*number, {}));
    clock_.advance(1min);
  }

  void built(const std::string& module, const std::string& key, const std::string& digest) {
    ASSERT_TRUE(state_->inventory.record_built(
        {module, "main", key, "127.0.0.1:5000", "mesh/x", digest, "linux/amd64", {}}));
    clock_.advance(1min);
  }

  std::map<std::string, std::string> names(const std::map<std::string, std::string>& running = {}) {
    const auto reading = read_declarations(location_);
    EXPECT_TRUE(reading.mesh);
    const auto found = named_images(*state_, *reading.mesh, location_, running);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::map<std::string, std::string>());
  }

  test::TemporaryDirectory directory_;
  Location location_{directory_.path().string(), (directory_.path() / ".mesh").string(), ""};
  os::ManualClock clock_{os::parse_rfc3339("2026-08-21T09:30:00Z").value()};
  os::SystemRandom random_;
  std::optional<inventory::State> state_;
};

TEST_F(NamedImages, OfDeclarationsTheirBasesAndTheLock) {
  write("mesh.toml", with_module("shop"));
  write("shop/module.toml", fmt::format("[components.a]\nimage = \"docker.io/x@{}\"\n"
                                        "[components.b]\nimage = \"127.0.0.1:5000/team/tool:2\"\n"
                                        "[components.c]\nbuild = \".\"\n",
                                        digest_of('a')));
  write("shop/Containerfile", fmt::format("FROM debian:12@{} AS one\nFROM one\nCOPY --from="
                                          "x.example/tools:1 /a /b\n",
                                          digest_of('b')));
  write("mesh.lock", fmt::format(R"({{"version": 1, "images": {{"x.example/tools:1": "{}"}}}})",
                                 digest_of('c')));
  const auto found = names();
  EXPECT_EQ(found.at(digest_of('a')), "the image of shop.a");
  EXPECT_EQ(found.at("team/tool:2"), "the image of shop.b");
  EXPECT_EQ(found.at(digest_of('b')), "a base of shop/c");
  EXPECT_EQ(found.at("base/x.example/tools:1"), "a base of shop/c");
  EXPECT_EQ(found.at(digest_of('c')), "mesh.lock: x.example/tools:1");
  EXPECT_TRUE(found.contains("team/tool")) << "which one the tag is the lock does not say";
  EXPECT_EQ(found.size(), 6U);
}

TEST_F(NamedImages, OfATagThatTheLockDoesNotKnowEveryCopyAndWhatWasBuiltOn) {
  write("mesh.toml", with_module("shop"));
  write("shop/module.toml",
        "[components.a]\nimage = \"docker.io/redis:7\"\n[components.c]\nbuild = \".\"\n");
  write("shop/Containerfile", "FROM x.example:5000/base:1\n");
  const auto base = oci::Reference::parse("x.example:5000/base:1").value();
  for (const auto& [by, letter] : {std::pair(TagNote::Built, 'd'), {TagNote::Mirrored, 'e'}}) {
    ASSERT_TRUE(
        note_tag(state_->inventory, base, by, oci::Digest::parse(digest_of(letter)).value()));
  }
  auto found = names();
  const std::string why = "a base of shop/c; mesh.lock does not say what x.example:5000/base:1 is";
  EXPECT_EQ(found.at("base/x.example_5000/base"), why);
  EXPECT_EQ(found.at(digest_of('d')), why) << "also where another repository has it";
  EXPECT_EQ(found.at(digest_of('e')), why);
  EXPECT_TRUE(found.contains("base/docker.io/library/redis")) << "images of components alike";
  write("mesh.lock", fmt::format(R"({{"version": 1, "images": {{"x.example:5000/base:1": "{0}",
                                     "docker.io/library/redis:7": "{0}"}}}})",
                                 digest_of('c')));
  found = names();
  EXPECT_TRUE(found.contains(digest_of('c')));
  EXPECT_FALSE(found.contains("base/x.example_5000/base")) << "the lock knows it";
  EXPECT_FALSE(found.contains(digest_of('d')));
}

TEST_F(NamedImages, OfTheLastTenPushesAndWhatWasBuiltForThem) {
  push("old", fmt::format("[components.main]\nimage = \"x@{}\"\n", digest_of('0')));
  built("gone", "k", digest_of('9'));
  built("shop", "k1", digest_of('1'));
  built("shop", "k2", digest_of('2'));
  for (int i = 0; i < 9; ++i) {
    push("shop", "[components.main]\nbuild = \".\"\n");
    EXPECT_TRUE(names().contains(digest_of('0'))) << i;
    EXPECT_TRUE(names().contains(digest_of('1'))) << "fewer than ten: all count";
  }
  push("shop", fmt::format("[components.main]\nimage = \"x@{}\"\n", digest_of('a')));
  built("shop", "k3", digest_of('3'));
  const auto found = names();
  EXPECT_EQ(found.at(digest_of('a')), "the image of shop.main, as of push 11");
  EXPECT_FALSE(found.contains(digest_of('0'))) << "the eleventh last";
  EXPECT_FALSE(found.contains(digest_of('1'))) << "there was a later one before the tenth last";
  EXPECT_TRUE(found.contains(digest_of('2'))) << "what the tenth last push ran";
  EXPECT_TRUE(found.contains(digest_of('3')));
  EXPECT_FALSE(found.contains(digest_of('9'))) << "of a module that none of the ten had";
}

TEST_F(NamedImages, OfWhatNodesWereToldAndRunHoweverLongAgo) {
  inventory::Intent intent;
  intent.by = "me";
  intent.verb = "push";
  intent.files = {{"mesh.toml", with_module("shop")}, {"shop/module.toml", ""}};
  intent.images = {{"shop", "main", "mesh/shop", digest_of('7')}};
  const auto told = state_->inventory.intend(intent).value();
  ASSERT_TRUE(state_->inventory.record(told, {}));
  for (int i = 0; i < 12; ++i) {
    push("shop", fmt::format("[components.main]\nrun = [\"x{}\"]\n", i));
  }
  EXPECT_FALSE(names().contains(digest_of('7')));
  inventory::NodeRecord node;
  node.name = "one";
  node.declared = told;
  ASSERT_TRUE(state_->inventory.put_node(node));
  EXPECT_EQ(names().at(digest_of('7')), "node one was told to run it");
  EXPECT_EQ(names({{digest_of('8'), "node one runs it"}}).at(digest_of('8')), "node one runs it");
}

TEST_F(NamedImages, WhereOneCannotBeReadNothingIsSaid) {
  const auto reading = read_declarations(location_);
  ASSERT_TRUE(reading.mesh);
  write("mesh.lock", "{}");
  const auto found = named_images(*state_, *reading.mesh, location_, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::Corrupt);
}

}  // namespace
}  // namespace mesh::controller
