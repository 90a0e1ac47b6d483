#include "model/templates.h"

#include <gtest/gtest.h>

#include "model/read.h"
#include "tests/support/map_files.h"

namespace mesh::model {
namespace {

TEST(StartingMesh, HasNoProblem) {
  test::MapFiles files;
  for (const auto& file : starting_mesh("my-mesh")) {
    files.set(file.path, file.bytes);
  }
  const auto reading = read_mesh(files);
  EXPECT_TRUE(reading.problems.empty()) << to_text(reading.problems.front());
  ASSERT_TRUE(reading.mesh);
  EXPECT_EQ(reading.mesh->name, "my-mesh");
  EXPECT_EQ(reading.mesh->modules.size(), 2U);
}

TEST(StartingMesh, IsNamedAfterItsDirectory) {
  EXPECT_EQ(mesh_name_from("My Mesh"), "my-mesh");
  EXPECT_EQ(mesh_name_from("home"), "home");
  EXPECT_EQ(mesh_name_from("…"), "home");
  EXPECT_EQ(mesh_name_from(""), "home");
}

}  // namespace
}  // namespace mesh::model
