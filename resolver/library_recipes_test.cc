// The recipes of Megatron-Bridge's library, each as `run_recipe.py --recipe NAME` starts it on the GPUs that its name
// says.
#include "resolver/catalog/library_recipes.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

// GPU and count of "qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config"; 0 where the name says none.
std::pair<std::string, int> GpusOf(absl::string_view name) {
  const std::vector<std::string> words = absl::StrSplit(name, '_');
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    absl::string_view word = words[i];
    int count = 0;
    if (absl::ConsumeSuffix(&word, "gpu") && absl::SimpleAtoi(word, &count)) return {words[i + 1], count};
  }
  return {};
}

// What Megatron-Core refuses of them, and why. (Whether they fit the GPUs of their name is another question: these are
// the product of their parallel sizes, not what somebody ran.)
const std::map<std::string, std::set<std::string>>& Refused() {
  static const auto* const kRefused = new std::map<std::string, std::set<std::string>>{
      // Tensor parallel experts without sequence_parallel: moe_layer.py:636 stops the first training step.
      {"glm45_355b_peft_16gpu_h100_bf16_config", {"build.moe-tp-needs-sp"}},
      {"glm45_355b_sft_128gpu_h100_bf16_config", {"build.moe-tp-needs-sp"}},
      {"qwen3_vl_235b_a22b_sft_32gpu_h100_bf16_config", {"build.moe-tp-needs-sp"}},
      // 45 layers on 8 stages, 94 and 60 on 16, without a layout.
      {"step35_196b_a11b_pretrain_512gpu_h100_bf16_config", {"build.layers-divisible-by-pp"}},
      {"qwen3_vl_235b_a22b_pretrain_256gpu_h100_bf16_mock_config", {"build.layers-divisible-by-pp"}},
      {"qwen35_vl_397b_a17b_pretrain_512gpu_h100_bf16_mock_config", {"build.layers-divisible-by-pp"}},
      // Packed data, which gemma2_provider.py:378 stops at in the first step.
      {"gemma2_2b_sft_1gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      {"gemma2_2b_peft_1gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      {"gemma2_9b_sft_4gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      {"gemma2_9b_peft_1gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      {"gemma2_27b_sft_16gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      {"gemma2_27b_peft_4gpu_h100_bf16_config", {"build.bridge-gemma2-no-packing"}},
      // 36 samples on four replicas, 32 on sixteen, four at a time.
      {"qwen35_vl_122b_a10b_sft_48gpu_h100_bf16_config", {"batch.eval-gbs-divisible"}},
      {"qwen35_vl_122b_a10b_peft_8gpu_h100_bf16_config", {"batch.eval-gbs-divisible"}},
      {"qwen35_vl_397b_a17b_sft_128gpu_h100_bf16_config", {"batch.eval-gbs-divisible"}},
      {"qwen35_vl_397b_a17b_peft_32gpu_h100_bf16_config", {"batch.eval-gbs-divisible"}},
  };
  return *kRefused;
}

TEST(LibraryRecipes, NoneIsRefusedWithoutAReason) {
  const Resolver resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  int judged = 0, sized = 0;
  std::map<std::string, std::set<std::string>> refused;
  for (const LibraryRecipe& recipe : LibraryRecipes()) {
    const auto [gpu, count] = GpusOf(recipe.name);
    if (count == 0) continue;  // another name of one that says it
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework("megatron-bridge");
    request.set_input_format("bridge-recipe");
    request.mutable_arguments()->add_values("--recipe");
    request.mutable_arguments()->add_values(std::string(recipe.name));
    request.mutable_arguments()->add_values("checkpoint.pretrained_checkpoint=/base");  // the caller's, below adapters
    request.set_world_size(count);
    request.mutable_hardware()->set_gpu(gpu);
    request.mutable_hardware()->set_gpu_count(count);
    v1::ValidateConfigResponse response;
    const absl::Status status = resolver.ValidateConfig(request, &response);
    ASSERT_TRUE(status.ok()) << recipe.name << ": " << status;
    ++judged;
    if (response.memory().fit() != v1::FIT_VERDICT_UNKNOWN) ++sized;
    for (const v1::Finding& finding : response.findings()) {
      const bool fit = absl::StartsWith(finding.rule_id(), "fit.");
      if (finding.severity() == v1::SEVERITY_ERROR && !fit) refused[std::string(recipe.name)].insert(finding.rule_id());
    }
  }
  EXPECT_GE(judged, 250);
  EXPECT_GE(sized, 215);
  EXPECT_EQ(refused, Refused());
  std::printf("%d recipes judged, %d with memory\n", judged, sized);
}

TEST(LibraryRecipes, APrecisionThatTheCallerNamesIsHeldAgainstTheGpu) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  request.set_input_format("bridge-recipe");
  for (const char* word : {"--recipe", "qwen3_30b_a3b_pretrain_config", "mixed_precision=bf16_with_mxfp8_mixed"}) {
    request.mutable_arguments()->add_values(word);
  }
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  const v1::ValidateConfigResponse response = testing::Validated(request);
  EXPECT_EQ(testing::Errors(response.findings()), std::set<std::string>{"gpu-gate.mxfp8-needs-blackwell"});
}

// The answer's values, by knob.
template <typename Response>
std::map<std::string, std::string> ValuesOf(const Response& response) {
  std::map<std::string, std::string> values;
  for (const v1::ConfigEntry& entry : response.config()) values[entry.name()] = entry.value().ShortDebugString();
  return values;
}

template <typename Response>
std::map<std::string, int64_t> StageBytesOf(const Response& response) {
  std::map<std::string, int64_t> bytes;
  for (const v1::StageMemory& stage : response.estimate().stages()) {
    for (const v1::MemoryPart& part : stage.parts()) bytes[part.name()] += part.part_bytes();
  }
  return bytes;
}

// Models whose own classes have what no override says (norms around the layers, sinks, windows, sparse attention's
// heads): a launch is weighed without it.
bool IsOfItsOwnClass(absl::string_view model) {
  return absl::StartsWith(model, "gemma-2") || absl::StartsWith(model, "gpt-oss") || model == "minimax-m3" ||
         absl::StartsWith(model, "nemotron");
}

// A launch over the model's recipe is the answer: what the recipe sets otherwise is written.
TEST(LibraryRecipes, ALaunchOverOneIsTheAnswer) {
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const Resolver resolver(catalog);
  int launched = 0;
  std::set<absl::string_view> trained;
  for (const LibraryRecipe& recipe : LibraryRecipes()) {
    if (absl::StrContains(recipe.name, "_pretrain_")) trained.insert(recipe.hf_model);
  }
  for (const ModelSpec& model : catalog->models()) {
    if (!model.hf_id.has_value() || trained.count(*model.hf_id) == 0) continue;
    v1::ResolveConfigRequest ask;
    ask.mutable_model()->set_name(model.name);
    ask.mutable_target()->set_framework("megatron-bridge");
    ask.mutable_hardware()->set_gpu("h100-sxm");
    ask.mutable_hardware()->set_gpu_count(256);
    ask.mutable_workload()->set_seq_length(4096);
    ask.mutable_workload()->set_global_batch_size(1024);
    v1::ResolveConfigResponse answer;
    if (!resolver.ResolveConfig(ask, &answer).ok() || !answer.will_run()) continue;
    const v1::Launch& launch = answer.launches(0);
    if (absl::StrContains(launch.text(), "${RECIPE")) continue;
    ++launched;
    v1::ValidateConfigRequest check;
    check.mutable_target()->set_framework("megatron-bridge");
    check.mutable_file()->set_name("launch.sh");
    check.mutable_file()->set_text(absl::StrCat("NODE_RANK=0\nMASTER_ADDR=a\n", launch.text()));
    check.mutable_hardware()->set_gpu("h100-sxm");
    v1::ValidateConfigResponse checked;
    const absl::Status status = resolver.ValidateConfig(check, &checked);
    ASSERT_TRUE(status.ok()) << model.name << ": " << status;
    EXPECT_TRUE(checked.accepted_by_stack()) << model.name << ": " << checked.DebugString().substr(0, 3000);
    const std::map<std::string, std::string> wanted = ValuesOf(answer), has = ValuesOf(checked);
    for (const auto& [knob, value] : wanted) {
      if (knob == "comm_overlap.configured") continue;  // of the launch's words, not of what they come to
      // Not there: a field of comm_overlap's says it, and it is as its class has it.
      const auto found = has.find(knob);
      const char* const by_class = knob == "batch_p2p_comm" ? "bool_value: true" : "bool_value: false";
      EXPECT_EQ(found == has.end() ? by_class : found->second, value) << model.name << ": " << knob;
    }
    if (IsOfItsOwnClass(model.name)) continue;
    EXPECT_EQ(StageBytesOf(checked), StageBytesOf(answer)) << model.name << "\n" << launch.text();
  }
  EXPECT_GE(launched, 30);
}

}  // namespace
}  // namespace flightplan
