#include "resolver/stacks/flagscale/dialect.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr char kExperiment[] = R"(defaults:
  - _self_
  - train: 7b
experiment:
  exp_name: tiny
  seed: 42
  task: {type: train, backend: megatron, entrypoint: flagscale/train/train_gpt.py}
  runner: {nnodes: 2, nproc_per_node: 8}
  envs:
    CUDA_DEVICE_MAX_CONNECTIONS: 1
action: run
)";

constexpr char kTrain[] = R"(system:
  no_shared_fs: false
  tensor_model_parallel_size: 2
  sequence_parallel: true
  precision: {bf16: true}
  log_dir: /logs
model:
  num_layers: 4
  hidden_size: 64
  num_attention_heads: 4
  disable_bias_linear: true
  seed: ${experiment.seed}
  optimizer: {lr_scheduler: {lr: 3.0e-4}}
data:
  tokenizer: {tokenizer_type: QwenTokenizerFS, vocab_size: 1024}
  data_path: ${data.of.another.file}
)";

const Stack& FlagScale() { return *FindStack("flagscale"); }

Environment Env() {
  Environment env;
  env.target = FlagScale().target;
  env.core_release = FlagScale().core_release(kMain);
  env.model_files = {{"train/7b.yaml", kTrain}};
  return env;
}

TEST(ParseFlagScale, MakesFlagsOfTheGroupThatTheExperimentNames) {
  const Environment env = Env();
  const ParseResult read = ParseFlagScaleYaml(kExperiment, env);
  EXPECT_TRUE(read.findings.empty());
  for (const auto& [knob, value] : std::vector<std::pair<K, Value>>{{K::num_layers, Value(4)},
                                                                    {K::tensor_model_parallel_size, Value(2)},
                                                                    {K::sequence_parallel, Value(true)},
                                                                    {K::bf16, Value(true)},
                                                                    {K::add_bias_linear, Value(false)},
                                                                    {K::seed, Value(42)},
                                                                    {K::lr, Value(3e-4)},
                                                                    {K::vocab_size, Value(1024)},
                                                                    {K::launch_num_gpus, Value(16)}}) {
    EXPECT_EQ(Final(read, knob), value) << Name(knob);
  }
  EXPECT_EQ(read.gpus_per_node, 8);
  EXPECT_EQ(read.recipe_vars, (EnvVars{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}));
}

TEST(ParseFlagScale, KnowsTheFlagsOfItsFork) {
  const auto read = [](absl::string_view model) {
    Environment env = Env();
    env.model_files["train/7b.yaml"] = absl::StrCat("model:\n  num_layers: 4\n  hidden_size: 4096\n", model);
    return ParseFlagScaleYaml(kExperiment, env);
  };
  // validate_args of its patch: int(8 * 4096 / 3) is 10922, times 1.3 is 14198, in units of 256.
  EXPECT_EQ(Final(read("  swiglu: true\n  multiple_of: 256\n"), K::ffn_hidden_size), Value(11008));
  EXPECT_EQ(Final(read("  swiglu: true\n  multiple_of: 256\n  hidden_dim_multiplier: 1.3\n"), K::ffn_hidden_size),
            Value(14336));
  EXPECT_EQ(Final(read("  multiple_of: 256\n"), K::ffn_hidden_size), std::nullopt) << "of gated layers alone";
  for (const char* style : {"cosine", "stablelm2-scheduler"}) {  // the second is its own
    EXPECT_EQ(Final(read(absl::StrCat("  lr_decay_style: ", style, "\n")), K::lr_decay_style), Value(style));
  }
  const ParseResult hidden = read("  swiglu: true\n  multiple_of: ${of.another.file}\n");
  EXPECT_EQ(hidden.unknown, std::vector<K>{K::ffn_hidden_size});
  const ParseResult adapters = read("  peft_type: lora\n  lora_dim: 32\n  lora_target_modules: [linear_qkv]\n");
  EXPECT_EQ(Final(adapters, K::peft_scheme), Value("lora"));
  EXPECT_EQ(Final(adapters, K::peft_dim), Value(32));
  EXPECT_EQ(Final(adapters, K::peft_target_modules), Value(Value::List{Value("linear_qkv")}));
  EXPECT_EQ(Final(read("  peft_type: lora\n"), K::peft_dim), Value(8)) << "its default";
  EXPECT_EQ(Final(read("  peft_type: lora\n"), K::peft_alpha), Value(16)) << "its default";
  EXPECT_EQ(read("  peft_type: other\n").others.not_modelled, "adapters of FlagScale's own");
  EXPECT_EQ(read("  norm_init_weight: heavy\n").findings.size(), 1u) << "of a kind that it does not take";
}

TEST(ParseFlagScale, BehindItselfAGroupStandsOverTheFile) {
  Environment env = Env();
  const std::string own = "train: {model: {num_layers: 8}}\n";
  EXPECT_EQ(Final(ParseFlagScaleYaml(absl::StrCat(kExperiment, own), env), K::num_layers), Value(4));
  const std::string before = "defaults:\n  - train: 7b\n  - _self_\n";
  EXPECT_EQ(Final(ParseFlagScaleYaml(absl::StrCat(before, own), env), K::num_layers), Value(8));
  env.model_files.clear();
  const ParseResult alone = ParseFlagScaleYaml(absl::StrCat(before, own), env);
  EXPECT_EQ(alone.wanted_files, std::vector<std::string>{"train/7b.yaml"});
  EXPECT_EQ(alone.elsewhere, "in train/7b.yaml");
}

TEST(ParseFlagScale, RefusesWhatItsParserWould) {
  const Environment env = Env();
  const ParseResult read =
      ParseFlagScaleYaml("train: {model: {num_layers: four, num_experts: 8, own_flag_of_the_fork: 1}}\n", env);
  ASSERT_EQ(read.findings.size(), 1u);
  EXPECT_EQ(read.findings[0].finding.rule_id, "mlm.argparse");
  EXPECT_EQ(read.findings[0].at.line, 1);
  EXPECT_EQ(Final(read, K::num_moe_experts), Value(8));
}

TEST(ParseFlagScale, WhatItsForkAddsIsNotJudged) {
  const Environment env = Env();
  const ParseResult read =
      ParseFlagScaleYaml("train: {system: {enable_hetero: true}, model: {swiglu: true, multiple_of: 256}}\n", env);
  EXPECT_FALSE(read.elsewhere.empty());
  EXPECT_EQ(read.others.not_modelled, "layouts that differ from stage to stage");
  EXPECT_EQ(read.unknown, std::vector<Knob>{K::ffn_hidden_size});
}

TEST(ParseFlagScale, ReadsALaunchWithOverrides) {
  Environment env = Env();
  env.model_files = {{"conf/exp.yaml", kExperiment}, {"conf/train/7b.yaml", kTrain}};
  std::vector<Argument> args;
  for (const char* word : {"--config-path", "conf", "--config-name=exp", "action=run", "train.model.num_layers=6",
                           "++train.system.context_parallel_size=2"}) {
    args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  }
  EXPECT_TRUE(FlagScale().marks.launch("run.py", args));
  EXPECT_FALSE(FlagScale().marks.launch("train.py", args));
  const ParseResult read = ParseFlagScale(args, env);
  EXPECT_EQ(Final(read, K::num_layers), Value(6));
  EXPECT_EQ(Final(read, K::context_parallel_size), Value(2));
}

TEST(RenderFlagScale, WritesItsForksAdapters) {
  const Environment env = Env();
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::peft_scheme, "lora", Origin::kCaller);
  config.Set(K::peft_alpha, 64, Origin::kCaller);
  config.Set(K::peft_share_expert_adapters, false, Origin::kCaller);
  const Launch launch = RenderFlagScale({config, env, EnvVars()});
  for (const char* word :
       {"++train.model.peft_type=lora", "++train.model.lora_dim=32", "++train.model.lora_alpha=64"}) {
    EXPECT_TRUE(absl::c_linear_search(launch.argv, word)) << word;
  }
  EXPECT_EQ(launch.unspelled, std::vector<K>{K::peft_share_expert_adapters});
}

}  // namespace
}  // namespace flightplan
