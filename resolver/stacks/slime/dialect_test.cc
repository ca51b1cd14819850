#include "resolver/stacks/slime/dialect.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/derivatives.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"
#include "resolver/stacks/rollout_flags.h"
#include "resolver/stacks/slime/flags.h"

namespace flightplan {
namespace {

using K = Knob;

const Stack& Slime() { return *FindStack("slime"); }

Environment Env() {
  Environment env;
  env.target = Slime().target;
  env.core_release = Slime().core_release(kMain);
  return env;
}

ParseResult Read(absl::string_view words) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}});
  }
  return ParseSlime(args, Env());
}

constexpr absl::string_view kWhole = "--num-rollout 10 --rollout-batch-size 32 --n-samples-per-prompt 8";

TEST(ParseSlime, SetsWhatSlimeSetsBeforeMegatronChecks) {
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --global-batch-size 128"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(Final(parsed, K::use_distributed_optimizer), Value(true));
  EXPECT_EQ(Final(parsed, K::bf16), Value(true));
  EXPECT_EQ(Final(parsed, K::variable_seq_lengths), Value(true));
  EXPECT_EQ(Final(parsed, K::moe_token_dispatcher_type), Value("alltoall"));
  EXPECT_EQ(Final(parsed, K::micro_batch_size), Value(1));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(4096));
  EXPECT_EQ(Final(parsed, K::max_position_embeddings), Value(4096));
  EXPECT_EQ(Final(parsed, K::train_iters), Value(20));
}

TEST(ParseSlime, SaysWhetherTheEngineHasGpusOfItsOwn) {
  EXPECT_TRUE(Read(kWhole).engine_apart);
  for (const char* flag : {"--colocate", "--offload", "--offload-rollout", "--offload-train"}) {
    EXPECT_FALSE(Read(absl::StrCat(kWhole, " ", flag)).engine_apart) << flag;
  }
}

TEST(ParseSlime, KeepsWhatTheCallerSaidOverADefault) {
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --micro-batch-size 4 --seq-length 8192 --fp16 --lr 2e-6"));
  EXPECT_EQ(Final(parsed, K::micro_batch_size), Value(4));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(8192));
  EXPECT_EQ(Final(parsed, K::max_position_embeddings), Value(8192));
  EXPECT_EQ(Final(parsed, K::bf16), Value(false));
  EXPECT_EQ(Final(parsed, K::lr), Value(2e-6));
}

// A value that cannot be read hides no flags; a word between them may.
TEST(ParseSlime, LooksForWhatIsMissingBesideUnknownValues) {
  const auto read = [](absl::string_view words, size_t unknown) {
    std::vector<Argument> args;
    for (const absl::string_view word : absl::StrSplit(words, ' ')) {
      args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}});
    }
    args[unknown].unknown = true;
    return ParseSlime(args, Env());
  };
  const std::set<std::string> missing = {"slime.length", "slime.goes-with"};
  EXPECT_EQ(Ids(read("--save $C --eval-interval 5 --rollout-batch-size 32", 1)), missing);
  EXPECT_EQ(Ids(read("--load=$C --eval-interval 5 --rollout-batch-size 32", 0)), missing);
  EXPECT_EQ(Ids(read("--eval-interval 5 --rollout-batch-size 32 --prompt-data $A/b.jsonl", 5)), missing);
  const ParseResult open = read("--colocate $MORE --eval-interval 5 --rollout-batch-size 32", 1);
  EXPECT_EQ(Ids(open), std::set<std::string>());
  ASSERT_EQ(open.not_judged.size(), 2U);
  EXPECT_TRUE(absl::StrContains(open.not_judged[0], "slime.goes-with: --eval-interval")) << open.not_judged[0];
  EXPECT_TRUE(absl::StrContains(open.not_judged[0], "$MORE, which cannot be read here")) << open.not_judged[0];
}

TEST(ParseSlime, CountsTheTokensOfAGpuAsOneSequence) {
  const ParseResult parsed =
      Read(absl::StrCat(kWhole,
                        " --use-dynamic-batch-size --max-tokens-per-gpu 20000 --context-parallel-size 2 "
                        "--tensor-model-parallel-size 4 --micro-batch-size 4"));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(2 * 20480));  // padded to 128 for each of four
  EXPECT_EQ(Final(parsed, K::micro_batch_size), Value(1));    // the number of samples is passed over
  EXPECT_EQ(Final(parsed, K::max_position_embeddings), Value(2 * 20480));
}

TEST(ParseSlime, CountsTheGpusOfTheActor) {
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --actor-num-nodes 4 --actor-num-gpus-per-node 8"));
  EXPECT_EQ(Final(parsed, K::launch_num_gpus), Value(32));
  EXPECT_EQ(parsed.gpus_per_node, 8);
}

TEST(ParseSlime, PassesOverWhatSglangReadsAndWarnsOfTheRest) {
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --sglang-mem-fraction-static 0.7 --router-policy x"))),
            std::set<std::string>());
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --num-rollouts 3 stray"));
  ASSERT_EQ(parsed.findings.size(), 1U);
  EXPECT_EQ(parsed.findings[0].finding.severity, Severity::kWarning);
  EXPECT_TRUE(absl::StrContains(parsed.findings[0].finding.needs, "--num-rollout"));
  EXPECT_TRUE(parsed.ok());
}

TEST(ParseSlime, AsksForTheBatchOfARollout) {
  const std::string steps = absl::StrCat(kWhole, " --num-steps-per-rollout 2");
  EXPECT_EQ(Final(Read(steps), K::global_batch_size), Value(128));
  EXPECT_EQ(Ids(Read(absl::StrCat(steps, " --global-batch-size 128"))), std::set<std::string>());
  EXPECT_EQ(Ids(Read(absl::StrCat(steps, " --global-batch-size 64"))), std::set<std::string>{"slime.batch-of-rollout"});
}

TEST(SlimeFlags, AreThoseThatSlimeIsToldBy) {
  std::set<absl::string_view> telling;
  for (const Derivative& derivative : Derivatives()) {
    if (derivative.name == "slime") telling.insert(derivative.flags.begin(), derivative.flags.end());
  }
  std::set<absl::string_view> others;
  for (const absl::Span<const FlagSpec> flags : {RolloutFlags(), SlimeFlags()}) {
    for (const FlagSpec& flag : flags) {
      const bool megatrons = std::any_of(kCoreReleases.begin(), kCoreReleases.end(),
                                         [&](int release) { return FlagTable(release).Find(flag.flag) != nullptr; });
      if (!megatrons && telling.count(flag.flag) == 0) others.insert(flag.flag);
    }
  }
  // Those that a program other than slime is as likely to have, and those of its patch of Megatron-LM.
  EXPECT_EQ(others, (std::set<absl::string_view>{"--custom-config-path", "--freeze-indexer", "--model-name",
                                                 "--no-offload-rollout", "--no-offload-train", "--post-mlp-layernorm",
                                                 "--post-self-attn-layernorm", "--save-hf", "--use-gated-attention"}));
}

TEST(RenderSlime, WritesTheTokensOfAMicrobatch) {
  Environment env = Env();
  env.world_size = 16;
  env.gpus_per_node = 8;
  Config config = DefaultsFor(env.target, env.core_release, kMain, /*mla=*/false);
  config.Set(K::seq_length, 8192, Origin::kCaller);
  config.Set(K::micro_batch_size, 1, Origin::kCaller);
  config.Set(K::context_parallel_size, 4, Origin::kCaller);
  const Launch launch = RenderSlime({config, env, EnvVars()});
  EXPECT_TRUE(absl::StrContains(launch.text, "train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate"))
      << launch.text;
  EXPECT_TRUE(absl::StrContains(launch.text, "--use-dynamic-batch-size --max-tokens-per-gpu 2048")) << launch.text;
  EXPECT_TRUE(absl::StrContains(launch.text, "--prompt-data \"${PROMPT_DATA:?the prompts}\"")) << launch.text;
  EXPECT_NE(std::find(launch.argv.begin(), launch.argv.end(), "--context-parallel-size"), launch.argv.end());
  config.Set(K::micro_batch_size, 2, Origin::kCaller);
  const Launch several = RenderSlime({config, env, EnvVars()});
  EXPECT_TRUE(absl::StrContains(several.text, "--rollout-max-context-len 8192")) << several.text;
  EXPECT_FALSE(absl::StrContains(several.text, "--use-dynamic-batch-size")) << several.text;
}

}  // namespace
}  // namespace flightplan
