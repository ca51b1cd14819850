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
  EXPECT_GE(sized, 140);
  EXPECT_EQ(refused, Refused());
  std::printf("%d recipes judged, %d with memory\n", judged, sized);
}

}  // namespace
}  // namespace flightplan
