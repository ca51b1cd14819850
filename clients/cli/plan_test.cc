// flightplan plan, as people run it.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"

namespace flightplan::cli {
namespace {

const std::vector<std::string> kQuestion = {"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--gpus", "16"};

std::string Page(std::vector<std::string> args, const std::vector<std::string>& more, int* exit = nullptr) {
  args.insert(args.end(), kQuestion.begin(), kQuestion.end());
  args.insert(args.end(), more.begin(), more.end());
  Context context;
  context.terminal.width = 110;
  const int code = RunCommandLine(args, context);
  if (exit != nullptr) *exit = code;
  return context.out;
}

// The flags that the last line proposes besides the same.
std::vector<std::string> Proposed(const std::string& page) {
  const std::vector<std::string> halves = absl::StrSplit(page, "with the same flags and ");
  return halves.size() < 2 ? std::vector<std::string>()
                           : absl::StrSplit(halves.back(), absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

TEST(PlanPage, TheFirstPlanOfFewerGpusIsTheOneOfItsFlags) {
  const std::string page = Page({"plan"}, {"--rank-by", "gpus", "--top", "1"});
  EXPECT_TRUE(absl::StrContains(page, "GPUs")) << page;
  const std::vector<std::string> flags = Proposed(page);
  ASSERT_GT(flags.size(), 4u) << page;
  EXPECT_EQ(flags[0], "--gpus");
  EXPECT_NE(flags[1], "16");
  EXPECT_EQ(std::vector<std::string>(flags.begin() + 2, flags.begin() + 4), std::vector<std::string>({"--gbs", "128"}));
  int exit = -1;
  const std::string launch = Page({"resolve"}, flags, &exit);
  EXPECT_EQ(exit, 0) << launch;
  EXPECT_TRUE(absl::StrContains(launch, "DP1")) << launch;
}

// The row's memory is that of its recompute, which the launch has to say.
TEST(PlanPage, ThePlanOfLeastMemoryIsTheOneOfItsFlags) {
  const std::string page = Page({"plan"}, {"--rank-by", "memory", "--top", "1"});
  const std::vector<std::string> flags = Proposed(page);
  EXPECT_EQ(std::count(flags.begin(), flags.end(), "recompute_granularity=full"), 1) << page;
  int exit = -1;
  const std::string launch = Page({"resolve"}, flags, &exit);
  EXPECT_EQ(exit, 0) << launch;
  std::smatch gib;
  ASSERT_TRUE(std::regex_search(page, gib, std::regex(R"(\) +([0-9]+) )"))) << page;  // behind the step's band
  EXPECT_TRUE(absl::StrContains(launch, absl::StrCat(gib[1].str(), " GiB of 80"))) << gib[1] << launch;
}

// Steps count only among rows that the objective leaves equal.
TEST(PlanPage, TheNoteOnRankedStepsSaysAmongWhichRows) {
  EXPECT_TRUE(absl::StrContains(Page({"plan"}, {"--rank-by", "memory", "--top", "1"}),
                                "so among plans of as many GiB the order counts"));
}

TEST(PlanPage, TheSameGpusAreNotSaidAgain) {
  const std::string page = Page({"plan"}, {"--top", "1", "--tp", "2", "--pp", "1", "--cp", "1"});
  EXPECT_FALSE(absl::StrContains(page, "GPUs")) << page;
  ASSERT_FALSE(Proposed(page).empty()) << page;
  EXPECT_EQ(Proposed(page)[0], "--tp");
}

}  // namespace
}  // namespace flightplan::cli
