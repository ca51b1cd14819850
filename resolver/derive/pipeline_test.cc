#include "resolver/derive/pipeline.h"

#include "gtest/gtest.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

TEST(LayoutStages, CountsUnrolledStages) {
  EXPECT_EQ(LayoutStages("Ettt|(tt|)*29,m|L"), 32);
  EXPECT_EQ(LayoutStages("Et*3|t*3|tttL"), 3);
  EXPECT_EQ(LayoutStages("EtL"), 1);
  EXPECT_EQ(LayoutStages(""), 1);
  EXPECT_EQ(LayoutStages("Et(tt|t*2)*2,mL"), 3);
}

TEST(LayoutStages, RefusesUnknownLettersAndHugeRepeats) {
  EXPECT_EQ(LayoutStages("Ex|L"), std::nullopt);
  EXPECT_EQ(LayoutStages("E(t|)*1000000000|L"), std::nullopt);
  EXPECT_EQ(LayoutStages("E(t|)*99999999999999999999999|L"), std::nullopt);
  EXPECT_EQ(LayoutStages("(t"), std::nullopt);
  EXPECT_EQ(LayoutStages("*3t"), std::nullopt);
  EXPECT_EQ(LayoutStages(std::string(2 * kMaxLayoutLayers, 't')), 1);
  EXPECT_EQ(LayoutStages(std::string(2 * kMaxLayoutLayers + 1, 't')), std::nullopt);
}

TEST(HybridPattern, ReadsLayersSegmentsAndDepths) {
  const auto pattern = ReadHybridPattern("M*M*|M-ME/MM/MM");
  ASSERT_TRUE(pattern.has_value());
  EXPECT_EQ(pattern->layers, 8);
  EXPECT_EQ(pattern->segments, 2);
  EXPECT_EQ(pattern->mtp_depths, 2);
  EXPECT_FALSE(pattern->has_mla);
  EXPECT_TRUE(ReadHybridPattern("MD")->has_dsa);
  EXPECT_TRUE(ReadHybridPattern("M+")->has_mla);
  EXPECT_EQ(ReadHybridPattern("MM//")->mtp_depths, 0);
}

TEST(HybridPattern, RefusesWhatUpstreamRefuses) {
  for (const char* text : {"MQ", "MM/M|M", "M/MM/M*", "M*D", "M*+"}) {
    EXPECT_EQ(ReadHybridPattern(text).has_value(), false) << text;
  }
}

TEST(VirtualStages, DividesTwice) {
  EXPECT_EQ(VirtualStages(12, 2, 3), 2);
  EXPECT_EQ(VirtualStages(12, 5, 1), std::nullopt);
  EXPECT_EQ(VirtualStages(12, 2, 4), std::nullopt);
  EXPECT_EQ(VirtualStages(12, 0, 4), std::nullopt);
  EXPECT_EQ(VirtualStages(12, 2, 0), std::nullopt);
}

}  // namespace
}  // namespace flightplan
