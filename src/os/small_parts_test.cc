#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <future>
#include <thread>

#include "os/clock.h"
#include "os/files.h"
#include "os/interrupt.h"
#include "os/line_pump.h"
#include "os/log_file.h"
#include "os/poll.h"
#include "os/random.h"
#include "os/timed_stop.h"

namespace mesh::os {
namespace {

TEST(Clock, WritesAndReadsRfc3339) {
  struct Case {
    const char* text;
    const char* same;
  };
  for (const Case& c : {Case{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
                        Case{"2026-02-28T23:59:59.999Z", "2026-02-28T23:59:59Z"},
                        Case{"2026-08-21T11:30:00+02:00", "2026-08-21T09:30:00Z"},
                        Case{"2026-08-20t20:30:00-13:00", "2026-08-21T09:30:00Z"},
                        Case{"2024-02-29 00:00:00z", "2024-02-29T00:00:00Z"}}) {
    const auto time = parse_rfc3339(c.text);
    ASSERT_TRUE(time.has_value()) << c.text;
    EXPECT_EQ(rfc3339(*time), c.same);
  }
  for (const char* text : {"", "2026", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
                           "2026-01-01T00:60:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00Zx",
                           "2026-01-01T00:00:00.Z", "26-01-01T00:00:00Z", "2026-13-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
  }
}

TEST(Clock, ManualMovesOnlyByHand) {
  ManualClock clock(parse_rfc3339("2026-08-21T09:30:00Z").value());
  const auto before = clock.monotonic();
  clock.advance(Milliseconds(61000));
  EXPECT_EQ(rfc3339(clock.now()), "2026-08-21T09:31:01Z");
  EXPECT_EQ(clock.monotonic() - before, std::chrono::seconds(61));
}

TEST(DeadlineTest, IsNeverNegativeAndNeverOverflows) {
  EXPECT_TRUE(Deadline(Milliseconds(-5)).passed());
  EXPECT_FALSE(Deadline(Milliseconds::max()).passed());
}

TEST(Random, GivesWhatIsAskedAndDiffers) {
  SystemRandom random;
  EXPECT_EQ(random.bytes(0).size(), 0U);
  EXPECT_EQ(random.bytes(1000).size(), 1000U);
  EXPECT_NE(random.bytes(32), random.bytes(32));
}

TEST(LogFileTest, KeepsTwoFilesOfBoundedSize) {
  const std::string dir = make_temp_dir(::testing::TempDir(), "log-").value();
  const std::string path = dir + "/log";
  {
    LogFile log = LogFile::open(path, 100).value();
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE(log.write(fmt::format("line {:02}..\n", i)).has_value());
    }
    ASSERT_TRUE(log.write(std::string(1000, 'x')).has_value());
    EXPECT_EQ(read_file(path, 1000).value().size(), 100U);
    ASSERT_TRUE(log.write("end\n").has_value());
  }
  ASSERT_TRUE(LogFile::open(path, 100).value().write("again\n").has_value());
  EXPECT_EQ(read_file(path, 1000).value(), "end\nagain\n");
  EXPECT_EQ(read_file(path + ".1", 1000).value(), std::string(100, 'x'));
  EXPECT_TRUE(remove_tree(dir).has_value());
}

TEST(LinePumpTest, HandsOnLinesAndTheLastPiece) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<std::string> lines;
  std::promise<void> ended;
  const auto pump = LinePump::start().value();
  pump->add(
      Fd(ends[0]), [&](std::string_view line) { lines.emplace_back(line); },
      [&] { ended.set_value(); });
  const std::string longest(LinePump::kLongestLine, 'x');
  const std::string text = "one\n\ntwo\n" + longest + "\n" + longest + "more\nlast";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = ::write(ends[1], rest.data(), std::min<std::size_t>(rest.size(), 777));
    ASSERT_GT(put, 0);
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  ::close(ends[1]);
  ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two", longest, longest, "more", "last"}));
}

TEST(LinePumpTest, ReadsWhatIsThereBeforeItEnds) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ASSERT_EQ(::write(ends[1], "a\nb", 3), 3);
  std::vector<std::string> lines;
  {
    const auto pump = LinePump::start().value();
    pump->add(Fd(ends[0]), [&](std::string_view line) { lines.emplace_back(line); });
  }
  ::close(ends[1]);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b"}));
}

TEST(InterruptTest, StaysReadableOnceRequested) {
  Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
  EXPECT_FALSE(wait_readable(interrupt.descriptor(), Milliseconds(0)));
  std::thread other([&] { interrupt.request(); });
  EXPECT_TRUE(wait_readable(interrupt.descriptor(), std::chrono::seconds(10)));
  other.join();
  EXPECT_TRUE(interrupt.requested());
  EXPECT_FALSE(interrupt.insisted());
  interrupt.request();
  EXPECT_TRUE(interrupt.insisted());
  EXPECT_TRUE(wait_readable(interrupt.descriptor(), Milliseconds(0)));
}

TEST(TimedStopTest, IsReadableWhenTheTimeIsOverOrTheOtherOneIs) {
  const auto soon = TimedStop::make(-1, Milliseconds{20}).value();
  EXPECT_TRUE(wait_readable(soon.descriptor(), std::chrono::seconds(10)));
  EXPECT_TRUE(soon.timed_out());
  Interrupt interrupt;
  const auto late = TimedStop::make(interrupt.descriptor(), Milliseconds{3'600'000}).value();
  EXPECT_FALSE(wait_readable(late.descriptor(), Milliseconds(0)));
  interrupt.request();
  EXPECT_TRUE(wait_readable(late.descriptor(), std::chrono::seconds(10)));
  EXPECT_FALSE(late.timed_out());
}

}  // namespace
}  // namespace mesh::os
