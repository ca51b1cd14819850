#include "resolver/shell/line_ends.h"

#include "gtest/gtest.h"

namespace flightplan {
namespace {

std::optional<std::string> Continued(absl::string_view script, int line) {
  return MendedLines(script, "input.continuation", line);
}

TEST(MendedLines, JoinTheLinesOfACommand) {
  EXPECT_EQ(Continued("python x.py --a \\ \n  --b\n", 2), "python x.py --a \\\n  --b\n");
  EXPECT_EQ(Continued("python x.py --a\n  --b\n", 2), "python x.py --a \\\n  --b\n");
  EXPECT_EQ(Continued("python x.py --a \\\n\n  --b\n", 3), "python x.py --a \\\n  --b\n");
}

TEST(MendedLines, PutCommentsInFrontOfTheCommand) {
  EXPECT_EQ(Continued("A=1\npython x.py \\\n  --a \\\n  # why\n  --b\n", 5),
            "A=1\n  # why\npython x.py \\\n  --a \\\n  --b\n");
  EXPECT_EQ(Continued("python x.py --a \\ # why\n  --b\n", 2), "# why\npython x.py --a \\\n  --b\n");
}

TEST(MendedLines, LeaveWhatIsNotPlain) {
  EXPECT_EQ(Continued("python x.py --a # why\n  --b\n", 2), std::nullopt);
  EXPECT_EQ(Continued("--b\n", 1), std::nullopt);
  EXPECT_EQ(Continued("a\n", 9), std::nullopt);
  EXPECT_EQ(MendedLines("python x.py --a\n  --b\n", "mlm.argparse", 2), std::nullopt);
}

TEST(MendedLines, AreWithoutAByteOrderMark) {
  EXPECT_EQ(MendedLines("\xef\xbb\xbf#!/bin/bash\n", "input.byte-order-mark", 1), "#!/bin/bash\n");
}

TEST(MendedLines, AreWithoutCarriageReturns) {
  EXPECT_EQ(MendedLines("python x.py \\\r\n  --b\r\n", "input.line-ends", 1), "python x.py \\\n  --b\n");
}

}  // namespace
}  // namespace flightplan
