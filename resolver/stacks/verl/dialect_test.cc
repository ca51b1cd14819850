#include "resolver/stacks/verl/dialect.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"
#include "resolver/stacks/verl/keys.h"

namespace flightplan {
namespace {

using K = Knob;

const Stack& Verl() { return *FindStack("verl"); }

Environment Env() {
  Environment env;
  env.target = Verl().target;
  env.core_release = Verl().core_release(kMain);
  return env;
}

ParseResult Read(absl::string_view words) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}, absl::StrContains(word, "$")});
  }
  return ParseVerl(args, Env());
}

constexpr absl::string_view kGrpo =
    "verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer.yaml algorithm.adv_estimator=grpo "
    "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=4 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2";

TEST(ParseVerl, SetsWhatItsFilesAndItsWorkersSay) {
  const ParseResult parsed = Read(kGrpo);
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(parsed.hf_model, "Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(parsed.gpus_per_node, 8);
  for (const auto& [knob, value] : std::vector<std::pair<K, Value>>{{K::launch_num_gpus, 8},
                                                                    {K::micro_batch_size, 2},
                                                                    {K::global_batch_size, 1024},
                                                                    {K::seq_length, 1024},
                                                                    {K::attention_backend, "flash"},
                                                                    {K::use_distributed_optimizer, true},
                                                                    {K::sequence_parallel, true},
                                                                    {K::grad_reduce_in_fp32, true},
                                                                    {K::variable_seq_lengths, true},
                                                                    {K::bf16, true},
                                                                    {K::lr, 0.001}}) {
    EXPECT_EQ(Final(parsed, knob), value) << Name(knob);
  }
}

TEST(ParseVerl, ReadsFieldsOfTheConfigClassesWhereTheyAreAdded) {
  const std::string actor = " +actor_rollout_ref.actor.";
  const ParseResult parsed =
      Read(absl::StrCat(kGrpo, actor, "megatron.override_transformer_config.moe_permute_fusion=True", actor,
                        "megatron.override_ddp_config.overlap_grad_reduce=True", actor,
                        "optim.override_optimizer_config.use_precision_aware_optimizer=True", actor,
                        "megatron.override_transformer_config.recompute_granularity=full"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>()) << "a '+' goes before what is null, too";
  EXPECT_EQ(Final(parsed, K::moe_permute_fusion), Value(true));
  EXPECT_EQ(Final(parsed, K::overlap_grad_reduce), Value(true));
  EXPECT_EQ(Final(parsed, K::use_precision_aware_optimizer), Value(true));
  EXPECT_EQ(Final(parsed, K::recompute_granularity), Value("full"));
}

TEST(ParseVerl, RefusesAWordWhereMegatronTakesAList) {
  const std::string fields = " actor_rollout_ref.actor.megatron.override_transformer_config.";
  const std::string selective = absl::StrCat(kGrpo, fields, "recompute_granularity=selective", fields);
  EXPECT_EQ(Ids(Read(absl::StrCat(selective, "recompute_modules=moe"))), std::set<std::string>{"verl.value"});
  EXPECT_EQ(Ids(Read(absl::StrCat(selective, "recompute_modules=[moe]"))), std::set<std::string>());
  EXPECT_EQ(Ids(Read(absl::StrCat(kGrpo, fields, "recompute_modules=moe"))), std::set<std::string>()) << "not read";
}

TEST(ParseVerl, CountsTheTokensOfAGpuAsOneSequence) {
  const std::string actor = " actor_rollout_ref.actor.";
  const ParseResult parsed =
      Read(absl::StrCat(kGrpo, actor, "use_dynamic_bsz=True", actor, "ppo_max_token_len_per_gpu=10000", actor,
                        "megatron.context_parallel_size=2", actor, "megatron.tensor_model_parallel_size=4"));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(20000));
  EXPECT_EQ(Final(parsed, K::micro_batch_size), Value(1));
  EXPECT_EQ(parsed.unknown, std::vector<K>{K::global_batch_size});
}

TEST(ParseVerl, SaysWhatElseHoldsTheGpusMemory) {
  EXPECT_EQ(Read(kGrpo).others.holder, "") << "the rollout engine sleeps while a step runs";
  EXPECT_FALSE(Read(kGrpo).engine_apart);
  EXPECT_TRUE(Read(absl::StrCat(kGrpo, " actor_rollout_ref.hybrid_engine=false")).engine_apart);
  const ParseResult awake = Read(absl::StrCat(kGrpo, " actor_rollout_ref.rollout.free_cache_engine=False"));
  EXPECT_EQ(awake.others.holder, "the rollout engine");
  EXPECT_EQ(awake.others.gpu_share, 0.5);
  const std::string reference = absl::StrCat(kGrpo, " actor_rollout_ref.actor.use_kl_loss=True");
  EXPECT_EQ(Read(reference).others.weight_copies, 1);
  const std::string offloaded = absl::StrCat(reference, " actor_rollout_ref.ref.megatron.param_offload=True");
  EXPECT_EQ(Read(offloaded).others.weight_copies, 0);
  EXPECT_EQ(Read(absl::StrCat(kGrpo, " algorithm.adv_estimator=gae")).others.holder, "the critic");
}

TEST(ParseVerl, ReadsTheAdaptersThatAreTrained) {
  const std::string words = absl::StrCat(kGrpo,
                                         " actor_rollout_ref.model.lora.rank=16 "
                                         "actor_rollout_ref.model.lora.target_modules=[linear_qkv] "
                                         "actor_rollout_ref.actor.use_kl_loss=True");
  const ParseResult parsed = Read(words);
  EXPECT_EQ(Final(parsed, K::peft_scheme), Value("lora"));
  EXPECT_EQ(Final(parsed, K::peft_dim), Value(16));
  EXPECT_EQ(Final(parsed, K::peft_target_modules), Value(Value::List{Value("linear_qkv")}));
  EXPECT_EQ(parsed.others.holder, "") << "the actor without its adapters is the reference model";
  EXPECT_EQ(parsed.others.not_modelled, "");
  EXPECT_EQ(Final(Read(kGrpo), K::peft_scheme), std::nullopt);
  EXPECT_EQ(Read(absl::StrCat(kGrpo, " actor_rollout_ref.model.lora.rank=$R")).others.not_modelled,
            "LoRA adapters of unknown size");
}

TEST(ParseVerl, NamesAModelByTheEndOfItsFolder) {
  const std::string words = absl::StrCat(kGrpo, " actor_rollout_ref.model.path=$HOME/models/Qwen/Qwen3-8B");
  EXPECT_TRUE(absl::EndsWith(Read(words).hf_model, "/Qwen3-8B"));
  EXPECT_EQ(Read(absl::StrCat(kGrpo, " actor_rollout_ref.model.path=$MODEL")).hf_model, "");
}

TEST(ParseVerl, ComposesAsHydraDoes) {
  const ParseResult absent = Read(absl::StrCat(kGrpo, " actor_rollout_ref.actor.megatron.tensor_model_paralel_size=2"));
  ASSERT_EQ(Ids(absent), std::set<std::string>{"verl.override"});
  EXPECT_TRUE(absl::StrContains(absent.findings[0].finding.needs, "tensor_model_parallel_size?"));
  EXPECT_EQ(Ids(Read(absl::StrCat(kGrpo, " +trainer.nnodes=2"))), std::set<std::string>{"verl.override"});
  EXPECT_EQ(Ids(Read(absl::StrCat(kGrpo, " ++trainer.nnodes=2"))), std::set<std::string>());
}

TEST(ParseVerl, ComposesForTheEngineThatIsNamed) {
  const std::string named =
      "verl.trainer.main_ppo model_engine=megatron actor_rollout_ref.rollout.name=vllm "
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 ";
  EXPECT_TRUE(Ids(Read(absl::StrCat(named, "actor_rollout_ref.actor.megatron.router_replay.mode=R3"))).empty());
  EXPECT_EQ(Ids(Read(absl::StrCat(named, "actor_rollout_ref.actor.megatron.router_repaly.mode=R3"))),
            std::set<std::string>{"verl.override"});
  // Of either revision that was read: a key that only one of them has takes a '+' and needs none.
  for (const char* plus : {"", "+"}) {
    EXPECT_TRUE(Ids(Read(absl::StrCat(named, plus, "actor_rollout_ref.actor.load_weight=True"))).empty()) << plus;
  }
}

TEST(ParseVerl, AStreamOfSamplesHasNoRollout) {
  const std::string words =
      " actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 "
      "data.train_batch_size=0";
  EXPECT_TRUE(Ids(Read(absl::StrCat("verl.experimental.fully_async_policy.fully_async_main", words))).empty());
  EXPECT_EQ(Ids(Read(absl::StrCat("verl.trainer.main_ppo", words))), std::set<std::string>{"verl.mini-batch"});
}

TEST(ParseVerl, PredictionLayersAreThereWhereTheyAreAskedFor) {
  const std::string words = "verl.trainer.main_ppo actor_rollout_ref.model.path=deepseek-ai/DeepSeek-V3";
  EXPECT_EQ(Final(Read(words), K::mtp_num_layers), std::optional<Value>(Value()));
  EXPECT_EQ(Final(Read(absl::StrCat(words, " actor_rollout_ref.model.mtp.enable=True")), K::mtp_num_layers),
            std::nullopt);
}

TEST(VerlKeys, EverySpellingIsOne) {
  EXPECT_GE(VerlPaths().size(), 600U);
  for (int i = 0; i < kKnobCount; ++i) {
    const absl::string_view path = WordFor(static_cast<K>(i), "verl.path");
    if (path.empty()) continue;
    EXPECT_NE(FindVerlKey(absl::StrCat("actor_rollout_ref.actor.", path)), VerlKey::kNone) << path;
    EXPECT_TRUE(ValueFromJson(WordFor(static_cast<K>(i), "verl.default")).ok()) << path;
  }
}

TEST(RenderVerl, WritesALaunchThatItReadsAgain) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 8192, Origin::kCaller);
  config.Set(K::micro_batch_size, 3, Origin::kCaller);
  config.Set(K::global_batch_size, 96, Origin::kCaller);
  config.Set(K::context_parallel_size, 2, Origin::kDecided);
  config.Set(K::moe_permute_fusion, true, Origin::kDecided);
  const Launch launch = RenderVerl({config, env, EnvVars()});
  for (const char* words : {"python3 -m verl.trainer.main_ppo", "trainer.nnodes=2",
                            "actor_rollout_ref.actor.megatron.context_parallel_size=2",
                            "+actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=",
                            "data.train_batch_size=12", "actor_rollout_ref.actor.ppo_mini_batch_size=12",
                            "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=3",
                            "actor_rollout_ref.model.path=\"${MODEL_PATH:?"}) {
    EXPECT_TRUE(absl::StrContains(launch.text, words)) << words << "\n" << launch.text;
  }
  std::vector<Argument> args;
  for (const std::string& word : launch.argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  const ParseResult again = ParseVerl(args, env);
  EXPECT_EQ(Final(again, K::context_parallel_size), Value(2));
  EXPECT_EQ(Final(again, K::moe_permute_fusion), Value(true));
  for (const K knob : {K::global_batch_size, K::micro_batch_size, K::seq_length}) {
    EXPECT_EQ(Final(again, knob), config.Get(knob)) << Name(knob);
  }
  for (const int64_t samples : {1, 6, 97, 1024}) {
    config.Set(K::global_batch_size, samples, Origin::kCaller);
    args.clear();
    for (const std::string& word : RenderVerl({config, env, EnvVars()}).argv) args.push_back({word, {}});
    EXPECT_EQ(Final(ParseVerl(args, env), K::global_batch_size), Value(samples));
  }
}

TEST(RenderVerl, PredictionLayersOfThePlanAreAskedFor) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 4096, Origin::kCaller);
  config.Set(K::micro_batch_size, 1, Origin::kCaller);
  config.Set(K::global_batch_size, 96, Origin::kCaller);
  EXPECT_FALSE(absl::StrContains(RenderVerl({config, env, EnvVars()}).text, "mtp"));
  config.Set(K::mtp_num_layers, 1, Origin::kModel);
  const Launch launch = RenderVerl({config, env, EnvVars()});
  EXPECT_TRUE(absl::StrContains(launch.text, "actor_rollout_ref.model.mtp.enable_train=True")) << launch.text;
  std::vector<Argument> args;
  for (const std::string& word : launch.argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  EXPECT_EQ(Final(ParseVerl(args, env), K::mtp_num_layers), std::nullopt);  // not taken away: the model's own
}

}  // namespace
}  // namespace flightplan
