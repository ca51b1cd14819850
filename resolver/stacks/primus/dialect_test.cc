#include "resolver/stacks/primus/dialect.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr char kExperiment[] = R"(work_group: amd
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: ${PRIMUS_MODEL:tiny}.yaml
    overrides:
      train_iters: 50
      seq_length: ${PRIMUS_SEQ_LENGTH:4096}
      lr_decay_iters: null
      pipeline_model_parallel_size: ${PRIMUS_PP:2}
      fp8: ${PRIMUS_FP8:null}
      wandb_project: "a name that is no argument of Megatron's"
)";

const Stack& Primus() { return *FindStack("primus"); }

Environment Env() {
  Environment env;
  env.target = Primus().target;
  env.core_release = Primus().core_release(kMain);
  env.model_files = {
      {"primus/configs/modules/megatron/pre_trainer.yaml", "extends:\n  - base.yaml\nmicro_batch_size: 4\n"},
      {"primus/configs/modules/megatron/base.yaml", "micro_batch_size: 2\nbf16: true\nsequence_parallel: true\n"},
      {"primus/configs/models/megatron/tiny.yaml",
       "extends: base.yaml\nnum_layers: 8\nnum_experts: 16\nmoe_layer_freq: \"([0]*1+[1]*7)\"\napply_rope_fusion: "
       "false\n"},
      {"primus/configs/models/megatron/base.yaml", "num_layers: 4\nnorm_epsilon: 1.0e-06\n"},
      {"primus/configs/models/megatron/other.yaml", "num_layers: 6\n"},
  };
  return env;
}

TEST(ParsePrimus, LaysTheExperimentOverItsPresets) {
  const Environment env = Env();
  const ParseResult read = ParsePrimusYaml(kExperiment, env);
  EXPECT_TRUE(read.findings.empty());
  EXPECT_TRUE(read.wanted_files.empty());
  EXPECT_EQ(Final(read, K::num_layers), Value(8)) << "the model's own over what it extends";
  EXPECT_EQ(Final(read, K::micro_batch_size), Value(4));
  EXPECT_EQ(Final(read, K::bf16), Value(true));
  EXPECT_EQ(Final(read, K::num_moe_experts), Value(16)) << "a key is an argument's name, not a class's";
  EXPECT_EQ(Final(read, K::layernorm_epsilon), Value(1e-6));
  EXPECT_EQ(Final(read, K::apply_rope_fusion), Value(false));
  EXPECT_EQ(Final(read, K::seq_length), Value(4096)) << "no variable is set";
  EXPECT_EQ(Final(read, K::fp8), Value()) << "null in words";
  EXPECT_EQ(Final(read, K::sequence_parallel), Value(false)) << "at TP 1";
  ASSERT_TRUE(Final(read, K::moe_layer_freq).has_value());
  EXPECT_TRUE(Final(read, K::moe_layer_freq)->is_list());
  EXPECT_EQ(read.recipe_vars, (EnvVars{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}));
}

TEST(ParsePrimus, VariablesChooseValuesAndPresets) {
  Environment env = Env();
  env.vars = {{"PRIMUS_MODEL", "other"}, {"PRIMUS_PP", "4"}};
  const ParseResult read = ParsePrimusYaml(kExperiment, env);
  EXPECT_EQ(Final(read, K::num_layers), Value(6));
  EXPECT_EQ(Final(read, K::pipeline_model_parallel_size), Value(4));
}

TEST(ParsePrimus, PresetsThatAreNotThereAreWanted) {
  Environment env = Env();
  env.model_files.clear();
  const ParseResult read = ParsePrimusYaml(kExperiment, env);
  EXPECT_EQ(read.wanted_files, (std::vector<std::string>{"primus/configs/modules/megatron/pre_trainer.yaml",
                                                         "primus/configs/models/megatron/tiny.yaml"}));
  EXPECT_FALSE(read.elsewhere.empty());
  EXPECT_EQ(Final(read, K::train_iters), Value(50));
}

TEST(ParsePrimus, WhatPatchesGiveAMeaningIsNotJudged) {
  const Environment env = Env();
  const ParseResult read =
      ParsePrimusYaml(absl::StrCat(kExperiment, "      recompute_granularity: full\n      recompute_layer_ids: 0,3\n",
                                   "      moe_router_score_function: sqrtsoftplus\n      patch_zero_bubble: true\n"),
                      env);
  for (const K knob : {K::recompute_granularity, K::recompute_method, K::moe_router_score_function}) {
    EXPECT_NE(std::find(read.unknown.begin(), read.unknown.end(), knob), read.unknown.end()) << Name(knob);
  }
  EXPECT_EQ(read.others.not_modelled, "Primus's own pipeline schedules");
}

TEST(ParsePrimus, MockDataTakesThePlaceOfPaths) {
  const Environment env = Env();
  const std::string paths = absl::StrCat(kExperiment, "      train_data_path: /data/c4\n");
  EXPECT_EQ(Final(ParsePrimusYaml(paths, env), K::train_data_path), Value("/data/c4"));
  const ParseResult mock = ParsePrimusYaml(absl::StrCat(paths, "      mock_data: true\n"), env);
  EXPECT_EQ(Final(mock, K::train_data_path), std::optional<Value>(Value()));
  EXPECT_EQ(Final(mock, K::tokenizer_type), Value("NullTokenizer"));
}

TEST(ParsePrimus, ReadsALaunchWithKeysToChange) {
  Environment env = Env();
  env.model_files["exp.yaml"] = kExperiment;
  std::vector<Argument> args;
  for (const char* word : {"train", "pretrain", "--config", "exp.yaml", "--num_layers", "12",
                           "--expert_model_parallel_size", "8", "micro_batch_size=1"}) {
    args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  }
  EXPECT_TRUE(Primus().marks.launch("primus/cli/main.py", args));
  EXPECT_FALSE(Primus().marks.launch("main.py", args));
  const ParseResult read = ParsePrimus(args, env);
  EXPECT_EQ(Final(read, K::num_layers), Value(12));
  EXPECT_EQ(Final(read, K::micro_batch_size), Value(1));
  EXPECT_EQ(Final(read, K::expert_model_parallel_size), Value(8)) << "it begins as --exp does";
  EXPECT_TRUE(read.wanted_files.empty());
  EXPECT_EQ(Final(read, K::seq_length), Value(4096));
}

// The preset of the experiment says which program builds the model, gpt where it does not.
TEST(RenderPrimus, SaysThatLayersAreThoseOfAPattern) {
  const auto words = [](K pattern) {
    Config config = DefaultsFor(Target::kMegatronLm, 17, kMain, false);
    config.Set(pattern, "M*", Origin::kModel);
    config.Set(K::hidden_size, 64, Origin::kModel);
    const Launch launch = RenderPrimus({config, Env(), {}});
    return std::set<std::string>(launch.argv.begin(), launch.argv.end());
  };
  const std::set<std::string> hybrid = words(K::hybrid_layer_pattern), gpt = words(K::num_layers);
  EXPECT_EQ(hybrid.count("model_type=mamba"), 1U);
  EXPECT_EQ(hybrid.count("spec=[megatron.core.models.mamba.mamba_layer_specs,mamba_stack_spec]"), 1U);
  EXPECT_EQ(gpt.count("model_type=mamba"), 0U);
}

// Of an experiment of another backend nothing is Megatron's.
TEST(ParsePrimus, KeysOfTheLaunchStandWithoutTheExperiment) {
  Environment env = Env();
  std::vector<Argument> args;
  for (const char* word : {"train", "pretrain", "--config", "exp.yaml", "num_layers=12"}) {
    args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  }
  const ParseResult read = ParsePrimus(args, env);
  EXPECT_EQ(Final(read, K::num_layers), Value(12));
  EXPECT_EQ(read.elsewhere, "in exp.yaml");
  env.model_files["exp.yaml"] = "modules:\n  pre_trainer:\n    framework: torchtitan\n";
  EXPECT_TRUE(ParsePrimus(args, env).knobs.empty());
}

}  // namespace
}  // namespace flightplan
