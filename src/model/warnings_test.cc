#include <gtest/gtest.h>

#include "model/read.h"
#include "tests/support/map_files.h"

// What files say of each other that is no use, or not what was meant.
namespace mesh::model {
namespace {

using test::MapFiles;

std::string told(const std::string& mesh_toml, const std::string& module_toml) {
  MapFiles files;
  files.set("mesh.toml", "mesh = \"home\"\n" + mesh_toml);
  files.set("m/module.toml", module_toml);
  std::string out;
  for (const auto& problem : read_mesh(files).problems) {
    out += to_text(problem) + " [" + problem.code + "]\n";
  }
  return out;
}

constexpr const char* kModule = "[nodes.one]\n[modules.m]\npath = \"m\"\non = [\"one\"]\n";

TEST(Warnings, SeatsThatFeedEachOther) {
  const std::string seats =
      "[seats.a]\naccepts = [\"go\"]\nemits = [\"done\"]\nfrom = { go = [\"c:done\"] }\n"
      "[seats.b]\naccepts = [\"go\"]\nemits = [\"done\"]\nfrom = { go = [\"a:done\"] }\n"
      "[seats.c]\naccepts = [\"go\"]\nemits = [\"done\"]\nfrom = { go = [\"b:done\"] }\n"
      "[seats.d]\naccepts = [\"go\"]\nfrom = { go = [\"a:done\"] }\n";
  const auto text = told(seats + kModule, "holds = [\"a\", \"b\", \"c\", \"d\"]\n");
  EXPECT_EQ(text.find("error"), std::string::npos) << text;
  EXPECT_NE(text.find("mesh.toml:5:16: warning: seat \"a\" takes \"c:done\" as work"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mesh.toml:9:16: warning"), std::string::npos) << text;
  EXPECT_EQ(text.find("seat \"d\""), std::string::npos) << text;
}

TEST(Warnings, ASubjectOfAnEventThatIsNotEmitted) {
  EXPECT_EQ(told(kModule, "emits = [\"order.placed\"]\nsubjects = { \"order.place\" = \"x\" }\n"),
            "m/module.toml:2:14: error: subjects names \"order.place\", which the module does not "
            "emit (did you mean \"order.placed\"?) [event-not-emitted]\n");
  EXPECT_EQ(told(kModule, "emits = [\"order.placed\"]\nsubjects = { \"order.placed\" = \"x\" }\n"),
            "");
}

TEST(Warnings, ATableNamedNearlyRight) {
  EXPECT_NE(told(std::string("[modle.x]\npath = \"m\"\n") + kModule, "")
                .find("did you mean \"modules\"?"),
            std::string::npos);
}

TEST(Warnings, AdvertiseOfNothing) {
  EXPECT_NE(told(std::string("[bus]\nadvertise = []\n") + kModule, "").find("[empty-list]"),
            std::string::npos);
}

TEST(Warnings, APortThatMeshListensOn) {
  const auto* const component = "[components.c]\nrun = [\"x\"]\nports = [\"4222:4222\"]\n";
  EXPECT_NE(
      told(kModule, component)
          .find("m/module.toml:3:10: warning: port 4222 of component \"c\" of module \"m\" is "
                "the one that the managed bus listens on"),
      std::string::npos)
      << told(kModule, component);
  EXPECT_EQ(told(std::string("[bus]\nlisten = \"127.0.0.1:4333\"\n") + kModule, component), "");
}

}  // namespace
}  // namespace mesh::model
