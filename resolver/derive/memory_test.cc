#include "resolver/derive/memory.h"

#include <gtest/gtest.h>

#include "resolver/base/bytes.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/layer_bytes.h"
#include "resolver/derive/shapes_test_util.h"

namespace flightplan {
namespace {

// Sparse attention by Megatron-Core's own operators has every score as a tensor, the indexer's too; by fused kernels
// none. Its loss keeps what the indexer scored with.
TEST(LayerBytes, SparseAttentionWithoutKernelsKeepsItsScores) {
  const ModelShape shape = ShapeOf("deepseek-v3.2"), dense = ShapeOf("deepseek-v3");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const LayerKind& kind = shape.kinds[0];
  const double scores = 128.0 * 4096 * 4096;
  const LayerBytes formed = BytesOfLayer(shape, c, kind);
  c.sparse_kernels = true;
  const LayerBytes fused = BytesOfLayer(shape, c, kind);
  EXPECT_NEAR((formed.attention - fused.attention) / scores, 13, 0.1);
  EXPECT_NEAR((formed.backward - fused.backward) / scores, 12, 0.1);
  EXPECT_GT(fused.attention,
            1.5 * BytesOfLayer(dense, c, dense.kinds[0]).attention);  // queries and outputs are latents
  c.indexer_loss = IndexerLoss::kChosen;
  EXPECT_GT(BytesOfLayer(shape, c, kind).attention, fused.attention + 4096.0 * 2 * 64 * 128);
  c.sparse_kernels = false;
  c.indexer_loss = IndexerLoss::kNone;
  c.tp = 8;  // which divides attention's scores and not the indexer's
  EXPECT_GT(BytesOfLayer(shape, c, kind).backward, 8 * scores / 2);
  c.recompute = RecomputeMode::kSelective;
  c.recompute_modules = kDropCoreAttn;
  EXPECT_LT(BytesOfLayer(shape, c, kind).attention, 2 * scores);
}

// Without dropout the softmax's output is the one tensor of scores that its backward pass and the next product's take.
TEST(LayerBytes, UnfusedAttentionKeepsItsSoftmaxAndWhatDropoutMakes) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double scores = 32.0 * 4096 * 4096, fused = BytesOfLayer(shape, c, shape.kinds[0]).attention;
  c.attention = AttentionBackend::kUnfused;
  const double plain = BytesOfLayer(shape, c, shape.kinds[0]).attention;
  EXPECT_DOUBLE_EQ((plain - fused) / scores, 2);
  c.attention_dropout = true;
  EXPECT_DOUBLE_EQ((BytesOfLayer(shape, c, shape.kinds[0]).attention - fused) / scores, 5);
  // Scores go to the host with what else the attention saves, unless they are computed again.
  c.offload_modules = kOffloadCoreAttn;
  EXPECT_GT(BytesOfLayer(shape, c, shape.kinds[0]).offloaded, 5 * scores);
  c.recompute = RecomputeMode::kSelective;
  c.recompute_modules = kDropCoreAttn;
  EXPECT_LT(BytesOfLayer(shape, c, shape.kinds[0]).offloaded, scores);
}

// The worked figures of the static-memory formulas: bf16 weights, FP32 gradients and states, no vocabulary padding.
TEST(StaticMemory, MatchesWorkedFigures) {
  const ModelShape qwen = ShapeOf("qwen3-30b-a3b");
  const StageLayout one = Even(qwen, 1);
  Candidate c = Plan(one, 8);
  c.ep = 8;
  EXPECT_NEAR(MemoryModel(qwen, c, {}).StaticBytes() / kGib, 71.51, 0.01);
  c.moment1_bytes = c.moment2_bytes = 2;
  EXPECT_NEAR(MemoryModel(qwen, c, {}).StaticBytes() / kGib, 57.30, 0.01);

  const ModelShape mixtral = ShapeOf("mixtral-8x7b");
  const StageLayout alone = Even(mixtral, 1);
  c = Plan(alone, 16);
  c.tp = 2;
  c.ep = 8;
  EXPECT_NEAR(MemoryModel(mixtral, c, {}).StaticBytes() / kGib, 68.61, 0.01);
}

TEST(StaticMemory, MatchesWorkedFiguresOfEveryStage) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const StageLayout stages = StagesOfSizes(shape, 8, 1, {8, 8, 8, 8, 8, 8, 8, 5});
  Candidate c = Plan(stages, 512);
  c.ep = 64;
  const MemoryModel model(shape, c, {});
  EXPECT_NEAR(model.Stage(0).Static() / kGib, 36.91, 0.01);
  EXPECT_NEAR(model.Stage(3).Static() / kGib, 34.37, 0.01);
  EXPECT_NEAR(model.Stage(7).Static() / kGib, 37.05, 0.01);
}

TEST(StaticMemory, LowPrecisionWeightsAreKeptTwiceOrInPlace) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double bf16 = MemoryModel(shape, c, {9, 8}).Stage(0)[MemoryPart::kParameters];
  c.precision = GemmPrecision::kFp8Tensorwise;
  const double cached = MemoryModel(shape, c, {9, 8}).Stage(0)[MemoryPart::kParameters];
  const double on_blackwell = MemoryModel(shape, c, {10, 8}).Stage(0)[MemoryPart::kParameters];
  c.low_precision_weights = true;
  const double in_place = MemoryModel(shape, c, {9, 8}).Stage(0)[MemoryPart::kParameters];
  EXPECT_GT(cached, 1.8 * bf16);
  EXPECT_LT(on_blackwell, 1.5 * bf16);
  EXPECT_DOUBLE_EQ(in_place, bf16);
}

// Upstream computes all logits where the loss is, whatever stage the prediction layers stand on.
TEST(Activations, LogitsOfPredictionAreOnTheStageOfTheLoss) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  std::vector<ChunkContents> chunks = StagesOfSizes(shape, 4, 1, {20, 20, 20, 1}).chunks;
  const StageLayout joined = MakeStageLayout(4, 1, chunks);
  std::swap(chunks[2].mtp_depths, chunks[3].mtp_depths);
  const StageLayout apart = MakeStageLayout(4, 1, chunks);
  const auto loss = [&](const StageLayout& stages, int rank) {
    Candidate c = Plan(stages, 256);
    c.ep = 64;
    return MemoryModel(shape, c, {}).Stage(rank)[MemoryPart::kLoss];
  };
  EXPECT_GT(loss(joined, 3), 0);
  EXPECT_EQ(loss(apart, 3), loss(joined, 3));
  EXPECT_EQ(loss(apart, 2), 0);
}

TEST(Activations, EveryVirtualStageCounts) {
  ModelShape shape = ShapeOf("llama3-8b");
  shape.num_layers = 600;
  shape.layer_kinds.assign(600, 0);
  const auto kept = [&](int vpp) {
    const StageLayout stages = Even(shape, 2, vpp);
    Candidate c = Plan(stages, 2);
    c.global_batch_size = 2;
    return MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kAttention];
  };
  EXPECT_NEAR(kept(100) / kept(1), 1, 0.02);
  EXPECT_NEAR(kept(150) / kept(1), 1, 0.02);
  EXPECT_NEAR(kept(300) / kept(1), 1, 0.02);
}

// A byte for each value in front of both residual sums; and both norms' inputs in FP32.
TEST(Activations, DropoutKeepsItsMaskAndResidualsTheirBytes) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  c.global_batch_size = 8;
  const auto kept = [&] {
    const StageBytes bytes = MemoryModel(shape, c, {}).Stage(0);
    return bytes[MemoryPart::kAttention] + bytes[MemoryPart::kDenseMlp];
  };
  const double plain = kept(), values = 4096.0 * 4096, sums = 2.0 * 32;
  c.hidden_dropout = true;
  EXPECT_DOUBLE_EQ(kept() - plain, sums * values);
  c.hidden_dropout = false;
  c.fp32_residual = true;
  EXPECT_DOUBLE_EQ(kept() - plain, 2 * (sums + 2) * values) << "and what the final norm keeps";
  c.fp32_residual = false;
  c.recompute = RecomputeMode::kFullUniform;
  const double inputs = LayerInputBytes(shape, c);
  c.fp32_residual = true;
  EXPECT_DOUBLE_EQ(LayerInputBytes(shape, c), 2 * inputs);
}

TEST(Activations, UniformRecomputeKeepsTheInputOfEveryGroup) {
  const ModelShape shape = ShapeOf("llama3-8b");  // 32 layers
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  c.recompute = RecomputeMode::kFullUniform;
  const auto kept = [&](int group) {
    c.recompute_layers = group;
    return MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kAttention];
  };
  const double input = LayerInputBytes(shape, c);
  EXPECT_NEAR((kept(1) - kept(16)) / input, 30, 1e-6);
  EXPECT_NEAR((kept(1) - kept(30)) / input, 30, 1e-6) << "two groups, the second of two layers";
  EXPECT_NEAR((kept(1) - kept(100)) / input, 31, 1e-6);
}

// Both matrices of the vocabulary whole in 16 bits, and the gradient of one.
TEST(StaticMemory, MegatronFsdpLeavesWhatIsNoLayerGathered) {
  ModelShape shape = ShapeOf("llama3-8b");
  shape.vocab *= 8;  // larger than two layers
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 64);
  c.shard_weights = c.shard_gradients = true;
  const StageBytes units = MemoryModel(shape, c, {}).Stage(0);
  c.whole_vocabulary = true;
  const StageBytes whole = MemoryModel(shape, c, {}).Stage(0);
  const double matrix = static_cast<double>(shape.embedding());
  const double layers = 2 * static_cast<double>(shape.kinds[0].parameters.total());
  EXPECT_NEAR(whole[MemoryPart::kParameters] - units[MemoryPart::kParameters], 2 * 2 * matrix * 63 / 64, 1);
  EXPECT_NEAR(whole[MemoryPart::kGradients] - units[MemoryPart::kGradients], 4 * (matrix - layers), 1);
}

// Four instances of 16 ranks: shards of 1/16, and state of 1/16 or, where the instances share it, of 1/64.
TEST(StaticMemory, FsdpDividesWithinAnInstance) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 16);
  c.shard_weights = c.shard_gradients = true;
  const StageBytes alone = MemoryModel(shape, c, {}).Stage(0);
  c.gpus = 64;
  c.optimizer_instances = 4;
  const StageBytes instances = MemoryModel(shape, c, {}).Stage(0);
  EXPECT_DOUBLE_EQ(instances[MemoryPart::kParameters], alone[MemoryPart::kParameters]);
  EXPECT_DOUBLE_EQ(instances[MemoryPart::kGradients], alone[MemoryPart::kGradients]);
  EXPECT_DOUBLE_EQ(instances[MemoryPart::kOptimizerState], alone[MemoryPart::kOptimizerState]);
  c.outer_shards_state = true;
  const StageBytes shared = MemoryModel(shape, c, {}).Stage(0);
  EXPECT_DOUBLE_EQ(shared[MemoryPart::kParameters], alone[MemoryPart::kParameters]);
  EXPECT_DOUBLE_EQ(shared[MemoryPart::kOptimizerState], alone[MemoryPart::kOptimizerState] / 4);
}

// Eight bytes of moments for each parameter of the whole model; the main parameters stay shards.
TEST(StaticMemory, MomentsMadeWholeAreOfAllRanks) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 16);
  c.distributed_optimizer = c.shard_weights = c.shard_gradients = true;
  const double shards = MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState];
  c.whole_moments = true;
  const double whole = MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState];
  EXPECT_NEAR(whole / shards, (4 + 16 * 8) / 12.0, 1e-9);
  c.tp = 2;
  EXPECT_NEAR(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState] / whole, 1, 0.01);
}

TEST(StaticMemory, OffloadedOptimizerLeavesMainParameters) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double all = MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState];
  c.optimizer_offload = 1;
  EXPECT_NEAR(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerState], all / 3, 1);
}

TEST(LayerBytes, DenseLayerOfLlama) {
  // 8192 tokens: 8h + 2(a+2g)d + 2ad + 4a + 6f bytes each.
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 1);
  c.seq_length = 8192;
  EXPECT_NEAR(BytesOfLayer(shape, c, shape.kinds[0]).Kept() / (1 << 20), 1089, 1);
}

TEST(LayerBytes, MoeLayersAndWhatRecomputeDrops) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 1);
  const auto mib = [&] { return BytesOfLayer(shape, c, shape.kinds[0]).Kept() / (1 << 20); };
  EXPECT_NEAR(mib(), 449, 1);
  c.recompute = RecomputeMode::kSelective;
  c.recompute_modules = kDropMoeAct;
  EXPECT_NEAR(mib(), 401, 1);
  c.recompute_modules = kDropMoe;
  EXPECT_NEAR(mib(), 172, 1);
}

TEST(LayerBytes, AnAllGatherHasTheTokensOfAllRanks) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  c.ep = 8;
  const LayerBytes all_to_all = BytesOfLayer(shape, c, shape.kinds[0]);
  c.dispatcher = Dispatcher::kAllGather;
  const LayerBytes gathered = BytesOfLayer(shape, c, shape.kinds[0]);
  const double tokens = 8 * 4096;
  EXPECT_NEAR(gathered.backward - all_to_all.backward, 2 * 2 * 2048 * tokens, 1);
  EXPECT_NEAR(gathered.Kept() - all_to_all.Kept(), 5 * 128 * tokens, 1);
}

TEST(LayerBytes, WhatIsDroppedIsLiveAgainInBackward) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 1);
  const LayerBytes without = BytesOfLayer(shape, c, shape.kinds[0]);
  c.recompute = RecomputeMode::kSelective;
  c.recompute_modules = kDropMoe;
  const LayerBytes with = BytesOfLayer(shape, c, shape.kinds[0]);
  EXPECT_NEAR(with.backward - without.backward, without.Kept() - with.Kept(), 1);
}

// Queries, keys and values are not kept where the up projections make them again, so none of them leaves for the host.
TEST(LayerBytes, WhatIsComputedAgainIsNotOffloadedToo) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 1);
  c.offload_modules = kOffloadCoreAttn;
  EXPECT_GT(BytesOfLayer(shape, c, shape.kinds[0]).offloaded, 0);
  c.recompute = RecomputeMode::kSelective;
  c.recompute_modules = kDropMlaUpProj;
  EXPECT_EQ(BytesOfLayer(shape, c, shape.kinds[0]).offloaded, 0);
}

TEST(MemoryModel, FirstStageKeepsMostMicrobatches) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 4);
  Candidate c = Plan(stages, 32);
  const MemoryModel model(shape, c, {});
  const double first = model.Stage(0)[MemoryPart::kAttention], second = model.Stage(1)[MemoryPart::kAttention];
  EXPECT_NEAR(first / second, 4.0 / 3, 1e-6);
  int rank = -1;
  EXPECT_GE(model.Fullest(&rank).Total(), model.Stage(3).Total());
}

// Transformer Engine keeps the dummy gradient of the output layer's weight, so that it is there when the loss is not.
TEST(MemoryModel, TheOutputLayersDummyGradientStays) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 4);
  Candidate c = Plan(stages, 32);
  const double weight = 2.0 * 128256 * 4096;
  const StageBytes first = MemoryModel(shape, c, {}).Stage(0), last = MemoryModel(shape, c, {}).Stage(3);
  EXPECT_DOUBLE_EQ(last[MemoryPart::kWeightScratch] - first[MemoryPart::kWeightScratch], weight);
  c.loss = LossKind::kTeFused;
  const double beside = MemoryModel(shape, c, {}).Stage(3)[MemoryPart::kLoss];
  c.grad_accumulation_fusion = false;  // then it is a gradient of its own
  const StageBytes without = MemoryModel(shape, c, {}).Stage(3);
  EXPECT_EQ(without[MemoryPart::kWeightScratch], 0);
  EXPECT_DOUBLE_EQ(without[MemoryPart::kLoss] - beside, weight);
}

// FP32 logits are their own softmax and gradient.
TEST(MemoryModel, Fp32LogitsAreNotRounded) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double logits = 4096.0 * 128256;
  EXPECT_DOUBLE_EQ(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kLoss], 6 * logits);
  c.precision = GemmPrecision::kFp8Tensorwise;
  c.fp32_values = true;
  EXPECT_LT(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kLoss], 6 * logits);
}

// Its backward pass is compiled, which does not write in place.
TEST(MemoryModel, TheFusedLossHoldsItsGradientBesideTheSoftmax) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double logits = 4096.0 * 128256;
  c.loss = LossKind::kNativeFused;
  EXPECT_DOUBLE_EQ(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kLoss], 10 * logits);
}

// Transformer Engine's takes the logits' place, but in the releases that keep its gradient in FP32.
TEST(MemoryModel, TransformerEnginesLossHoldsFp32GradientsInTwoReleases) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  const double logits = 4096.0 * 128256;
  const auto loss_with = [&](const char* te) {
    Environment env;
    env.te = Version::Parse(te);
    c.loss = TeLossOf(env);
    return MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kLoss];
  };
  for (const char* te : {"2.18.0", "2.19.1"}) EXPECT_DOUBLE_EQ(loss_with(te), 6 * logits) << te;
  for (const char* te : {"2.17.1", "2.20.0"}) EXPECT_LT(loss_with(te), 3 * logits) << te;
}

TEST(MemoryModel, MomentsIn16BitsAreWidenedDuringTheStep) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  const StageLayout stages = Even(shape, 1);
  Candidate c = Plan(stages, 8);
  c.ep = 8;
  c.recompute = RecomputeMode::kFullUniform;
  EXPECT_EQ(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerStep], 0);
  c.moment1_bytes = c.moment2_bytes = 2;
  EXPECT_GT(MemoryModel(shape, c, {}).Stage(0)[MemoryPart::kOptimizerStep], 1e9);
}

TEST(MemoryModel, StaticBytesBoundEveryForecast) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const StageLayout stages = StagesOfSizes(shape, 8, 1, {8, 8, 8, 8, 8, 8, 8, 5});
  Candidate c = Plan(stages, 512);
  c.ep = 64;
  for (RecomputeMode mode : {RecomputeMode::kNone, RecomputeMode::kFullUniform}) {
    c.recompute = mode;
    const MemoryModel model(shape, c, {});
    int rank = 0;
    EXPECT_LE(model.StaticBytes(), model.Fullest(&rank).Allocated());
  }
}

TEST(MemoryModel, EveryModelOfTheCatalogueHasAFiniteForecast) {
  const Catalog catalog = *Catalog::Builtin();
  for (const ModelSpec& spec : catalog.models()) {
    const ModelShape shape = *MakeShape(spec);
    const StageLayout stages = Even(shape, 1);
    const Candidate c = Plan(stages, 64);
    const double total = MemoryModel(shape, c, {}).Stage(0).Total();
    EXPECT_GT(total, 1e9) << spec.name;
    EXPECT_LT(total, 1e15) << spec.name;
  }
}

}  // namespace
}  // namespace flightplan
