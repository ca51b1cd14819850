#include "resolver/stacks/megatron_bridge/dialect.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "tests/support/bridge_launch.h"

namespace flightplan {
namespace {

using K = Knob;
using testing::BridgeEnv;
using testing::LastOf;

Config Defaults(const Environment& env) {
  return DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
}

// A mixture-of-experts plan of 16 GPUs as decisions would leave it: nothing in it knows Bridge's sections.
Config Plan(const Environment& env) {
  Config config = Defaults(env);
  const std::vector<std::pair<K, Value>> knobs = {
      {K::num_layers, 48},
      {K::hidden_size, 2048},
      {K::num_attention_heads, 32},
      {K::num_moe_experts, 128},
      {K::moe_ffn_hidden_size, 768},
      {K::moe_router_topk, 8},
      {K::add_bias_linear, false},
      {K::tensor_model_parallel_size, 1},
      {K::pipeline_model_parallel_size, 1},
      {K::expert_model_parallel_size, 16},
      {K::sequence_parallel, false},
      {K::moe_token_dispatcher_type, "alltoall"},
      {K::moe_flex_dispatcher_backend, Value()},
      {K::overlap_moe_expert_parallel_comm, true},
      {K::delay_wgrad_compute, false},
      {K::overlap_grad_reduce, true},
      {K::bf16, true},
      {K::params_dtype, "bf16"},
      {K::use_distributed_optimizer, true},
      {K::recompute_modules, Value::List{"moe_act", "layernorm"}},
      {K::recompute_granularity, "selective"},
      {K::micro_batch_size, 1},
      {K::global_batch_size, 1024},
      {K::train_iters, 8},
      {K::seq_length, 4096},
      {K::pipeline_model_parallel_layout, Value()},
  };
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kDecided);
  return config;
}

Config Applied(const ParseResult& parsed, const Environment& env) {
  Config config = Defaults(env);
  ApplyKnobs(parsed.knobs, &config);
  return config;
}

// Every knob's final value after the launch's own changes.
void ExpectSameLaunch(const Config& a, const Config& b, const Environment& env) {
  const RunResult left = Run(a, env);
  const RunResult right = Run(b, env);
  for (int i = 0; i < kKnobCount; ++i) {
    const K knob = static_cast<K>(i);
    const Section section = Row(knob).section;
    if (section != Section::kModel && section != Section::kDdp && section != Section::kOptimizer) continue;
    EXPECT_EQ(left.config.Get(knob).ToJson(), right.config.Get(knob).ToJson()) << Name(knob);
  }
  EXPECT_EQ(left.findings.size(), right.findings.size());
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool HasPair(const std::vector<std::string>& words, const std::string& flag, const std::string& value) {
  auto it = std::find(words.begin(), words.end(), flag);
  return it != words.end() && it + 1 != words.end() && *(it + 1) == value;
}

TEST(RenderBridge, WritesOverlapAndPrecisionWhereTheyAreNotOverwritten) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  UseTargetNames(env.target, &config);
  const Launch launch = RenderBridge({config, env, {}});
  EXPECT_TRUE(Has(launch.argv, "++comm_overlap.overlap_moe_expert_parallel_comm=true"));
  EXPECT_TRUE(Has(launch.argv, "++comm_overlap.overlap_grad_reduce=true"));
  EXPECT_TRUE(Has(launch.argv, "mixed_precision=bf16_mixed"));
  // Most recipes have no such object, and an override reaches no field of what is not there.
  EXPECT_TRUE(Has(launch.argv, "++comm_overlap._target_=megatron.bridge.training.comm_overlap.CommOverlapConfig"));
  EXPECT_TRUE(Has(launch.argv, "++comm_overlap.tp_comm_overlap=null"));
  EXPECT_FALSE(Has(launch.argv, "model.overlap_moe_expert_parallel_comm=true"));
  EXPECT_FALSE(Has(launch.argv, "model.bf16=true"));
  EXPECT_TRUE(Has(launch.argv, "model.recompute_modules=[moe_act,layernorm]"));
  EXPECT_TRUE(Has(launch.argv, "dataset.seq_length=4096"));
  EXPECT_TRUE(Has(launch.argv, "optimizer.use_distributed_optimizer=true"));
  EXPECT_NE(launch.text.find("--nnodes 2 --nproc-per-node 8"), std::string::npos);
}

TEST(RenderBridge, ParsesBackToTheSameLaunch) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  UseTargetNames(env.target, &config);
  const ParseResult parsed = ParseBridge(RenderBridge({config, env, {}}).argv, env);
  EXPECT_TRUE(parsed.findings.empty());
  ExpectSameLaunch(config, Applied(parsed, env), env);
}

// Gemma-3's provider unpacks a pair of rotary bases and takes one from a number of tokens.
TEST(RenderBridge, LeavesToAProviderWhatItHasInAFormOfItsOwn) {
  Environment env = BridgeEnv();
  Config config = Plan(env);
  const std::pair<K, Value> knobs[] = {{K::rotary_base, 1000000},
                                       {K::window_size, Value::List{1023, 0}},
                                       {K::window_attn_skip_freq, 6},
                                       {K::attention_output_gate, false}};
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kModel);
  EXPECT_TRUE(Has(RenderBridge({config, env, {}}).argv, "model.window_size=[1023,0]"));
  for (const char* own :
       {"Gemma3ForCausalLM", "Gemma4ForConditionalGeneration", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM"}) {
    env.model_class = own;
    const Launch launch = RenderBridge({config, env, {}});
    for (const auto& [knob, value] : knobs) {
      const std::string word = absl::StrCat("model.", Name(knob), "=");
      EXPECT_TRUE(std::none_of(launch.argv.begin(), launch.argv.end(),
                               [&](const std::string& said) { return absl::StartsWith(said, word); }))
          << own << " " << word;
    }
  }
  config.Set(K::window_size, Value(512), Origin::kCaller);  // the caller's word stays
  EXPECT_TRUE(Has(RenderBridge({config, env, {}}).argv, "model.window_size=512"));
}

TEST(RenderBridge, WritesARecipeWithOwnFieldsOutAsFields) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  config.Set(K::fp8, "e4m3", Origin::kDecided);
  config.Set(K::fp8_recipe, "mxfp8", Origin::kDecided);
  config.Set(K::fp8_margin, 2, Origin::kDecided);
  UseTargetNames(env.target, &config);
  EXPECT_EQ(config.Get(K::mixed_precision_recipe).text(), "bf16_with_mxfp8_mixed");
  const Launch launch = RenderBridge({config, env, {}});
  EXPECT_TRUE(Has(launch.argv, "++mixed_precision.fp8_margin=2"));
  EXPECT_TRUE(Has(launch.argv, "++mixed_precision.fp8_recipe=mxfp8"));
  EXPECT_FALSE(Has(launch.argv, "mixed_precision=bf16_with_mxfp8_mixed"));
  ExpectSameLaunch(config, Applied(ParseBridge(launch.argv, env), env), env);
}

TEST(ParseBridge, KeepsWhatWasWrittenAndWhere) {
  const std::vector<std::string> argv = {"model.expert_model_parallel_size=8", "comm_overlap=null",
                                         "model.params_dtype=torch.bfloat16", "+env_vars.NVTE_CPU_OFFLOAD_V1=1",
                                         "checkpoint.save=/out"};
  const ParseResult parsed = ParseBridge(argv, BridgeEnv());
  ASSERT_EQ(parsed.knobs.size(), 4u);
  EXPECT_TRUE(parsed.findings.empty());
  EXPECT_EQ(parsed.knobs[0].knob, K::expert_model_parallel_size);
  EXPECT_EQ(parsed.knobs[3].knob, K::save);
  EXPECT_EQ(parsed.knobs[1].knob, K::comm_overlap_configured);
  EXPECT_EQ(parsed.knobs[1].at.index, 1);
  EXPECT_EQ(parsed.knobs[2].value.text(), "bf16");
  EXPECT_FALSE(CommOverlapConfigured(Applied(parsed, BridgeEnv())));
  EXPECT_EQ(parsed.recipe_vars.at("NVTE_CPU_OFFLOAD_V1"), "1");
}

TEST(ParseBridge, NamesTheNearestFieldAndTheRelease) {
  Environment env = BridgeEnv();
  const ParseResult misspelt = ParseBridge({std::string("model.expert_model_paralel_size=8")}, env);
  ASSERT_EQ(misspelt.findings.size(), 1u);
  EXPECT_EQ(misspelt.findings[0].finding.rule_id, "bridge-override.unknown");
  EXPECT_NE(misspelt.findings[0].finding.needs.find("model.expert_model_parallel_size"), std::string::npos);
  env.bridge_release = 4;
  EXPECT_FALSE(ParseBridge({std::string("ddp.num_buckets=4")}, env).ok());
  env.bridge_release = 5;
  EXPECT_TRUE(ParseBridge({std::string("ddp.num_buckets=4")}, env).ok());
}

TEST(ParseBridge, RefusesWhatHydraRefuses) {
  for (const char* text : {"model", "model=3", "=4", "model.num_layers=1,2", "~model.num_layers", "nowhere.x=1"}) {
    EXPECT_FALSE(ParseBridge({std::string(text)}, BridgeEnv()).ok()) << text;
  }
}

TEST(ParseBridge, TakesWhatAVariableCanHold) {
  for (const char* text : {"env_vars.A=1", "env_vars.A=on", "env_vars.A=0.5", "++env_vars.A=true"}) {
    EXPECT_TRUE(ParseBridge({std::string(text)}, BridgeEnv()).findings.empty()) << text;
  }
  for (const char* text : {"env_vars.A=null", "env_vars.A=[1,2]"}) {
    const ParseResult parsed = ParseBridge({std::string(text)}, BridgeEnv());
    ASSERT_EQ(parsed.findings.size(), 1u) << text;
    EXPECT_EQ(parsed.findings[0].finding.rule_id, "env.vars-scalar");
    EXPECT_TRUE(parsed.recipe_vars.empty());
  }
  Environment older = BridgeEnv();
  older.bridge_release = 5;  // the section came with 0.6
  EXPECT_FALSE(ParseBridge({std::string("env_vars.A=1")}, older).ok());
}

TEST(ParseBridge, KnowsWhetherDataIsPackedAheadOfTime) {
  const auto packed = [](const char* text) {
    const ParseResult parsed = ParseBridge({std::string(text)}, BridgeEnv());
    return parsed.knobs.empty() ? Value() : Applied(parsed, BridgeEnv()).Get(K::dataset_offline_packing_specs);
  };
  EXPECT_EQ(packed("dataset.offline_packing_specs=null"), Value(false));
  EXPECT_EQ(packed("dataset.offline_packing_specs.packed_sequence_size=4096"), Value(true));
  EXPECT_EQ(packed("dataset.whatever=null"), Value());
}

TEST(RenderBridgePerf, WritesTheHarnessCommandOfThePublishedSmokeTest) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  config.Set(K::launch_recipe, "qwen/qwen3_30b_a3b@v1", Origin::kCaller);
  config.Set(K::launch_hardware_target, "H100", Origin::kCaller);
  config.Set(K::cuda_graph_impl, "none", Origin::kDecided);
  UseTargetNames(env.target, &config);
  const Launch launch = RenderBridgePerf({config, env, {}});
  EXPECT_TRUE(HasPair(launch.argv, "-m", "qwen"));
  EXPECT_TRUE(HasPair(launch.argv, "-mr", "qwen3_30b_a3b"));
  EXPECT_TRUE(HasPair(launch.argv, "-cv", "v1"));
  EXPECT_TRUE(HasPair(launch.argv, "--task", "pretrain"));
  EXPECT_TRUE(HasPair(launch.argv, "-g", "h100"));
  EXPECT_TRUE(HasPair(launch.argv, "-c", "bf16"));
  EXPECT_TRUE(HasPair(launch.argv, "-ng", "16"));
  EXPECT_TRUE(HasPair(launch.argv, "-gn", "8"));
  EXPECT_TRUE(HasPair(launch.argv, "--max_steps", "8"));
  EXPECT_TRUE(HasPair(launch.argv, "--cuda_graph_impl", "none"));
  EXPECT_TRUE(HasPair(launch.argv, "--moe_flex_dispatcher_backend", "None"));
  EXPECT_TRUE(HasPair(launch.argv, "--moe_a2a_overlap", "false"));
  EXPECT_TRUE(Has(launch.argv, "comm_overlap.overlap_moe_expert_parallel_comm=true"));
  EXPECT_TRUE(Has(launch.argv, "comm_overlap.delay_wgrad_compute=false"));
}

TEST(RenderBridgePerf, ParsesBackToTheSameLaunch) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  config.Set(K::use_precision_aware_optimizer, true, Origin::kDecided);  // the harness insists on it with bf16
  config.Set(K::cuda_graph_impl, "transformer_engine", Origin::kDecided);
  config.Set(K::cuda_graph_modules, Value::List{"attn"}, Origin::kDecided);
  config.Set(K::te_rng_tracker, true, Origin::kDecided);
  UseTargetNames(env.target, &config);
  const ParseResult parsed = ParseBridgePerf(RenderBridgePerf({config, env, {}}).argv, env);
  EXPECT_TRUE(parsed.findings.empty());
  ExpectSameLaunch(config, Applied(parsed, env), env);
}

TEST(RenderBridgePerf, KeepsSequenceParallelismApartFromTheTpFlag) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  config.Set(K::tensor_model_parallel_size, 2, Origin::kDecided);
  UseTargetNames(env.target, &config);
  const Launch without = RenderBridgePerf({config, env, {}});
  EXPECT_FALSE(Has(without.argv, "-tp"));
  EXPECT_TRUE(Has(without.argv, "model.tensor_model_parallel_size=2"));
  config.Set(K::sequence_parallel, true, Origin::kDecided);
  EXPECT_TRUE(HasPair(RenderBridgePerf({config, env, {}}).argv, "-tp", "2"));
}

TEST(ParseBridgePerf, FlagsWinOverOverrides) {
  const std::vector<std::string> argv = {"-ep", "8",     "model.expert_model_parallel_size=4", "-vp", "None",
                                         "-c",  "fp8_cs"};
  const Config config = Applied(ParseBridgePerf(argv, BridgeEnv()), BridgeEnv());
  EXPECT_EQ(config.Get(K::expert_model_parallel_size).integer(), 8);
  EXPECT_TRUE(config.Get(K::virtual_pipeline_model_parallel_size).is_none());
  EXPECT_EQ(config.Get(K::mixed_precision_recipe).text(), "bf16_with_fp8_current_scaling_mixed");
  EXPECT_FALSE(config.Get(K::mixed_precision_first_last_layers_bf16).truthy());
}

TEST(ParseBridgePerf, PassesOverTheScopeOfNoGraphs) {
  const auto graphs = [](const std::string& implementation) {
    const std::vector<std::string> argv = {"--cuda_graph_scope", "full_iteration", "--cuda_graph_impl", implementation};
    return Applied(ParseBridgePerf(argv, BridgeEnv()), BridgeEnv()).Get(Knob::cuda_graph_impl);
  };
  EXPECT_EQ(graphs("none"), Value("none"));
  EXPECT_EQ(graphs("local"), Value("full_iteration")) << "the scope is applied after the implementation";
}

TEST(ParseBridgePerf, ReportsEveryFaultOfALine) {
  const std::vector<std::string> argv = {"--cuda_graph_inpl", "none", "-g", "h800", "-ng", "many",
                                         "--moe_a2a_overlap", "on",   "-tp"};
  EXPECT_EQ(ParseBridgePerf(argv, BridgeEnv()).findings.size(), 6u);  // "none" alone is no override either
}

TEST(ParseBridge, ReadsTheAdaptersThatAreTrained) {
  const Environment env = BridgeEnv();
  const std::vector<std::string> none = {"model.num_layers=4"}, field = {"peft.dim=8"}, null = {"peft=null"},
                                 made = {"++peft._target_=megatron.bridge.peft.dora.DoRA", "++peft.dim=8"};
  EXPECT_FALSE(AdaptersConfigured(Applied(ParseBridge(none, env), env)));
  EXPECT_TRUE(AdaptersConfigured(Applied(ParseBridge(field, env), env))) << "an override of what the recipe brings";
  EXPECT_FALSE(AdaptersConfigured(Applied(ParseBridge(null, env), env)));
  EXPECT_EQ(LastOf(ParseBridge(made, env), K::peft_scheme), Value("dora"));
  EXPECT_EQ(LastOf(ParseBridge(made, env), K::peft_dim), Value(8));
  EXPECT_TRUE(ParseBridge(made, env).ok());
}

// Adapters are trained on a model that the launch has to load, which no recipe and no plan knows.
TEST(RenderBridge, AsksForTheModelBelowTheAdapters) {
  const auto asked = [](const std::vector<std::string>& words) {
    const Environment env = BridgeEnv();
    const Config config = Applied(ParseBridge(words, env), env);
    const Launch launch = RenderBridge({config, env, {}});
    return std::any_of(launch.required_inputs.begin(), launch.required_inputs.end(),
                       [](const RequiredInput& needed) { return needed.name == "pretrained_checkpoint"; });
  };
  EXPECT_TRUE(asked({"peft.dim=8"}));
  EXPECT_FALSE(asked({"peft.dim=8", "checkpoint.pretrained_checkpoint=/base"}));
  EXPECT_FALSE(asked({"model.num_layers=4"}));
}

TEST(ParseBridgePython, StartsFromARecipeByTheNameThatItIsImportedAs) {
  const ParseResult parsed = ParseBridgePython(
      "from megatron.bridge.recipes.qwen import (other, qwen3_30b_a3b_pretrain_config as pretrain)\n"
      "cfg = pretrain()\n"
      "cfg.model.expert_model_parallel_size = 8\n",
      BridgeEnv());
  EXPECT_EQ(parsed.base, "qwen3_30b_a3b_pretrain_config");
  EXPECT_EQ(LastOf(parsed, K::expert_model_parallel_size), Value(8));
  EXPECT_EQ(LastOf(parsed, K::moe_flex_dispatcher_backend), Value("hybridep"));
  EXPECT_EQ(ParseBridgePython("from elsewhere import x as pretrain\ncfg = pretrain()\n", BridgeEnv()).base, "");
}

// 2,000 starts that each put their recipe under the one before took 1.8 s.
TEST(ParseBridgePython, StartsAnewWhereARecipeIsCalledAgain) {
  std::string text =
      "from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config as pretrain\n"
      "cfg = pretrain()\n"
      "cfg.model.expert_model_parallel_size = 2\n"
      "cfg.model.recompute_modules = [\"moe_act\"]\n";
  const size_t once = ParseBridgePython(text, BridgeEnv()).knobs.size();
  for (int i = 0; i < 2000; ++i) text += "cfg = pretrain()\n";
  text += "cfg.model.pipeline_model_parallel_size = 2\n";
  const ParseResult parsed = ParseBridgePython(text, BridgeEnv());
  EXPECT_EQ(parsed.base, "qwen3_30b_a3b_pretrain_config");
  EXPECT_EQ(parsed.knobs.size() + 1, once);
  EXPECT_EQ(LastOf(parsed, K::pipeline_model_parallel_size), Value(2));
  EXPECT_NE(LastOf(parsed, K::expert_model_parallel_size), Value(2));
}

// What may be a field of a provider that we do not know is no fault; what is beyond the bound still counts.
TEST(ParseBridge, TellsAFaultBehindMoreFindingsThanItLists) {
  std::vector<std::string> words;
  for (size_t i = 0; i <= kMaxParseFindings; ++i) words.push_back(absl::StrCat("model.zzzzzzzzzzzz_", i, "=1"));
  const ParseResult known = ParseBridge(words, BridgeEnv());
  EXPECT_TRUE(known.ok());
  EXPECT_EQ(known.findings.size(), kMaxParseFindings + 1);
  EXPECT_EQ(known.findings.back().finding.rule_id, "input.limit");
  words.push_back("model.tensor_model_parallel_sizes=2");
  const ParseResult misspelt = ParseBridge(words, BridgeEnv());
  EXPECT_FALSE(misspelt.ok());
  EXPECT_EQ(misspelt.findings.size(), kMaxParseFindings + 1);
}

TEST(ParseBridgePerf, StartsFromTheAdaptersOfItsRecipe) {
  const std::vector<std::string> words = {"-mr", "llama3_70b", "--task", "peft", "-g", "h100", "-ng", "8"};
  const ParseResult parsed = ParseBridgePerf(words, BridgeEnv());
  EXPECT_EQ(LastOf(parsed, K::peft_dim), Value(16));
  EXPECT_EQ(LastOf(parsed, K::peft_target_modules), Value(Value::List{Value("linear_qkv")}));
}

TEST(RenderBridge, WritesAdaptersAsAnObjectOfTheirClass) {
  const Environment env = BridgeEnv();
  Config config = Plan(env);
  config.Set(K::peft_scheme, Value("lora"), Origin::kCaller);
  config.Set(K::peft_dim, Value(8), Origin::kCaller);
  const Launch launch = RenderBridge({config, env, {}});
  EXPECT_NE(std::find(launch.argv.begin(), launch.argv.end(), "++peft._target_=megatron.bridge.peft.lora.LoRA"),
            launch.argv.end());
  EXPECT_NE(std::find(launch.argv.begin(), launch.argv.end(), "++peft.dim=8"), launch.argv.end());
  EXPECT_NE(launch.text.find("--mode lora"), std::string::npos);
  const Config again = Applied(ParseBridge(launch.argv, env), env);
  EXPECT_TRUE(AdaptersConfigured(again));
  EXPECT_EQ(again.Get(K::peft_dim), Value(8));
}

}  // namespace
}  // namespace flightplan
