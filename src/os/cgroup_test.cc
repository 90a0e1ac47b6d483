#include "os/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include "os/files.h"
#include "os/process.h"
#include "tests/support/nats_server.h"

namespace mesh::os {
namespace {

/// A directory that looks like one of cgroup v2, which is all that is asked of it.
void looks_like_a_group(const std::string& path) {
  ASSERT_TRUE(make_dirs(path));
  for (const auto* name : {"/cgroup.procs", "/cgroup.subtree_control"}) {
    ASSERT_TRUE(write_file_atomic(path + name, "", kOrdinaryFile));
  }
}

TEST(CgroupTree, GroupsAreMadeWhereTheyMayBe) {
  const mesh::test::TemporaryDirectory directory;
  const auto root = directory.path().string();
  looks_like_a_group(root);
  looks_like_a_group(root + "/a.slice");
  looks_like_a_group(root + "/a.slice/b.service");
  struct Case {
    std::string mountinfo;
    std::string membership;
    std::string parent;  // relative to the root
  };
  const auto mounted = fmt::format("30 20 0:25 / {} rw shared:9 - cgroup2 cgroup2 rw\n", root);
  const auto inner = fmt::format("30 20 0:25 /x.slice {} rw - cgroup2 cgroup2 rw\n", root);
  const auto v1 = fmt::format("30 20 0:25 / {} rw - cgroup cgroup rw,memory\n", root);
  for (const auto& each :
       {Case{mounted, "0::/a.slice/b.service\n", "/mesh"}, Case{mounted, "0::/\n", "/mesh"},
        Case{inner, "0::/x.slice/a.slice\n", "/mesh"},
        Case{v1, "3:memory:/a.slice/b.service\n", "/a.slice/b.service/mesh"}}) {
    const auto tree = CgroupTree::find(each.mountinfo, each.membership);
    const auto made = tree.make("m.one.unit", {});
    if (each.mountinfo == v1) {
      // What the kernel's directory has of itself is not there.
      EXPECT_FALSE(made.has_value());
      EXPECT_TRUE(exists(root + each.parent + "/m.one.unit"));
      EXPECT_EQ(tree.missing("memory"), "");
      EXPECT_NE(tree.missing("pids"), "");
      continue;
    }
    ASSERT_TRUE(made.has_value()) << made.error().message;
    ASSERT_EQ(made->directories().size(), 1U);
    EXPECT_EQ(made->directories()[0], root + each.parent + "/m.one.unit");
    EXPECT_NE(tree.missing("memory"), "");
    ASSERT_TRUE(remove_tree(root + "/mesh"));
  }
}

TEST(CgroupTree, WithoutAnyNothingIsHeldAndNothingFails) {
  for (const auto* text :
       {"", "nonsense\n", "1 2 3 - cgroup2\n", "1 2 0:1 / /nowhere rw - cgroup2 c rw\n"}) {
    const auto tree = CgroupTree::find(text, "0::/x\n");
    const auto made = tree.make("unit", {.memory = 1 << 20, .cpus = 1, .pids = 2});
    ASSERT_TRUE(made.has_value());
    EXPECT_TRUE(made->directories().empty());
    for (const auto* controller : {"memory", "cpu", "pids"}) {
      EXPECT_NE(tree.missing(controller), "");
    }
    EXPECT_TRUE(made->kill());
    EXPECT_TRUE(made->remove());
  }
}

TEST(Cgroup, HoldsAProgramAndAllThatItStarts) {
  const auto tree = CgroupTree::find();
  const auto made = tree.make(fmt::format("test.{}", ::getpid()), {});
  if (!made || made->directories().empty()) {
    GTEST_SKIP() << "no cgroup may be made here";
  }
  const auto join = made->join().value();
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", "setsid sleep 1201 & exec sleep 1202"};
  for (const auto& fd : join) {
    options.cgroups.push_back(fd.get());
  }
  auto process = Process::spawn(options).value();
  EXPECT_FALSE(made->remove().has_value());
  EXPECT_TRUE(made->kill());
  EXPECT_EQ(process.wait(std::chrono::seconds(5)).value().signal, SIGKILL);
  EXPECT_TRUE(made->remove());
  EXPECT_FALSE(exists(made->directories()[0]));
}

}  // namespace
}  // namespace mesh::os
