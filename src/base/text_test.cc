#include "base/text.h"
#include "base/base64.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace mesh {
namespace {

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a..b", '.'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '.').size(), 1U);
}

TEST(Text, NearestFindsTyposAndRefusesTheUnlike) {
  const std::vector<std::string> keys = {"emits", "consumes", "holds"};
  EXPECT_EQ(nearest("emit", keys), "emits");
  EXPECT_EQ(nearest("consume", keys), "consumes");
  EXPECT_EQ(nearest("zzzzzz", keys), "");
}

TEST(Text, Utf8IsJudgedByTheTable) {
  EXPECT_TRUE(is_utf8("grün €"));
  EXPECT_FALSE(is_utf8("\xC0\x80"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(is_utf8("a\xFF"));
  EXPECT_FALSE(is_utf8("\xE2\x82"));
}

// The vectors of RFC 4648, section 10.
TEST(Text, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF"), "+/8=");
}

TEST(Text, PrintableEscapesControlAndCuts) {
  EXPECT_EQ(printable("a\x1b[31m"), "a\\x1b[31m");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

TEST(Text, WordsOfAnotherOrThatThereWereNone) {
  EXPECT_EQ(with_words("it ended", " \r\n"), "it ended, without a word");
  EXPECT_EQ(with_words("it ended", ""), "it ended, without a word");
  EXPECT_EQ(with_words("it ended", "\n no\x1b room \n"), "it ended: no\\x1b room");
  EXPECT_EQ(with_words("it ended", "abcdef", 3), "it ended: abc…");
}

TEST(Digest, KnownVector) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace mesh
