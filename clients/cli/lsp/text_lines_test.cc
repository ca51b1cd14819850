#include "clients/cli/lsp/text_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>

namespace flightplan::cli {
namespace {

// "é" has two bytes and one unit, "€" three and one, "𝄞" four and two.
constexpr absl::string_view kText = "a\xC3\xA9\xF0\x9D\x84\x9Ez\nb\r\nc\rd";

TEST(TextLines, CountsUtf16Units) {
  const TextLines lines(kText);
  ASSERT_EQ(lines.line_count(), 4u);
  EXPECT_EQ(lines.OffsetOf({0, 0}), 0u);
  EXPECT_EQ(lines.OffsetOf({0, 1}), 1u);
  EXPECT_EQ(lines.OffsetOf({0, 2}), 3u);
  EXPECT_EQ(lines.OffsetOf({0, 3}), 3u);  // between the halves of a pair: before it
  EXPECT_EQ(lines.OffsetOf({0, 4}), 7u);
  EXPECT_EQ(lines.OffsetOf({0, 5}), 8u);
  EXPECT_EQ(lines.PositionOf(7).character, 4);
  EXPECT_EQ(lines.PositionOf(8).character, 5);
}

TEST(TextLines, EndsLinesInAnyWay) {
  const TextLines lines(kText);
  EXPECT_EQ(lines.Line(1), "b");
  EXPECT_EQ(lines.Line(2), "c");
  EXPECT_EQ(lines.Line(3), "d");
  for (size_t offset : {0, 1, 3, 7, 8, 9, 10, 12, 13, 14, 15}) {
    EXPECT_EQ(lines.OffsetOf(lines.PositionOf(offset)), offset) << offset;
  }
}

TEST(TextLines, TakesAnyPosition) {
  const TextLines lines(kText);
  EXPECT_EQ(lines.OffsetOf({-5, 3}), 0u);
  EXPECT_EQ(lines.OffsetOf({0, -5}), 0u);
  EXPECT_EQ(lines.OffsetOf({0, 1000000000000}), 8u);
  EXPECT_EQ(lines.OffsetOf({1000000000000, 0}), kText.size());
  EXPECT_EQ(lines.PositionOf(1000000).line, 3);
  EXPECT_EQ(TextLines("").OffsetOf({7, 7}), 0u);
  EXPECT_EQ(TextLines("\xff\xff").PositionOf(2).character, 2);  // bytes that are no character
}

TEST(OffsetOfPlace, CountsLinesAndBytesFromOne) {
  EXPECT_EQ(OffsetOfPlace("ab\ncd", 2, 2), 4u);
  EXPECT_EQ(OffsetOfPlace("ab\ncd", 1, 99), 2u);
  EXPECT_EQ(OffsetOfPlace("ab\ncd", 99, 1), 5u);
  EXPECT_EQ(OffsetOfPlace("ab", 0, 0), 0u);
}

TEST(TextLines, FollowsWhatIsReplaced) {
  constexpr absl::string_view kPieces[] = {"", "x", "\n", "\r", "\r\n", "a\nb\n", "\n\r", "xyz"};
  std::mt19937 random(7);
  std::string text = "a\r\nb\n\nc";
  TextLines lines(text);
  for (int i = 0; i < 20'000; ++i) {
    const size_t from = random() % (text.size() + 1),
                 to = from + random() % (std::min<size_t>(4, text.size() - from) + 1);
    const absl::string_view with = kPieces[text.size() > 40 ? 0 : random() % std::size(kPieces)];
    text.replace(from, to - from, with.data(), with.size());
    lines.Replaced(text, from, to, with.size());
    const TextLines anew(text);
    ASSERT_EQ(lines.line_count(), anew.line_count()) << i;
    for (size_t line = 0; line < anew.line_count(); ++line) ASSERT_EQ(lines.LineStart(line), anew.LineStart(line)) << i;
  }
}

}  // namespace
}  // namespace flightplan::cli
