#include "resolver/stacks/roll/dialect.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kPipeline = R"(num_gpus_per_node: 8
rollout_batch_size: 64
prompt_length: 2048
response_length: 4096
adv_estimator: reinforce
pretrain: Qwen/Qwen3-30B-A3B-Base
actor_train:
  model_args: {dtype: bf16}
  training_args:
    learning_rate: 1.0e-6
    per_device_train_batch_size: 2
    gradient_accumulation_steps: 32
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      tensor_model_parallel_size: 1
      pipeline_model_parallel_size: 2
      virtual_pipeline_model_parallel_size: ~
      expert_model_parallel_size: 4
      context_parallel_size: 4
      recompute_granularity: selective
      recompute_modules: moe,layernorm
      moe_token_dispatcher_type: alltoall
      additional_configs:
        moe_permute_fusion: true
  device_mapping: list(range(0,32))
actor_infer:
  strategy_args: {strategy_name: vllm, strategy_config: {gpu_memory_utilization: 0.85}}
  device_mapping: list(range(0,24))
reference:
  strategy_args: {strategy_name: megatron_infer}
  device_mapping: list(range(0,32))
)";

const Stack& Roll() { return *FindStack("roll"); }

Environment Env() {
  Environment env;
  env.target = Roll().target;
  env.core_release = Roll().core_release(kMain);
  return env;
}

ParseResult Read(absl::string_view text) { return ParseRollYaml(text, Env()); }
ParseResult With(absl::string_view old, absl::string_view other) {
  return Read(absl::StrReplaceAll(kPipeline, {{old, other}}));
}

bool Lost(const ParseResult& parsed, K knob) {
  return std::find(parsed.unknown.begin(), parsed.unknown.end(), knob) != parsed.unknown.end();
}

TEST(ParseRoll, ReadsTheRoleThatTrains) {
  const ParseResult read = Read(kPipeline);
  EXPECT_EQ(Ids(read), std::set<std::string>());
  EXPECT_EQ(read.hf_model, "Qwen/Qwen3-30B-A3B-Base");
  EXPECT_EQ(Final(read, K::pipeline_model_parallel_size), Value(2));
  EXPECT_EQ(Final(read, K::virtual_pipeline_model_parallel_size), std::nullopt)
      << "none is an argument that is not given";
  EXPECT_EQ(Final(read, K::recompute_modules), Value(Value::List{Value("moe"), Value("layernorm")}));
  EXPECT_EQ(Final(read, K::moe_permute_fusion), Value(true)) << "a field of the model";
  EXPECT_EQ(Final(read, K::launch_num_gpus), Value(32));
  EXPECT_EQ(read.gpus_per_node, 8);
  EXPECT_EQ(Final(read, K::micro_batch_size), Value(2));
  EXPECT_EQ(Final(read, K::global_batch_size), Value(2 * 32 * 4)) << "of four replicas";
  EXPECT_EQ(Final(read, K::seq_length), Value(6144));
  EXPECT_EQ(Final(read, K::bf16), Value(true));
  EXPECT_EQ(Final(read, K::grad_reduce_in_fp32), Value(true));
  EXPECT_EQ(Final(read, K::overlap_p2p_comm), Value(true));
}

// Fields of the model's configuration go there as they are.
TEST(ParseRoll, AFieldOfTheModelIsNotSplit) {
  const ParseResult read =
      With("        moe_permute_fusion: true\n", "        moe_router_load_balancing_type: aux_loss\n");
  EXPECT_EQ(Final(read, K::moe_router_load_balancing_type), Value("aux_loss"));
}

TEST(ParseRoll, AModelsOwnPredictionIsDroppedUnlessTheLaunchSaysSo) {
  EXPECT_EQ(Final(Read(kPipeline), K::mtp_num_layers), std::optional<Value>(Value()));
  const auto said = [](absl::string_view value) {
    return Final(With("      context_parallel_size: 4\n",
                      absl::StrCat("      context_parallel_size: 4\n      mtp_num_layers: ", value, "\n")),
                 K::mtp_num_layers);
  };
  EXPECT_EQ(said("1"), Value(1));
  EXPECT_EQ(said("~"), std::nullopt) << "as many as the model has";
}

TEST(ParseRoll, CountsTheGpusOfTheRole) {
  const auto mapped = [](absl::string_view devices) { return With("list(range(0,32))", devices); };
  EXPECT_EQ(Final(mapped("list([0,1,2,3,8,9,10,11])"), K::launch_num_gpus), Value(8));
  EXPECT_EQ(mapped("list([0,1,2,3,8,9,10,11])").gpus_per_node, 4);
  EXPECT_EQ(Final(mapped("list(range(0,12))"), K::launch_num_gpus), Value(12));
  EXPECT_EQ(mapped("list(range(0,12))").gpus_per_node, 8);
  EXPECT_EQ(Final(mapped("devices()"), K::launch_num_gpus), std::nullopt);
  EXPECT_TRUE(Lost(mapped("devices()"), K::global_batch_size));
}

TEST(ParseRoll, AMicrobatchMayBeAsManyTokensAsFillOne) {
  const ParseResult dynamic =
      With("  device_mapping: list(range(0,32))\nactor_infer:",
           "  use_dynamic_batching_in_train: true\n  max_tokens_per_microbatch_in_train: 32768\n"
           "  device_mapping: list(range(0,32))\nactor_infer:");
  EXPECT_EQ(Final(dynamic, K::micro_batch_size), Value(1));
  EXPECT_EQ(Final(dynamic, K::seq_length), Value(32768));
  EXPECT_TRUE(Lost(dynamic, K::global_batch_size));
  const ParseResult packed =
      With("  device_mapping: list(range(0,32))\nactor_infer:",
           "  use_sequence_packing: true\n  sequence_packing_args: {algorithm: load_balance, "
           "max_packed_sequence_length_train: 16384}\n  device_mapping: list(range(0,32))\nactor_infer:");
  EXPECT_EQ(Final(packed, K::seq_length), Value(16384));
}

TEST(ParseRoll, PairsAreTwoSamples) {
  const std::string text(kPipeline.substr(0, kPipeline.find("actor_infer:")));
  EXPECT_EQ(Final(Read(text), K::micro_batch_size), Value(4)) << "no rollouts: preferences";
}

TEST(ParseRoll, SaysWhatElseHoldsTheGpusMemory) {
  EXPECT_EQ(Read(kPipeline).others.holder, "") << "the engine sleeps, the reference model waits on the host";
  EXPECT_EQ(Read(kPipeline).others.counted_too, "optimizer states that wait on the host while layers run");
  const ParseResult async = Read(absl::StrCat(kPipeline, "async_generation_ratio: 1\n"));
  EXPECT_EQ(async.others.holder, "the rollout engine");
  EXPECT_EQ(async.others.gpu_share, 0.85);
  const ParseResult apart = Read(absl::StrCat(
      absl::StrReplaceAll(kPipeline, {{"list(range(0,24))", "list(range(32,40))"}}), "async_generation_ratio: 1\n"));
  EXPECT_EQ(apart.others.holder, "");
  const ParseResult critic = Read(absl::StrReplaceAll(
      absl::StrCat(kPipeline, "critic: {device_mapping: \"list(range(0,32))\"}\n"), {{"reinforce", "gae"}}));
  EXPECT_EQ(critic.others.holder, "the critic");
  const std::string pairs =
      absl::StrCat(kPipeline.substr(0, kPipeline.find("actor_infer:")), kPipeline.substr(kPipeline.find("reference:")));
  EXPECT_EQ(Read(pairs).others.holder, "the reference model");
  EXPECT_EQ(Read(absl::StrCat(pairs, "is_offload_states: true\n")).others.holder, "");
  EXPECT_EQ(Read(pairs).others.counted_too, "");
}

TEST(ParseRoll, AdaptersStandAtEachExpert) {
  const ParseResult read = With("{dtype: bf16}", "{dtype: bf16, lora_target: all-linear, lora_rank: 64}");
  EXPECT_EQ(Final(read, K::peft_scheme), Value("mcore_lora"));
  EXPECT_EQ(Final(read, K::peft_dim), Value(64));
  EXPECT_EQ(Final(read, K::peft_alpha), Value(128));
  EXPECT_EQ(Final(read, K::peft_target_modules), Value(Value::List{Value("all-linear")}));
  EXPECT_EQ(Final(read, K::peft_normalize_moe_lora), Value(true));
  EXPECT_EQ(Final(read, K::peft_share_expert_adapters), Value(false));
  EXPECT_EQ(Final(Read(kPipeline), K::peft_scheme), std::nullopt);
  EXPECT_EQ(With("{dtype: bf16}", "{dtype: bf16, freeze_module_prefix: vision_model}").others.not_modelled,
            "frozen parameters");
}

TEST(ParseRoll, FindsWhatItRefuses) {
  using Set = std::set<std::string>;
  EXPECT_EQ(Ids(With("      recompute_granularity: selective\n", "      moe_router_fusion: true\n")),
            Set{"roll.argument"});
  EXPECT_EQ(Ids(With("      recompute_granularity: selective\n", "      bf16: true\n")), Set());
  EXPECT_EQ(Ids(With("rollout_batch_size: 64", "rollout_batch_size: 66")), Set{"roll.rollout-batch"});
  EXPECT_EQ(Ids(With("response_length: 4096\n", "")), Set{"roll.length"});
}

TEST(ParseRoll, SaysThatAnotherStrategyTrains) {
  const ParseResult read = With("megatron_train", "fsdp2_train");
  EXPECT_EQ(Ids(read), std::set<std::string>{"input.not-judged"});
  EXPECT_TRUE(read.knobs.empty());
  EXPECT_TRUE(read.ok());
}

TEST(ParseRoll, ReadsTheFileOfALaunchAndWhatItsDefaultsName) {
  Environment env = Env();
  const std::vector<Argument> args = {
      {"--config_path", {0, 0, 0}}, {"rlvr", {1, 0, 0}}, {"--config_name", {2, 0, 0}}, {"rlvr_config", {3, 0, 0}}};
  EXPECT_EQ(ParseRoll(args, env).wanted_files, std::vector<std::string>{"examples/rlvr/rlvr_config.yaml"});
  env.model_files["examples/rlvr/rlvr_config.yaml"] = absl::StrCat("defaults:\n  - ../config/envs@_here_\n", kPipeline);
  EXPECT_EQ(ParseRoll(args, env).wanted_files, std::vector<std::string>{"examples/config/envs.yaml"});
  env.model_files["examples/config/envs.yaml"] = "";
  const ParseResult read = ParseRoll(args, env);
  EXPECT_EQ(Ids(read), std::set<std::string>());
  EXPECT_EQ(read.elsewhere, "");
  EXPECT_EQ(Final(read, K::expert_model_parallel_size), Value(4));
  EXPECT_TRUE(Roll().marks.launch("examples/start_rlvr_pipeline.py", args));
  EXPECT_FALSE(Roll().marks.launch("examples/start_rlvr_pipeline.py", {}));
  EXPECT_FALSE(Roll().marks.launch("train.py", args));
}

TEST(RenderRoll, WritesKeysThatItReadsAgain) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, false);
  const std::vector<std::pair<K, Value>> values = {
      {K::tensor_model_parallel_size, 2},
      {K::sequence_parallel, true},
      {K::global_batch_size, 64},
      {K::micro_batch_size, 2},
      {K::seq_length, 4096},
      {K::bf16, true},
      {K::recompute_granularity, "selective"},
      {K::recompute_modules, Value(Value::List{Value("moe"), Value("layernorm")})},
      {K::moe_permute_fusion, true},
      {K::optimizer_cpu_offload, true}};
  for (const auto& [knob, value] : values) config.Set(knob, value, Origin::kCaller);
  const Launch launch = RenderRoll({config, env, env.vars});
  EXPECT_EQ(launch.unspelled, std::vector<K>{K::optimizer_cpu_offload});
  std::vector<Argument> args;
  for (const std::string& word : launch.argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  const ParseResult read = ParseRoll(args, env);
  EXPECT_EQ(Ids(read), std::set<std::string>());
  for (const auto& [knob, value] : values) {
    if (knob == K::optimizer_cpu_offload) continue;
    EXPECT_EQ(Final(read, knob), value) << Name(knob);
  }
  EXPECT_EQ(Final(read, K::launch_num_gpus), Value(16));
  EXPECT_NE(launch.text.find("\n      recompute_modules: 'moe,layernorm'\n"), std::string::npos) << launch.text;
  EXPECT_NE(launch.text.find("\n        moe_permute_fusion: true\n"), std::string::npos) << launch.text;
  EXPECT_NE(launch.text.find(": \"${MODEL_NAME:?"), std::string::npos) << launch.text;
}

}  // namespace
}  // namespace flightplan
