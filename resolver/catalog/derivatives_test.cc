#include "resolver/catalog/derivatives.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace flightplan {
namespace {

std::string Of(absl::string_view words) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) args.push_back({std::string(word)});
  return std::string(DerivativeOf(args));
}

TEST(DerivativeOf, IsToldByAFlagOfItsOwn) {
  EXPECT_EQ(Of("--num-layers 24"), "");
  EXPECT_EQ(Of("--num-layers 24 --actor-num-nodes=2"), "slime");
  EXPECT_EQ(Of("actor-num-nodes"), "");
  // Words of launchers, and those that many a program has.
  EXPECT_EQ(Of("--nnodes 2 --node-rank 0 --hf-dir /m --task-data-path /d --prompt-type x"), "");
}

TEST(DerivativeOf, IsAForkWhereAFlagOfTheForkIsThereToo) {
  EXPECT_EQ(Of("--lora-rank 32 --actor-num-nodes 2"), "miles");
  EXPECT_EQ(Of("--actor-num-nodes 2 --use-miles-router"), "miles");
  EXPECT_EQ(Of("--lora-rank 32"), "");  // many a program has it
}

TEST(DerivativeOf, IsTheOneThatIsAskedForWhereItsFlagsAreThere) {
  const std::vector<Argument> args = {{"--beta-fast"}, {"32"}, {"--actor-num-nodes"}, {"2"}};
  EXPECT_EQ(DerivativeOf(args), "MindSpeed");
  EXPECT_EQ(DerivativeOf(args, "slime"), "slime");
  EXPECT_EQ(DerivativeOf(args, "miles"), "slime");  // whose flags miles has
  EXPECT_EQ(DerivativeOf({{"--beta-fast"}}, "miles"), "MindSpeed");
  EXPECT_TRUE(IsForkOf("miles", "slime"));
  EXPECT_FALSE(IsForkOf("slime", "miles"));
}

}  // namespace
}  // namespace flightplan
