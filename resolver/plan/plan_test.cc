#include <gtest/gtest.h>

#include <limits>

#include "resolver/plan/knob_value.h"
#include "resolver/plan/layer_pattern.h"
#include "resolver/plan/version.h"

namespace flightplan {
namespace {

TEST(LayerPattern, ExpandsTheFormsPeopleWrite) {
  EXPECT_EQ(*ExpandLayerPattern("([0]*3+[1]*2)"), (std::vector<int64_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(*ExpandLayerPattern("3*[1] + [0]"), (std::vector<int64_t>{1, 1, 1, 0}));
  EXPECT_EQ(*ExpandLayerPattern("([1]+[0]*2)*2"), (std::vector<int64_t>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(*ExpandLayerPattern("[1,0,1]"), (std::vector<int64_t>{1, 0, 1}));
}

TEST(LayerPattern, RefusesCodeAndExplosions) {
  for (const char* bad : {"", "[0]*", "[0", "__import__('os')", "[0]*999999999", "([0]*9999)*9999", "[0]*-1", "1",
                          "[0][1]", "((((((((((((((((((([0])))))))))))))))))))"}) {
    EXPECT_FALSE(ExpandLayerPattern(bad).ok()) << bad;
  }
}

TEST(KnobText, ReadsEachTypeAndRefusesOthers) {
  EXPECT_EQ(*ParseKnobText(Knob::moe_router_topk, "8"), Value(8));
  EXPECT_EQ(*ParseKnobText(Knob::sequence_parallel, "true"), Value(true));
  EXPECT_EQ(ParseKnobText(Knob::recompute_modules, "[core_attn, moe_act]")->list().size(), 2U);
  EXPECT_TRUE(ParseKnobText(Knob::recompute_granularity, "none")->is_none());
  EXPECT_EQ(*ParseKnobText(Knob::cuda_graph_impl, "none"), Value("none"));
  EXPECT_FALSE(ParseKnobText(Knob::moe_router_topk, "8.5").ok());
  EXPECT_FALSE(ParseKnobText(Knob::sequence_parallel, "2").ok());
  EXPECT_FALSE(ParseKnobText(Knob::layernorm_epsilon, "nan").ok());
}

TEST(KnobValue, RefusesWrongTypesChoicesAndNonFiniteNumbers) {
  EXPECT_TRUE(CheckKnobValue(Knob::moe_router_topk, Value()).ok());
  EXPECT_FALSE(CheckKnobValue(Knob::moe_router_topk, Value("8")).ok());
  EXPECT_FALSE(CheckKnobValue(Knob::layernorm_epsilon, Value(std::numeric_limits<double>::quiet_NaN())).ok());
  const absl::Status status = CheckKnobValue(Knob::recompute_granularity, Value("half"));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("full"), absl::string_view::npos) << status;
}

TEST(KnobNames, FindAliasesAndSuggestTheNearest) {
  EXPECT_EQ(FindKnob("num_experts"), FindKnob("num_moe_experts"));
  EXPECT_FALSE(FindKnob("moe_router_topkk").has_value());
  EXPECT_EQ(NearestKnobName("moe_router_topkk"), "moe_router_topk");
  EXPECT_EQ(NearestKnobName(std::string(1000, 'x')), "");
}

// Of the deprecated --disable-msc another knob's in newer releases, so that the rows of this one stand apart.
TEST(FirstFlag, FindsAFlagBehindThoseThatOtherReleasesGiveToAnotherKnob) {
  ASSERT_NE(FirstFlag(Knob::enable_msc, kMain), nullptr);
  EXPECT_STREQ(FirstFlag(Knob::enable_msc, kMain)->flag, "--enable-msc");
  ASSERT_NE(FirstFlag(Knob::enable_msc, 17), nullptr);
  EXPECT_STREQ(FirstFlag(Knob::enable_msc, 17)->flag, "--disable-msc");
}

TEST(Versions, CompareAsReleases) {
  EXPECT_LT(Compare(*Version::Parse("2.9"), *Version::Parse("2.10.0")), 0);
  EXPECT_LT(Compare(*Version::Parse("2.8.0rc1"), *Version::Parse("2.8.0")), 0);
  EXPECT_EQ(Compare(*Version::Parse("v2.8"), *Version::Parse("2.8.0")), 0);
  EXPECT_FALSE(Version::Parse("unknown").has_value());
  EXPECT_FALSE(AtLeast(std::nullopt, "1.0"));
}

}  // namespace
}  // namespace flightplan
