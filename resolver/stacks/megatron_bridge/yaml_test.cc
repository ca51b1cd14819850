#include "resolver/stacks/megatron_bridge/yaml.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace flightplan {
namespace {

using K = Knob;

Environment Bridge() {
  Environment env;
  env.target = Target::kMegatronBridge;
  return env;
}

const ParsedKnob* Find(const ParseResult& result, K knob) {
  for (const ParsedKnob& parsed : result.knobs) {
    if (parsed.knob == knob) return &parsed;
  }
  return nullptr;
}

TEST(BridgeYaml, ReadsADump) {
  const ParseResult result = ParseBridgeYaml(R"(_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 4
  params_dtype: &dtype
    _call_: false
    _target_: torch.bfloat16
  autocast_dtype: *dtype
  activation_func:
    _call_: false
    _target_: torch.nn.functional.silu
  attention_backend:
    _target_: megatron.core.transformer.enums.AttnBackend
    _args_: [5]
    _name_: auto
  recompute_modules: [core_attn, mlp]
  layernorm_epsilon: 1.0e-05
comm_overlap:
  _target_: megatron.bridge.training.comm_overlap.CommOverlapConfig
  tp_comm_overlap: false
  delay_wgrad_compute: null
env_vars:
  NCCL_NVLS_ENABLE: 0
checkpoint:
  whatever: 1
dataset:
  _target_: megatron.bridge.training.config.MockGPTDatasetConfig
)",
                                             Bridge());
  EXPECT_TRUE(result.ok()) << (result.findings.empty() ? "" : result.findings[0].finding.seen);
  ASSERT_NE(Find(result, K::num_layers), nullptr);
  EXPECT_EQ(Find(result, K::num_layers)->value, Value(4));
  EXPECT_EQ(Find(result, K::num_layers)->at.line, 4);
  EXPECT_EQ(Find(result, K::params_dtype)->value, Value("bf16"));
  EXPECT_EQ(Find(result, K::activation_func)->value, Value("silu"));
  EXPECT_EQ(Find(result, K::recompute_modules)->value.list().size(), 2u);
  EXPECT_EQ(Find(result, K::comm_overlap_configured)->value, Value(true));
  EXPECT_TRUE(Find(result, K::comm_overlap_delay_wgrad_compute)->value.is_none());
  EXPECT_EQ(Find(result, K::dataset_kind)->value, Value("gpt"));
  EXPECT_EQ(result.recipe_vars.at("NCCL_NVLS_ENABLE"), "0");
}

TEST(BridgeYaml, ReadsTheAdaptersThatAreTrained) {
  const ParseResult result = ParseBridgeYaml(
      "peft:\n  _target_: megatron.bridge.peft.lora.LoRA\n  dim: 8\n  target_modules: [linear_qkv]\n"
      "  dropout_position: pre\n  lora_dtype: null\n",
      Bridge());
  EXPECT_TRUE(result.ok()) << (result.findings.empty() ? "" : result.findings[0].finding.seen);
  EXPECT_EQ(Find(result, K::peft_scheme)->value, Value("lora"));
  EXPECT_EQ(Find(result, K::peft_dim)->value, Value(8));
  const ParseResult none = ParseBridgeYaml("peft: null\n", Bridge());
  EXPECT_EQ(Find(none, K::peft_scheme)->value, Value("none"));
}

TEST(BridgeYaml, NamesTheNearestFieldAndSection) {
  const ParseResult result = ParseBridgeYaml("model:\n  num_layer: 4\noptimiser:\n  lr: 1\n", Bridge());
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].at.line, 2);
  EXPECT_NE(result.findings[0].finding.needs.find("model.num_layers"), std::string::npos);
  EXPECT_EQ(result.findings[1].at.line, 3);
  EXPECT_NE(result.findings[1].finding.needs.find("optimizer"), std::string::npos);
}

// A dump has every field of its class: one that no rule looks at is not misspelt.
TEST(BridgeYaml, KeepsQuietAboutFieldsOfAClassThatAreNotLookedAt) {
  const ParseResult result = ParseBridgeYaml(
      "model:\n  _target_: some.Provider\n  num_layers: 4\n  num_layerz: 5\n  some_new_field: 1\n", Bridge());
  EXPECT_TRUE(result.ok());
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].finding.severity, Severity::kInfo);
  EXPECT_NE(result.findings[0].finding.seen.find("some_new_field"), std::string::npos);
}

TEST(BridgeYaml, RefusesWhatIsNoContainer) {
  for (const char* text : {"- a\n", "model: [", "42\n"}) {
    EXPECT_FALSE(ParseBridgeYaml(text, Bridge()).ok()) << text;
  }
}

}  // namespace
}  // namespace flightplan
