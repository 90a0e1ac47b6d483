/// One instance, `two.thief`, is taken over: it has its own credentials and sends any subject, any
/// reply subject and any header. Nothing that it does may have an effect outside its grants, but
/// what ASSURANCE.md admits by name. In one account the same attempts must get out.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/system/escape/attempts.h"

namespace mesh::test::escape {
namespace {

std::vector<Attempt> all_attempts() {
  std::vector<Attempt> out;
  for (auto part : {reading_attempts(), redirected_attempts(), header_attempts(), api_attempts(),
                    impersonating_attempts()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

std::string assurance() {
  std::ifstream file(std::string(MESH_SOURCE_DIR) + "/ASSURANCE.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string lines(const std::set<std::string>& effects) {
  std::string out;
  for (const auto& effect : effects) {
    out += "\n    " + effect;
  }
  return out;
}

class Escape : public testing::TestWithParam<std::string> {};

TEST_P(Escape, NothingGetsOutOfAnAccountButWhatIsListed) {
  World world(GetParam(), Layout::Accounts);
  const auto text = assurance();
  std::set<std::string> shown;
  for (const auto& attempt : all_attempts()) {
    auto& thief = world.begin();
    attempt.run(world, thief);
    const auto effects = world.effects();
    if (attempt.listed.empty()) {
      EXPECT_TRUE(effects.empty()) << attempt.name << lines(effects);
      continue;
    }
    EXPECT_NE(text.find("### " + attempt.listed), std::string::npos)
        << "ASSURANCE.md does not admit: " << attempt.listed;
    if (!effects.empty()) {
      shown.insert(attempt.listed);
    }
  }
  // What is admitted is seen: a heading that no attempt shows any more is to be taken out.
  EXPECT_EQ(shown, (std::set<std::string>{"holders of one seat", "instances of one module"}));
  RecordProperty("attempts", static_cast<int>(all_attempts().size()));
}

TEST_P(Escape, InOneAccountTheSameAttemptsGetOut) {
  World world(GetParam(), Layout::OneAccount);
  for (const auto& attempt : all_attempts()) {
    if (!attempt.out_in_one_account) {
      continue;
    }
    auto& thief = world.begin();
    attempt.run(world, thief);
    EXPECT_FALSE(world.effects().empty()) << attempt.name << " had no effect in one account";
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, Escape, testing::ValuesIn(server_versions()),
                         [](const auto& server) {
                           auto name = server.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace mesh::test::escape
