// An engine that goes wrong at each request, on the fake one.

#include "tests/contract/containers_fixture.h"

namespace mesh::host {
namespace {

using test::Trouble;

constexpr const char* kName = "mesh-0123abcd-one-shop-server-00000000000000aa";

class DriverFaultTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ContainersOptions options;
    options.engine.socket = socket_;
    options.engine.answer_within = Milliseconds{300};
    options.mesh = kMesh;
    options.node = "one";
    options.folder = folder("one");
    driver_ = std::make_unique<Containers>(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DriverFaultTest, testing::Values("fake"),
                         [](const auto& one) { return std::string(one.param); });

/// From nothing to running and back, with one request going wrong: whatever it was, doing the same
/// again ends where it should, and nothing is there twice.
TEST_P(DriverFaultTest, WhateverFailsOnceIsDoneByDoingItAgain) {
  for (const Trouble what : {Trouble::Refused, Trouble::DiskFull, Trouble::Hangs, Trouble::Dropped,
                             Trouble::AnswerLost}) {
    UnitSpec spec = unit({"forever"});
    spec.component.volumes = {{"data", "/data", false}};
    spec.component.files = {{"/etc/x", "x"}};
    bool failed = true;
    int nth = 1;
    for (; failed && nth < 40; ++nth) {
      fake_->trouble("/", nth, what);
      failed = false;
      const auto again = [&](auto step) {
        auto done = step();
        failed = failed || !done;
        if (!done) {
          EXPECT_EQ(done.error().code == Code::Internal, what == Trouble::Refused)
              << done.error().message;
          done = step();
        }
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
      };
      again([&] { return driver_->create(spec); });
      again([&] { return driver_->start(spec.name); });
      again([&] { return driver_->list(); });
      ASSERT_EQ(fake_->containers().size(), 1U);
      EXPECT_EQ(fake_->containers()[0].state, "running");
      again([&] { return driver_->stop(spec.name, Milliseconds{1000}); });
      again([&] { return driver_->remove(spec.name); });
      EXPECT_TRUE(fake_->containers().empty());
      fake_->calm();
    }
    EXPECT_GT(nth, 10);
    EXPECT_LT(nth, 40);
  }
}

TEST_P(DriverFaultTest, AFullDiskIsAResource) {
  const UnitSpec spec = unit({"forever"});
  fake_->fill_disk(true);
  const Status made = driver_->create(spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Resource);
  EXPECT_THAT(made.error().hint, HasSubstr("free space"));
  fake_->fill_disk(false);
  test::must(driver_->create(spec));
}

TEST_P(DriverFaultTest, ATakenNameIsFreedByItsId) {
  fake_->take_name(kName);
  test::must(driver_->create(unit({"forever"})));
  EXPECT_EQ(fake_->containers().size(), 1U);
}

TEST_P(DriverFaultTest, AnImageThatWentIsNotFound) {
  const UnitSpec spec = unit({"forever"});
  fake_->remove_image(kImage);
  EXPECT_EQ(driver_->create(spec).error().code, Code::NotFound);
  fake_->add_upstream(kImage, "secret");
  EXPECT_EQ(driver_->pull(kImage, {"node", "other"}).error().code, Code::PermissionDenied);
  test::must(driver_->pull(kImage, {"node", "secret"}));
  test::must(driver_->create(spec));
}

TEST_P(DriverFaultTest, WhatEndsByItselfIsSeenAtOnce) {
  const UnitSpec spec = unit({"forever"});
  run(spec);
  EXPECT_EQ(found(spec).state, UnitState::Running);
  fake_->end(kName, 9, true);
  pollfd heard{driver_->changes(), POLLIN, 0};
  EXPECT_EQ(::poll(&heard, 1, 10'000), 1);
  EXPECT_EQ(found(spec).exit_code, 9);
  EXPECT_TRUE(found(spec).out_of_memory);
}

TEST_P(DriverFaultTest, FilesOfWhatWasNeverMadeAreSwept) {
  UnitSpec spec = unit({"forever"});
  spec.component.files = {{"/etc/x", "x"}};
  fake_->trouble("POST /containers/create", 1, Trouble::Refused);
  EXPECT_FALSE(driver_->create(spec));
  EXPECT_FALSE(os::is_empty_dir(folder("one")));
  driver_ = new_driver("one");
  EXPECT_TRUE(test::must(driver_->list()).empty());
  EXPECT_TRUE(os::is_empty_dir(folder("one")));
}

}  // namespace
}  // namespace mesh::host
