#include <gtest/gtest.h>

#include "natsconf/digest.h"
#include "natsconf/document.h"
#include "tests/support/natsconf_corpus.h"

namespace mesh::natsconf {
namespace {

/// The fuzzer's seeds, with the verdicts of the servers themselves (tests/system/bus_config_test.cc
/// asks them again).
TEST(CorpusTest, EveryTextIsReadAsTheServersRead) {
  const auto corpus = test::natsconf_corpus();
  ASSERT_GT(corpus.size(), 150U);
  for (const auto& text : corpus) {
    const auto old_reading = parse(text.bytes, {text.name, nullptr, Dialect::Nats210});
    EXPECT_EQ(old_reading.has_value(), text.accepted_210) << text.name;
    const auto new_reading = parse(text.bytes, {text.name, nullptr, Dialect::Nats215});
    EXPECT_EQ(new_reading.has_value(), text.accepted_215) << text.name;
    if (new_reading && !text.digest.empty()) {
      EXPECT_EQ(config_digest(*new_reading), text.digest) << text.name;
    }
  }
}

/// No part of a text makes the reader go wrong.
TEST(CorpusTest, EveryBeginningOfATextEnds) {
  for (const auto& text : test::natsconf_corpus()) {
    for (std::size_t length = 0; length < text.bytes.size(); ++length) {
      const auto document = parse(text.bytes.substr(0, length));
      if (document) {
        EXPECT_FALSE(to_json(document->root()).empty());
      } else {
        EXPECT_EQ(document.error().code, Code::InvalidArgument);
        EXPECT_GT(document.error().place.line, 0);
      }
    }
  }
}

}  // namespace
}  // namespace mesh::natsconf
