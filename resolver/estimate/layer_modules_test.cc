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

// By single operators the logits go to memory and back a dozen times, by Transformer Engine's kernel three times.
TEST(LayerModules, ALossByOperatorsMovesMore) {
  const auto memory_bound = [](LossKind loss) {
    Case c("llama3-8b", "h100", 8);
    c.plan.loss = loss;
    return c.Forecast().parts.memory_bound;
  };
  const double te = memory_bound(LossKind::kTeFused), native = memory_bound(LossKind::kNativeFused);
  const double unfused = memory_bound(LossKind::kUnfused), in_fp32 = memory_bound(LossKind::kTeFusedInFp32);
  EXPECT_GT(in_fp32, te);
  EXPECT_GT(native, in_fp32);
  EXPECT_GT(unfused, native);
  EXPECT_NEAR((unfused - te) / (native - te), (38 + 14 - 10) / (22 + 14 - 10.0), 1e-6);
}

TEST(LayerModules, ResidualsInFp32TravelWhole) {
  Case half("llama3-8b", "h100", 8, 2);
  Case whole = half;
  whole.plan.fp32_residual = true;
  const StepForecast a = half.Forecast(), b = whole.Forecast();
  EXPECT_GT(b.parts.memory_bound, 1.15 * a.parts.memory_bound);
  EXPECT_LT(b.parts.memory_bound, 1.6 * a.parts.memory_bound);
  const auto transfer = [](const StepForecast& f) { return f.parts.pipeline_transfer + f.hidden.pipeline_transfer; };
  EXPECT_GT(transfer(b), 1.2 * transfer(a));
}

// By operators: 7 passes of a gated activation where the fused kernel has 3; and 6 more with an expert's routing
// weight.
TEST(LayerModules, AnActivationWithoutAKernelMovesMore) {
  struct {
    const char* model;
    int64_t ep;
    bool always;  // fused or not
  } const kCases[] = {{"llama3-8b", 1, false},
                      {"qwen3-30b-a3b", 8, false},
                      {"nemotron-3-nano-30b-a3b", 8, false},
                      {"gpt3-175b", 1, false},
                      {"gpt-oss-20b", 8, true}};
  for (const auto& is : kCases) {
    Case fused(is.model, "h100", 8);
    fused.plan.ep = static_cast<int>(is.ep);
    fused.plan.activation_fusion = true;
    Case alone = fused;
    alone.plan.activation_fusion = false;
    const double change = alone.Forecast().parts.memory_bound / fused.Forecast().parts.memory_bound;
    if (is.always) {
      EXPECT_EQ(change, 1) << is.model;
    } else {
      EXPECT_GT(change, 1.1) << is.model;
    }
  }
  Case experts("grok-1", "h100", 8);
  experts.plan.activation_fusion = true;
  const double with = experts.Forecast().parts.memory_bound;
  experts.plan.activation_fusion = false;
  EXPECT_EQ(experts.Forecast().parts.memory_bound, with) << "the experts' kernels know SwiGLU and the quick one alone";
}

// A module for each expert launches each of its operators by itself.
TEST(LayerModules, ExpertsWithoutTheGroupedProductAreLaunchedOneByOne) {
  Case grouped("qwen3-30b-a3b", "h100", 8);
  grouped.plan.ep = 8;  // 16 experts a rank
  Case alone = grouped;
  alone.plan.grouped_gemm = false;
  const StepForecast a = grouped.Forecast(), b = alone.Forecast();
  EXPECT_GT(b.parts.host + b.parts.memory_bound, 1.5 * (a.parts.host + a.parts.memory_bound));
  EXPECT_GT(b.parts.matmul, a.parts.matmul);
}

// Rows that are padded to the capacity have one shape: a graph of the layer holds its experts, too.
TEST(LayerModules, AGraphHoldsPaddedExperts) {
  Case counted("qwen3-30b-a3b", "b200", 8);
  counted.plan.ep = 8;
  counted.plan.graphs = GraphImpl::kLocal;
  Case padded = counted;
  padded.plan.drop_pad = true;
  padded.plan.capacity_factor = 1;
  EXPECT_LT(padded.Forecast().parts.host, 0.3 * counted.Forecast().parts.host);
  const double whole = padded.Forecast().parts.host;
  padded.plan.graph_modules = kGraphMoe;
  EXPECT_GT(padded.Forecast().parts.host, whole) << "the attention is outside";
  padded.plan.graph_modules = kGraphAttn | kGraphMoeRouter;
  EXPECT_GT(padded.Forecast().parts.host, 2 * whole) << "the experts are outside";
}

}  // namespace
}  // namespace flightplan
