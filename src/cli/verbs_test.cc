#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cli/verbs_fixture.h"

/// Verbs over declarations, which dial nobody.
namespace mesh::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::keys;
using ::testing::Not;
using testing::VerbsTest;
namespace fs = std::filesystem;

TEST_F(VerbsTest, WithoutAMeshTheErrorNamesInit) {
  const auto error = json({"check"}, 65)["error"];
  EXPECT_THAT(keys(error), ElementsAre("code", "message", "file", "line", "column", "hint"));
  EXPECT_THAT(error["hint"].get<std::string>(), HasSubstr("mesh init"));
}

TEST_F(VerbsTest, InitMakesAMeshThatChecks) {
  const auto first = mesh({"init", "shop"});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("mesh-recovery-"), HasSubstr("wrote mesh.toml")));
  EXPECT_EQ(mode(root_ + "/shop/.mesh"), 0700U);
  EXPECT_THAT(read("shop/.gitignore"), HasSubstr(".mesh/\n"));
  shell_.directory = root_ + "/shop";
  const auto check = json({"check"});
  EXPECT_THAT(check["problems"], IsEmpty()) << check;
}

TEST_F(VerbsTest, AMeshInsideAnotherIsSaidToBeOne) {
  EXPECT_THAT(mesh({"init"}).err, Not(HasSubstr("inside another")));
  const auto inner = mesh({"init", "inner"});
  EXPECT_EQ(inner.exit, 0);
  EXPECT_THAT(inner.err, HasSubstr("inside another: "));
  EXPECT_THAT(mesh({"init", "inner"}).err, Not(HasSubstr("inside another")));
}

TEST_F(VerbsTest, InitTwiceChangesNothingAndShowsNoKey) {
  (void)mesh({"init"});
  const auto toml = read("mesh.toml");
  const auto ignored = read(".gitignore");
  const auto again = mesh({"init"});
  EXPECT_EQ(again.exit, 0);
  EXPECT_THAT(again.out, AllOf(HasSubstr("already"), Not(HasSubstr("mesh-recovery-"))));
  EXPECT_EQ(read("mesh.toml"), toml);
  EXPECT_EQ(read(".gitignore"), ignored);
}

TEST_F(VerbsTest, InitBesideAMeshMakesOnlyIdAndKeys) {
  write_mesh();
  write(".gitignore", "build/");
  const auto document = json({"init"});
  EXPECT_THAT(keys(document),
              ElementsAre("mesh", "name", "root", "state", "files", "recovery_key"));
  EXPECT_THAT(document["files"], IsEmpty());
  EXPECT_EQ(document["mesh"].get<std::string>().size(), 32U);
  EXPECT_EQ(read("mesh.toml"), testing::kMesh);
  EXPECT_EQ(read(".gitignore"), "build/\n.mesh/\n");
}

TEST_F(VerbsTest, InitRefusesInvalidDeclarations) {
  write("mesh.toml", "mesh = 3\n");
  EXPECT_THAT(json({"init"}, 65)["problems"], Not(IsEmpty()));
  EXPECT_FALSE(fs::exists(root_ + "/.mesh/inventory.db"));
}

TEST_F(VerbsTest, IgnoredAlreadyInAnotherSpelling) {
  for (const auto* spelling : {".mesh", "/.mesh/", "a\r\n.mesh/\r\nb\n"}) {
    write_mesh();
    write(".gitignore", spelling);
    (void)mesh({"init"});
    EXPECT_EQ(read(".gitignore"), spelling);
    fs::remove_all(root_ + "/.mesh");
  }
}

TEST_F(VerbsTest, AGitignoreKeepsItsModeAndItsLink) {
  write_mesh();
  write("shared/ignore", "build/\n");
  fs::permissions(root_ + "/shared/ignore", fs::perms(0640));
  fs::create_symlink("shared/ignore", root_ + "/.gitignore");
  EXPECT_EQ(mesh({"init"}).exit, 0);
  EXPECT_TRUE(fs::is_symlink(root_ + "/.gitignore"));
  EXPECT_EQ(read("shared/ignore"), "build/\n.mesh/\n");
  EXPECT_EQ(mode(root_ + "/shared/ignore"), 0640U);
}

TEST_F(VerbsTest, WhatIsNoDirectoryIsNoStateAndNothingIsWritten) {
  write_mesh();
  write(".gitignore", "build/\n");
  write("file", "mine");
  const std::vector<std::vector<std::string>> lines = {
      {"init"}, {"plan"}, {"bus-config"}, {"secret", "list"}, {"init", "fresh"}};
  for (const auto* state : {"file", "file/below", "file/below/deeper"}) {
    for (auto line : lines) {
      line.insert(line.end(), {"--state", state});
      const auto error = json(line, 64)["error"];
      EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("/file is no directory"));
      EXPECT_THAT(error["hint"].get<std::string>(), HasSubstr("--state"));
    }
  }
  EXPECT_EQ(read(".gitignore"), "build/\n");
  EXPECT_EQ(read("file"), "mine");
  EXPECT_FALSE(fs::exists(root_ + "/fresh"));
  // In the default place it is a file that is in the way, not the command line.
  write(".mesh", "mine");
  EXPECT_EQ(json({"init"}, 65)["error"]["code"], "invalid-argument");
  EXPECT_EQ(read(".gitignore"), "build/\n");
}

TEST_F(VerbsTest, CheckReportsEveryProblemWithEveryKey) {
  write("mesh.toml", "mesh = \"Home\"\n[nodes.a_b]\nfrobnicate = 1\n");
  const auto problems = json({"check"}, 65)["problems"];
  EXPECT_GE(problems.size(), 2U);
  for (const auto& problem : problems) {
    EXPECT_THAT(keys(problem),
                ElementsAre("file", "line", "column", "severity", "code", "message", "hint"));
    EXPECT_EQ(problem["file"], "mesh.toml");
  }
  const auto text = mesh({"check"});
  EXPECT_THAT(text.out, HasSubstr("mesh.toml:1:"));
  EXPECT_THAT(text.out, HasSubstr(": error: "));
}

TEST_F(VerbsTest, CheckReportsALockThatCannotBeRead) {
  write_mesh();
  write("mesh.lock", "{}\n");
  for (const auto& [text, line] :
       {std::pair("{}", 1), {"{\n<<<<<<< HEAD\n}", 2}, {R"({"version": 9, "images": {}})", 1}}) {
    write("mesh.lock", text);
    const auto problems = json({"check"}, 65)["problems"];
    ASSERT_EQ(problems.size(), 1U) << problems;
    EXPECT_EQ(problems[0]["file"], "mesh.lock");
    EXPECT_EQ(problems[0]["line"], line);
    EXPECT_EQ(problems[0]["code"], "bad-lock");
    EXPECT_THAT(problems[0]["hint"].get<std::string>(), Not(HasSubstr("remove")));
  }
  write("mesh.lock", "");
  EXPECT_THAT(json({"check"})["problems"], IsEmpty());
}

TEST_F(VerbsTest, CheckSaysWhyAModuleCannotBeRead) {
  const auto problem = [&](const std::string& path) {
    write("mesh.toml",
          "mesh = \"home\"\n[nodes.one]\n[modules.a]\npath = \"" + path + "\"\non = [\"one\"]\n");
    const auto problems = json({"check"}, 65)["problems"];
    EXPECT_EQ(problems.size(), 1U) << problems;
    EXPECT_EQ(problems[0]["code"], "unreadable") << problems;
    return problems[0]["message"].get<std::string>() + " (" +
           problems[0]["hint"].get<std::string>() + ")";
  };
  fs::create_symlink("nowhere", root_ + "/dangling");
  EXPECT_THAT(problem("dangling"),
              HasSubstr("dangling is a symbolic link to something that does not exist (make"));
  fs::create_symlink("circle", root_ + "/circle");
  EXPECT_THAT(problem("circle"), AllOf(HasSubstr("circle cannot be read: too many levels"),
                                       HasSubstr("links lead in a circle")));
  write("file", "");
  EXPECT_THAT(problem("file/below"), AllOf(HasSubstr("file/below cannot be read: not a directory"),
                                           HasSubstr("a file, not a folder")));
  fs::create_directory(root_ + "/folder");
  fs::create_symlink("nowhere", root_ + "/folder/module.toml");
  EXPECT_THAT(problem("folder"), HasSubstr("folder/module.toml is a symbolic link to something"));
  if (::geteuid() != 0) {
    write("closed/module.toml", "");
    fs::permissions(root_ + "/closed", fs::perms::none);
    EXPECT_THAT(problem("closed"), HasSubstr("closed/module.toml cannot be read: permission"));
    fs::permissions(root_ + "/closed", fs::perms::owner_all);
  }
}

TEST_F(VerbsTest, InvalidDeclarationsAreCheckedByEveryVerb) {
  write("mesh.toml", "mesh = 3\n");
  const std::vector<std::vector<std::string>> lines = {{"grants"},
                                                       {"who", "hear", "x"},
                                                       {"explain", "one", "hear", "x"},
                                                       {"bus-config"},
                                                       {"env", "a.b"},
                                                       {"history"},
                                                       {"secret", "list"},
                                                       {"backup", "f"},
                                                       {"explain", "m"},
                                                       {"plan"},
                                                       {"push"}};
  for (const auto& line : lines) {
    EXPECT_THAT(json(line, 65)["problems"], Not(IsEmpty())) << ::testing::PrintToString(line);
  }
}

TEST_F(VerbsTest, FilesAreShownAsSeenFromTheWorkingDirectory) {
  write_mesh();
  write("mesh.toml", "mesh = 3\n");
  shell_.directory = root_ + "/shop";
  EXPECT_EQ(json({"check"}, 65)["problems"][0]["file"], "../mesh.toml");
  shell_.directory = "/";
  EXPECT_EQ(json({"check", "-C", root_}, 65)["problems"][0]["file"], "mesh.toml");
}

TEST_F(VerbsTest, Grants) {
  write_mesh();
  const auto principals = json({"grants"})["principals"];
  std::vector<std::string> names;
  for (const auto& principal : principals) {
    names.push_back(principal["name"]);
    EXPECT_THAT(keys(principal), ElementsAre("name", "kind", "node", "module", "account", "publish",
                                             "subscribe", "allow_responses"));
  }
  EXPECT_THAT(names, ElementsAre("controller", "controller.tools", "one", "one.telegram", "two",
                                 "two.audit", "two.shop"));
  const auto shop = json({"grants", "two.shop"})["principals"];
  ASSERT_EQ(shop.size(), 1U);
  EXPECT_EQ(shop[0]["kind"], "module");
  EXPECT_EQ(shop[0]["allow_responses"], Json({{"max", 1}, {"ttl", "1m"}}));
  for (const auto& grant : shop[0]["publish"]) {
    EXPECT_THAT(keys(grant["because"]), ElementsAre("text", "file", "line"));
  }
  EXPECT_EQ(principals[0]["kind"], "controller");
  EXPECT_TRUE(principals[0]["node"].is_null());
  EXPECT_TRUE(principals[0]["allow_responses"].is_null());
  EXPECT_EQ(principals[0]["publish"][0]["subject"], ">");
  EXPECT_THAT(json({"grants", "two.shp"}, 1)["error"]["hint"].get<std::string>(),
              HasSubstr("two.shop"));
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
}

TEST_F(VerbsTest, WhoAndExplain) {
  write_mesh();
  const auto* const subject = "mesh.mod.shop.event.order.placed";
  const auto who = json({"who", "hear", subject});
  EXPECT_THAT(keys(who), ElementsAre("subject", "principals"));
  ASSERT_EQ(who["principals"].size(), 2U);
  EXPECT_EQ(who["principals"][0]["name"], "controller");
  EXPECT_EQ(who["principals"][1]["name"], "two.audit");
  EXPECT_THAT(who["principals"][1]["because"], Not(IsEmpty()));
  EXPECT_EQ(json({"explain", "two.audit", "hear", subject})["answer"], "yes");
  const auto no = json({"explain", "one.telegram", "hear", subject}, 1);
  EXPECT_EQ(no["answer"], "no");
  EXPECT_THAT(keys(no), ElementsAre("answer", "because"));
  EXPECT_EQ(json({"explain", "two.audit", "hear", "mesh.mod.>"}, 1)["answer"], "part");
  EXPECT_EQ(json({"who", "hear", "a b"}, 64)["error"]["code"], "usage");
  EXPECT_EQ(json({"explain", "two.audit", "hear"}, 64)["error"]["code"], "usage");
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
}

TEST_F(VerbsTest, ATapOfNoMessagesIsNoTap) {
  write_mesh();
  for (const auto* count : {"0", "x", "-1", "1x", ""}) {
    EXPECT_EQ(json({"tap", ">", "--count", count}, 64)["error"]["code"], "usage") << count;
  }
}

TEST_F(VerbsTest, BusConfigIsTheSameBytesEachTime) {
  write_mesh();
  const auto first = mesh({"bus-config"});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("mesh-recovery-"), HasSubstr("issued 8 credentials")));
  const auto second = mesh({"bus-config"});
  EXPECT_EQ(first.out, second.out);
  EXPECT_THAT(second.err, IsEmpty());
  EXPECT_EQ(json({"bus-config"})["config"], first.out);
}

TEST_F(VerbsTest, CompletionsKnowVerbsOptionsAndNames) {
  write_mesh();
  const auto words = [&](std::vector<std::string> line) {
    line.insert(line.begin(), {"__complete", "--"});
    return mesh(line).out;
  };
  EXPECT_EQ(words({"gr"}), "grants\n");
  EXPECT_EQ(words({"grants", "two."}), "two.audit\ntwo.shop\n");
  EXPECT_EQ(words({"env", "t"}), "two.audit\ntwo.shop\n");
  EXPECT_EQ(words({"-C", root_, "secret", "set", "s"}), "shop\n");
  EXPECT_EQ(words({"who", "h"}), "hear\n");
  EXPECT_EQ(words({"push", "--pl"}), "--plan\n");
  EXPECT_EQ(words({"completion", ""}), "bash\nfish\nzsh\n");
  EXPECT_EQ(words({"env", "two.shop", "--", "l"}), "");
  write("mesh.toml", "mesh = 3\n");
  EXPECT_EQ(words({"grants", ""}), "");
}

}  // namespace
}  // namespace mesh::cli
