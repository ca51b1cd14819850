#include "absl/strings/match.h"
#include "clients/cli/command.h"
#include "clients/cli/terminal.h"
#include "gtest/gtest.h"

namespace flightplan::cli {
namespace {

std::string Page(std::vector<std::string> args) {
  Context context;
  args.insert(args.begin(), "explain");
  return RunCommandLine(args, context) == kExitOk ? context.out : context.err;
}

TEST(Explain, TakesAKnobAsALaunchSpellsIt) {
  const std::string page = Page({"layernorm_epsilon"});
  ASSERT_TRUE(absl::StartsWith(page, "layernorm_epsilon\n")) << page;
  for (const char* word : {"--norm-epsilon", "--norm-epsilon=1e-6", "model.layernorm_epsilon", "norm-epsilon",
                           "layernorm-epsilon", "model.layernorm_epsilon=1e-6"}) {
    EXPECT_EQ(Page({word}), page) << word;
  }
  EXPECT_EQ(Page({"--num-experts"}), Page({"num_moe_experts"}));
}

TEST(Explain, KeepsItsOwnFlagsAndSaysWhatItDoesNotKnow) {
  EXPECT_TRUE(absl::StartsWith(Page({"--norm-epsilon", "--format", "json"}), "{"));
  EXPECT_TRUE(absl::StrContains(Page({"--no-such-knob"}), "no knob is called 'no-such-knob'"));
  EXPECT_TRUE(absl::StrContains(Page({"--format"}), "--format wants F"));
}

}  // namespace
}  // namespace flightplan::cli
