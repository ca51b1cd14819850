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

TEST(ReadShape, TakesWhatIsGivenAndKeepsTheRest) {
  MoeShape shape;
  const Status status = ReadShape("hidden=7168,topk=8,experts=256,ffn=2048,ranks=64", &shape);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(shape.hidden, 7168);
  EXPECT_EQ(shape.local_experts(), 4);
  EXPECT_EQ(shape.tokens, MoeShape().tokens);
  EXPECT_EQ(Describe(shape).rfind("tokens 4096, hidden 7168, topk 8, experts 256, ffn 2048, ranks 64", 0), 0U);
}

TEST(ReadShape, SaysWhatIsWrong) {
  struct Wrong {
    const char *text, *says;
  };
  for (const Wrong& wrong :
       {Wrong{"", "'' names no size; they are tokens, hidden,"}, Wrong{"width=8", "'width=8' names no size"},
        Wrong{"hidden=2047", "hidden=2047 must be a number from 1 to 32768, a multiple of 8"},
        Wrong{"hidden=", "hidden= must be"}, Wrong{"experts=1032", "experts=1032 must be a number from 1 to 1024"},
        Wrong{"topk=7", "topk=7: kernels are built for 1, 2, 3, 4, 6, 8, 10, 16 and 22"},
        Wrong{"experts=60", "experts=60 must be a multiple of ranks=8"}, Wrong{"ranks=1", "which are two or more"},
        Wrong{"experts=8,topk=10", "and at least topk"},
        Wrong{"heads=30", "heads=30 must be a multiple of kv_heads=4"}}) {
    MoeShape shape;
    const Status status = ReadShape(wrong.text, &shape);
    EXPECT_EQ(status.code, Code::kBadOption) << wrong.text;
    EXPECT_NE(status.message.find(wrong.says), std::string::npos) << status.message;
  }
}

}  // namespace
}  // namespace flightplan::probe
