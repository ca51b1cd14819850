#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cli/command.h"
#include "clients/cli/terminal.h"
#include "gtest/gtest.h"

namespace flightplan::cli {
namespace {

std::string Page(std::vector<std::string> args) {
  Context context;
  args.insert(args.begin(), "explain");
  return RunCommandLine(args, context) == kExitOk ? context.out : context.err;
}

TEST(Explain, TakesAKnobAsALaunchSpellsIt) {
  const std::string page = Page({"layernorm_epsilon"});
  ASSERT_TRUE(absl::StartsWith(page, "layernorm_epsilon\n")) << page;
  for (const char* word : {"--norm-epsilon", "--norm-epsilon=1e-6", "model.layernorm_epsilon", "norm-epsilon",
                           "layernorm-epsilon", "model.layernorm_epsilon=1e-6"}) {
    EXPECT_EQ(Page({word}), page) << word;
  }
  EXPECT_EQ(Page({"--num-experts"}), Page({"num_moe_experts"}));
}

TEST(Explain, KeepsItsOwnFlagsAndSaysWhatItDoesNotKnow) {
  EXPECT_TRUE(absl::StartsWith(Page({"--norm-epsilon", "--format", "json"}), "{"));
  EXPECT_TRUE(absl::StrContains(Page({"--no-such-knob"}), "no knob is called 'no-such-knob'"));
  EXPECT_TRUE(absl::StrContains(Page({"--format"}), "--format wants F"));
}

// What people call a thing is seldom its name.
TEST(Explain, ListsWhatAPlainWordIsIn) {
  for (const auto& [word, seen] : std::initializer_list<std::pair<const char*, const char*>>{
           {"deepep", "a value of    moe_flex_dispatcher_backend"},
           {"HybridEP", "moe_flex_dispatcher_backend"},
           {"alltoall", "moe_token_dispatcher_type"},
           {"allgather", "moe_token_dispatcher_type"},
           {"flex", "moe_token_dispatcher_type"},
           {"mtp", "mtp_num_layers"},
           {"mla", "mla."},
           {"ep", "expert_model_parallel_size"},
           {"graphs", "cuda_graph_impl"},
           {"cuda-graphs", "cuda_graph_impl"}}) {
    EXPECT_TRUE(absl::StrContains(Page({word}), seen)) << Page({word});
  }
  EXPECT_TRUE(absl::StrContains(Page({"deepep", "--format", "json"}), "\"rules\""));
  EXPECT_TRUE(absl::StrContains(Page({"nosuchword"}), "no knob is called"));
}

TEST(Explain, TakesAVariableThatRulesRead) {
  const std::string page = Page({"CUDA_DEVICE_MAX_CONNECTIONS"});
  EXPECT_TRUE(absl::StrContains(page, "mlm.cdmc-must-be-1")) << page;
  EXPECT_EQ(Page({"CUDA_DEVICE_MAX_CONNECTIONS=1"}), page);
  EXPECT_TRUE(absl::StrContains(Page({"CUDA_DEVICE_MAX_CONNECTIONS", "--format", "json"}), "\"mlm.cdmc-must-be-1\""));
  EXPECT_TRUE(absl::StrContains(Page({"NO_SUCH_VARIABLE"}), "no knob is called"));
}

TEST(Explain, TakesTheNamesOfDecisions) {
  EXPECT_EQ(Page({"env.NCCL_NVLS_ENABLE"}), Page({"NCCL_NVLS_ENABLE"}));
  EXPECT_TRUE(absl::StrContains(Page({"env.NCCL_NVLS_ENABLE"}), "decide.env.allocator"));
  const std::string binding = Page({"launcher.numa-binding"});
  EXPECT_TRUE(absl::StrContains(binding, "decide.env.cpu-binding")) << binding;
  EXPECT_TRUE(absl::StrContains(binding, "a word to torchrun")) << binding;
}

TEST(Explain, SaysOfAWarningThatItFailsNothing) {
  EXPECT_TRUE(absl::StrContains(Page({"fit.memory-marginal"}), "a warning, which fails no run"));
  EXPECT_TRUE(absl::StrContains(Page({"fit.static-memory"}), "the run fails later"));
}

TEST(Version, SpeaksJson) {
  Context context;
  ASSERT_EQ(RunCommandLine(std::vector<std::string>{"version", "--format", "json"}, context), kExitOk) << context.err;
  for (const char* field : {"\"version\":", "\"catalog_revision\":", "\"megatron-lm\": ["}) {
    EXPECT_TRUE(absl::StrContains(context.out, field)) << field << context.out;
  }
}

}  // namespace
}  // namespace flightplan::cli
