#include <gtest/gtest.h>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// Attention's part of a step, on 256 GPUs in stages of eight.
double AttentionUs(const char* model, int64_t seq, bool kernels, IndexerLoss loss = IndexerLoss::kNone) {
  Case c(model, "b200-sxm", 256, 8);
  c.plan.ep = 8;
  c.plan.cp = 4;
  c.plan.cp_comm = CpComm::kAllGather;
  c.plan.seq_length = seq;
  c.plan.global_batch_size = 64;
  c.plan.sparse_kernels = kernels;
  c.plan.indexer_loss = loss;
  return c.Forecast().parts.attention;
}

// Per token the chosen keys stay as many; what grows is the indexer's scores.
TEST(SparseAttention, WithKernelsOfItsOwnMeetsTheChosenKeys) {
  EXPECT_LT(AttentionUs("deepseek-v3.2", 131072, true), 0.5 * AttentionUs("deepseek-v3", 131072, true));
  const double few = AttentionUs("deepseek-v3.2", 16384, true) / 16384;
  const double many = AttentionUs("deepseek-v3.2", 131072, true) / 131072;
  EXPECT_GT(many, 1.1 * few);
  EXPECT_LT(many, 3 * few);
}

TEST(SparseAttention, WithoutThemEveryScoreIsFormedAndPassedOver) {
  EXPECT_GT(AttentionUs("deepseek-v3.2", 131072, false), 10 * AttentionUs("deepseek-v3", 131072, true));
  EXPECT_NEAR(AttentionUs("deepseek-v3.2", 131072, false) / AttentionUs("deepseek-v3.2", 65536, false), 4, 0.2);
}

TEST(SparseAttention, ALossThatTrainsTheIndexerCosts) {
  for (const bool kernels : {false, true}) {
    const double none = AttentionUs("glm-5", 131072, kernels);
    EXPECT_GT(AttentionUs("glm-5", 131072, kernels, IndexerLoss::kChosen), 1.05 * none) << kernels;
    EXPECT_GE(AttentionUs("glm-5", 131072, kernels, IndexerLoss::kAll),
              AttentionUs("glm-5", 131072, kernels, IndexerLoss::kChosen))
        << kernels;
  }
}

// DeepSeek-V4's window alone would take the same time per token whatever the length.
TEST(SparseAttention, OfPooledKeysGrowsWithTheSequence) {
  const double few = AttentionUs("deepseek-v4-flash", 16384, false) / 16384;
  EXPECT_GT(AttentionUs("deepseek-v4-flash", 262144, false) / 262144, 1.5 * few);
}

// Latents travel, one for all heads.
TEST(SparseAttention, ContextRanksExchangeLatents) {
  const auto exchanged = [](const char* model) {
    Case c(model, "b200-sxm", 256, 8);
    c.plan.ep = 8;
    c.plan.cp = 4;
    c.plan.cp_comm = CpComm::kAllGather;
    c.plan.seq_length = 131072;
    c.plan.sparse_kernels = true;
    const StepForecast forecast = c.Forecast();
    return forecast.parts.context_parallel + forecast.hidden.context_parallel;
  };
  EXPECT_LT(exchanged("deepseek-v3.2"), 0.1 * exchanged("deepseek-v3"));
}

}  // namespace
}  // namespace flightplan
