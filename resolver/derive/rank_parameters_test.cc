#include "resolver/derive/rank_parameters.h"

#include <gtest/gtest.h>

#include "resolver/derive/shapes_test_util.h"

namespace flightplan {
namespace {

double MatricesOf(const ModelShape& shape, const RankContents& rank) {
  const Candidate one;
  RankContents without = rank;
  without.embeddings = without.losses = 0;
  const double depths = without.mtp_depths > 0 ? 1 : 0;  // which embed their own input
  const double more = ParametersOf(shape, one, rank).other - ParametersOf(shape, one, without).other;
  const double closing = rank.losses > 0 ? static_cast<double>(shape.head.total()) : 0;
  return depths + (more - closing) / static_cast<double>(shape.embedding());
}

TEST(RankParameters, CountsTheMatricesOfTheVocabulary) {
  RankContents first, last, only, predicting;
  first.embeddings = last.losses = only.embeddings = only.losses = 1;
  predicting.losses = predicting.mtp_depths = 1;
  const ModelShape untied = ShapeOf("llama3-8b");
  EXPECT_EQ(MatricesOf(untied, first), 1);
  EXPECT_EQ(MatricesOf(untied, last), 1);
  EXPECT_EQ(MatricesOf(untied, only), 2);
  ModelShape tied = untied;
  tied.tied = true;
  EXPECT_EQ(MatricesOf(tied, first), 1);
  EXPECT_EQ(MatricesOf(tied, last), 1);
  EXPECT_EQ(MatricesOf(tied, only), 1);
  EXPECT_EQ(MatricesOf(ShapeOf("deepseek-v3"), predicting), 2);
}

TEST(RankParameters, ADepthOfPredictionHasItsProjectionAndNorms) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  RankContents depth;
  depth.mtp_depths = 1;
  const RankParameters own = ParametersOf(shape, Candidate(), depth);
  EXPECT_EQ(own.dense() + own.expert, static_cast<double>(shape.mtp_depth.total() + shape.embedding()));
}

}  // namespace
}  // namespace flightplan
