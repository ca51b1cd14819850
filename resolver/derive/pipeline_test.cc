#include "resolver/derive/pipeline.h"

#include <algorithm>
#include <numeric>
#include <vector>

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
  EXPECT_EQ(ReadHybridPattern(absl::string_view())->layers, 0);  // a knob without a text
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

int64_t Sum(const std::vector<int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }

std::vector<int64_t> RankSums(const std::vector<int64_t>& stages, int64_t pp) {
  std::vector<int64_t> ranks(static_cast<size_t>(pp));
  for (size_t i = 0; i < stages.size(); ++i) ranks[i % ranks.size()] += stages[i];
  return ranks;
}

// Also where the tail (loss and MTP) weighs more than the rest: three layers over two stages wrote before the first.
TEST(BalancedStages, KeepEveryLayer) {
  for (const int64_t stages : {2, 3, 4, 7, 64}) {
    for (const int64_t mtp : {0, 1, 2, 3, 64, 4096}) {
      for (int64_t layers = std::max<int64_t>(0, stages - mtp - 2); layers < 70; ++layers) {
        const std::vector<int64_t> split = BalancedStages(layers, mtp, stages);
        EXPECT_EQ(split.size(), static_cast<size_t>(stages));
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), int64_t{0}), layers) << stages << " " << mtp;
        EXPECT_GE(*std::min_element(split.begin(), split.end()), 0) << stages << " " << mtp << " " << layers;
      }
    }
  }
  EXPECT_EQ(BalancedStages(61, 1, 16), (std::vector<int64_t>{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}));
}

TEST(StageSplits, LightenTheLastRankByItsTail) {
  // Llama-3 70B at PP4 VPP5: as published, then the last rank one layer lighter, then three.
  const auto splits = StageSplits(80, 0, 4, 5, 1.0);
  ASSERT_EQ(splits.size(), 4U);
  EXPECT_EQ(splits[0], std::vector<int64_t>(20, 4));
  EXPECT_EQ(RankSums(splits[1], 4), (std::vector<int64_t>{20, 20, 21, 19}));
  EXPECT_EQ(RankSums(splits[2], 4), (std::vector<int64_t>{20, 21, 21, 18}));
  EXPECT_EQ(RankSums(splits[3], 4), (std::vector<int64_t>{21, 21, 21, 17}));
  EXPECT_EQ(splits[3].back(), 0);  // the loss has its stage to itself
}

TEST(StageSplits, KeepEveryLayerAndLeaveNoStageEmpty) {
  for (int64_t layers : {1, 2, 7, 36, 48, 61, 80, 126}) {
    for (int64_t mtp : {0, 1}) {
      for (int64_t pp : {1, 2, 3, 4, 8, 16}) {
        for (int64_t vpp = 1; vpp * pp <= layers + mtp + 2 && (pp > 1 || vpp == 1); ++vpp) {
          for (double tail : {0.0, 0.3, 1.2, 5.0, 13.0, 1e9}) {
            const auto splits = StageSplits(layers, mtp, pp, vpp, tail);
            ASSERT_FALSE(splits.empty());
            for (size_t i = 0; i < splits.size(); ++i) {
              ASSERT_EQ(splits[i].size(), static_cast<size_t>(pp * vpp));
              EXPECT_EQ(Sum(splits[i]), layers);
              // The first stage has the embedding and the last the loss; what is plain is as it always was.
              for (size_t stage = 0; i > 0 && stage + 1 < splits[i].size(); ++stage) EXPECT_GT(splits[i][stage], 0);
              for (size_t j = 0; j < i; ++j) EXPECT_NE(splits[i], splits[j]);
            }
          }
        }
      }
    }
  }
}

TEST(LayoutText, ReadsBackAsItsStages) {
  EXPECT_EQ(LayoutText({1, 2, 0}, 1), "Et|tt|mL");
  EXPECT_EQ(LayoutStages(LayoutText({4, 4, 4, 3}, 0)), 4);
}

}  // namespace
}  // namespace flightplan
