#include "resolver/derive/candidate.h"

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>

#include "resolver/catalog/catalog.h"
#include "resolver/derive/shapes_test_util.h"

namespace flightplan {
namespace {

static_assert(std::is_trivially_copyable_v<Candidate>);

Config With(const std::vector<std::pair<Knob, Value>>& knobs) {
  Config config;
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kCaller);
  return config;
}

TEST(ModelShape, DeepSeekHasTwoKindsOfLayers) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  ASSERT_EQ(shape.kind_count, 2);
  EXPECT_EQ(shape.kinds[0].mlp, MlpKind::kDense);
  EXPECT_EQ(shape.kinds[1].mlp, MlpKind::kMoe);
  EXPECT_EQ(shape.totals[0], 3);
  EXPECT_EQ(shape.totals[1], 58);
  EXPECT_EQ(shape.mtp_layers[1], 1);
  EXPECT_EQ(shape.MoeLayers(), 58);
}

TEST(ModelShape, EveryModelOfTheCatalogueHasOne) {
  const Catalog catalog = *Catalog::Builtin();
  for (const ModelSpec& model : catalog.models()) {
    const absl::StatusOr<ModelShape> shape = MakeShape(model);
    ASSERT_TRUE(shape.ok()) << model.name << ": " << shape.status();
    int64_t parameters = shape->positions + shape->embedding() * (shape->tied ? 1 : 2) + shape->head.total();
    int64_t layers = 0;
    for (size_t k = 0; k < kMaxLayerKinds; ++k) {
      parameters += shape->totals[k] * shape->kinds[k].parameters.total();
      layers += shape->totals[k];
    }
    EXPECT_EQ(layers, shape->num_layers) << model.name;
    if (model.computed.has_value()) {
      EXPECT_EQ(parameters, model.computed->total) << model.name;
    }
  }
}

TEST(ModelShape, AGivenDepthCutsTheModel) {
  const Catalog catalog = *Catalog::Builtin();
  const Config config = With({{Knob::num_layers, Value(4)}, {Knob::mtp_num_layers, Value(0)}});
  const ModelShape shape = *MakeShape(**catalog.FindModel("deepseek-v3"), config);
  EXPECT_EQ(shape.num_layers, 4);
  EXPECT_EQ(shape.totals[0], 3);
  EXPECT_EQ(shape.totals[1], 1);
  EXPECT_EQ(shape.mtp_depths, 0);
}

// Whose attention has a ratio for each layer and MTP depth.
TEST(ModelShape, CompressionFollowsTheLayersAndDepthsThatAreGiven) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelSpec& model = **catalog.FindModel("deepseek-v4-flash");
  for (const int64_t layers : {int64_t{4}, model.num_layers, model.num_layers + 3}) {
    for (const int64_t depths : {0, 1, 2}) {
      const Config config = With({{Knob::num_layers, Value(layers)}, {Knob::mtp_num_layers, Value(depths)}});
      const absl::StatusOr<ModelShape> shape = MakeShape(model, config);
      ASSERT_TRUE(shape.ok()) << layers << " layers, " << depths << " depths: " << shape.status();
      EXPECT_EQ(shape->mtp_depths, depths);
      EXPECT_EQ(std::ssize(shape->layer_kinds), layers);
    }
  }
}

TEST(ModelShape, IsTheModelsOwnWhereAConfigurationChangesNothing) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelSpec& model = **catalog.FindModel("deepseek-v3");
  ModelShape own = *MakeShape(model);
  own.norms = 77;  // of no model
  EXPECT_EQ(MakeShape(model, With({}), &own)->norms, 77);
  EXPECT_EQ(MakeShape(model, With({{Knob::num_layers, Value(61)}, {Knob::mtp_num_layers, Value(1)}}), &own)->norms, 77);
  const ModelShape repeated = *MakeShape(model, With({{Knob::mtp_use_repeated_layer, Value(true)}}), &own);
  EXPECT_TRUE(repeated.mtp_repeated);
  for (const auto& [knob, value] : {std::pair(Knob::num_layers, Value(4)), std::pair(Knob::mtp_num_layers, Value()),
                                    std::pair(Knob::num_moe_experts, Value(64))}) {
    EXPECT_EQ(MakeShape(model, With({{knob, value}}), &own)->norms, 2) << Name(knob);
  }
}

TEST(ModelShape, PadsTheVocabularyToAMultipleOfTp) {
  ModelShape shape = ShapeOf("llama3-8b");
  shape.vocab = 1000;
  shape.vocab_multiple = 128;
  EXPECT_EQ(shape.PaddedVocab(1), 1024);
  EXPECT_EQ(shape.PaddedVocab(8), 1024);
  EXPECT_EQ(shape.PaddedVocab(16), 2048);
}

TEST(StagesOf, ReadsALayoutString) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const StageLayout stages = StagesOf(shape, With({{Knob::pipeline_model_parallel_size, Value(8)},
                                                   {Knob::pipeline_model_parallel_layout, Value("Et|(tt|)*30mL")}}));
  ASSERT_EQ(stages.chunks.size(), 32U);
  EXPECT_EQ(stages.vpp, 4);
  EXPECT_TRUE(stages.chunk(0, 0).embedding);
  EXPECT_EQ(stages.chunk(0, 0).layers[0], 1);
  EXPECT_EQ(stages.chunk(1, 0).layers[0], 2);
  EXPECT_TRUE(stages.chunk(7, 3).loss);
  EXPECT_EQ(stages.chunk(7, 3).mtp_depths, 1);
  EXPECT_EQ(stages.chunk(7, 3).Layers(), 0);
  EXPECT_EQ(stages.distinct_ranks, (std::vector<int>{0, 1, 2, 7}));
}

TEST(StagesOf, SpreadsInterleavedChunksInOrderOfExecution) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const StageLayout stages = StagesOf(shape, With({{Knob::pipeline_model_parallel_size, Value(2)},
                                                   {Knob::num_layers_in_last_pipeline_stage, Value(29)},
                                                   {Knob::virtual_pipeline_model_parallel_size, Value(2)}}));
  ASSERT_EQ(stages.chunks.size(), 4U);
  EXPECT_EQ(stages.chunk(0, 0).Layers() + stages.chunk(0, 1).Layers(), 32);
  EXPECT_EQ(stages.chunk(1, 0).Layers() + stages.chunk(1, 1).Layers(), 29);
  EXPECT_EQ(stages.chunk(0, 0).layers[0], 3);  // the dense layers come first
}

// Uneven parts, with two virtual stages of each rank.
TEST(StagesOf, ReadsTheBarsOfAHybridPattern) {
  const ModelShape shape = ShapeOf("nemotron-3-nano-30b-a3b");
  const StageLayout stages = StagesOf(
      shape, With({{Knob::pipeline_model_parallel_size, Value(2)},
                   {Knob::hybrid_layer_pattern, Value("MEMEM*|EMEMEM*EMEMEM*|EMEMEM*EMEMEM*EMEMEMEM*EMEMEM|EME/*E")}}));
  std::vector<int> sizes;
  for (const ChunkContents& chunk : stages.chunks) sizes.push_back(chunk.Layers());
  EXPECT_EQ(sizes, (std::vector<int>{6, 14, 29, 3}));
  EXPECT_EQ(stages.vpp, 2);
  EXPECT_TRUE(stages.chunks.back().loss);
}

// 30 layers and two more places over 2 ranks with 4 virtual stages: the first and the last one give up a layer.
TEST(StagesOf, EmbeddingAndLossTakeAPlaceOfTheFirstAndTheLastVirtualStage) {
  const ModelShape shape =
      *MakeShape(**Catalog::Builtin()->FindModel("llama3-8b"), With({{Knob::num_layers, Value(30)}}));
  const auto layers = [&](Knob virtual_knob, int size) {
    const StageLayout stages = StagesOf(shape, With({{Knob::pipeline_model_parallel_size, Value(2)},
                                                     {Knob::account_for_embedding_in_pipeline_split, Value(true)},
                                                     {Knob::account_for_loss_in_pipeline_split, Value(true)},
                                                     {virtual_knob, Value(size)}}));
    std::vector<int> sizes;
    for (const ChunkContents& chunk : stages.chunks) sizes.push_back(chunk.Layers());
    return sizes;
  };
  const std::vector<int> wanted = {3, 4, 4, 4, 4, 4, 4, 3};
  EXPECT_EQ(layers(Knob::virtual_pipeline_model_parallel_size, 4), wanted);
  EXPECT_EQ(layers(Knob::num_layers_per_virtual_pipeline_stage, 4), wanted);
}

TEST(StagesOf, TakesAKnownLayoutWithTheSameChunksAlone) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const Config config = With(
      {{Knob::pipeline_model_parallel_size, Value(8)}, {Knob::pipeline_model_parallel_layout, Value("Et|(tt|)*30mL")}});
  StageLayout known = StagesOf(shape, config);
  known.distinct_ranks = {77};
  EXPECT_EQ(StagesOf(shape, config, known).distinct_ranks, std::vector<int>{77});
  const Config other = With({{Knob::pipeline_model_parallel_size, Value(8)},
                             {Knob::pipeline_model_parallel_layout, Value("Ett|(tt|)*29t|mL")}});
  EXPECT_EQ(StagesOf(shape, other, known).chunks, StagesOf(shape, other).chunks);
  EXPECT_EQ(StagesOf(shape, other, known).distinct_ranks, StagesOf(shape, other).distinct_ranks);
}

TEST(CandidateOf, ReadsSizesGroupsAndModules) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const Config config = With({{Knob::tensor_model_parallel_size, Value(2)},
                              {Knob::pipeline_model_parallel_size, Value(8)},
                              {Knob::expert_model_parallel_size, Value(64)},
                              {Knob::expert_tensor_parallel_size, Value(1)},
                              {Knob::micro_batch_size, Value(1)},
                              {Knob::global_batch_size, Value(8192)},
                              {Knob::bf16, Value(true)},
                              {Knob::use_precision_aware_optimizer, Value(true)},
                              {Knob::exp_avg_dtype, Value("bf16")},
                              {Knob::recompute_granularity, Value("selective")},
                              {Knob::recompute_modules, Value(Value::List{Value("mla_up_proj"), Value("mlp")})},
                              {Knob::moe_token_dispatcher_type, Value("flex")},
                              {Knob::moe_flex_dispatcher_backend, Value("hybridep")},
                              {Knob::cuda_graph_impl, Value("transformer_engine")},
                              {Knob::cuda_graph_modules, Value(Value::List{Value("attn"), Value("moe_router")})}});
  Environment env;
  env.world_size = 1024;
  const StageLayout stages = StagesOf(shape, config);
  const Candidate c = CandidateOf(config, env, shape, stages);
  EXPECT_EQ(c.DataParallel(), 64);
  EXPECT_EQ(c.ExpertDataParallel(), 2);
  EXPECT_EQ(c.Microbatches(), 128);
  EXPECT_EQ(c.moment1_bytes, 2);
  EXPECT_EQ(c.moment2_bytes, 4);
  EXPECT_EQ(c.recompute_modules, kDropMlaUpProj | kDropMlp);
  EXPECT_EQ(c.dispatcher, Dispatcher::kHybridEp);
  EXPECT_EQ(c.graph_modules, kGraphAttn | kGraphMoeRouter);
}

// Megatron-LM's command line takes FP8 without bf16, whose parameters and activations are then FP32.
TEST(CandidateOf, LowPrecisionWithoutBf16HasFp32Values) {
  const ModelShape shape = ShapeOf("llama3-8b");
  Environment env;
  env.target = Target::kMegatronLm;
  const auto read = [&](bool bf16) {
    const Config config =
        With({{Knob::fp8, Value("e4m3")}, {Knob::fp8_recipe, Value("tensorwise")}, {Knob::bf16, Value(bf16)}});
    return CandidateOf(config, env, shape, StagesOf(shape, config));
  };
  EXPECT_FALSE(read(true).fp32_values);
  EXPECT_EQ(read(true).main_param_bytes, 4);
  EXPECT_TRUE(read(false).fp32_values);
  EXPECT_EQ(read(false).main_param_bytes, 0) << "its weights are the main parameters";
}

TEST(CandidateOf, HasTheBatchOfMostOfASchedule) {
  const ModelShape shape = ShapeOf("llama3-8b");
  const Config config =
      With({{Knob::global_batch_size, Value(32)}, {Knob::step_batch_size_schedule, Value("0:384 200B:768 400B:1152")}});
  const StageLayout stages = StagesOf(shape, config);
  EXPECT_EQ(CandidateOf(config, {}, shape, stages).global_batch_size, 1152);
}

// ms-swift examples/megatron/muon: 65 GiB where Adam takes 78.
TEST(CandidateOf, ReadsWhatALayersModulesAre) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  Environment env;
  const auto read = [&](const Config& config) {
    const StageLayout stages = StagesOf(shape, config);
    return CandidateOf(config, env, shape, stages);
  };
  const Candidate set = read(With({{Knob::fp32_residual_connection, Value(true)},
                                   {Knob::hidden_dropout, Value(0.1)},
                                   {Knob::moe_grouped_gemm, Value(true)},
                                   {Knob::attention_backend, Value("unfused")}}));
  EXPECT_TRUE(set.fp32_residual && set.hidden_dropout && set.grouped_gemm && set.writes_scores());
  const Candidate unset = read(With({{Knob::hidden_dropout, Value(0.0)}, {Knob::moe_grouped_gemm, Value(false)}}));
  EXPECT_FALSE(unset.fp32_residual || unset.hidden_dropout || unset.grouped_gemm || unset.writes_scores());
  EXPECT_TRUE(read(With({{Knob::transformer_impl, Value("local")}})).writes_scores()) << "it has no other attention";
  // Bridge's recipes have the grouped product, whatever the class's default.
  env.target = Target::kMegatronBridge;
  EXPECT_TRUE(read(With({})).grouped_gemm);
  env.target = Target::kMegatronLm;
  EXPECT_FALSE(read(With({})).grouped_gemm);
}

TEST(CandidateOf, OptimizersHaveTheirOwnMoments) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const auto moments = [&](const char* optimizer, double momentum) {
    const Config config = With({{Knob::optimizer, Value(optimizer)}, {Knob::sgd_momentum, Value(momentum)}});
    const Candidate c = CandidateOf(config, Environment(), shape, StagesOf(shape, config));
    return c.moment1_bytes + c.moment2_bytes;
  };
  EXPECT_EQ(moments("adam", 0.9), 8);
  EXPECT_EQ(moments("sgd", 0.9), 4);
  EXPECT_EQ(moments("sgd", 0), 0);
  EXPECT_EQ(moments("muon", 0.9), 8) << "of embeddings";
  EXPECT_EQ(moments("lion", 0.9), 4);
}

// The command line turns use_distributed_optimizer into it for muon and its kin.
TEST(CandidateOf, LayerWiseOptimizersDivideTheirState) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const auto divided = [&](const std::vector<std::pair<Knob, Value>>& knobs) {
    const Config config = With(knobs);
    return CandidateOf(config, Environment(), shape, StagesOf(shape, config)).distributed_optimizer;
  };
  EXPECT_FALSE(divided({{Knob::optimizer, Value("muon")}}));
  EXPECT_TRUE(divided({{Knob::optimizer, Value("dist_muon")}}));
  EXPECT_TRUE(divided({{Knob::optimizer, Value("muon")}, {Knob::use_layer_wise_distributed_optimizer, Value(true)}}));
}

// A layout of the buffers, from 0.18 on, leaves what is no matrix to the distributed optimizer.
TEST(CandidateOf, MuonKeepsAdamsMomentsOfWhatIsNoMatrix) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const auto read = [&](const std::vector<std::pair<Knob, Value>>& knobs) {
    Config config = With(knobs);
    config.Set(Knob::optimizer, Value("muon"), Origin::kCaller);
    Environment env;
    env.target = Target::kMegatronLm;
    return CandidateOf(config, env, shape, StagesOf(shape, config));
  };
  const std::pair<Knob, Value> by_layer = {Knob::use_layer_wise_distributed_optimizer, Value(true)};
  EXPECT_TRUE(read({}).one_moment_of_matrices);
  EXPECT_EQ(read({{Knob::muon_scalar_optimizer, Value("lion")}}).moment2_bytes, 0);
  EXPECT_FALSE(read({by_layer}).whole_parameters);
  EXPECT_TRUE(read({by_layer, {Knob::use_layer_wise_param_layout, Value(false)}}).whole_parameters);
}

TEST(CandidateOf, GradientsOfFp16AreAccumulatedAsTheyAre) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const auto bytes = [&](Knob precision, std::optional<Knob> more) {
    Config config = With({{precision, Value(true)}});
    if (more.has_value()) config.Set(*more, Value(true), Origin::kCaller);
    return CandidateOf(config, Environment(), shape, StagesOf(shape, config)).gradient_bytes;
  };
  EXPECT_EQ(bytes(Knob::bf16, std::nullopt), 4);
  EXPECT_EQ(bytes(Knob::fp16, std::nullopt), 2);
  EXPECT_EQ(bytes(Knob::fp16, Knob::accumulate_allreduce_grads_in_fp32), 4);
  EXPECT_EQ(bytes(Knob::fp16, Knob::grad_reduce_in_fp32), 4);
  EXPECT_EQ(bytes(Knob::fp16, Knob::mixed_precision_grad_reduce_in_fp32), 4);
}

TEST(CandidateOf, RemaindersOfMainParametersAreForBf16Alone) {
  const ModelShape shape = ShapeOf("qwen3-8b");
  const auto bytes = [&](Knob precision) {
    const Config config = With({{precision, Value(true)}, {Knob::use_precision_aware_optimizer, Value(true)}});
    return CandidateOf(config, Environment(), shape, StagesOf(shape, config)).main_param_bytes;
  };
  EXPECT_EQ(bytes(Knob::bf16), 2);
  EXPECT_EQ(bytes(Knob::fp16), 4);
}

TEST(CandidateOf, PaddedExpertsTakeTheirCapacityWhateverIsSent) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  const auto imbalance = [&](double factor, bool pad, bool forced) {
    const Config config = With({{Knob::expert_model_parallel_size, Value(8)},
                                {Knob::moe_expert_capacity_factor, Value(factor)},
                                {Knob::moe_pad_expert_input_to_capacity, Value(pad)},
                                {Knob::moe_router_force_load_balancing, Value(forced)}});
    return CandidateOf(config, Environment(), shape, StagesOf(shape, config)).imbalance;
  };
  EXPECT_EQ(imbalance(4, true, false), 4);
  EXPECT_EQ(imbalance(4, true, true), 4);
  EXPECT_EQ(imbalance(4, false, true), 1);
  EXPECT_EQ(imbalance(4, false, false), kTrainingImbalance);
  EXPECT_EQ(imbalance(0.5, false, true), 0.5);
}

TEST(CandidateOf, AbsurdSizesDoNotOverflow) {
  const ModelShape shape = ShapeOf("deepseek-v3");
  const Config config = With({{Knob::tensor_model_parallel_size, Value(INT64_MAX)},
                              {Knob::pipeline_model_parallel_size, Value(INT64_MAX)},
                              {Knob::virtual_pipeline_model_parallel_size, Value(INT64_MAX)},
                              {Knob::context_parallel_size, Value(INT64_MAX)},
                              {Knob::seq_length, Value(INT64_MAX)},
                              {Knob::micro_batch_size, Value(INT64_MAX)}});
  const StageLayout stages = StagesOf(shape, config);
  const Candidate c = CandidateOf(config, {}, shape, stages);
  EXPECT_EQ(c.DataParallel(), 1);
  EXPECT_LE(stages.chunks.size(), size_t{1} << 15);
}

}  // namespace
}  // namespace flightplan
