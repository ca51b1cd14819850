#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "gtest/gtest.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

struct Ran {
  int code;
  std::string out, err;
};
Ran Ask(const std::vector<std::string>& args) {
  Context context;
  const int code = RunCommandLine(args, context);
  return {code, context.out, context.err};
}

TEST(Rules, SaysWhichKnobItDoesNotKnow) {
  const Ran misspelt = Ask({"rules", "--knob", "moe_token_dispacher_type"});
  EXPECT_EQ(misspelt.code, kExitMisuse);
  EXPECT_EQ(misspelt.out, "");
  EXPECT_TRUE(absl::StrContains(misspelt.err, "moe_token_dispatcher_type")) << misspelt.err;
  EXPECT_EQ(Ask({"rules", "--knob", "moe_token_dispacher_type", "--format", "json"}).code, kExitMisuse);
  // What rules read besides knobs, a launch's own word, and a knob that no rule reads.
  EXPECT_FALSE(absl::StartsWith(Ask({"rules", "--knob", "CUDA_DEVICE_MAX_CONNECTIONS"}).out, "0 rules"));
  EXPECT_EQ(Ask({"rules", "--knob", "layernorm_epsilon"}).code, kExitOk);
  const std::string experts = Ask({"rules", "--knob", "num_moe_experts"}).out;
  for (const char* const word : {"num_experts", "--num-experts", "model.num_moe_experts=8"}) {
    EXPECT_EQ(Ask({"rules", "--knob", word}).out, experts) << word;
  }
}

TEST(Rules, SaysWhichAreaItDoesNotKnow) {
  const Ran misspelt = Ask({"rules", "--area", "recomput"});
  EXPECT_EQ(misspelt.code, kExitMisuse);
  EXPECT_TRUE(absl::StrContains(misspelt.err, "did you mean recompute?")) << misspelt.err;
  EXPECT_TRUE(absl::StrContains(Ask({"rules", "--area", "zzzzzzzzzz"}).err, "areas are ")) << "nothing is near";
  EXPECT_EQ(Ask({"rules", "--area", "recompute"}).code, kExitOk);
}

TEST(Version, NamesEveryStackAndWhatOfItsReleasesWasRead) {
  const std::string page = Ask({"version"}).out;
  for (const Stack* stack : AllStacks()) {
    EXPECT_EQ(absl::StrContains(page, absl::StrCat("\n", stack->name, " ")), stack->by_name) << stack->name;
  }
  EXPECT_TRUE(absl::StrContains(page, "0.15 (config classes alone), 0.16, ")) << page;
  EXPECT_TRUE(absl::StrContains(page, "main, on Megatron-Core 0.")) << page;
}

}  // namespace
}  // namespace flightplan::cli
