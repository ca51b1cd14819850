#include "resolver/plan/pipeline_layout.h"

#include <gtest/gtest.h>

#include <string>

namespace flightplan {
namespace {

using Fault = PipelineLayout::Fault;

TEST(PipelineLayoutTest, ReadsTheTextFormWithRepeats) {
  const PipelineLayout layout = ParsePipelineLayout("Et*3|(tt|)*29,m|L", 16);
  ASSERT_EQ(layout.fault, Fault::kNone);
  ASSERT_EQ(layout.stages.size(), 32u);
  EXPECT_EQ(layout.virtual_size, 2);
  EXPECT_EQ(layout.stages[0], "Ettt");
  EXPECT_EQ(layout.stages[29], "tt");
  EXPECT_EQ(layout.stages[30], "m");
  EXPECT_EQ(layout.stages[31], "L");
  EXPECT_EQ(layout.Count('t'), 61);
  EXPECT_EQ(layout.First(), 'E');
  EXPECT_EQ(layout.Last(), 'L');
  EXPECT_TRUE(layout.MtpStandalone());
  EXPECT_FALSE(layout.MtpBeforeLastVirtualStage());
}

TEST(PipelineLayoutTest, ReadsTheListForm) {
  const Value::List first = {" Embedding", "decoder"};
  const Value::List last = {"decoder", "mtp", "LOSS"};
  const PipelineLayout layout = ParsePipelineLayout(Value(Value::List{Value(first), Value(last)}), 2);
  ASSERT_EQ(layout.fault, Fault::kNone);
  EXPECT_EQ(layout.stages[0], "Et");
  EXPECT_EQ(layout.stages[1], "tmL");
  EXPECT_FALSE(layout.MtpStandalone());
}

TEST(PipelineLayoutTest, RefusesWhatUpstreamRefuses) {
  EXPECT_EQ(ParsePipelineLayout("Ex|L", 2).fault, Fault::kUnknownCharacter);
  EXPECT_EQ(ParsePipelineLayout("Ex|L", 2).culprit, "x");
  EXPECT_EQ(ParsePipelineLayout("Et|t|L", 2).fault, Fault::kStagesNotDivisible);
  EXPECT_EQ(ParsePipelineLayout("Et|L", 0).fault, Fault::kStagesNotDivisible);
  EXPECT_EQ(ParsePipelineLayout(Value(Value::List{"E"}), 1).fault, Fault::kNotListOfLists);
  EXPECT_EQ(ParsePipelineLayout(Value(Value::List{Value(Value::List{1})}), 1).fault, Fault::kElementType);
  EXPECT_EQ(ParsePipelineLayout(Value(Value::List{Value(Value::List{"head"})}), 1).fault, Fault::kElementUnknown);
  // Nested groups are not understood upstream either: the inner parenthesis survives.
  EXPECT_EQ(ParsePipelineLayout("E((t|)*2)*2L", 1).fault, Fault::kUnknownCharacter);
}

TEST(PipelineLayoutTest, RepeatCountsCannotExplode) {
  EXPECT_EQ(ParsePipelineLayout("Et*99999999999999999999|L", 2).fault, Fault::kTooLarge);
  EXPECT_EQ(ParsePipelineLayout("E(t*9999|)*9999L", 2).fault, Fault::kTooLarge);
  EXPECT_EQ(ParsePipelineLayout(std::string(1 << 20, 't'), 1).fault, Fault::kTooLarge);
}

TEST(PipelineLayoutTest, FindsMisplacedPredictionLayers) {
  EXPECT_TRUE(ParsePipelineLayout("Em|t|t|L", 2).DecoderAfterMtp());
  EXPECT_TRUE(ParsePipelineLayout("Em|t|t|L", 2).MtpOnFirstRankBeforeLastVirtualStage());
  EXPECT_TRUE(ParsePipelineLayout("Et|m|t|L", 2).MtpBeforeLastVirtualStage());
  EXPECT_FALSE(ParsePipelineLayout("Et|m|t|L", 2).MtpOnFirstRankBeforeLastVirtualStage());
  EXPECT_TRUE(ParsePipelineLayout("Et|t|m|mL", 2).MtpSpread(2));
  EXPECT_FALSE(ParsePipelineLayout("Et|t|t|mmL", 2).MtpSpread(2));
}

}  // namespace
}  // namespace flightplan
