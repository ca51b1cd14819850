#include "resolver/derive/adapters.h"

#include <gtest/gtest.h>

#include "resolver/derive/memory.h"
#include "resolver/derive/shapes_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

Config With(const std::vector<std::pair<Knob, Value>>& knobs) {
  Config config;
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kCaller);
  return config;
}

Value Names(const std::vector<std::string>& names) {
  Value::List list;
  for (const std::string& name : names) list.emplace_back(name);
  return Value(std::move(list));
}

TEST(AdaptersOf, AreNoneUnlessTheyAreAskedFor) {
  EXPECT_FALSE(AdaptersOf(With({})).any());
  EXPECT_FALSE(AdaptersOf(With({{K::peft_scheme, Value("none")}, {K::peft_dim, Value(8)}})).any());
  EXPECT_EQ(AdaptersOf(With({{K::peft_dim, Value(8)}})).rank, 8) << "an override of what a recipe brings";
  const Adapters usual = AdaptersOf(With({{K::peft_scheme, Value("lora")}}));
  EXPECT_EQ(usual.rank, 32);
  EXPECT_EQ(usual.targets, kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2 | kAdaptExperts);
}

TEST(AdaptersOf, StandWhereTheirNamesSay) {
  const auto targets = [](const Value& names) {
    return AdaptersOf(With({{K::peft_scheme, Value("lora")}, {K::peft_target_modules, names}})).targets;
  };
  EXPECT_EQ(targets(Names({"linear_qkv"})), kAdaptQkv);
  EXPECT_EQ(targets(Names({})) & (kAdaptExperts | kAdaptKvDown), 0) << "the matcher leaves these classes out";
  EXPECT_NE(targets(Names({})) & kAdaptOutput, 0);
  EXPECT_NE(targets(Names({"all-linear"})) & kAdaptExperts, 0);
}

TEST(AdaptersOf, GiveAnExpertItsShareOfTheRank) {
  const Config config = With({{K::peft_scheme, Value("lora")},
                              {K::peft_dim, Value(32)},
                              {K::peft_normalize_moe_lora, Value(true)},
                              {K::moe_router_topk, Value(8)}});
  EXPECT_EQ(AdaptersOf(config).expert_rank, 4);
}

TEST(AdaptersNotModelled, NamesWhatNoFormulaHas) {
  const auto why = [](const std::vector<std::pair<Knob, Value>>& knobs) { return AdaptersNotModelled(With(knobs)); };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({{K::peft_scheme, Value("lora")}}), "");
  EXPECT_EQ(why({{K::peft_scheme, Value("vlm_lora")}}), "adapters of vlm_lora");
  EXPECT_EQ(why({{K::peft_scheme, Value("lora")}, {K::peft_target_modules, Names({"*.layers.0.*.linear_qkv"})}}),
            "adapters of single layers");
  EXPECT_EQ(why({{K::peft_scheme, Value("lora")}, {K::peft_exclude_modules, Names({"linear_proj"})}}),
            "adapters beside all layers but some")
      << "the class names layers, and asserts that none is left out beside them";
  EXPECT_EQ(why({{K::peft_scheme, Value("lora")},
                 {K::peft_target_modules, Names({})},
                 {K::peft_exclude_modules, Names({"*vision*"})}}),
            "adapters beside all layers but some");
}

TEST(AdaptersNotModelled, NamesWhereDoraDoesNotStand) {
  const auto why = [](std::vector<std::pair<Knob, Value>> knobs) {
    knobs.emplace_back(K::peft_scheme, Value("dora"));
    return AdaptersNotModelled(With(knobs));
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({{K::num_moe_experts, Value(8)}}), "DoRA adapters of routed experts");
  EXPECT_EQ(why({{K::num_moe_experts, Value(8)}, {K::peft_target_modules, Names({"linear_qkv", "linear_proj"})}}), "");
  const Value down = Names({"linear_kv_down_proj"});
  EXPECT_EQ(why({{K::peft_target_modules, down}}), "");
  EXPECT_EQ(why({{K::peft_target_modules, down}, {K::tensor_model_parallel_size, Value(2)}}),
            "DoRA adapters of down projections");
}

TEST(AdaptersNotModelled, NamesCanonicalAdaptersThatDoNotStart) {
  const auto why = [](const Value& names) {
    return AdaptersNotModelled(With({{K::peft_scheme, Value("canonical_lora")}, {K::peft_target_modules, names}}));
  };
  EXPECT_EQ(AdaptersNotModelled(With({{K::peft_scheme, Value("canonical_lora")}})), "");
  EXPECT_EQ(why(Names({"linear_q", "linear_k", "linear_v", "linear_proj"})), "");
  EXPECT_EQ(why(Names({"linear_fc1_up", "linear_fc1_gate"})), "");
  for (const Value& names :
       {Names({"linear_q"}), Names({"linear_fc1_up"}), Names({"linear_qkv"}), Names({"linear_fc1"})}) {
    EXPECT_EQ(why(names), "adapters of single layers") << names.ToText();
  }
}

TEST(AdaptersOf, StandBesideAllLayersButSome) {
  const Config config = With({{K::peft_scheme, Value("lora")},
                              {K::peft_target_modules, Names({})},
                              {K::peft_exclude_modules, Names({"*out_proj*", "linear_fc1"})}});
  EXPECT_EQ(AdaptersNotModelled(config), "");
  const unsigned targets = AdaptersOf(config).targets;
  EXPECT_EQ(targets & (kAdaptOutProj | kAdaptFc1 | kAdaptExperts), 0u);
  EXPECT_NE(targets & kAdaptInProj, 0u);
  EXPECT_NE(targets & kAdaptFc2, 0u);
}

// Llama-3 70B: hidden 8192, 64 heads and 8 groups of 128, so that linear_qkv is 8192 x 10240.
TEST(AdapterParameters, AreThoseOfBothMatrices) {
  const ModelShape shape = ShapeOf("llama-3.1-70b");
  Adapters adapters;
  adapters.rank = 16;
  adapters.targets = kAdaptQkv;
  const AdapterSites sites = AdapterSitesOf(shape, shape.kinds[0]);
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 1, 1, 1).dense, 16 * (8192 + 10240));
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 4, 1, 1).dense, 16 * (8192 + 10240) / 4);
  adapters.inner_whole = true;
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 4, 1, 1).dense, 16 * (8192 + 10240 / 4));
}

// peft/dora_layers.py:36: a magnitude for each row of the weight, of which a rank has its share where the layer is
// column-parallel and all where it is row-parallel. Llama-3 70B: fc1 is 8192 x 57344, linear_proj 8192 x 8192.
TEST(AdapterParameters, OfDoraHaveAMagnitudeForEachOutput) {
  const ModelShape shape = ShapeOf("llama-3.1-70b");
  Adapters adapters = AdaptersOf(With({{K::peft_scheme, Value("dora")}, {K::peft_dim, Value(16)}}));
  const AdapterSites sites = AdapterSitesOf(shape, shape.kinds[0]);
  const auto of = [&](unsigned target, double tp) {
    adapters.targets = static_cast<uint16_t>(target);
    return AdapterParametersOf(sites, adapters, tp, 1, 1).dense;
  };
  EXPECT_EQ(of(kAdaptFc1, 1), 16 * (8192 + 57344) + 57344);
  EXPECT_EQ(of(kAdaptFc1, 4), (16 * (8192 + 57344) + 57344) / 4);
  EXPECT_EQ(of(kAdaptProj, 1), 16 * (8192 + 8192) + 8192);
  EXPECT_EQ(of(kAdaptProj, 4), 16 * (8192 + 8192) / 4 + 8192);
  EXPECT_EQ(of(kAdaptFc1 | kAdaptFc2 | kAdaptQkv | kAdaptProj, 1),
            16 * (8192 + 57344) + 57344 + 16 * (28672 + 8192) + 8192 + 16 * (8192 + 10240) + 10240 + 16 * 16384 + 8192);
}

// peft/canonical_lora.py:334-352: each of q, k and v reads the whole input; gate and up write half of fc1's output.
TEST(AdapterParameters, OfCanonicalAdaptersReadTheInputOnceForEachPart) {
  const ModelShape shape = ShapeOf("llama-3.1-70b");
  const Adapters adapters = AdaptersOf(With({{K::peft_scheme, Value("canonical_lora")}, {K::peft_dim, Value(16)}}));
  const AdapterSites sites = AdapterSitesOf(shape, shape.kinds[0]);
  const double qkv = 16 * (8192 + 8192) + 2 * 16 * (8192 + 1024), fc1 = 2 * 16 * (8192 + 28672);
  const double others = 16 * (8192 + 8192) + 16 * (28672 + 8192);
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 1, 1, 1).dense, qkv + fc1 + others);
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 8, 1, 1).dense, (qkv + fc1 + others) / 8);
}

TEST(AdapterParameters, OfExpertsAreSharedOrEachItsOwn) {
  const ModelShape shape = ShapeOf("qwen3-30b-a3b");
  Adapters adapters;
  adapters.rank = adapters.expert_rank = 8;
  adapters.targets = kAdaptFc1 | kAdaptFc2 | kAdaptExperts;
  const AdapterSites sites = AdapterSitesOf(shape, shape.kinds[0]);
  const double one = 8 * ((2048 + 2 * 768) + (768 + 2048));
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 1, 8, 1).expert, one);
  adapters.shared_by_experts = false;
  EXPECT_EQ(AdapterParametersOf(sites, adapters, 1, 8, 1).expert, one * 128 / 8);
}

class AdapterMemory : public ::testing::Test {
 protected:
  AdapterMemory() : shape_(ShapeOf("qwen3-8b")), stages_(StagesOfSizes(shape_, 1, 1, {shape_.num_layers})) {
    plan_.stages = &stages_;
    plan_.gpus = plan_.tp = 2;
    plan_.sequence_parallel = true;
    plan_.distributed_optimizer = true;
    plan_.seq_length = 8192;
    plan_.global_batch_size = 8;
    plan_.loss = LossKind::kNativeFused;
  }
  StageBytes Bytes() const { return MemoryModel(shape_, plan_, {}).Stage(0); }
  void Train(unsigned targets) {
    plan_.adapters.rank = plan_.adapters.expert_rank = 32;
    plan_.adapters.targets = static_cast<uint16_t>(targets);
  }

  const ModelShape shape_;
  const StageLayout stages_;
  Candidate plan_;
};

TEST_F(AdapterMemory, HasGradientsAndStateOfWhatIsTrainedAlone) {
  const StageBytes whole = Bytes();
  Train(kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2);
  const StageBytes adapters = Bytes();
  EXPECT_LT(adapters[MemoryPart::kGradients], 0.01 * whole[MemoryPart::kGradients]);
  EXPECT_LT(adapters[MemoryPart::kOptimizerState], 0.01 * whole[MemoryPart::kOptimizerState]);
  EXPECT_GT(adapters[MemoryPart::kParameters], whole[MemoryPart::kParameters]);
  EXPECT_LT(adapters[MemoryPart::kParameters], 1.02 * whole[MemoryPart::kParameters]);
  EXPECT_EQ(adapters[MemoryPart::kWeightScratch], 0);
  EXPECT_NEAR(adapters[MemoryPart::kGradients] / adapters[MemoryPart::kOptimizerState], 4.0 / 12, 1e-9);
}

TEST_F(AdapterMemory, KeepsNoInputOfAFrozenLayerWithoutAnAdapter) {
  Train(kAdaptQkv);
  const StageBytes one = Bytes();
  Train(kAdaptQkv | kAdaptFc2);
  const StageBytes two = Bytes();
  // fc2's input, split over two ranks, and the rank's own output.
  const double layers = 36, tokens = 8192;
  EXPECT_NEAR(two[MemoryPart::kDenseMlp] - one[MemoryPart::kDenseMlp], layers * tokens * 2 * (12288.0 / 2 + 32), 1e3);
}

// The sum that is scaled, of each layer's outputs: linear_proj's hidden states on the rank's own tokens.
TEST_F(AdapterMemory, KeepsTheOutputsThatDoraScales) {
  Train(kAdaptProj);
  const StageBytes plain = Bytes();
  plan_.adapters.magnitudes = true;
  const StageBytes scaled = Bytes();
  const double layers = 36, tokens = 8192, hidden = 4096;
  EXPECT_NEAR(scaled[MemoryPart::kAttention] - plain[MemoryPart::kAttention], layers * 2 * hidden * tokens / 2, 1e3);
  plan_.adapters.dropout = true;
  EXPECT_GT(Bytes()[MemoryPart::kAttention], scaled[MemoryPart::kAttention] + layers * 2 * hidden * tokens / 2);
}

// Published (Megatron-Bridge@067f987df skills/nemo-mbridge-perf-memory-tuning/card.yaml:176): Qwen3-8B at TP 2 and
// sequences of 8192 saves 47.545 - 42.814 = 4.731 GB; a microbatch of one sample is what gives it.
TEST_F(AdapterMemory, SavesByGatheringInputsAgainWhatWasMeasured) {
  Train(kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2);
  const double kept = Bytes().Allocated();
  plan_.adapters.regather = true;
  EXPECT_NEAR((kept - Bytes().Allocated()) / 1e9, 4.731, 0.25);
}

}  // namespace
}  // namespace flightplan
