#include "model/units.h"

#include <gtest/gtest.h>

namespace mesh::model {
namespace {

TEST(Units, DurationsAreReadAndWritten) {
  const std::pair<const char*, std::int64_t> good[] = {{"0s", 0},
                                                       {"1ms", 1},
                                                       {"1s", 1000},
                                                       {"2m", 120'000},
                                                       {"1h30m", 5'400'000},
                                                       {"7d", 604'800'000},
                                                       {"1d1h1m1s1ms", 90'061'001}};
  for (const auto& [text, milliseconds] : good) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration->count(), milliseconds) << text;
    EXPECT_EQ(duration_text(*duration), text);
  }
}

TEST(Units, WhatIsNoDurationIsRefused) {
  for (const auto* text :
       {"", "1", "s", "1 s", "-1s", "+1s", "1.5h", "30m1h", "1s1s", "1S", "1w", "36501d",
        "99999999999999999999s", "9223372036854775807d", "1h ", "١s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_FALSE(parse_time("0s"));
}

TEST(Units, SizesAreReadAndWritten) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"0B", 0}, {"1B", 1}, {"1KiB", 1024}, {"64MiB", 64 << 20}, {"8GiB", 8LL << 30}};
  for (const auto& [text, bytes] : good) {
    const auto size = parse_size(text);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(*size, bytes) << text;
    EXPECT_EQ(size_text(*size), text);
  }
}

TEST(Units, WhatIsNoSizeIsRefused) {
  for (const auto* text : {"", "1", "1KB", "1kib", "1.5GiB", "-1B", "1MiB1KiB", "B",
                           "9223372036854775807GiB", "8388609GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

}  // namespace
}  // namespace mesh::model
