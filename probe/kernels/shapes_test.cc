#include "probe/kernels/shapes.h"

#include <gtest/gtest.h>

#include <set>

namespace flightplan::probe {
namespace {

TEST(RandomExperts, AreDifferentWithinATokenAndBalancedOverall) {
  const MoeShape shape;
  const std::vector<int> experts = RandomExperts(shape);
  ASSERT_EQ(experts.size(), static_cast<size_t>(shape.rows()));
  std::vector<int> load(static_cast<size_t>(shape.experts));
  for (int t = 0; t < shape.tokens; ++t) {
    std::set<int> of_token;
    for (int k = 0; k < shape.topk; ++k) {
      const int expert = experts[static_cast<size_t>(t) * static_cast<size_t>(shape.topk) + static_cast<size_t>(k)];
      ASSERT_GE(expert, 0);
      ASSERT_LT(expert, shape.experts);
      of_token.insert(expert);
      ++load[static_cast<size_t>(expert)];
    }
    ASSERT_EQ(of_token.size(), static_cast<size_t>(shape.topk)) << t;
  }
  for (const int rows : load) EXPECT_NEAR(rows, 256, 5 * 16) << "five standard deviations of a uniform choice";
  EXPECT_EQ(experts, RandomExperts(shape));
}

TEST(RowMap, IsAPermutationOrderedByExpertThenToken) {
  const MoeShape shape{.tokens = 50, .topk = 3, .experts = 7};
  const std::vector<int> experts = RandomExperts(shape), map = RowMap(shape, experts);
  std::vector<int> at_row(map.size(), -1);  // the (token, k) that each row holds
  for (size_t i = 0; i < map.size(); ++i) at_row[static_cast<size_t>(map[i])] = static_cast<int>(i);
  for (size_t row = 1; row < at_row.size(); ++row) {
    ASSERT_GE(at_row[row], 0);
    const size_t before = static_cast<size_t>(at_row[row - 1]), here = static_cast<size_t>(at_row[row]);
    EXPECT_TRUE(experts[before] < experts[here] || (experts[before] == experts[here] && before < here));
  }
}

}  // namespace
}  // namespace flightplan::probe
