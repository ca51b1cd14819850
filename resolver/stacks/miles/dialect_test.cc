#include "resolver/stacks/miles/dialect.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/derivatives.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/miles/flags.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

const Stack& Miles() { return *FindStack("miles"); }

Environment Env() {
  Environment env;
  env.target = Miles().target;
  env.core_release = Miles().core_release(kMain);
  return env;
}

std::vector<Argument> Arguments(absl::string_view words) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}});
  }
  return args;
}

ParseResult Read(absl::string_view words) { return ParseMiles(Arguments(words), Env()); }

bool Lost(const ParseResult& parsed, K knob) {
  return std::find(parsed.unknown.begin(), parsed.unknown.end(), knob) != parsed.unknown.end();
}

constexpr absl::string_view kWhole = "--num-rollout 10 --rollout-batch-size 32 --n-samples-per-prompt 8";

TEST(ParseMiles, SetsWhatMilesSetsBeforeMegatronChecks) {
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --global-batch-size 128"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(Final(parsed, K::use_distributed_optimizer), Value(true));
  EXPECT_EQ(Final(parsed, K::bf16), Value(true));
  EXPECT_EQ(Final(parsed, K::variable_seq_lengths), Value(true));
  EXPECT_EQ(Final(parsed, K::moe_token_dispatcher_type), Value("alltoall"));
  EXPECT_EQ(Final(parsed, K::micro_batch_size), Value(1));
  EXPECT_EQ(Final(parsed, K::train_iters), Value(20));
  EXPECT_EQ(Final(parsed, K::dist_ckpt_save_pre_mcore_014), std::nullopt);  // of slime alone
}

TEST(ParseMiles, ShardsTheStateOfAdamAlone) {
  EXPECT_EQ(Final(Read(absl::StrCat(kWhole, " --optimizer adam")), K::use_distributed_optimizer), Value(true));
  EXPECT_EQ(Final(Read(absl::StrCat(kWhole, " --optimizer dist_muon")), K::use_distributed_optimizer), Value(false));
  EXPECT_EQ(Final(Read(absl::StrCat(kWhole, " --debug-disable-optimizer")), K::use_distributed_optimizer),
            Value(false));
}

TEST(ParseMiles, CountsTheTokensOfAGpuOrTheLongestSample) {
  const ParseResult packed = Read(absl::StrCat(kWhole,
                                               " --use-dynamic-batch-size --max-tokens-per-gpu 20000 "
                                               "--context-parallel-size 2 --tensor-model-parallel-size 4"));
  EXPECT_EQ(Final(packed, K::seq_length), Value(2 * 20480));  // padded to 128 for each of four
  EXPECT_EQ(Final(packed, K::max_position_embeddings), Value(2 * 20480));
  std::vector<Argument> hidden =
      Arguments(absl::StrCat(kWhole, " --use-dynamic-batch-size --max-tokens-per-gpu $MOST"));
  hidden.back().unknown = true;
  EXPECT_TRUE(Lost(ParseMiles(hidden, Env()), K::seq_length));
  const ParseResult context = Read(absl::StrCat(kWhole, " --rollout-max-context-len 9000"));
  EXPECT_EQ(Final(context, K::seq_length), Value(9000));
  const ParseResult parts =
      Read(absl::StrCat(kWhole, " --rollout-max-prompt-len 1000 --rollout-max-response-len 7000"));
  EXPECT_EQ(Final(parts, K::seq_length), Value(8000));
  EXPECT_FALSE(Lost(parts, K::seq_length));
  EXPECT_TRUE(Lost(Read(absl::StrCat(kWhole, " --rollout-max-response-len 7000")), K::seq_length));
}

TEST(ParseMiles, StopsAtAFlagThatNoParserKnows) {
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole,
                                  " --sglang-mem-fraction-static 0.7 --router-policy x --eval-sglang-dtype y "
                                  "--dashboard-flush-interval 2"))),
            std::set<std::string>());
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --num-rollouts 3"));
  ASSERT_EQ(parsed.findings.size(), 1U);
  EXPECT_EQ(parsed.findings[0].finding.rule_id, "miles.unknown-flag");
  EXPECT_EQ(parsed.findings[0].finding.severity, Severity::kError);
  EXPECT_TRUE(absl::StrContains(parsed.findings[0].finding.needs, "--num-rollout"));
  // A function of the caller's may add it.
  const ParseResult own = Read(absl::StrCat(kWhole, " --num-rollouts 3 --custom-generate-function-path my.generate"));
  ASSERT_EQ(own.findings.size(), 1U);
  EXPECT_EQ(own.findings[0].finding.severity, Severity::kWarning);
}

// What its own checks find comes behind what the parser refuses, and counts as one with it.
TEST(ParseMiles, ListsNoMoreFindingsThanAnyReader) {
  std::string words;
  for (size_t i = 0; i <= kMaxParseFindings; ++i) absl::StrAppend(&words, "--zzzzzzzzzzzz-", i, " 1 ");
  const ParseResult parsed = Read(absl::StrCat(words, "--micro-batch-size 1"));  // neither rollouts nor epochs
  EXPECT_EQ(parsed.findings.size(), kMaxParseFindings + 1);
  EXPECT_EQ(parsed.findings.back().finding.rule_id, "input.limit");
}

TEST(ParseMiles, KnowsTheFlagsOfItsCopyOfMegatron) {
  const ParseResult parsed = Read(absl::StrCat(
      kWhole, " --moe-router-score-function sqrtsoftplus --experimental-attention-variant dsv4 --beta-fast 32"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_TRUE(Lost(parsed, K::moe_router_score_function));
  EXPECT_EQ(parsed.others.not_modelled, "DeepSeek-V4's layers");
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --moe-router-score-function tanh"))),
            std::set<std::string>{"mlm.argparse"});
}

TEST(ParseMiles, RefusesFlagsBesideOthers) {
  const std::string p2p = absl::StrCat(kWhole, " --update-weight-transfer-mode p2p");
  EXPECT_EQ(Ids(Read(p2p)), std::set<std::string>());
  EXPECT_EQ(Ids(Read(absl::StrCat(p2p, " --colocate"))), std::set<std::string>{"miles.goes-with"});
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --qkv-format thd --use-dynamic-batch-size --max-tokens-per-gpu 64"))),
            std::set<std::string>());
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --qkv-format bshd --use-dynamic-batch-size --max-tokens-per-gpu 64"))),
            std::set<std::string>{"miles.goes-with"});
}

TEST(ParseMiles, LeavesFsdpAlone) {
  const ParseResult parsed = Read("--train-backend fsdp --gradient-checkpointing --num-rollout 3");
  EXPECT_EQ(Ids(parsed), std::set<std::string>{"miles.other-backend"});
  EXPECT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed.elsewhere.empty());
}

TEST(ParseMiles, ReadsAdaptersThatBridgeMakes) {
  const std::string lora = absl::StrCat(kWhole, " --lora-rank 16 --target-modules q_proj,v_proj,o_proj");
  const ParseResult parsed = Read(absl::StrCat(lora, " --megatron-to-hf-mode bridge"));
  EXPECT_EQ(Final(parsed, K::peft_scheme), Value("lora"));
  EXPECT_EQ(Final(parsed, K::peft_dim), Value(16));
  EXPECT_EQ(Final(parsed, K::peft_alpha), Value(16));
  EXPECT_EQ(Final(parsed, K::peft_target_modules), Value(Value::List{Value("linear_qkv"), Value("linear_proj")}));
  EXPECT_EQ(Final(parsed, K::peft_share_expert_adapters), Value(false));
  EXPECT_TRUE(parsed.others.not_modelled.empty());
  EXPECT_TRUE(Lost(parsed, K::bias_dropout_fusion));  // the provider's, not the launch's
  const ParseResult without = Read(lora);
  EXPECT_EQ(Ids(without), std::set<std::string>{"miles.adapters-need-bridge"});
  EXPECT_EQ(Final(without, K::peft_scheme), std::nullopt);
  EXPECT_FALSE(Lost(without, K::bias_dropout_fusion));
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --lora-rank 0"))), std::set<std::string>());
}

TEST(ParseMiles, CountsOneReplicaWhereEachStandsAlone) {
  const std::string layout = absl::StrCat(kWhole,
                                          " --actor-num-nodes 4 --actor-num-gpus-per-node 8 "
                                          "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2");
  EXPECT_EQ(Final(Read(layout), K::launch_num_gpus), Value(32));
  EXPECT_EQ(Final(Read(absl::StrCat(layout, " --indep-dp")), K::launch_num_gpus), Value(8));
  const std::string tolerant = absl::StrCat(layout, " --use-fault-tolerance --ft-components rollout");
  EXPECT_EQ(Final(Read(tolerant), K::launch_num_gpus), Value(32));
  EXPECT_EQ(Final(Read(absl::StrCat(tolerant, " train")), K::launch_num_gpus), Value(8));
}

TEST(ParseMiles, SaysWhoElseHasMemory) {
  const std::string beside = absl::StrCat(kWhole, " --colocate --sglang-mem-fraction-static 0.6");
  EXPECT_EQ(Read(beside).others.holder, "");  // the engine sleeps while a step runs
  const ParseResult awake = Read(absl::StrCat(beside, " --no-offload-rollout"));
  EXPECT_EQ(awake.others.holder, "the rollout engine");
  EXPECT_EQ(awake.others.gpu_share, 0.6);
  const ParseResult half = Read(absl::StrCat(beside, " --offload-rollout-level kv_cache"));
  EXPECT_EQ(half.others.holder, "the rollout engine");
  EXPECT_EQ(half.others.gpu_share, std::nullopt);
  EXPECT_EQ(Read(absl::StrCat(beside, " --offload-rollout-level kv_cache weight")).others.holder, "");
  EXPECT_EQ(Read(absl::StrCat(kWhole, " --no-offload-rollout")).others.holder, "");  // on GPUs of its own
  EXPECT_EQ(Read(absl::StrCat(kWhole, " --advantage-estimator ppo --no-offload-train")).others.holder, "the critic");
}

TEST(MilesStack, IsToldBySlimesFlagsAndItsOwn) {
  const auto told = [](absl::string_view script, absl::string_view words) {
    return Miles().marks.launch(script, Arguments(words));
  };
  EXPECT_FALSE(told("train.py", kWhole));  // slime's, as far as it shows
  EXPECT_TRUE(told("/root/miles/train.py", kWhole));
  EXPECT_TRUE(told("train.py", absl::StrCat(kWhole, " --lora-rank 8")));
  EXPECT_TRUE(told("train.py", absl::StrCat(kWhole, " --custom-rm-path miles.rollout.rm")));
  EXPECT_FALSE(told("train.py", "--lora-rank 8 --target-modules all"));
  EXPECT_FALSE(told("run.sh", absl::StrCat(kWhole, " --lora-rank 8")));
}

TEST(MilesFlags, AreThoseThatMilesIsToldBy) {
  std::set<absl::string_view> flags;
  for (const FlagSpec& flag : MilesFlags()) flags.insert(flag.flag);
  for (const Derivative& derivative : Derivatives()) {
    if (derivative.name != "miles") continue;
    for (const absl::string_view flag : derivative.flags) EXPECT_EQ(flags.count(flag), 1U) << flag;
  }
}

TEST(RenderMiles, WritesTheTokensOfAMicrobatchAndTheAdapters) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 8192, Origin::kCaller);
  config.Set(K::micro_batch_size, 1, Origin::kCaller);
  EXPECT_FALSE(absl::StrContains(RenderMiles({config, env, EnvVars()}).text, "--lora-rank"));
  config.Set(K::peft_scheme, "lora", Origin::kCaller);
  config.Set(K::peft_dim, 8, Origin::kCaller);
  const Launch launch = RenderMiles({config, env, EnvVars()});
  EXPECT_TRUE(absl::StrContains(launch.text, "train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate"))
      << launch.text;
  EXPECT_TRUE(absl::StrContains(launch.text, "--use-dynamic-batch-size --max-tokens-per-gpu 8192")) << launch.text;
  EXPECT_TRUE(absl::StrContains(launch.text, "--lora-rank 8")) << launch.text;
  const ParseResult read = ParseMiles(Arguments(absl::StrCat(kWhole, " ", absl::StrJoin(launch.argv, " "))), env);
  EXPECT_EQ(Final(read, K::peft_dim), Value(8));
}

}  // namespace
}  // namespace flightplan
