#include "resolver/stacks/nemo_rl/dialect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kBase = R"(grpo: {num_prompts_per_step: 32}
policy:
  model_name: Qwen/Qwen2.5-1.5B
  train_global_batch_size: 512
  train_micro_batch_size: 4
  max_total_sequence_length: 512
  precision: bfloat16
  dtensor_cfg: {enabled: false}
  sequence_packing:
    enabled: true
    train_mb_tokens: ${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}
  megatron_cfg:
    enabled: true
    activation_checkpointing: false
    tensor_model_parallel_size: 1
    expert_tensor_parallel_size: 1
    expert_model_parallel_size: 1
    pipeline_model_parallel_size: 1
    num_layers_in_first_pipeline_stage: null
    context_parallel_size: 1
    pipeline_dtype: ${policy.precision}
    sequence_parallel: false
    apply_rope_fusion: True
    offload_modules: null
    peft: {enabled: false, dim: 8, alpha: 32, target_modules: [], exclude_modules: [], dropout: 0.0}
    optimizer: {optimizer: adam, lr: 5e-6, use_distributed_optimizer: true}
    distributed_data_parallel_config: {grad_reduce_in_fp32: false, overlap_param_gather: true}
  generation: {backend: vllm, colocated: {enabled: true, resources: {gpus_per_node: null, num_nodes: null}}}
cluster: {gpus_per_node: 8, num_nodes: 1}
)";

constexpr absl::string_view kChild = R"(defaults: ../../base.yaml
policy:
  model_name: Qwen/Qwen3-30B-A3B
  max_total_sequence_length: 4096
  train_micro_batch_size: 1
  megatron_cfg:
    expert_model_parallel_size: 8
cluster: {num_nodes: 4}
)";

Environment Env() {
  Environment env;
  env.target = Target{7};
  env.model_files["../../base.yaml"] = std::string(kBase);
  return env;
}

// With lines of its own behind the child's.
ParseResult Read(absl::string_view more = "") { return ParseNemoRlYaml(absl::StrCat(kChild, more), Env()); }

TEST(ParseNemoRl, FollowsTheChainOfDefaults) {
  const ParseResult parsed = Read();
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(parsed.hf_model, "Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(Final(parsed, K::expert_model_parallel_size), Value(8));
  EXPECT_EQ(Final(parsed, K::tensor_model_parallel_size), Value(1));
  EXPECT_EQ(Final(parsed, K::launch_num_gpus), Value(32));
  EXPECT_EQ(Final(parsed, K::lr), Value(5e-6)) << "a number without a point, to OmegaConf";
  EXPECT_EQ(parsed.elsewhere, "");
}

TEST(ParseNemoRl, WantsTheFilesThatAreNotHere) {
  Environment env = Env();
  env.model_files.clear();
  const ParseResult parsed = ParseNemoRlYaml(kChild, env);
  EXPECT_EQ(parsed.wanted_files, std::vector<std::string>{"../../base.yaml"});
  EXPECT_EQ(parsed.elsewhere, "in ../../base.yaml");
  EXPECT_EQ(Ids(parsed), std::set<std::string>()) << "what is missing may stand there";
  env.model_files["../../base.yaml"] = "defaults: more/top.yaml\n";
  EXPECT_EQ(ParseNemoRlYaml(kChild, env).wanted_files, std::vector<std::string>{"../../more/top.yaml"});
}

TEST(ParseNemoRl, AFileThatNobodyCanNameMayHoldWhatIsMissing) {
  for (const char* config : {"", "--config $ROOT/a.yaml"}) {
    std::vector<Argument> args;
    for (const absl::string_view word :
         absl::StrSplit(absl::StrCat(config, " policy.megatron_cfg.enabled=true"), ' ', absl::SkipEmpty())) {
      args.push_back({std::string(word), {}, absl::StartsWith(word, "$")});
    }
    const ParseResult parsed = ParseNemoRl(args, Env());
    EXPECT_EQ(Ids(parsed), std::set<std::string>()) << config;
    EXPECT_NE(parsed.elsewhere, "") << config;
  }
}

TEST(ParseNemoRl, AChainThatNeverEndsIsCutShort) {
  Environment env = Env();
  env.model_files["../../base.yaml"] = "defaults: base.yaml\n";
  EXPECT_EQ(ParseNemoRlYaml(kChild, env).elsewhere, "in ../../base.yaml");
  // 100 at each of 16 steps would be 10^32 files.
  std::string many = "defaults:\n";
  for (int i = 0; i < 100; ++i) many += "- base.yaml\n";
  env.model_files["../../base.yaml"] = many;
  EXPECT_EQ(ParseNemoRlYaml(kChild, env).elsewhere, "in ../../base.yaml");
}

TEST(ParseNemoRl, ResolvesReferences) {
  EXPECT_EQ(Final(Read(), K::seq_length), Value(4096)) << "sequence x microbatch, of the child's values";
  EXPECT_EQ(Final(Read(), K::micro_batch_size), Value(1)) << "packed";
  const Environment env = Env();
  ParseResult result;
  LayeredSettings settings(kNemoSettings, env, &result);
  settings.AddText(
      "a: 6\nb: ${div:${a},4}\nc: ${add:${a}, ${mul:2,3}}\nd: x-${a}-${a}\ne: ${e}\nf: ${g}\nh: ${max:1,${a}}\n");
  EXPECT_EQ(settings.Find("b")->value, Value(1.5));
  EXPECT_EQ(settings.Number("c"), 12);
  EXPECT_EQ(settings.Text("d"), "x-6-6");
  EXPECT_EQ(settings.Find("e")->value, std::nullopt) << "of itself";
  EXPECT_EQ(settings.Find("f")->value, std::nullopt);
  EXPECT_EQ(settings.Number("h"), 6);
  EXPECT_FALSE(settings.Find("nothing").has_value());
}

TEST(ParseNemoRl, AReferenceToManyIsGivenUp) {
  std::string text = "a0: xxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 15; ++i) {
    const std::string of = absl::StrCat("${a", i - 1, "}");
    absl::StrAppend(&text, "a", i, ": \"", of, of, of, of, of, of, of, of, "\"\n");
  }
  const Environment env = Env();
  ParseResult result;
  LayeredSettings settings(kNemoSettings, env, &result);
  settings.AddText(text);
  EXPECT_EQ(settings.Find("a14")->value, std::nullopt);
}

TEST(ParseNemoRl, AMapReplacesAnotherWhereItSaysSo) {
  Environment env = Env();
  env.model_files["../../base.yaml"] = absl::StrCat(kBase, "env: {reward_model: {enabled: true}}\n");
  EXPECT_EQ(Final(ParseNemoRlYaml(kChild, env), K::launch_num_gpus), std::nullopt);
  EXPECT_EQ(Final(ParseNemoRlYaml(absl::StrCat(kChild, "env: {_override_: true}\n"), env), K::launch_num_gpus),
            Value(32));
}

TEST(ParseNemoRl, TakesOverridesOnTop) {
  const Environment env = Env();
  const std::vector<std::string> words = {"--config",
                                          "../../base.yaml",
                                          "++policy.megatron_cfg.tensor_model_parallel_size=4",
                                          "cluster.num_nodes=2",
                                          "policy.megatron_cfg.optimizer.lr=1e-6",
                                          "policy.megatron_cfg.sequence_parallel=true"};
  std::vector<Argument> args;
  args.reserve(words.size());
  for (const std::string& word : words) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  const ParseResult parsed = ParseNemoRl(args, env);
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(Final(parsed, K::tensor_model_parallel_size), Value(4));
  EXPECT_EQ(Final(parsed, K::launch_num_gpus), Value(16));
  EXPECT_EQ(Final(parsed, K::lr), Value(1e-6));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(2048));
}

TEST(ParseNemoRl, RecomputesWhereItIsAskedFor) {
  EXPECT_EQ(Final(Read(), K::recompute_granularity), std::nullopt);
  const auto with = [](absl::string_view settings) {
    const std::string text = absl::StrCat("defaults: ../../base.yaml\npolicy: {megatron_cfg: {", settings, "}}\n");
    return ParseNemoRlYaml(text, Env());
  };
  const ParseResult full = with("activation_checkpointing: true");
  EXPECT_EQ(Final(full, K::recompute_granularity), Value("full"));
  EXPECT_EQ(Final(full, K::recompute_method), Value("uniform"));
  const ParseResult some =
      with("activation_checkpointing: true, recompute_granularity: selective, recompute_modules: [moe]");
  EXPECT_EQ(Final(some, K::recompute_modules), Value(Value::List{Value("moe")}));
  EXPECT_EQ(Ids(with("activation_checkpointing: true, recompute_granularity: none")),
            std::set<std::string>{"nemo-rl.recompute"});
  const ParseResult adapters = with("peft: {enabled: true, target_modules: [linear_qkv]}");
  EXPECT_EQ(Final(adapters, K::peft_scheme), Value("lora"));
  EXPECT_EQ(Final(adapters, K::peft_dim), Value(8));
  EXPECT_EQ(Final(with("model_overrides: {moe_router_topk: 4}"), K::moe_router_topk), Value(4));
}

TEST(ParseNemoRl, CountsTheGpusThatTrain) {
  const auto gpus = [](absl::string_view generation) {
    return Final(ParseNemoRlYaml(absl::StrCat("defaults: ../../base.yaml\npolicy: {generation: ", generation,
                                              "}\ncluster: {num_nodes: 4}\n"),
                                 Env()),
                 K::launch_num_gpus);
  };
  EXPECT_EQ(gpus("{colocated: {enabled: true}}"), Value(32));
  EXPECT_EQ(Final(Read("env: {nemo_gym: {num_gpu_nodes: 1}}\n"), K::launch_num_gpus), std::nullopt);
  EXPECT_EQ(Final(Read("env: {nemo_gym: {num_gpu_nodes: 5}}\n"), K::launch_num_gpus),
            Value(32));  // no part of the four
  EXPECT_EQ(Final(Read("env: {reward_model: {enabled: true}}\n"), K::launch_num_gpus), std::nullopt);
  const auto taught = [](absl::string_view more) {
    return Final(Read(absl::StrCat("on_policy_distillation: {enabled: true, "
                                   "teacher_model_by_agent_name: {a: m, b: n, c: m}, non_colocated_teachers: "
                                   "{enabled: true, default_teacher_cfg: {num_nodes: 1}",
                                   more, "}}\n")),
                 K::launch_num_gpus);
  };
  EXPECT_EQ(taught(""), Value(16));  // two checkpoints of a node each
  EXPECT_EQ(taught(", teacher_overrides: {a: {num_nodes: 2}}"), std::nullopt);
  EXPECT_EQ(gpus("{colocated: {enabled: false, resources: {num_nodes: 1, gpus_per_node: 8}}}"), Value(24));
  EXPECT_EQ(gpus("{colocated: {enabled: false, resources: {num_nodes: 4, gpus_per_node: 8}}}"), std::nullopt);
}

TEST(ParseNemoRl, SaysWhatElseHoldsTheGpusMemory) {
  EXPECT_FALSE(Read().engine_apart);
  EXPECT_TRUE(Read("sft: {val_period: 10}\n").engine_apart);
  EXPECT_EQ(Read().others.holder, "") << "vLLM sleeps, and the reference model waits on the host";
  EXPECT_EQ(Read("value: {megatron_cfg: {enabled: true}}\n").others.holder, "") << "it waits on the host, too";
  EXPECT_EQ(Read("teacher: {model_name: x}\n").others.holder, "");
  EXPECT_EQ(Read("teachers: {a: {model_name: x}}\n").others.holder, "the teacher models");
}

TEST(ParseNemoRl, SaysThatSamplesArePairs) {
  EXPECT_EQ(Read().others.sequences_a_sample, 1);
  EXPECT_EQ(Read("dpo: {max_num_epochs: 1}\n").others.sequences_a_sample, 2);
  const ParseResult rewards = Read("rm: {max_num_epochs: 1}\n");
  EXPECT_EQ(rewards.others.sequences_a_sample, 2);
  EXPECT_EQ(rewards.others.counted_too, "logits, which a reward model does not have");
}

TEST(ParseNemoRl, SaysThatAnotherBackendTrains) {
  const ParseResult parsed =
      ParseNemoRlYaml("policy: {megatron_cfg: {enabled: false}, dtensor_cfg: {enabled: true}}\n", Env());
  EXPECT_EQ(Ids(parsed), std::set<std::string>{"input.not-judged"});
  EXPECT_TRUE(parsed.knobs.empty());
  EXPECT_TRUE(parsed.ok());
}

TEST(RenderNemoRl, AsksForAsManyAnswersAsItsBatchesAreCutFrom) {
  const Environment env = Env();
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 4096, Origin::kCaller);
  for (const auto& [batch, prompts] : {std::pair<int64_t, int64_t>{1024, 64}, {512, 32}, {96, 6}, {8, 1}, {97, 97}}) {
    config.Set(K::global_batch_size, batch, Origin::kCaller);
    const std::vector<std::string> argv = RenderNemoRl({config, env, EnvVars()}).argv;
    for (const std::string& word :
         {absl::StrCat("++policy.train_global_batch_size=", batch),
          absl::StrCat("++grpo.num_prompts_per_step=", prompts), std::string("++grpo.num_generations_per_prompt=16")}) {
      EXPECT_NE(std::find(argv.begin(), argv.end(), word), argv.end()) << word;
    }
    EXPECT_EQ(prompts * 16 % batch, 0);
  }
}

TEST(NemoRlStack, IsToldByItsProgramsAndFiles) {
  const Stack& stack = *FindStack("nemo-rl");
  const std::vector<Argument> config = {{"--config", {}}, {"x.yaml", {}}};
  EXPECT_TRUE(stack.marks.launch("examples/run_grpo.py", config));
  EXPECT_FALSE(stack.marks.launch("examples/run_grpo.py", {}));
  EXPECT_FALSE(stack.marks.launch("train.py", config));
}

}  // namespace
}  // namespace flightplan
