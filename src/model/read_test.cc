#include "model/read.h"

#include <gtest/gtest.h>

#include "tests/support/map_files.h"

namespace mesh::model {
namespace {

using namespace std::chrono_literals;
using test::MapFiles;

std::string all_problems(const Reading& reading) {
  std::string out;
  for (const auto& problem : reading.problems) {
    out += to_text(problem) + "\n";
  }
  return out;
}

MapFiles shop() {
  return MapFiles({{"mesh.toml", R"(mesh = "home"

[nodes.one]
[nodes.two]

[seats.telegram-sender]
accepts = ["send"]
emits = ["delivered", "failed"]

[modules.telegram]
path = "modules/telegram"
on = ["one"]
[modules.audit]
path = "modules/audit"
on = ["two"]
[modules.shop]
path = "modules/shop"
on = ["two"]
)"},
                   {"modules/telegram/module.toml", "holds = [\"telegram-sender\"]\n"},
                   {"modules/audit/module.toml", R"(consumes = ["shop.order.placed"]
[tools.search]
description = "Finds what happened"
)"},
                   {"modules/shop/module.toml", R"(description = "Takes orders"
emits = ["order.placed"]
consumes = ["telegram-sender:delivered"]   # a module's event is module.event
uses = ["telegram-sender.send"]
calls = ["audit.search"]

[tools.price]
description = "The price of an item"
input = "schemas/price.json"

[components.server]
build = "."
ports = ["8080:80"]
memory = "64MiB"
env = { LOG_LEVEL = "info", STRIPE = { secret = "STRIPE_KEY" } }
volumes = ["data:/data"]
health = { http = "/healthz", port = 80 }
)"},
                   {"modules/shop/schemas/price.json", R"({"type": "object"})"}});
}

TEST(ReadMesh, ReadsTheShop) {
  const auto reading = read_mesh(shop());
  ASSERT_EQ(all_problems(reading), "");
  ASSERT_TRUE(reading.mesh);
  const auto& mesh = *reading.mesh;
  EXPECT_EQ(mesh.name, "home");
  EXPECT_EQ(mesh.nodes.size(), 2U);
  ASSERT_EQ(mesh.modules.size(), 3U);
  EXPECT_EQ(mesh.modules[0].name.text(), "audit");
  ASSERT_NE(mesh.seat("telegram-sender"), nullptr);
  EXPECT_EQ(mesh.seat("telegram-sender")->accepts.front().value.text(), "send");
  EXPECT_EQ(mesh.seat("telegram-sender")->delivery.attempts, 10);
  const auto* module = mesh.module("shop");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->on.front().text(), "two");
  EXPECT_EQ(module->file->description, "Takes orders");
  EXPECT_EQ(module->file->consumes.front().event.text(), "telegram-sender:delivered");
  EXPECT_EQ(module->file->calls.front().value.text(), "audit.search");
  EXPECT_EQ(module->file->tools.front().input_schema, R"({"type": "object"})");
  EXPECT_EQ(module->file->tools.front().timeout, 30s);
  EXPECT_EQ(reading.files.size(), 5U);
  EXPECT_EQ(reading.files.front().path, "mesh.toml");
}

TEST(ReadMesh, ReadsTheShopsComponent) {
  const auto reading = read_mesh(shop());
  ASSERT_TRUE(reading.mesh);
  const auto& server = reading.mesh->module("shop")->file->components.front();
  EXPECT_EQ(server.name.text(), "server");
  EXPECT_EQ(server.build->context, ".");
  EXPECT_EQ(server.ports.front().address, "127.0.0.1");
  EXPECT_EQ(server.ports.front().host, 8080);
  EXPECT_EQ(server.ports.front().container, 80);
  EXPECT_EQ(server.memory, 64 << 20);
  EXPECT_EQ(server.env.at("LOG_LEVEL").text, "info");
  EXPECT_TRUE(server.env.at("STRIPE").secret);
  EXPECT_EQ(server.env.at("STRIPE").text, "STRIPE_KEY");
  EXPECT_EQ(server.volumes.front().source, "data");
  EXPECT_EQ(server.health->http, "/healthz");
  EXPECT_EQ(server.health->interval, 10s);
  EXPECT_EQ(server.grace, 10s);
  EXPECT_EQ(server.log_size, 10 << 20);
}

TEST(ReadMesh, PlacesPointAtWhatWasWritten) {
  const auto reading = read_mesh(shop(), "../");
  const auto& file = *reading.mesh->module("shop")->file;
  EXPECT_EQ(file.emits.front().place.file_name(), "../modules/shop/module.toml");
  EXPECT_EQ(file.emits.front().place.line, 2);
  EXPECT_EQ(file.emits.front().place.column, 10);
}

TEST(ReadMesh, AMeshWithoutModulesIsValid) {
  const auto reading =
      read_mesh(MapFiles(std::map<std::string, std::string>{{"mesh.toml", "mesh = \"home\"\n"}}));
  EXPECT_EQ(all_problems(reading), "");
  ASSERT_TRUE(reading.mesh);
  EXPECT_EQ(reading.mesh->bus.urls(), std::vector<std::string>{"nats://127.0.0.1:4222"});
  EXPECT_EQ(reading.mesh->events.keep, 168h);
}

TEST(ReadMesh, TheExamplesHaveNoProblem) {
  for (const auto* name : {"small", "shop"}) {
    const auto reading =
        read_mesh(MapFiles::of_directory(std::string(MESH_SOURCE_DIR "/examples/") + name));
    EXPECT_EQ(all_problems(reading), "") << name;
    EXPECT_TRUE(reading.mesh) << name;
  }
}

/// The records hold the files that were accepted, and nothing else of a mesh.
TEST(ReadMesh, TheAcceptedFilesGiveTheSameMeshAgain) {
  const auto first = read_mesh(shop());
  MapFiles records;
  for (const auto& file : first.files) {
    records.set(file.path, file.bytes);
  }
  const auto second = read_mesh(records);
  EXPECT_EQ(all_problems(second), "");
  ASSERT_TRUE(second.mesh);
  EXPECT_EQ(second.mesh->module("shop")->file->tools.front().input_schema,
            first.mesh->module("shop")->file->tools.front().input_schema);
  ASSERT_EQ(second.files.size(), first.files.size());
  for (std::size_t i = 0; i < first.files.size(); ++i) {
    EXPECT_EQ(second.files[i].path, first.files[i].path);
    EXPECT_EQ(second.files[i].bytes, first.files[i].bytes);
  }
}

TEST(ReadMesh, ModulesOfOnePathShareTheirFile) {
  const auto reading = read_mesh(MapFiles({{"mesh.toml", R"(mesh = "home"
[nodes.one]
[modules.a]
path = "m"
on = "all"
[modules.b]
path = "./m/"
on = ["one"]
)"},
                                           {"m/module.toml", "emits = [\"x\"]\n"}}));
  EXPECT_EQ(all_problems(reading), "");
  ASSERT_TRUE(reading.mesh);
  EXPECT_EQ(reading.mesh->modules[0].file, reading.mesh->modules[1].file);
  EXPECT_EQ(reading.mesh->modules[0].on, reading.mesh->modules[1].on);
  EXPECT_EQ(reading.files.size(), 2U);
}

TEST(ReadMesh, ASeatHasTheMeshsDeliveryWhereItSaysNothing) {
  const auto reading = read_mesh(MapFiles({{"mesh.toml", R"(mesh = "home"
[delivery]
within = "7s"
attempts = 4
[nodes.one]
[seats.s]
accepts = ["go"]
attempts = 2
[modules.a]
path = "a"
on = ["one"]
)"},
                                           {"a/module.toml", "holds = [\"s\"]\n"}}));
  EXPECT_EQ(all_problems(reading), "");
  ASSERT_TRUE(reading.mesh);
  EXPECT_EQ(reading.mesh->seat("s")->delivery.within, 7s);
  EXPECT_EQ(reading.mesh->seat("s")->delivery.attempts, 2);
  EXPECT_EQ(reading.mesh->delivery.attempts, 4);
}

}  // namespace
}  // namespace mesh::model
