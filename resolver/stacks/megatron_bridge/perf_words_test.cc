#include "resolver/stacks/megatron_bridge/perf_words.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "tests/support/bridge_launch.h"

namespace flightplan {
namespace {

using testing::BridgeEnv;
using testing::LastOf;

std::string NeedsOf(const std::vector<std::string>& words) {
  const ParseResult parsed = ParseBridgePerf(words, BridgeEnv());
  return parsed.findings.empty() ? "" : parsed.findings[0].finding.needs;
}

TEST(ParseBridgePerf, SaysWhichOfItsWordsWasMeant) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"-c", "mxfp8", "fp8_mx"},
      {"-c", "BF16", "bf16"},
      {"-c", "bf16_with_nvfp4_mixed", "nvfp4"},
      {"-g", "gb200-nvl72", "gb200"},
      {"--task", "lora", "peft"},
      {"--data", "squad-packed", "squad_packed"},
      {"--optimizer_type", "moun", "muon"},
      {"--cuda_graph_impl", "te", "transformer_engine"},
      {"--cuda_graph_scope", "attn,moe_rout", "attn,moe_router"},
      {"--moe_flex_dispatcher_backend", "alltoall", "None"}};
  for (const auto& [flag, word, meant] : rows) {
    EXPECT_TRUE(absl::EndsWith(NeedsOf({flag, word}), absl::StrCat(": did you mean ", meant, "?"))) << word;
    EXPECT_EQ(NeedsOf({flag, meant}), "") << flag;
  }
  EXPECT_EQ(NeedsOf({"-g", "h200"}), "one of h100|b200|b300|gb200|gb300|vr200|r100");
  EXPECT_EQ(NeedsOf({"--domain", "LLM"}), "");
  EXPECT_EQ(NeedsOf({"--lock_gpu_freq", "fast"}), "an integer");
  EXPECT_EQ(NeedsOf({"--detach", "maybe"}), "true or false");
}

TEST(ParseBridgePerf, TakesTheBeginningOfOneFlagForIt) {
  const std::vector<std::string> argv = {"--tensor_model=2", "--num_g", "16", "-mr", "DeepSeek_V3"};
  const ParseResult parsed = ParseBridgePerf(argv, BridgeEnv());
  EXPECT_EQ(LastOf(parsed, Knob::tensor_model_parallel_size), Value(2));
  EXPECT_EQ(LastOf(parsed, Knob::launch_num_gpus), Value(16));
  EXPECT_EQ(LastOf(parsed, Knob::launch_recipe), Value("/deepseek_v3"));
  EXPECT_TRUE(absl::StrContains(NeedsOf({"--save_", "3"}), "--save_dir, --save_interval, --save_config_filepath"));
}

TEST(ParseBridgePerf, AsksALaunchForWhatItsParserAsksFor) {
  const auto required = [](const std::vector<std::string>& words, int line) {
    std::vector<Argument> args;
    args.reserve(words.size());
    for (const std::string& word : words) args.push_back({word, {static_cast<int>(args.size()), line, 0}});
    const ParseResult parsed = ParseBridgePerf(absl::Span<const Argument>(args), BridgeEnv());
    return parsed.findings.empty() ? "" : parsed.findings[0].finding.seen;
  };
  const std::vector<std::string> part = {"-m", "deepseek", "-mr", "deepseek_v3", "-c", "bf16"};
  EXPECT_EQ(required(part, 2), "no -ng/--num_gpus, -g/--gpu");
  EXPECT_EQ(required(part, 0), "");  // words alone
  std::vector<std::string> all = part;
  all.insert(all.end(), {"--num_g", "16", "--gpu=h100"});
  EXPECT_EQ(required(all, 2), "");
}

}  // namespace
}  // namespace flightplan
