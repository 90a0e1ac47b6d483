#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/testing.h"
#include "os/files.h"

/// Every verb that dials nobody, run in a directory of its own.
namespace mesh::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Ran;
using testing::Shell;
namespace fs = std::filesystem;

constexpr const char* kMesh = R"(mesh = "home"
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

constexpr const char* kShop = R"(emits = ["order.placed"]
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
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
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

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.push_back(name);
  }
  return names;
}

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
  EXPECT_EQ(read("mesh.toml"), kMesh);
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

TEST_F(VerbsTest, SecretsAreKeptByteExactAndNeverShown) {
  write_mesh();
  (void)mesh({"init"});
  const std::string value("line\nwith\0zero and \xff\n", 21);
  const auto set = mesh({"secret", "set", "shop", "TOKEN", "--json"}, value);
  EXPECT_EQ(set.exit, 0) << set.err;
  EXPECT_EQ(set.json()["secret"], Json({{"module", "shop"}, {"name", "TOKEN"}}));
  EXPECT_EQ(mesh({"secret", "set", "STRIPE_KEY"}, "sk_live").exit, 0);
  const auto list = json({"secret", "list"})["secrets"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_THAT(keys(list[0]), ElementsAre("module", "name", "set"));
  EXPECT_TRUE(list[0]["module"].is_null());
  EXPECT_EQ(list[1]["module"], "shop");
  EXPECT_EQ(json({"secret", "list", "shop"})["secrets"].size(), 1U);

  const auto env = json({"env", "two.shop"})["env"];
  EXPECT_EQ(read(env["MESH_SECRETS"].get<std::string>() + "/TOKEN"), value);
  EXPECT_EQ(mode(env["MESH_SECRETS"].get<std::string>() + "/TOKEN"), 0400U);
  EXPECT_THAT(env["STRIPE"].get<std::string>(), HasSubstr("/STRIPE"));
  EXPECT_EQ(read(env["STRIPE"]), "sk_live");

  EXPECT_EQ(json({"secret", "remove", "shop", "TOKEN"})["secret"]["name"], "TOKEN");
  EXPECT_EQ(json({"secret", "remove", "shop", "TOKEN"}, 1)["error"]["code"], "not-found");
}

TEST_F(VerbsTest, SecretsOnTheWrongLine) {
  write_mesh();
  (void)mesh({"init"});
  EXPECT_EQ(json({"secret", "set", "shp", "TOKEN"}, 1)["error"]["hint"], "did you mean shop?");
  EXPECT_EQ(json({"secret", "set", "bad name"}, 64)["error"]["code"], "usage");
  EXPECT_EQ(json({"secret", "set"}, 64)["error"]["code"], "usage");
  EXPECT_EQ(json({"secret", "st", "X"}, 64)["error"]["hint"], "did you mean set?");
  EXPECT_EQ(mesh({"secret", "set", "BIG"}, std::string(65537, 'x')).exit, 65);
  EXPECT_EQ(mesh({"secret", "set", "BIG"}, std::string(65536, 'x')).exit, 0);
}

TEST_F(VerbsTest, EnvIsTheWholeTable) {
  write_mesh();
  (void)mesh({"init"});
  (void)mesh({"secret", "set", "shop", "TOKEN"}, "t");
  (void)mesh({"secret", "set", "STRIPE_KEY"}, "sk_live");
  const auto shop = json({"env", "two.shop"})["env"];
  EXPECT_THAT(
      keys(shop),
      ElementsAre("LOG_LEVEL", "MESH_BUS", "MESH_COMPONENT", "MESH_CONSUMER", "MESH_GRACE_SECONDS",
                  "MESH_INBOX", "MESH_KEY_FILE", "MESH_MODULE", "MESH_NODE", "MESH_PASSWORD_FILE",
                  "MESH_SEATS", "MESH_SECRETS", "MESH_TOOLS_FILE", "MESH_USER", "PLACE", "STRIPE"));
  EXPECT_EQ(shop["MESH_BUS"], "nats://127.0.0.1:4222");
  EXPECT_EQ(shop["MESH_COMPONENT"], "server");
  EXPECT_EQ(shop["MESH_CONSUMER"], "");
  EXPECT_EQ(shop["MESH_GRACE_SECONDS"], "1");
  EXPECT_EQ(shop["MESH_INBOX"], "_INBOX.two.shop");
  EXPECT_EQ(shop["MESH_USER"], "two.shop");
  EXPECT_EQ(shop["PLACE"], "two") << "the node's wins";
  EXPECT_EQ(read(shop["MESH_KEY_FILE"]).size(), 32U);
  EXPECT_EQ(read(shop["MESH_PASSWORD_FILE"]).size(), 43U);
  EXPECT_EQ(mode(shop["MESH_PASSWORD_FILE"]), 0400U);
  EXPECT_EQ(Json::parse(read(shop["MESH_TOOLS_FILE"]))["tools"][0]["name"], "price");
  const auto audit = json({"env", "two.audit"})["env"];
  EXPECT_EQ(audit["MESH_CONSUMER"], "EVENTS.two_audit");
  EXPECT_EQ(audit["MESH_COMPONENT"], "");
  EXPECT_EQ(json({"env", "one.telegram"})["env"]["MESH_SEATS"],
            "telegram-sender=SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker");
  const auto text = mesh({"env", "two.shop"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("LOG_LEVEL='it'\\''s'\n"), HasSubstr("\nMESH_CONSUMER=\n"),
                          Not(HasSubstr("sk_live"))));
}

TEST_F(VerbsTest, EnvGivesACommandTheValuesThemselves) {
  write_mesh();
  (void)mesh({"init"});
  (void)mesh({"secret", "set", "shop", "TOKEN"}, "t");
  (void)mesh({"secret", "set", "STRIPE_KEY"}, "sk_live");
  EXPECT_EQ(mesh({"env", "two.shop", "--", "node", "a.js"}).exit, 7);
  ASSERT_EQ(shell_.executed.size(), 1U);
  EXPECT_THAT(shell_.executed[0].command, ElementsAre("node", "a.js"));
  EXPECT_THAT(shell_.executed[0].added,
              Contains(std::pair<std::string, std::string>("STRIPE", "sk_live")));
  EXPECT_THAT(shell_.executed[0].removed, ElementsAre("MESH_CA_FILE"));
}

TEST_F(VerbsTest, EnvSaysWhatIsMissing) {
  write_mesh();
  (void)mesh({"init"});
  const auto unset = json({"env", "two.shop"}, 65)["error"];
  EXPECT_THAT(unset["hint"].get<std::string>(), HasSubstr("mesh secret set"));
  EXPECT_EQ(unset["file"], "shop/module.toml");
  EXPECT_THAT(json({"env", "one.shop"}, 1)["error"]["hint"].get<std::string>(),
              HasSubstr("two.shop"));
  EXPECT_THAT(
      json({"env", "two.shop", "--component", "srver"}, 1)["error"]["hint"].get<std::string>(),
      HasSubstr("server"));
  EXPECT_EQ(json({"env", "nonsense"}, 1)["error"]["code"], "not-found");
}

TEST_F(VerbsTest, HistoryBeforeTheFirstPush) {
  write_mesh();
  EXPECT_EQ(json({"history"}), Json({{"pushes", Json::array()}}));
}

TEST_F(VerbsTest, BackupAndRestore) {
  write_mesh();
  const std::string key = json({"init"})["recovery_key"];
  (void)mesh({"secret", "set", "STRIPE_KEY"}, "sk_live");
  const auto config = mesh({"bus-config"}).out;
  const auto made = json({"backup", "home.backup"});
  EXPECT_EQ(mode(root_ + "/home.backup"), 0600U);
  EXPECT_THAT(read("home.backup"), Not(HasSubstr("sk_live")));
  EXPECT_EQ(json({"restore", "home.backup"}, 1)["error"]["code"], "conflict");

  fs::rename(root_ + "/.mesh", root_ + "/old");
  EXPECT_EQ(mesh({"restore", "home.backup"}, "mesh-recovery-nonsense").exit, 65);
  EXPECT_FALSE(fs::exists(root_ + "/.mesh/inventory.db"));
  const auto restored = mesh({"restore", "home.backup", "--json"}, key + "\n");
  EXPECT_EQ(restored.exit, 0) << restored.err;
  EXPECT_EQ(restored.json()["mesh"], made["mesh"]);
  EXPECT_EQ(mesh({"bus-config"}).out, config);
  EXPECT_THAT(restored.out + restored.err, Not(HasSubstr(key)));
}

TEST_F(VerbsTest, StateMayLieElsewhere) {
  write_mesh();
  EXPECT_EQ(mesh({"history", "--state", "elsewhere"}).exit, 0);
  EXPECT_TRUE(fs::exists(root_ + "/elsewhere/inventory.db"));
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
  EXPECT_THAT(read(".gitignore"), HasSubstr("elsewhere/\n"));
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
