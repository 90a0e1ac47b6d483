#include "model/keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "model/read.h"
#include "tests/support/map_files.h"

namespace mesh::model {
namespace {

/// Where a kind of table stands: in which schema, and how a file comes to have one.
struct Standing {
  const Kind* kind;
  const char* schema;
  const char* pointer;
  const char* before;  // TOML up to the keys
  const char* after = "";
};

const Standing kStandings[] = {
    {&kMeshTop, "mesh", "", ""},
    {&kBus, "mesh", "/definitions/bus", "[bus]\n"},
    {&kEventsTable, "mesh", "/definitions/events", "[events]\n"},
    {&kDelivery, "mesh", "/definitions/delivery", "[delivery]\n"},
    {&kRegistry, "mesh", "/definitions/registry", "[registry]\n"},
    {&kUpstream, "mesh", "/definitions/upstream", "[upstreams.\"x\"]\n"},
    {&kNode, "mesh", "/definitions/node", "[nodes.x]\n"},
    {&kSeat, "mesh", "/definitions/seat", "[seats.x]\n"},
    {&kModule, "mesh", "/definitions/module", "[modules.x]\n"},
    {&kModuleTop, "module", "", ""},
    {&kConsume, "module", "/definitions/consume", "consumes = [{ ", " }]\n"},
    {&kTool, "module", "/definitions/tool", "[tools.x]\n"},
    {&kComponent, "module", "/definitions/component", "[components.x]\n"},
    {&kBuild, "module", "/definitions/build", "[components.x.build]\n"},
    {&kHealth, "module", "/definitions/health", "[components.x.health]\n"},
    {&kSecretValue, "module", "/definitions/secret-value", "[components.x.env.X]\n"},
    {&kSecretValue, "mesh", "/definitions/secret-value", "[nodes.x.env.X]\n"},
};

nlohmann::json schema_of(const Standing& standing) {
  std::ifstream file(std::string(MESH_SOURCE_DIR "/docs/schema/") + standing.schema +
                     ".schema.json");
  return nlohmann::json::parse(file).at(nlohmann::json::json_pointer(standing.pointer));
}

Reading read_with(const Standing& standing, const std::string& keys) {
  const auto text = standing.before + keys + standing.after;
  test::MapFiles files;
  if (standing.schema == std::string("mesh")) {
    files.set("mesh.toml", text);
  } else {
    files.set("mesh.toml", "mesh = \"x\"\n[nodes.n]\n[modules.m]\npath = \"m\"\non = [\"n\"]\n");
    files.set("m/module.toml", text);
  }
  return read_mesh(files);
}

TEST(Keys, EveryKindHasItsPlace) {
  std::set<const Kind*> standing;
  for (const auto& one : kStandings) {
    standing.insert(one.kind);
  }
  const auto all = all_kinds();
  EXPECT_EQ(standing, std::set<const Kind*>(all.begin(), all.end()));
}

TEST(Keys, TheSchemasHaveTheReadersKeys) {
  for (const auto& standing : kStandings) {
    const auto schema = schema_of(standing);
    std::set<std::string> wanted;
    std::set<std::string> required;
    for (const auto& key : standing.kind->keys) {
      wanted.emplace(key.name);
      if (key.required) {
        required.emplace(key.name);
      }
    }
    std::set<std::string> published;
    for (const auto& [name, _] : schema.at("properties").items()) {
      published.insert(name);
    }
    EXPECT_EQ(published, wanted) << standing.kind->shown;
    EXPECT_EQ(schema.value("required", std::set<std::string>()), required) << standing.kind->shown;
    EXPECT_EQ(schema.at("additionalProperties"), false) << standing.kind->shown;
    EXPECT_TRUE(schema.at("patternProperties").contains("^x-")) << standing.kind->shown;
  }
}

/// No key is listed and then forgotten: a date fits none of them, and each must say so.
TEST(Keys, EveryKeyIsRead) {
  for (const auto& standing : kStandings) {
    for (const auto& key : standing.kind->keys) {
      const auto reading = read_with(standing, std::string(key.name) + " = 1979-05-27");
      const auto says = [&](const Problem& problem) {
        return problem.code == "wrong-type" &&
               problem.message.starts_with(std::string(key.name) + " must be ");
      };
      const auto table = [&](const Problem& problem) {  // [bus], [events], …
        return problem.code == "wrong-type" && problem.message.ends_with("must be a table");
      };
      EXPECT_TRUE(std::ranges::any_of(reading.problems, says) ||
                  std::ranges::any_of(reading.problems, table))
          << standing.kind->shown << " " << key.name;
    }
  }
}

TEST(Keys, KeysOfTheOperatorAreAccepted) {
  for (const auto& standing : kStandings) {
    for (const auto& problem : read_with(standing, "x-mine = 1979-05-27").problems) {
      EXPECT_NE(problem.code, "unknown-key") << to_text(problem);
    }
  }
}

}  // namespace
}  // namespace mesh::model
