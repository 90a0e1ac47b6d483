#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/verbs_fixture.h"

/// Verbs over the state: secrets, environments, backups.
namespace mesh::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::keys;
using ::testing::Not;
using testing::VerbsTest;
namespace fs = std::filesystem;

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

TEST_F(VerbsTest, ADamagedBackupIsRefusedAndNothingIsChanged) {
  write_mesh();
  const auto key = json({"init"})["recovery_key"].get<std::string>();
  (void)json({"backup", "whole"});
  fs::remove_all(root_ + "/.mesh");
  const auto whole = read("whole");
  const auto standing = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      files[entry.path().string()] = entry.is_regular_file() ? read(entry.path().string()) : "";
    }
    files.erase(root_ + "/damaged");
    return files;
  };
  const auto before = standing();
  const auto refused = [&](const std::string& bytes, const std::string& where) {
    write("damaged", bytes);
    const auto ran = mesh({"restore", "damaged", "--json"}, key);
    EXPECT_EQ(ran.exit, 65) << where << ran.out;
    const auto code = ran.json()["error"]["code"];
    EXPECT_TRUE(code == "corrupt" || code == "invalid-argument") << where << code;
    EXPECT_EQ(standing(), before) << where;
  };
  // Every byte of the first line, the key and the digest at the end; of the sealed body many.
  constexpr std::size_t kEnds = 80;
  ASSERT_GT(whole.size(), 10 * kEnds);
  const auto tail = whole.size() - kEnds;
  const auto after = [&](std::size_t at) {
    return at < kEnds || at >= tail ? at + 1 : std::min(at + whole.size() / 50, tail);
  };
  for (std::size_t at = 0; at < whole.size(); at = after(at)) {
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    refused(bytes, "byte " + std::to_string(at));
  }
  refused(whole.substr(0, whole.size() - 1), "without its last byte");
  refused(whole + "x", "with a byte more");
  refused("", "empty");
  EXPECT_EQ(mesh({"restore", "whole"}, key).exit, 0);
}

TEST_F(VerbsTest, AllSecretsThatAreMissingAreNamed) {
  write_mesh();
  (void)mesh({"init"});
  const auto error = json({"push"}, 65)["error"];
  EXPECT_EQ(error["message"],
            "2 secrets are not set: STRIPE_KEY of module shop, TOKEN of module shop");
  EXPECT_THAT(error["hint"].get<std::string>(), HasSubstr("`mesh secret set shop TOKEN`"));
  EXPECT_EQ(error["file"], "shop/module.toml");
}

TEST_F(VerbsTest, AVariableCannotHoldANul) {
  write_mesh();
  (void)mesh({"init"});
  const std::string nul("a\0b", 3);
  EXPECT_THAT(mesh({"secret", "set", "shop", "TOKEN"}, nul).err, HasSubstr("NUL"));
  (void)mesh({"secret", "set", "STRIPE_KEY"}, "whole");
  EXPECT_EQ(mesh({"env", "two.shop"}).exit, 0) << "a file can";
  (void)mesh({"secret", "set", "STRIPE_KEY"}, nul);
  for (const auto& words : std::vector<std::vector<std::string>>{{"env", "two.shop"}, {"push"}}) {
    const auto error = json(words, 65)["error"];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("STRIPE_KEY of module shop"));
    EXPECT_THAT(error["hint"].get<std::string>(), HasSubstr("secrets = [\"STRIPE_KEY\"]"));
    EXPECT_EQ(error["file"], "shop/module.toml");
  }
  EXPECT_EQ(mesh({"env", "two.shop", "--", "true"}).exit, 65);
}

TEST_F(VerbsTest, ASecretIsNamedAsDeclarationsNameIt) {
  write_mesh();
  (void)mesh({"init"});
  for (const auto& name : {std::string("1A"), std::string(64, 'A'), std::string("a b")}) {
    EXPECT_EQ(mesh({"secret", "set", name}, "x").exit, 64) << name;
  }
  EXPECT_EQ(mesh({"secret", "set", std::string(63, 'A')}, "x").exit, 0);
}

TEST_F(VerbsTest, AStateThatIsOpenToOthersIsClosedAndThatIsSaid) {
  write_mesh();
  (void)mesh({"init"});
  fs::permissions(root_ + "/.mesh", fs::perms(0755));
  EXPECT_THAT(mesh({"history"}).err, AllOf(HasSubstr("open to other users"), HasSubstr("0755")));
  EXPECT_EQ(mode(root_ + "/.mesh"), 0700U);
  EXPECT_THAT(mesh({"history"}).err, Not(HasSubstr("open to other users")));
}

TEST_F(VerbsTest, ADamagedInventoryIsNotBackedUp) {
  write_mesh();
  (void)mesh({"init"});
  (void)mesh({"secret", "set", "STRIPE_KEY"}, "sk_live");
  ASSERT_EQ(mesh({"backup", "good"}).exit, 0);
  const auto good = read("good");
  const auto whole = read(".mesh/inventory.db");
  // Bytes of a row, a page, and the end of the file.
  auto renamed = whole;
  renamed[renamed.find("STRIPE_KEY") + 9] = 'X';
  auto overwritten = whole;
  const auto page = overwritten.find("STRIPE_KEY") / 4096 * 4096;
  overwritten.replace(page, 4096, std::string(4096, '\x2a'));
  for (const auto& damaged :
       {renamed, overwritten, whole.substr(0, whole.size() / 4096 / 2 * 4096)}) {
    write(".mesh/inventory.db", damaged);
    EXPECT_EQ(json({"backup", "good"}, 65)["error"]["code"], "corrupt");
    EXPECT_EQ(read("good"), good);
    // The doctor looks at what there is to look at all the same.
    const auto checks = json({"doctor"}, 1)["checks"];
    EXPECT_GE(checks.size(), 8U) << checks;
  }
}

TEST_F(VerbsTest, ABackupReplacesAFileAndNothingElse) {
  write_mesh();
  (void)mesh({"init"});
  ASSERT_EQ(mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  fs::create_directories(root_ + "/folder");
  fs::create_symlink("/dev/null", root_ + "/null");
  for (const auto* file : {"fifo", "folder", "null", "/dev/null"}) {
    EXPECT_EQ(json({"backup", file}, 65)["error"]["code"], "invalid-argument") << file;
  }
  EXPECT_TRUE(fs::is_fifo(root_ + "/fifo"));
  EXPECT_TRUE(fs::is_symlink(root_ + "/null"));
  write("folder/latest", "old");
  fs::create_symlink("folder/latest", root_ + "/link");
  EXPECT_EQ(mesh({"backup", "link"}).exit, 0);
  EXPECT_TRUE(fs::is_symlink(root_ + "/link"));
  EXPECT_THAT(read("folder/latest"), ::testing::StartsWith("mesh-backup "));
}

TEST_F(VerbsTest, TheDoctorSaysWhatItCannotLookAt) {
  write_mesh();
  const auto state_of = [](const Json& checks, const std::string& name) {
    for (const auto& check : checks) {
      if (check["name"] == name) {
        return check["state"].get<std::string>();
      }
    }
    return std::string("none");
  };
  // Before there is a state: it makes none.
  (void)mesh({"doctor"});
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
  (void)mesh({"init"});
  const auto fresh = json({"doctor"}, 1)["checks"];
  EXPECT_THAT(fresh.dump(), HasSubstr("is not there yet"));
  fs::create_directories(root_ + "/.mesh/bus/nats.conf");
  auto checks = json({"doctor"}, 1)["checks"];
  EXPECT_EQ(state_of(checks, "configuration"), "error") << checks;
  EXPECT_EQ(state_of(checks, "inventory"), "ok") << checks;
  fs::rename(root_ + "/.mesh/keys/seal.key", root_ + "/away");
  checks = json({"doctor"}, 1)["checks"];
  EXPECT_EQ(state_of(checks, "inventory"), "error") << checks;
  EXPECT_EQ(state_of(checks, "clock"), "ok") << checks;
  EXPECT_EQ(state_of(checks, "bus"), "warning") << checks;
  fs::rename(root_ + "/away", root_ + "/.mesh/keys/seal.key");
  write(".mesh/inventory.db", "");
  checks = json({"doctor"}, 1)["checks"];
  EXPECT_EQ(state_of(checks, "inventory"), "error") << checks;
  EXPECT_EQ(state_of(checks, "disk"), state_of(fresh, "disk")) << checks;
}

TEST_F(VerbsTest, StateMayLieElsewhere) {
  write_mesh();
  EXPECT_EQ(mesh({"history", "--state", "elsewhere"}).exit, 0);
  EXPECT_TRUE(fs::exists(root_ + "/elsewhere/inventory.db"));
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
  EXPECT_THAT(read(".gitignore"), HasSubstr("elsewhere/\n"));
}

}  // namespace
}  // namespace mesh::cli
