#include "clients/cli/lsp/spot.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

// "name --flag", "value --flag [text]", "nothing"; the place is where | stands.
std::string At(std::string text, LaunchForm form = LaunchForm::kWords) {
  const size_t offset = text.find('|');
  text.erase(offset, 1);
  const Spot spot = SpotAt(text, offset, form);
  if (spot.kind == Spot::Kind::kNothing) return "nothing";
  const std::string inside = text.substr(spot.begin, spot.end - spot.begin);
  return absl::StrCat(spot.kind == Spot::Kind::kName ? "name " : "value ", spot.name, " [", inside, "]");
}

TEST(SpotAt, TellsFlagsFromValues) {
  EXPECT_EQ(At("x --tp| 4 --pp 2"), "name --tp [--tp]");
  EXPECT_EQ(At("x |--tp 4"), "name --tp [--tp]");
  EXPECT_EQ(At("x --tp |4 --pp 2"), "value --tp [4]");
  EXPECT_EQ(At("x --tp 4| \\\n --pp 2"), "value --tp [4]");
  EXPECT_EQ(At("x --tp |"), "value --tp []");
  EXPECT_EQ(At("x --tp=|4"), "value --tp [4]");
  EXPECT_EQ(At("x --tp|=4"), "name --tp [--tp]");
  EXPECT_EQ(At("ARGS=(\"--tp 4|\")"), "value --tp [4]");
  EXPECT_EQ(At("--tp\n4|\n"), "value --tp [4]");
  EXPECT_EQ(At("--tp\n\n4|\n"), "name 4 [4]");
  EXPECT_EQ(At("model.tp=8|"), "value model.tp [8]");
  EXPECT_EQ(At(" | "), "nothing");
  EXPECT_EQ(At("|"), "nothing");
}

TEST(SpotAt, KnowsTheKeysAboveAKey) {
  EXPECT_EQ(At("model:\n  # x\n  tp: 4|\nddp:\n", LaunchForm::kYaml), "value model.tp [4]");
  EXPECT_EQ(At("model:\n  t|p: 4\n", LaunchForm::kYaml), "name model.tp [tp]");
  EXPECT_EQ(At("a:\n  b:\n    c: 1\n  d: |x  # y\n", LaunchForm::kYaml), "value a.d [x]");
  EXPECT_EQ(At("tp: |", LaunchForm::kYaml), "value tp []");
  EXPECT_EQ(At("|", LaunchForm::kYaml), "nothing");
  EXPECT_EQ(At("model:\n  t|", LaunchForm::kYaml), "name model.t [t]");
}

std::string Marked(absl::string_view text, size_t begin, LaunchForm form = LaunchForm::kWords) {
  const size_t end = MarkedEnd(text, begin, form);
  return begin > text.size() ? "" : std::string(text.substr(begin, end - begin));
}

TEST(MarkedEnd, TakesTheValueAlong) {
  EXPECT_EQ(Marked("--tp 4 --pp 2", 0), "--tp 4");
  EXPECT_EQ(Marked("--bf16 --pp 2", 0), "--bf16");
  EXPECT_EQ(Marked("--tp=4 x", 0), "--tp=4");
  EXPECT_EQ(Marked("--tp \\\n 4", 0), "--tp");
  EXPECT_EQ(Marked("--bf16 # x", 0), "--bf16");
  EXPECT_EQ(Marked("--tp\n4", 0), "--tp");
  EXPECT_EQ(Marked("a: 4  # x\n", 3, LaunchForm::kYaml), "4");
  EXPECT_EQ(Marked("x", 99), "");
}

}  // namespace
}  // namespace flightplan::cli
