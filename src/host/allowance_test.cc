#include "host/allowance.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/nats_server.h"

namespace mesh::host {
namespace {

namespace fs = std::filesystem;
using declaration::Component;

Allowance parsed(std::string_view text) {
  auto out = Allowance::parse(text, "host.toml");
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out.value_or(Allowance{});
}

Component component_with(const std::function<void(Component&)>& change) {
  Component out;
  out.name = "server";
  out.image = "registry.test/x@sha256:00";
  change(out);
  return out;
}

TEST(AllowanceFile, EveryKeyIsRead) {
  const auto all = parsed(
      "privileged = true\npaths = [\"/srv/data/\", \"/mnt/a/../b\"]\nhost-network = true\n"
      "devices = [\"/dev/ttyUSB0\"]\ncapabilities = [\"NET_ADMIN\"]\nrun = true\n");
  EXPECT_TRUE(all.privileged);
  EXPECT_EQ(all.paths, (std::vector<std::string>{"/srv/data/", "/mnt/b"}));
  EXPECT_TRUE(all.host_network);
  EXPECT_EQ(all.devices, std::vector<std::string>{"/dev/ttyUSB0"});
  EXPECT_EQ(all.capabilities, std::vector<std::string>{"NET_ADMIN"});
  EXPECT_TRUE(all.run);
  const auto none = parsed("# nothing\n");
  EXPECT_FALSE(none.privileged || none.host_network || none.run || !none.paths.empty() ||
               !none.devices.empty() || !none.capabilities.empty());
}

TEST(AllowanceFile, WhatIsWrongIsToldWithItsPlace) {
  struct Case {
    const char* text;
    const char* message;
    int line;
  };
  for (const Case& one : std::vector<Case>{
           {"run = true\nprivileges = true\n", "unknown key `privileges`", 2},
           {"run = \"yes\"\n", "`run` must be true or false", 1},
           {"run = 1\n", "`run` must be true or false", 1},
           {"\npaths = \"/srv\"\n", "`paths` must be a list of strings", 2},
           {"devices = [1]\n", "`devices` must be a list of strings", 1},
           {"paths = [\"srv\"]\n", "`paths` must be absolute paths", 1},
           {"[run]\n", "`run` must be true or false", 1},
       }) {
    const auto out = Allowance::parse(one.text, "host.toml");
    ASSERT_FALSE(out) << one.text;
    EXPECT_EQ(out.error().code, Code::InvalidArgument);
    EXPECT_EQ(out.error().message, one.message);
    EXPECT_EQ(out.error().place.line, one.line) << one.text;
  }
  for (const char* text : {"run = ", "run = true\nrun = true\n", "\xff", "a\nb"}) {
    EXPECT_FALSE(Allowance::parse(text, "host.toml")) << text;
  }
  EXPECT_EQ(Allowance::parse("privilege = true", "f").error().hint, "did you mean `privileged`?");
}

struct Asked {
  const char* what;
  std::function<void(Component&)> change;
  const char* allows;   // the line that allows it
  const char* not_yet;  // one that is near and does not
};

std::vector<Asked> asked() {
  return {
      {"run",
       [](auto& c) {
         c.run = {"/bin/true"};
         c.image = "";
       },
       "run = true", "privileged = true"},
      {"network", [](auto& c) { c.network = "host"; }, "host-network = true", "privileged = true"},
      {"path", [](auto& c) { c.volumes = {{"/srv/data/x", "/x", false}}; },
       "paths = [\"/srv/data\"]", "paths = [\"/srv/dat\", \"/srv/data/x/y\", \"/srv/data/xx\"]"},
      {"same path", [](auto& c) { c.volumes = {{"/srv/data", "/x", true}}; },
       "paths = [\"/srv/data/\"]", "privileged = true\npaths = []"},
      {"root", [](auto& c) { c.volumes = {{"/", "/x", true}}; }, "paths = [\"/\"]",
       "paths = [\"/srv\"]"},
      {"dots", [](auto& c) { c.volumes = {{"/srv/data/../../etc", "/x", true}}; },
       "paths = [\"/etc\"]", "paths = [\"/srv/data\"]"},
      {"device", [](auto& c) { c.devices = {"/dev/ttyUSB0:/dev/tty:rw"}; },
       "devices = [\"/dev/ttyUSB0\"]", "devices = [\"/dev/tty\"]"},
      {"device, privileged", [](auto& c) { c.devices = {"/dev/../dev/mem"}; }, "privileged = true",
       "devices = [\"/dev\"]"},
      {"capability", [](auto& c) { c.capabilities = {"cap_net_admin"}; },
       "capabilities = [\"NET_ADMIN\"]", "capabilities = [\"NET_RAW\", \"ALL\"]"},
      {"all capabilities", [](auto& c) { c.capabilities = {"ALL"}; }, "privileged = true",
       "capabilities = [\"ALL\"]"},
  };
}

TEST(Allowed, OnlyByTheKeyThatNamesIt) {
  for (const Asked& one : asked()) {
    const Component component = component_with(one.change);
    EXPECT_TRUE(check_allowed(component, parsed(one.allows))) << one.what;
    for (const char* text : {"", one.not_yet}) {
      const Status status = check_allowed(component, parsed(text));
      ASSERT_FALSE(status) << one.what << ": " << text;
      EXPECT_EQ(status.error().code, Code::PermissionDenied);
      EXPECT_NE(status.error().hint.find("host.toml"), std::string::npos);
    }
  }
  EXPECT_TRUE(check_allowed(component_with([](auto& c) { c.volumes = {{"data", "/x", false}}; }),
                            Allowance{}));
}

TEST(Allowed, ALinkBelowAnAllowedPathLeadsNowhereElse) {
  const test::TemporaryDirectory directory;
  fs::create_directories(directory.path() / "ours/inner");
  fs::create_directory_symlink("/etc", directory.path() / "ours/out");
  fs::create_directory_symlink("inner", directory.path() / "ours/in");
  Allowance allowance;
  allowance.paths = {(directory.path() / "ours").string()};
  const auto mounts = [&](const char* path) {
    return component_with(
        [&](auto& c) { c.volumes = {{(directory.path() / path).string(), "/x", false}}; });
  };
  EXPECT_TRUE(check_allowed(mounts("ours/in"), allowance));
  EXPECT_TRUE(check_allowed(mounts("ours/inner"), allowance));
  EXPECT_FALSE(check_allowed(mounts("ours/out"), allowance));
  EXPECT_FALSE(check_allowed(mounts("ours/out/ssl"), allowance));
}

}  // namespace
}  // namespace mesh::host
