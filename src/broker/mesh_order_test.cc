// What holds of every mesh in whatever order its records come, and of what is made from it.
#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/every_mesh.h"
#include "broker/objects.h"
#include "broker/questions.h"
#include "model/read.h"
#include "tests/support/map_files.h"

namespace mesh::broker {
namespace {

std::string printed(const World& w) {
  std::string out;
  const auto add = [&](const Because& b) {
    out +=
        fmt::format(" ({} {}:{}:{})\n", b.text, b.place.file_name(), b.place.line, b.place.column);
  };
  for (const auto& p : w.principals) {
    out += fmt::format("{} {}\n", p.name, p.account);
    for (const auto* side : {&p.publish, &p.subscribe}) {
      for (const auto& grant : *side) {
        out += grant.subject;
        add(grant.because);
      }
    }
  }
  for (const auto& a : w.accounts) {
    out += fmt::format("{} {} {}", a.name, fmt::join(a.users, ","), a.limits.connections);
    add(a.because);
    for (const auto& e : a.exports) {
      out += fmt::format("{} {}\n", static_cast<int>(e.share), e.subject);
    }
    for (const auto& i : a.imports) {
      out += fmt::format("{} {} {} {}\n", static_cast<int>(i.share), i.account, i.subject, i.to);
    }
  }
  for (const auto& s : wanted(w.mesh, "id").streams) {
    out += s.name + s.config.dump();
    add(s.because);
  }
  return out;
}

model::Mesh shuffled(model::Mesh mesh, std::mt19937_64& random) {
  const auto shuffle = [&](auto& list) { std::shuffle(list.begin(), list.end(), random); };
  shuffle(mesh.nodes);
  shuffle(mesh.modules);
  shuffle(mesh.seats);
  for (auto& seat : mesh.seats) {
    shuffle(seat.accepts);
    shuffle(seat.emits);
  }
  for (auto& module : mesh.modules) {
    auto file = std::make_shared<model::ModuleFile>(*module.file);
    shuffle(file->emits);
    shuffle(file->consumes);
    shuffle(file->holds);
    shuffle(file->uses);
    shuffle(file->calls);
    module.file = file;
    shuffle(module.on);
  }
  return mesh;
}

TEST(EveryMesh, IsTheSameInWhateverOrderItsRecordsCome) {
  std::mt19937_64 random(7);
  for_every_mesh(
      [&](const World& w) { EXPECT_EQ(printed(w), printed(world(shuffled(w.mesh, random)))); });
}

std::string grants_of(const model::Mesh& mesh) {
  std::string out;
  for (const auto& p : principals(mesh)) {
    out += fmt::format("{}: {} / {}\n", p.name, fmt::join(subjects(p.publish), " "),
                       fmt::join(subjects(p.subscribe), " "));
  }
  for (const auto& s : wanted(mesh, "id").streams) {
    out += s.config.dump() + "\n";
  }
  return out;
}

// Generated meshes are valid ones, and TOML says the same as the values.
TEST(EveryMesh, IsReadBackFromItsToml) {
  for_every_mesh([](const World& w) {
    const auto reading = model::read_mesh(test::MapFiles(test::to_toml(w.mesh)));
    for (const auto& problem : reading.problems) {
      EXPECT_NE(problem.severity, model::Severity::Error) << model::to_text(problem);
    }
    ASSERT_TRUE(reading.mesh.has_value());
    EXPECT_EQ(grants_of(*reading.mesh), grants_of(w.mesh));
  });
}

TEST(EveryMesh, AnInstancesConsumerDeliversWhatItMayHear) {
  for_every_mesh([](const World& w) {
    for (const auto& c : wanted(w.mesh, "id").consumers) {
      if (c.module.empty()) {
        continue;
      }
      const auto node = c.name.substr(0, c.name.find('_'));
      const auto* p = find(w, node + "." + c.module);
      ASSERT_NE(p, nullptr) << c.name;
      Set filters = c.config["filter_subjects"].get<Set>();
      EXPECT_EQ(filters.erase(fmt::format("mesh.retry.{}.{}.>", node, c.module)), 1U);
      const auto may = subjects(p->subscribe);
      EXPECT_TRUE(std::ranges::includes(may, filters)) << c.name;
      EXPECT_FALSE(filters.empty()) << c.name;
    }
  });
}

TEST(EveryMesh, AnswersQuestionsAsItsGrantsSay) {
  for_every_mesh([](const World& w) {
    for (const auto& p : w.principals) {
      for (const auto& grant : p.publish) {
        const auto answer = explain(w.principals, p.name, Direction::Publish, grant.subject);
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->verdict, Verdict::Yes) << p.name << ' ' << grant.subject;
        EXPECT_EQ(answer->because.front().text, grant.because.text);
      }
      const auto nothing = explain(w.principals, p.name, Direction::Publish, "not.granted");
      EXPECT_EQ(nothing->verdict, p.name == "controller" ? Verdict::Yes : Verdict::No);
    }
  });
}

}  // namespace
}  // namespace mesh::broker
