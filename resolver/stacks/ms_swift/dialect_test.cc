#include "resolver/stacks/ms_swift/dialect.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/ms_swift/arguments.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

const Stack& Swift() { return *FindStack("ms-swift"); }

Environment Env() {
  Environment env;
  env.target = Swift().target;
  env.core_release = Swift().core_release(kMain);
  return env;
}

ParseResult Read(absl::string_view words, const Environment& env = Env()) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}, absl::StartsWith(word, "$")});
  }
  return ParseMsSwift(args, env);
}

constexpr absl::string_view kSft = "sft --model Qwen/Qwen3-30B-A3B --dataset d --max_length 4096";

TEST(ParseMsSwift, SetsItsOwnDefaultsAndWhatItDerives) {
  const ParseResult parsed = Read(kSft);
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(parsed.hf_model, "Qwen/Qwen3-30B-A3B");
  for (const auto& [knob, value] : std::vector<std::pair<K, Value>>{{K::global_batch_size, 16},
                                                                    {K::recompute_granularity, "selective"},
                                                                    {K::attention_backend, "flash"},
                                                                    {K::use_distributed_optimizer, true},
                                                                    {K::bf16, true},
                                                                    {K::grad_reduce_in_fp32, true},
                                                                    {K::overlap_p2p_comm, false},
                                                                    {K::batch_p2p_comm, true},
                                                                    {K::calculate_per_token_loss, true},
                                                                    {K::lr, 1e-5},
                                                                    {K::seq_length, 4096}}) {
    EXPECT_EQ(Final(parsed, knob), value) << Name(knob);
  }
}

TEST(ParseMsSwift, AnOlderOnesArgumentsAreReadAsTodays) {
  const ParseResult parsed = Read(absl::StrCat(kSft, " --train_type lora --save_interval 100 --swiglu true"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>{"ms-swift.former"});
  EXPECT_TRUE(parsed.ok());
  EXPECT_EQ(Final(parsed, K::peft_scheme), Value("mcore_lora"));
  EXPECT_TRUE(Read("sft --load /mcore --dataset d").ok()) << "weights to start from";
  EXPECT_FALSE(Read(absl::StrCat(kSft, " --save_intervall 100")).ok());
  for (const absl::string_view name : SwiftArgumentNames()) {
    EXPECT_EQ(FindFormerSwiftArgument(name), nullptr) << name << " is there today";
  }
}

TEST(ParseMsSwift, ReadsEveryWayToWriteAnArgument) {
  const ParseResult parsed =
      Read(absl::StrCat(kSft,
                        " --tensor-model-parallel-size 2 --expert_model_parallel_size=4 --sequence_parallel"
                        " --no_moe_grouped_gemm --recompute_modules core_attn moe_act --global_batch 32"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(Final(parsed, K::tensor_model_parallel_size), Value(2));
  EXPECT_EQ(Final(parsed, K::expert_model_parallel_size), Value(4));
  EXPECT_EQ(Final(parsed, K::sequence_parallel), Value(true));
  EXPECT_EQ(Final(parsed, K::moe_grouped_gemm), Value(false));
  EXPECT_EQ(Final(parsed, K::recompute_modules), Value(Value::List{Value("core_attn"), Value("moe_act")}));
  EXPECT_EQ(Final(parsed, K::global_batch_size), Value(32)) << "argparse takes the beginning of a name for it";
}

TEST(ParseMsSwift, CountsTheGpusOfTorchrun) {
  Environment env = Env();
  EXPECT_EQ(Final(Read(kSft, env), K::launch_num_gpus), std::nullopt);
  env.vars = {{"NPROC_PER_NODE", "8"}, {"NNODES", "4"}};
  const ParseResult parsed = Read(kSft, env);
  EXPECT_EQ(Final(parsed, K::launch_num_gpus), Value(32));
  EXPECT_EQ(parsed.gpus_per_node, 8);
  env.vars["NNODES"] = "$WORLD_SIZE";
  EXPECT_EQ(Final(Read(kSft, env), K::launch_num_gpus), std::nullopt);
}

TEST(ParseMsSwift, TurnsOffWhatOneGpuCannotSplit) {
  EXPECT_EQ(Final(Read(absl::StrCat(kSft, " --sequence_parallel true")), K::sequence_parallel), Value(false));
  const ParseResult unknown = Read(absl::StrCat(kSft, " --sequence_parallel true --tensor_model_parallel_size $TP"));
  EXPECT_EQ(Final(unknown, K::sequence_parallel), Value(true));
  EXPECT_EQ(unknown.unknown, std::vector<K>{K::tensor_model_parallel_size});
}

TEST(ParseMsSwift, SaysWhatElseHoldsTheGpusMemory) {
  const std::string grpo = "rlhf --rlhf_type gkd --model m --dataset d --vllm_mode colocate";
  const ParseResult awake = Read(absl::StrCat(grpo, " --vllm_gpu_memory_utilization 0.4"));
  EXPECT_EQ(awake.others.holder, "the rollout engine");
  EXPECT_EQ(awake.others.gpu_share, 0.4);
  EXPECT_EQ(Read(grpo).others.gpu_share, 0.9) << "its default";
  EXPECT_EQ(Read(absl::StrCat(grpo, " --sleep_level 1")).others.holder, "");
  EXPECT_EQ(Read("rlhf --rlhf_type grpo --model m --dataset d").others.weight_copies, 1);
  EXPECT_EQ(Read(kSft).others.holder, "");
}

TEST(ParseMsSwift, SaysThatSamplesArePairs) {
  const std::string dpo = "rlhf --rlhf_type dpo --model m --dataset d";
  EXPECT_EQ(Read(dpo).others.sequences_a_sample, 2);
  EXPECT_EQ(Read(dpo).others.weight_copies, 1);
  EXPECT_EQ(Read(absl::StrCat(dpo, " --packing true")).others.sequences_a_sample, 1);
  EXPECT_EQ(Read(absl::StrCat(dpo, " --tuner_type lora")).others.weight_copies, 0);
  EXPECT_TRUE(Read(absl::StrCat(dpo, " --tuner_type lora")).others.reference_forward);
  EXPECT_FALSE(Read("sft --model m --dataset d").others.reference_forward);
  const ParseResult rewards = Read("rlhf --rlhf_type rm --model m --dataset d");
  EXPECT_EQ(rewards.others.sequences_a_sample, 2);
  EXPECT_EQ(rewards.others.weight_copies, 0);
  EXPECT_EQ(rewards.others.counted_too, "logits, which a model that scores sequences does not have");
  EXPECT_EQ(Read(absl::StrCat(kSft, " --task_type seq_cls --num_labels 2")).others.counted_too,
            rewards.others.counted_too);
  EXPECT_EQ(Read(absl::StrCat(kSft, " --task_type causal_lm")).others.counted_too, "");
}

// Beside each completion are forward passes alone: what is kept is what training the completion keeps.
TEST(ParseMsSwift, CompletionsOfOtherPromptsTakeTimeAlone) {
  const std::string kto = "rlhf --rlhf_type kto --model m --dataset d --packing true";
  const ParseResult whole = Read(kto);
  EXPECT_EQ(whole.others.not_modelled, "");
  EXPECT_EQ(whole.others.weight_copies, 1);
  EXPECT_EQ(whole.others.sequences_a_sample, 1);
  EXPECT_TRUE(whole.others.reference_forward);
  EXPECT_EQ(whole.not_judged.size(), 1U);
  EXPECT_EQ(Read(absl::StrCat(kto, " --tuner_type lora")).others.weight_copies, 0);
  EXPECT_TRUE(Read(absl::StrCat(kto, " --loss_type apo_zero_unpaired")).not_judged.empty()) << "it has none";
}

TEST(ParseMsSwift, SaysThatSamplesMayBeShorter) {
  const std::string sft = "sft --model m --dataset d --max_length 2048";
  ASSERT_EQ(Read(sft).not_judged.size(), 1U);
  EXPECT_TRUE(absl::StrContains(Read(sft).not_judged[0], "fewer than 2048 tokens"));
  EXPECT_TRUE(Read(absl::StrCat(sft, " --packing true")).not_judged.empty());
}

TEST(ParseMsSwift, ReadsTheAdaptersThatAreTrained) {
  const ParseResult usual = Read(absl::StrCat(kSft, " --tuner_type lora"));
  EXPECT_EQ(Final(usual, K::peft_scheme), Value("mcore_lora"));
  EXPECT_EQ(Final(usual, K::peft_dim), Value(8));
  EXPECT_EQ(Final(usual, K::peft_target_modules), Value(Value::List{Value("all-linear")}));
  EXPECT_EQ(usual.others.not_modelled, "");
  const ParseResult said = Read(absl::StrCat(kSft, " --tuner_type lora --lora_rank 64 --target_modules linear_qkv"));
  EXPECT_EQ(Final(said, K::peft_dim), Value(64));
  EXPECT_EQ(Final(said, K::peft_target_modules), Value(Value::List{Value("linear_qkv")}));
  EXPECT_EQ(Final(Read(kSft), K::peft_scheme), std::nullopt);
  EXPECT_EQ(Read("rlhf --rlhf_type grpo --model m --dataset d --tuner_type lora").others.holder, "");
  EXPECT_EQ(Read(absl::StrCat(kSft, " --tuner_type lora --lora_rank $R")).others.not_modelled,
            "LoRA adapters of unknown size");
  EXPECT_EQ(Read(absl::StrCat(kSft, " --tuner_type lora_llm")).others.not_modelled,
            "LoRA adapters beside trained weights");
}

TEST(ParseMsSwift, ReadsAFileOfArguments) {
  Environment env = Env();
  ParseResult parsed = Read("sft train.yaml --global_batch_size 8", env);
  EXPECT_EQ(parsed.wanted_files, std::vector<std::string>{"train.yaml"});
  EXPECT_EQ(parsed.elsewhere, "in train.yaml");
  EXPECT_EQ(Ids(parsed), std::set<std::string>()) << "nothing is missing that the file may have";
  env.model_files["train.yaml"] = "ENV:\n  A: b\nmodel: Qwen/Qwen3-8B\ndataset:\n  - a\n  - b\nglobal_batch_size: 4\n";
  parsed = Read("sft train.yaml --micro_batch_size 2", env);
  EXPECT_EQ(parsed.elsewhere, "");
  EXPECT_EQ(parsed.hf_model, "Qwen/Qwen3-8B");
  EXPECT_EQ(Final(parsed, K::global_batch_size), Value(4));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
}

TEST(ParseMsSwift, TakesFieldsOfTheConfigClassFromItsJson) {
  const ParseResult parsed = Read(absl::StrCat(kSft, " --megatron_extra_kwargs {\"cuda_graph_impl\":\"local\"}"));
  EXPECT_EQ(Final(parsed, K::cuda_graph_impl), Value("local"));
  const ParseResult list =
      Read(absl::StrCat(kSft, " --megatron_extra_kwargs {\"hierarchical_context_parallel_sizes\":[2,4]}"));
  EXPECT_EQ(Final(list, K::hierarchical_context_parallel_sizes), Value(Value::List{Value(2), Value(4)}));
}

TEST(ParseMsSwift, NamesWhatIsMisspelt) {
  const ParseResult parsed = Read(absl::StrCat(kSft, " --expert_model_paralel_size 4"));
  ASSERT_EQ(Ids(parsed), std::set<std::string>{"ms-swift.unrecognized"});
  EXPECT_TRUE(absl::StrContains(parsed.findings[0].finding.needs, "--expert_model_parallel_size?"));
  EXPECT_EQ(Ids(Read(absl::StrCat(kSft, " --nothing 4 --ignore_args_error true"))), std::set<std::string>());
}

TEST(SwiftArguments, EachKnobIsSaidByOne) {
  std::set<K> knobs;
  for (const SwiftArgument& argument : SwiftKnobs()) {
    EXPECT_TRUE(knobs.insert(*argument.knob).second) << argument.name;
    EXPECT_TRUE(ValueFromJson(argument.default_json).ok()) << argument.name;
  }
  EXPECT_GE(knobs.size(), 120U);
  EXPECT_GE(SwiftArgumentNames().size(), 400U);
}

TEST(RenderMsSwift, WritesALaunchThatItReadsAgain) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 8192, Origin::kCaller);
  config.Set(K::expert_model_parallel_size, 8, Origin::kDecided);
  config.Set(K::overlap_moe_expert_parallel_comm, true, Origin::kDecided);
  config.Set(K::recompute_granularity, Value(), Origin::kDecided);
  const Launch launch = RenderMsSwift({config, env, EnvVars()});
  for (const char* words :
       {"NPROC_PER_NODE=8 NNODES=2 ", "megatron sft", "--max_length 8192", "--expert_model_parallel_size 8",
        "--recompute_granularity none", "overlap_moe_expert_parallel_comm", "--dataset \"${DATASET:?"}) {
    EXPECT_TRUE(absl::StrContains(launch.text, words)) << words << "\n" << launch.text;
  }
  EXPECT_EQ(launch.unspelled, std::vector<K>());
  std::vector<Argument> args;
  for (const std::string& word : launch.argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  const ParseResult again = ParseMsSwift(args, env);
  EXPECT_EQ(Final(again, K::expert_model_parallel_size), Value(8));
  EXPECT_EQ(Final(again, K::overlap_moe_expert_parallel_comm), Value(true));
  EXPECT_EQ(Final(again, K::recompute_granularity), Value());
}

TEST(RenderMsSwift, HalfPrecisionIsReadAgainAsHalfPrecisionAlone) {
  const Environment env = Env();
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::fp16, true, Origin::kCaller);
  config.Set(K::bf16, false, Origin::kUpstream);
  std::vector<Argument> args;
  for (const std::string& word : RenderMsSwift({config, env, EnvVars()}).argv) args.push_back({word, {}});
  const ParseResult again = ParseMsSwift(args, env);
  EXPECT_EQ(Final(again, K::fp16), Value(true));
  EXPECT_EQ(Final(again, K::bf16), Value(false));
}

}  // namespace
}  // namespace flightplan
