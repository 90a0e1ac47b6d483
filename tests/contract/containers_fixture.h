#pragma once

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/containers.h"
#include "os/files.h"
#include "tests/support/fake_engine.h"
#include "tests/support/must.h"
#include "tests/support/podman_service.h"

namespace mesh::host {

namespace fs = std::filesystem;
using converge::UnitName;
using converge::UnitState;
using os::Milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

inline constexpr const char* kMesh = "0123abcd4567";
inline constexpr const char* kImage = "localhost/act:1";
inline constexpr Milliseconds kPatience{30'000};

inline std::string driver_bytes(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Started once for all tests of this program: a service takes a second.
inline test::PodmanService& the_podman() {
  static auto service = [] {
    auto out = std::make_unique<test::PodmanService>(test::must(test::PodmanService::start()));
    test::must(out->make_test_image(kImage));
    return out;
  }();
  return *service;
}

class DriverTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_podman()) {
      try {
        socket_ = the_podman().socket();
      } catch (const std::exception& error) {
        FAIL() << "podman cannot be tested here: " << error.what();
      }
    } else {
      fake_ = std::make_unique<test::FakeEngine>();
      fake_->add_image(kImage);
      socket_ = fake_->socket();
    }
    fs::create_directories(directory_.path() / "out");
    fs::create_directories(directory_.path() / "run");
    driver_ = new_driver("one");
  }

  void TearDown() override {
    if (driver_ == nullptr) {
      return;
    }
    for (const Found& one : test::must(driver_->list())) {
      EXPECT_TRUE(driver_->remove(one.name));
    }
    for (const std::string& volume : test::must(driver_->volumes())) {
      EXPECT_TRUE(driver_->remove_volume(volume));
    }
    EXPECT_TRUE(os::is_empty_dir(folder("one")) || !os::exists(folder("one")));
    if (is_podman()) {
      EXPECT_THAT(eventually_nothing(), testing::IsEmpty());
    }
  }

  /// A process that waits for a container ends just after it.
  static std::vector<std::string> eventually_nothing() {
    std::vector<std::string> out = the_podman().remains();
    for (const os::Deadline deadline(kPatience); !out.empty() && !deadline.passed();) {
      ::poll(nullptr, 0, 20);
      out = the_podman().remains();
    }
    return out;
  }

  [[nodiscard]] static bool is_podman() { return std::string(GetParam()) == "podman"; }
  [[nodiscard]] std::string folder(const std::string& node) const {
    return (directory_.path() / ("files-" + node)).string();
  }

  [[nodiscard]] std::unique_ptr<Containers> new_driver(const std::string& node) const {
    ContainersOptions options;
    options.engine.socket = socket_;
    options.mesh = kMesh;
    options.node = node;
    options.folder = folder(node);
    return std::make_unique<Containers>(options);
  }

  [[nodiscard]] UnitSpec unit(const std::vector<std::string>& command,
                              const std::string& component = "server",
                              const std::string& generation = "00000000000000aa") const {
    UnitSpec out;
    out.name = {"shop", component, generation};
    out.component.name = component;
    out.component.image = kImage;
    out.component.command = command;
    out.files = (directory_.path() / "run").string();
    return out;
  }

  [[nodiscard]] fs::path out() const { return directory_.path() / "out"; }
  void mount_out(UnitSpec& spec) const {
    spec.component.volumes.push_back({out().string(), "/out", false});
  }

  [[nodiscard]] Found found(const UnitSpec& spec) const {
    for (const Found& one : test::must(driver_->list())) {
      if (one.name == spec.name) {
        return one;
      }
    }
    throw std::runtime_error("no such unit: " + spec.name.component);
  }

  [[nodiscard]] Found ended(const UnitSpec& spec) const {
    Found last = found(spec);
    for (const os::Deadline deadline(kPatience);
         last.state != UnitState::Exited && !deadline.passed(); last = found(spec)) {
      ::poll(nullptr, 0, 20);
    }
    EXPECT_EQ(last.state, UnitState::Exited);
    return last;
  }

  void run(const UnitSpec& spec) const {
    test::must(driver_->create(spec));
    test::must(driver_->start(spec.name));
  }

  [[nodiscard]] std::vector<std::string> all_lines(const UnitSpec& spec, std::size_t wanted) const {
    std::vector<std::string> out;
    for (const os::Deadline deadline(kPatience); out.size() < wanted && !deadline.passed();) {
      out = test::must(driver_->logs(spec.name, "", 100'000)).lines;
    }
    return out;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<test::FakeEngine> fake_;
  std::string socket_;
  std::unique_ptr<Containers> driver_;
};

}  // namespace mesh::host
