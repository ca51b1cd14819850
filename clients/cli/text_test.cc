#include "clients/cli/text.h"

#include <gtest/gtest.h>

#include "clients/cli/shell_lines.h"

namespace flightplan::cli {
namespace {

TEST(DisplayWidth, CountsCellsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("2 × H100"), 8);
  EXPECT_EQ(DisplayWidth("é"), 1);                // e and a combining accent
  EXPECT_EQ(DisplayWidth("模型"), 4);             // wide
  EXPECT_EQ(DisplayWidth("⌚🚀🧠🪄"), 8);  // emoji of four blocks
  EXPECT_EQ(DisplayWidth("и҃"), 1);                // a Cyrillic combining mark
  EXPECT_EQ(DisplayWidth("א֑"), 1);                // a Hebrew one
  EXPECT_EQ(DisplayWidth("a\tb"), 3);
  EXPECT_EQ(DisplayWidth("a\xff"
                         "b"),
            3);                                // a stray byte
  EXPECT_EQ(DisplayWidth("\xc0\xaf"), 2);      // overlong, so two stray bytes
  EXPECT_EQ(DisplayWidth("\xed\xa0\x80"), 3);  // half of a surrogate pair, so three
  EXPECT_EQ(DisplayWidth("\xe6\xa8"), 2);      // a character cut short
}

TEST(Cut, KeepsWhatFitsAndSaysThatMoreFollows) {
  EXPECT_EQ(Cut("dispatcher", 10, "…"), "dispatcher");
  EXPECT_EQ(Cut("dispatcher", 9, "…"), "dispatch…");
  EXPECT_EQ(Cut("a b c d", 4, ".."), "a..");
  EXPECT_EQ(Cut("模型模型", 5, "…"), "模型…");
  EXPECT_EQ(Cut("模型模型", 4, "…"), "模…");
  EXPECT_EQ(Cut("abc", 0, "…"), "");
}

TEST(Wrap, BreaksAtSpacesAndAfterCommas) {
  EXPECT_EQ(Wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(Wrap("mla_up_proj,mlp,moe", 12), (std::vector<std::string>{"mla_up_proj,", "mlp,moe"}));
  EXPECT_EQ(Wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(Wrap("", 3), (std::vector<std::string>{""}));
  EXPECT_EQ(Wrap("a", 0), (std::vector<std::string>{"a"}));
}

TEST(Wrap, NeverLosesOrInventsText) {
  const std::string text = "EP 64 spans 8 NVLink domains; hybridep,deepep are not installed";
  for (int width = 1; width < 70; ++width) {
    std::string joined;
    for (const std::string& line : Wrap(text, width)) {
      EXPECT_LE(DisplayWidth(line), width);
      for (const char c : line) {
        if (c != ' ') joined += c;
      }
    }
    std::string expected;
    for (const char c : text) {
      if (c != ' ') expected += c;
    }
    EXPECT_EQ(joined, expected) << width;
  }
}

TEST(WrapShell, LeavesACommandThatAShellReads) {
  EXPECT_EQ(WrapShell("--tp 2", 20), (std::vector<std::string>{"--tp 2"}));
  EXPECT_EQ(WrapShell("--tp 2 --pp 4 --ep 8", 15), (std::vector<std::string>{"--tp 2 --pp 4 \\", "--ep 8"}));
  EXPECT_EQ(WrapShell("--tp 2 --pipeline-layout 'E|t|t|t|L' --ep 8", 12),
            (std::vector<std::string>{"--tp 2 \\", "--pipeline-layout \\", "'E|t|t|t|L' \\", "--ep 8"}));
  EXPECT_EQ(WrapShell("--set a=b,c,d,e,f", 8), (std::vector<std::string>{"--set \\", "a=b,c,d,e,f"}));
  EXPECT_EQ(WrapShell("A='b c' x", 4), (std::vector<std::string>{"A='b c' \\", "x"}));
}

TEST(WrapParts, KeepsPartsWhole) {
  const std::vector<std::string> parts = {"--tp N", "--pp N", "--vpp N"};
  EXPECT_EQ(WrapParts(parts, "  ", 100), (std::vector<std::string>{"--tp N  --pp N  --vpp N"}));
  EXPECT_EQ(WrapParts(parts, "  ", 14), (std::vector<std::string>{"--tp N  --pp N", "--vpp N"}));
  EXPECT_EQ(WrapParts(parts, "  ", 5), (std::vector<std::string>{"--tp", "N", "--pp", "N", "--vpp", "N"}));
  EXPECT_TRUE(WrapParts({}, "  ", 5).empty());
}

TEST(Harmless, DropsWhatDrivesATerminal) {
  EXPECT_EQ(Harmless("a\x1b[31mred"), "a?[31mred");
  EXPECT_EQ(Harmless("a\nb\tc"), "a b c");
  EXPECT_EQ(Harmless("\xc2\x9b"
                     "31m"),
            "?31m");  // the one-character form of ESC [
  EXPECT_EQ(Harmless("x × y"), "x × y");
}

TEST(ToAscii, KeepsOneCharacterEach) {
  EXPECT_EQ(ToAscii("2 × 3 → …"), "2 x 3 > .");
  EXPECT_EQ(ToAscii("模"), "?");
}

TEST(Figures, AreForPeople) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1024), "1,024");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
  EXPECT_EQ(ParameterText(671'026'419'200), "671 B");
  EXPECT_EQ(ParameterText(30'532'122'624), "30.5 B");
  EXPECT_EQ(ParameterText(596'049'920), "596 M");
  EXPECT_EQ(GibNumber(79.0 * 1024 * 1024 * 1024), "79");
  EXPECT_EQ(GibNumber(4.24 * 1024 * 1024 * 1024), "4.2");
  EXPECT_EQ(GibNumber(0), "0");
  EXPECT_EQ(PercentText(-0.143), "-14 %");
  EXPECT_EQ(PercentText(0.034), "3.4 %");
}

}  // namespace
}  // namespace flightplan::cli
