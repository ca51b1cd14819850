#include "clients/cli/unified_diff.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

TEST(UnifiedDiff, OfEqualTextsIsEmpty) { EXPECT_EQ(UnifiedDiff("a", "x\n", "a", "x\n"), ""); }

TEST(UnifiedDiff, ShowsThreeLinesAround) {
  EXPECT_EQ(UnifiedDiff("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, SplitsChangesThatAreFarApart) {
  const std::string text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
  EXPECT_EQ(UnifiedDiff("a", text, "b", "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"),
            "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -10,3 +9,4 @@\n 10\n 11\n 12\n+13\n");
}

TEST(UnifiedDiff, JoinsHunksThatTouch) {
  EXPECT_EQ(UnifiedDiff("a", "1\n2\n3\n4\n5\n6\n7\n8\n", "b", "x\n2\n3\n4\n5\n6\n7\ny\n"),
            "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n");
}

TEST(UnifiedDiff, SaysThatTheLastLineIsOpen) {
  EXPECT_EQ(UnifiedDiff("a", "1", "b", "1\n"), "--- a\n+++ b\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+1\n");
  EXPECT_EQ(UnifiedDiff("a", "", "b", "1\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+1\n");
}

// "first+count:text" of each change.
std::string Changes(absl::string_view before, absl::string_view after) {
  std::string out;
  for (const LineChange& change : LineChanges(before, after)) {
    absl::StrAppend(&out, "[", change.first, "+", change.count, ":", change.text, "]");
  }
  return out;
}

TEST(LineChanges, NameTheLinesOfTheOldText) {
  EXPECT_EQ(Changes("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(Changes("a\nb\nc\n", "a\nx\nc\n"), "[1+1:x\n]");
  EXPECT_EQ(Changes("a\nb\n", "a\nx\nb\n"), "[1+0:x\n]");
  EXPECT_EQ(Changes("a\nb\nc", "b\nd"), "[0+1:][2+1:d]");
}

}  // namespace
}  // namespace flightplan::cli
