#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/testing.h"
#include "os/files.h"

/// For tests: verbs run in a directory of their own, with a small mesh.
namespace mesh::cli::testing {

inline constexpr const char* kMesh = R"(mesh = "home"
[nodes.one]
[nodes.two]
env = { PLACE = "two" }
[seats.telegram-sender]
accepts = ["send"]
emits = ["delivered", "failed"]
[modules.telegram]
path = "telegram"
on = ["one"]
[modules.shop]
path = "shop"
on = ["two"]
[modules.audit]
path = "audit"
on = ["two"]
)";

inline constexpr const char* kShop = R"(emits = ["order.placed"]
uses = ["telegram-sender.send"]
[tools.price]
description = "The price of an item"
input = "price.json"
[components.server]
run = ["sleep", "60"]
env = { LOG_LEVEL = "it's", PLACE = "here", STRIPE = { secret = "STRIPE_KEY" } }
secrets = ["TOKEN"]
grace = "1500ms"
)";

class VerbsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = os::make_temp_dir(::testing::TempDir(), "mesh-verbs-").value();
    shell_.directory = root_;
  }
  void TearDown() override { (void)os::remove_tree(root_); }

  void write(const std::string& path, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    const auto full = path.starts_with("/") ? path : root_ + "/" + path;
    std::stringstream bytes;
    bytes << std::ifstream(full, std::ios::binary).rdbuf();
    return bytes.str();
  }
  void write_mesh() const {
    write("mesh.toml", kMesh);
    write("telegram/module.toml", "holds = [\"telegram-sender\"]\n");
    write("shop/module.toml", kShop);
    write("shop/price.json", R"({"type": "object"})");
    write("audit/module.toml", "consumes = [\"shop.order.placed\"]\n");
  }
  Ran mesh(const std::vector<std::string>& words, std::string input = {}) {
    return shell_.run(words, std::move(input));
  }
  Json json(std::vector<std::string> words, int exit = 0) {
    words.emplace_back("--json");
    const auto ran = mesh(words);
    EXPECT_EQ(ran.exit, exit) << ::testing::PrintToString(words) << ran.out << ran.err;
    const auto document = ran.json();
    EXPECT_FALSE(document.is_discarded()) << ran.out;
    return document;
  }
  [[nodiscard]] static unsigned mode(const std::string& path) {
    struct stat found{};
    return stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0U;
  }

  std::string root_;
  Shell shell_;
};

inline std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.push_back(name);
  }
  return names;
}

}  // namespace mesh::cli::testing
