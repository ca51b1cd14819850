#include "resolver/base/utf8.h"

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(Utf8, TakesEveryLengthAtItsEnds) {
  for (const char* text : {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(Utf8CharacterBytes(text), absl::string_view(text).size()) << text;
  }
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(absl::string_view("\0", 1)));
}

TEST(Utf8, RefusesWhatIsCutOverlongASurrogateOrBeyondUnicode) {
  for (const char* text :
       {"\x80", "\xbf", "\xc2", "\xc2g", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf1\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
    EXPECT_EQ(Utf8CharacterBytes(text), 0u) << text;
  }
}

TEST(Utf8, SaysWhereItEnds) {
  EXPECT_EQ(Utf8PrefixBytes("ab\xc3\xa9\xe9 c"), 4u);
  EXPECT_EQ(Utf8PrefixBytes("\xff"), 0u);
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string text = "a\xc3\xa9\xf0\x9f\x98\x80z";  // 1 + 2 + 4 + 1 bytes
  const std::string whole[] = {"", "a", "a", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9"};
  for (size_t most = 0; most < 7; ++most) EXPECT_EQ(Utf8Prefix(text, most), whole[most]) << most;
  EXPECT_EQ(Utf8Prefix(text, 7), text.substr(0, 7));
  EXPECT_EQ(Utf8Prefix(text, 8), text);
  EXPECT_EQ(Utf8Prefix(text, 100), text);
}

TEST(Utf8, RepairsWhatBelongsToNoCharacter) {
  EXPECT_EQ(Utf8Repaired(""), "");
  EXPECT_EQ(Utf8Repaired("a\xc3\xa9.sh"), "a\xc3\xa9.sh");
  EXPECT_EQ(Utf8Repaired("\xff\xc3\xa9\xe9 \xf0\x9f"), "?\xc3\xa9? ??");
}

TEST(Utf8, ClipsWithinTheBytesGiven) {
  EXPECT_EQ(Utf8Clip("abcdef", 6), "abcdef");
  EXPECT_EQ(Utf8Clip("abcdefg", 6), "abc...");
  EXPECT_EQ(Utf8Clip("ab\xc3\xa9"
                     "efg",
                     6),
            "ab...");
}

}  // namespace
}  // namespace flightplan
