#include "resolver/estimate/work.h"

#include <gtest/gtest.h>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

TEST(Heads, OfPredictionRunWithTheLoss) {
  const ModelWork work = WorkOf(*MakeShape(**TheCatalog().FindModel("deepseek-v3")));
  ASSERT_EQ(work.mtp_depths, 1);
  RankContents predicting, closing;
  predicting.mtp_depths = closing.losses = 1;
  EXPECT_EQ(HeadsOf(work, predicting), 0);
  EXPECT_EQ(HeadsOf(work, closing), 2);
}

}  // namespace
}  // namespace flightplan
