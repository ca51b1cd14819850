#include "resolver/stacks/vime/dialect.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/parse_result_test_util.h"

namespace flightplan {
namespace {

using K = Knob;

const Stack& Vime() { return *FindStack("vime"); }

std::vector<Argument> Arguments(absl::string_view words) {
  std::vector<Argument> args;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    args.push_back({std::string(word), {static_cast<int>(args.size()), 0, 0}});
  }
  return args;
}

ParseResult Read(absl::string_view words) {
  Environment env;
  env.target = Vime().target;
  env.core_release = Vime().core_release(kMain);
  return ParseVime(Arguments(words), env);
}

constexpr absl::string_view kWhole = "--num-rollout 10 --rollout-batch-size 32 --n-samples-per-prompt 8";

TEST(ParseVime, SetsWhatVimeSetsBeforeMegatronChecks) {
  const ParseResult parsed = Read(absl::StrCat(kWhole,
                                               " --global-batch-size 128 --use-dynamic-batch-size --max-tokens-per-gpu "
                                               "8192 --tensor-model-parallel-size 2 --max-position-embeddings 99999"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>());
  EXPECT_EQ(Final(parsed, K::use_distributed_optimizer), Value(true));
  EXPECT_EQ(Final(parsed, K::bf16), Value(true));
  EXPECT_EQ(Final(parsed, K::seq_length), Value(8192));
  EXPECT_EQ(Final(parsed, K::max_position_embeddings), Value(8192));  // slime's keeps what is written
  EXPECT_EQ(Final(parsed, K::train_iters), Value(20));
  EXPECT_EQ(Final(parsed, K::use_persistent_ckpt_worker), std::nullopt);  // of slime alone
}

TEST(ParseVime, PassesOverWhatVllmReadsAndWarnsOfTheRest) {
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole,
                                  " --vllm-gpu-memory-utilization 0.7 --vllm-cudagraph-capture-sizes 1 2 4 "
                                  "--router-policy x --opd-type vllm --use-opd --transfer-backend ray"))),
            std::set<std::string>());
  const ParseResult parsed = Read(absl::StrCat(kWhole, " --sglang-mem-fraction-static 0.7"));
  EXPECT_EQ(Ids(parsed), std::set<std::string>{"vime.unread-flag"});
  EXPECT_TRUE(parsed.ok());
}

TEST(ParseVime, RefusesFlagsWithoutOrBesideOthers) {
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --use-opd --opd-type megatron"))), std::set<std::string>{"vime.goes-with"});
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --use-opd --opd-type vllm --opd-teacher-load /t"))),
            std::set<std::string>{"vime.goes-with"});
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --use-rollout-logprobs"))), std::set<std::string>());
  EXPECT_EQ(Ids(Read(absl::StrCat(kWhole, " --use-rollout-logprobs --use-tis"))),
            std::set<std::string>{"vime.goes-with"});
}

TEST(ParseVime, SaysWhoElseHasMemoryAndWhatIsNotWeighed) {
  const std::string beside = absl::StrCat(kWhole, " --colocate --vllm-gpu-memory-utilization 0.5");
  EXPECT_EQ(Read(beside).others.holder, "");
  const ParseResult awake = Read(absl::StrCat(beside, " --no-offload-rollout"));
  EXPECT_EQ(awake.others.holder, "the rollout engine");
  EXPECT_EQ(awake.others.gpu_share, 0.5);
  EXPECT_EQ(Read(absl::StrCat(beside, " --freeze-params-name-list router")).others.not_modelled, "frozen parameters");
}

TEST(VimeStack, IsToldBySlimesFlagsAndItsEngine) {
  const auto told = [](absl::string_view script, absl::string_view words) {
    return Vime().marks.launch(script, Arguments(words));
  };
  EXPECT_FALSE(told("train.py", kWhole));
  EXPECT_TRUE(told("/root/vime/train.py", kWhole));
  EXPECT_TRUE(told("train.py", absl::StrCat(kWhole, " --vllm-gpu-memory-utilization 0.7")));
  EXPECT_TRUE(told("train.py", absl::StrCat(kWhole, " --custom-rm-path vime.rollout.rm")));
  EXPECT_FALSE(told("serve.py", "--vllm-gpu-memory-utilization 0.7"));
}

}  // namespace
}  // namespace flightplan
