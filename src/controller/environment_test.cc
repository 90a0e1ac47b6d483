#include "controller/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "controller/credentials.h"
#include "os/files.h"
#include "tests/support/map_files.h"

namespace mesh::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kMesh = R"(mesh = "home"
[bus]
advertise = ["nats://a:4222", "nats://b:4222"]
[nodes.one]
bus = "10.0.0.1:4222"
env = { C = "node" }
[nodes.two]
[seats.zeta]
accepts = ["go"]
[seats.alpha-x]
accepts = ["go"]
[modules.shop]
path = "shop"
on = "all"
each = true
env = { B = "module", C = "module", S = { secret = "OF_MODULE" } }
[modules.bare]
path = "bare"
on = ["two"]
)";

constexpr const char* kShop = R"(emits = ["a"]
consumes = ["bare.x"]
holds = ["zeta", "alpha-x"]
[components.main]
run = ["sh"]
env = { A = "component", B = "component", C = "component" }
secrets = ["ONE", "TWO"]
[components.side]
run = ["sh"]
secrets = ["TWO"]
grace = "90s"
)";

constexpr const char* kBare = R"(emits = ["x"]
uses = ["zeta.go", "alpha-x.go"]
)";

model::Mesh declared(std::string shop = kShop) {
  test::MapFiles files;
  files.set("mesh.toml", kMesh);
  files.set("shop/module.toml", std::move(shop));
  files.set("bare/module.toml", kBare);
  auto reading = model::read_mesh(files);
  for (const auto& problem : reading.problems) {
    EXPECT_EQ(problem.severity, model::Severity::Warning) << model::to_text(problem);
  }
  return std::move(*reading.mesh);
}

TEST(Environment, FindsPartsByName) {
  const auto mesh = declared();
  EXPECT_EQ(find_part(mesh, "one.shop", {})->component->name.text(), "main");
  EXPECT_EQ(find_part(mesh, "one.shop", "side")->component->name.text(), "side");
  EXPECT_EQ(find_part(mesh, "two.bare", {})->component, nullptr);
  EXPECT_EQ(find_part(mesh, "one.bare", {}).error().code, Code::NotFound);
  EXPECT_THAT(find_part(mesh, "on.shop", {}).error().hint, HasSubstr("one.shop"));
  EXPECT_THAT(find_part(mesh, "one.shop", "sid").error().hint, HasSubstr("side"));
  EXPECT_THAT(find_part(mesh, "two.bare", "x").error().hint, HasSubstr("no components"));
}

TEST(Environment, TheNodeSaysWhereItSeesTheBus) {
  const auto mesh = declared();
  const inventory::StatePaths paths("/state");
  const auto variables = [&](const std::string& instance) {
    const auto part = find_part(mesh, instance, {}).value();
    return mesh_variables(mesh, part, PartFiles(paths, part), "/root");
  };
  EXPECT_EQ(variables("one.shop").at("MESH_BUS"), "nats://10.0.0.1:4222");
  EXPECT_EQ(variables("two.shop").at("MESH_BUS"), "nats://a:4222,nats://b:4222");
  EXPECT_EQ(variables("two.shop").at("MESH_SEATS"),
            "alpha-x=SEAT_ALPHA_X.SEAT_ALPHA_X_worker,zeta=SEAT_ZETA.SEAT_ZETA_worker");
  EXPECT_EQ(variables("two.shop").at("MESH_SECRETS"), "/state/env/two.shop/secrets.main");
  EXPECT_EQ(variables("two.bare").at("MESH_CONSUMER"), "");
  EXPECT_EQ(variables("two.bare").at("MESH_GRACE_SECONDS"), "10");
  EXPECT_FALSE(variables("two.bare").contains("MESH_CA_FILE"));
}

TEST(Environment, TheLaterDeclarationWins) {
  const auto mesh = declared();
  const auto env = declared_variables(find_part(mesh, "one.shop", {}).value());
  EXPECT_EQ(env.at("A").text, "component");
  EXPECT_EQ(env.at("B").text, "module");
  EXPECT_EQ(env.at("C").text, "node");
  EXPECT_TRUE(env.at("S").secret);
}

TEST(Environment, EverySecretIsNeededOnce) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& needed : needed_secrets(declared())) {
    names.emplace_back(needed.module, needed.name);
  }
  EXPECT_THAT(names,
              ElementsAre(Pair("shop", "OF_MODULE"), Pair("shop", "ONE"), Pair("shop", "TWO")));
}

class EnvironmentFilesTest : public ::testing::Test {
 protected:
  EnvironmentFilesTest()
      : root_(os::make_temp_dir(::testing::TempDir(), "mesh-environment-").value()),
        state_(std::move(
            inventory::create_state(root_ + "/state", "home", clock_, random_).value().state)) {}
  ~EnvironmentFilesTest() override { (void)os::remove_tree(root_); }
  void set(const std::string& name) {
    ASSERT_TRUE(state_.inventory.set_secret({"", name}, secrets::Secret("value of " + name)));
  }
  [[nodiscard]] static std::vector<std::string> names(const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  os::SystemClock clock_;
  os::SystemRandom random_;
  std::string root_;
  inventory::State state_;
};

TEST_F(EnvironmentFilesTest, SecretsComeAndGoWithTheirDeclarations) {
  const std::vector<std::string> users = {"one.shop"};
  ASSERT_THAT(issue_credentials(state_, users, "test", {clock_, random_}).value(),
              ElementsAre("one.shop"));
  EXPECT_THAT(issue_credentials(state_, users, "test", {clock_, random_}).value(), IsEmpty());
  const auto mesh = declared();
  const auto part = find_part(mesh, "one.shop", {}).value();
  const auto unset = prepare_environment(state_, mesh, part, root_);
  ASSERT_FALSE(unset);
  EXPECT_EQ(unset.error().code, Code::InvalidArgument);
  EXPECT_EQ(check_secrets(state_.inventory, mesh).error().code, Code::InvalidArgument);
  for (const auto* name : {"ONE", "TWO", "OF_MODULE"}) {
    set(name);
  }
  EXPECT_TRUE(check_secrets(state_.inventory, mesh));

  const auto prepared = prepare_environment(state_, mesh, part, root_).value();
  EXPECT_EQ(prepared.variables.at("S"), "value of OF_MODULE");
  const PartFiles files(state_.paths, part);
  EXPECT_THAT(names(files.secrets()), UnorderedElementsAre("ONE", "TWO"));
  const auto shown = shown_variables(files, prepared).value();
  EXPECT_EQ(shown.at("S"), files.variables() + "/S");
  EXPECT_EQ(os::read_private_file(shown.at("S"), 100).value(), "value of OF_MODULE");

  std::string fewer = kShop;
  fewer.replace(fewer.find("[\"ONE\", \"TWO\"]"), 14, "[\"TWO\"]");
  const auto later = declared(fewer);
  ASSERT_TRUE(prepare_environment(state_, later, find_part(later, "one.shop", {}).value(), root_));
  EXPECT_THAT(names(files.secrets()), ElementsAre("TWO"));
}

TEST_F(EnvironmentFilesTest, ManyCredentialsAreDistinctAndInOrder) {
  std::vector<std::string> users;
  users.reserve(100);
  for (int i = 0; i < 100; ++i) {
    users.push_back("n" + std::to_string(i) + ".m");
  }
  const auto made = missing_credentials(users, {{"n7.m", "hash"}}, random_).value();
  ASSERT_EQ(made.size(), 99U);
  EXPECT_EQ(made[7].principal, "n8.m");
  std::set<std::string> hashes;
  for (const auto& credential : made) {
    hashes.insert(credential.hash);
    EXPECT_EQ(credential.secret.size(), 43U);
  }
  EXPECT_EQ(hashes.size(), 99U);
}

TEST(Environment, ToolsAreADocumentWithTheirSchemas) {
  test::MapFiles files;
  files.set("mesh.toml",
            "mesh = \"home\"\n[nodes.one]\n[modules.m]\npath = \"m\"\non = [\"one\"]\n");
  files.set("m/module.toml",
            "[tools.price]\ndescription = \"d\"\ninput = \"s.json\"\ntimeout = \"1500ms\"\n");
  files.set("m/s.json", R"({"type": "object"})");
  const auto mesh = *model::read_mesh(files).mesh;
  const auto document = nlohmann::json::parse(tools_document(mesh.modules.front()));
  const auto& tool = document["tools"][0];
  EXPECT_EQ(tool["name"], "price");
  EXPECT_EQ(tool["subject"], "mesh.mod.m.tool.price");
  EXPECT_EQ(tool["input"]["type"], "object");
  EXPECT_EQ(tool["timeout_seconds"], 1.5);
}

}  // namespace
}  // namespace mesh::controller
