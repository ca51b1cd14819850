#include "resolver/stacks/loongforge/dialect.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"

namespace flightplan {
namespace {

using Words = std::vector<std::string>;

Environment LoongForge() {
  Environment env;
  env.target = Target::kLoongForge;
  env.core_release = kLoongForgeCore;
  return env;
}

// What the model's file says, and `knobs` on top.
Config Named(absl::string_view model, const std::vector<std::pair<Knob, Value>>& knobs) {
  Config config = DefaultsFor(Target::kLoongForge, kLoongForgeCore, kMain, /*mla=*/false);
  config.Set(Knob::model_name, Value(model), Origin::kModel);
  for (const auto& [knob, argument] : FindLoongForgeModel(model)->arguments) {
    config.Set(knob, argument.value, Origin::kModel);
  }
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kCaller);
  return config;
}

Launch Render(const Config& config) { return RenderLoongForge({config, LoongForge(), EnvVars()}); }

TEST(RenderLoongForge, LeavesTheModelToItsFile) {
  EXPECT_EQ(Render(Named("qwen3-30b-a3b", {})).argv, (Words{"--model-name", "qwen3-30b-a3b"}));
}

TEST(RenderLoongForge, ChangesTheFileByOverridesAndTheRestByFlags) {
  const Launch launch = Render(Named("qwen3-30b-a3b", {{Knob::num_layers, 4},          // of the file
                                                       {Knob::batch_p2p_comm, false},  // a field without a flag
                                                       {Knob::split, "99,1,0"},
                                                       {Knob::lr, 1e-4}}));
  EXPECT_EQ(launch.argv, (Words{"--model-name", "qwen3-30b-a3b", "num_layers=4", "+batch_p2p_comm=false", "--lr",
                                "0.0001", "--split", "99,1,0"}));
  EXPECT_TRUE(launch.unspelled.empty());
  EXPECT_NE(launch.text.find(" \\\n    num_layers=4 \\\n    +batch"), std::string::npos) << launch.text;
}

TEST(RenderLoongForge, LeavesFieldsOfOtherClassesToTheirFlags) {
  const Launch launch = Render(Named("qwen3-30b-a3b", {{Knob::bucket_size, 1000},  // copied from the flag's
                                                       {Knob::ddp_bucket_size, 1000},
                                                       {Knob::store_param_remainders, false}}));
  EXPECT_EQ(launch.argv, (Words{"--model-name", "qwen3-30b-a3b", "--ddp-bucket-size", "1000"}));
  EXPECT_EQ(launch.unspelled, std::vector<Knob>{Knob::store_param_remainders});
}

TEST(RenderLoongForge, NamesTheFoundationOfAVisionLanguageModel) {
  EXPECT_EQ(Render(Named("qwen3-vl-30b-a3b", {{Knob::num_layers, 4}})).argv,
            (Words{"--model-name", "qwen3-vl-30b-a3b", "model.foundation.num_layers=4"}));
}

TEST(RenderLoongForge, WritesAdaptersAsTheFilesPart) {
  const std::vector<std::pair<Knob, Value>> lora = {{Knob::peft_scheme, "lora"},
                                                    {Knob::peft_dim, 16},
                                                    {Knob::pretrained_checkpoint, "/base"},
                                                    {Knob::peft_share_expert_adapters, false}};
  const Launch launch = Render(Named("qwen3-30b-a3b", lora));
  EXPECT_EQ(launch.argv, (Words{"--model-name", "qwen3-30b-a3b",
                                "++peft_config._target_=loongforge.models.common.peft.lora_config.LoraConfig",
                                "++peft_config.dim=16", "--pretrained-checkpoint", "/base"}));
  EXPECT_EQ(launch.unspelled, std::vector<Knob>{Knob::peft_share_expert_adapters}) << "its classes have no such field";
  EXPECT_EQ(Render(Named("qwen3-vl-30b-a3b", {{Knob::peft_scheme, "lora"}})).argv,
            (Words{"--model-name", "qwen3-vl-30b-a3b",
                   "++model.peft_config._target_=loongforge.models.common.peft.lora_config.VLMLoraConfig",
                   "++model.peft_config.apply_to_foundation=true"}));
}

TEST(RenderLoongForge, SaysWhatOnlyAFileCouldSay) {
  Config config = DefaultsFor(Target::kLoongForge, kLoongForgeCore, kMain, /*mla=*/false);
  config.Set(Knob::num_layers, 4, Origin::kModel);
  config.Set(Knob::moe_shared_expert_gate, true, Origin::kModel);  // LoongForge has no flag for it
  const Launch launch = Render(config);
  EXPECT_EQ(launch.argv, (Words{"--num-layers", "4"}));
  EXPECT_EQ(launch.unspelled, std::vector<Knob>{Knob::moe_shared_expert_gate});
}

}  // namespace
}  // namespace flightplan
