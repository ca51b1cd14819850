#include "resolver/estimate/layer_modules.h"

#include <gtest/gtest.h>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// Scores of all keys go to memory and back, where a fused kernel keeps its tiles to itself.
TEST(LayerModules, UnfusedAttentionMovesItsScores) {
  Case flash("llama3-8b", "h100", 8);
  Case unfused = flash;
  unfused.plan.attention = AttentionBackend::kUnfused;
  EXPECT_GT(unfused.Forecast().parts.attention, 3 * flash.Forecast().parts.attention);
  // To recompute it is to do its forward again.
  for (Case* c : {&flash, &unfused}) {
    const double without = c->Forecast().parts.attention;
    c->plan.recompute = RecomputeMode::kSelective;
    c->plan.recompute_modules = kDropCoreAttn;
    EXPECT_GT(c->Forecast().parts.recompute, 0.2 * without);
  }
  unfused.plan.recompute = RecomputeMode::kNone;
  const double at4k = unfused.Forecast().parts.attention;
  unfused.plan.seq_length *= 2;
  unfused.plan.global_batch_size /= 2;
  EXPECT_NEAR(unfused.Forecast().parts.attention / at4k, 2, 1e-6) << "for as many tokens";
}

}  // namespace
}  // namespace flightplan
