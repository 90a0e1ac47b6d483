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

TEST_F(VerbsTest, StateMayLieElsewhere) {
  write_mesh();
  EXPECT_EQ(mesh({"history", "--state", "elsewhere"}).exit, 0);
  EXPECT_TRUE(fs::exists(root_ + "/elsewhere/inventory.db"));
  EXPECT_FALSE(fs::exists(root_ + "/.mesh"));
  EXPECT_THAT(read(".gitignore"), HasSubstr("elsewhere/\n"));
}

}  // namespace
}  // namespace mesh::cli
