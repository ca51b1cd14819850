#include <gtest/gtest.h>

#include <vector>

#include "resolver/base/real.h"
#include "resolver/derive/memory.h"
#include "resolver/derive/shapes_test_util.h"

namespace flightplan {
namespace {

// With a limit, or with all of a step's microbatches but the one whose loss is formed.
TEST(MemoryModel, GradientsOfLogitsWaitForTheDeferredWeightGradient) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 4);
  Candidate c = Plan(stages, 32);
  const double one = 2 * 4096.0 * (128256 + 4096);
  const double without = MemoryModel(shape, c, {}).Stage(3)[MemoryPart::kLoss];
  c.deferred_outputs = 2;
  EXPECT_DOUBLE_EQ(MemoryModel(shape, c, {}).Stage(3)[MemoryPart::kLoss] - without, 2 * one);
  EXPECT_EQ(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kLoss], 0);
  c.deferred_outputs = 1 << 30;
  EXPECT_DOUBLE_EQ(MemoryModel(shape, c, {}).Stage(3)[MemoryPart::kLoss] - without,
                   static_cast<double>(c.Microbatches() - 1) * one);
}

// Muon has one moment of a matrix; embedding and output matrix stay Adam's, and whole they are on a rank each.
TEST(MemoryModel, MuonsEmbeddingsHaveBothMoments) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double adam = MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState];
  const double vocabulary = D(shape.PaddedVocab(1)) * D(shape.hidden);
  const double all = adam / 12 * 8;  // parameters
  c.one_moment_of_matrices = true;
  const double muon = MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState];
  EXPECT_NEAR(muon, (8 * all + 4 * 2 * vocabulary) / 8, 1e3);
  c.whole_parameters = true;
  EXPECT_NEAR(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState],
              8 * (all - 2 * vocabulary) / 8 + 12 * vocabulary, 1e3);
}

}  // namespace
}  // namespace flightplan
