#include "resolver/stacks/megatron_bridge/yaml.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

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

TEST(BridgeYaml, TakesSectionsAndFieldsFromAMappingAtTheRoot) {
  constexpr absl::string_view kModel = "  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n";
  const std::string fields =
      absl::StrCat("defaults: &defaults\n", kModel, "model:\n  <<: *defaults\n  seq_length: 8\n");
  const std::string sections =
      "base: &base\n  model:\n    num_layers: 4\n    hidden_size: 64\n    num_attention_heads: 4\n    seq_length: 8\n"
      "<<: *base\ntrain:\n  train_iters: 1\n";
  for (const std::string& text : {fields, sections}) {
    EXPECT_TRUE(IsBridgeYaml(text)) << text;
    const ParseResult result = ParseBridgeYaml(text, Bridge());
    EXPECT_TRUE(result.ok()) << text;
    ASSERT_NE(Find(result, K::num_layers), nullptr) << text;
    EXPECT_EQ(Find(result, K::num_layers)->value, Value(4)) << text;
    EXPECT_EQ(result.elsewhere, "") << text;
  }
  EXPECT_FALSE(ParseBridgeYaml("base:\n  num_layers: 4\n", Bridge()).ok());
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

bool IsUnknown(const ParseResult& result, K knob) {
  return std::find(result.unknown.begin(), result.unknown.end(), knob) != result.unknown.end();
}

TEST(BridgeYaml, LeavesTheModelToTheRecipeWhereItDoesNotSayAllOfIt) {
  EXPECT_NE(ParseBridgeYaml("model:\n  tensor_model_parallel_size: 2\n", Bridge()).elsewhere, "");
  EXPECT_NE(ParseBridgeYaml("model:\n  num_layers: 2\n  hidden_size: 64\n", Bridge()).elsewhere, "");
  for (const char* layers : {"num_layers: 2", "hybrid_layer_pattern: M*"}) {
    const std::string text = absl::StrCat("model:\n  ", layers, "\n  hidden_size: 64\n  num_attention_heads: 4\n");
    EXPECT_EQ(ParseBridgeYaml(text, Bridge()).elsewhere, "") << text;
  }
}

TEST(BridgeYaml, MergesWhatAKeyNames) {
  const ParseResult result = ParseBridgeYaml(
      "train: &t\n  global_batch_size: 8\n  micro_batch_size: 1\n"
      "model:\n  <<: [{num_layers: 4}, {num_layers: 6, hidden_size: 64}]\n  num_attention_heads: 4\n"
      "validation:\n  <<: *t\n",
      Bridge());
  EXPECT_TRUE(result.ok()) << (result.findings.empty() ? "" : result.findings[0].finding.seen);
  ASSERT_NE(Find(result, K::num_layers), nullptr);
  EXPECT_EQ(Find(result, K::num_layers)->value, Value(4));
  EXPECT_EQ(Find(result, K::hidden_size)->value, Value(64));
}

TEST(BridgeYaml, RefusesAValueOfAnotherType) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"train:\n  global_batch_size: abc\n", "train.global_batch_size must be an integer, not text"},
      {"train:\n  micro_batch_size: \"4\"\n", "train.micro_batch_size must be an integer, not text: 4 without quotes"},
      {"model:\n  num_layers: 4.5\n", "model.num_layers must be an integer, not a float"},
      {"model:\n  num_layers: [4]\n", "model.num_layers must be an integer, not a list"},
      {"optimizer:\n  lr: fast\n", "optimizer.lr must be a number, not text"},
      {"ddp:\n", "null takes the whole section away, which training needs: leave ddp out, or write its fields"}};
  for (const auto& [text, needs] : kRows) {
    const ParseResult result = ParseBridgeYaml(text, Bridge());
    ASSERT_EQ(result.findings.size(), 1u) << text;
    EXPECT_EQ(result.findings[0].finding.severity, Severity::kError) << text;
    EXPECT_EQ(result.findings[0].finding.needs, needs) << text;
    EXPECT_TRUE(result.knobs.empty()) << text;
  }
}

// What PyYAML reads as text and OmegaConf as a number, what one puts for another value, and None.
TEST(BridgeYaml, TakesNumbersAsBothOfItsReadersDo) {
  const ParseResult result = ParseBridgeYaml(
      "optimizer:\n  lr: 1e-4\n  min_lr: 1.0e-05\n  weight_decay: 1\ntrain:\n  train_iters: 1e4\n"
      "  global_batch_size: ???\nmodel:\n  seq_length: ${dataset.seq_length}\n  num_moe_experts: null\nprofiling: "
      "null\n",
      Bridge());
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(Find(result, K::lr)->value, Value(1e-4));
  EXPECT_EQ(Find(result, K::train_iters)->value, Value(10000));
  EXPECT_TRUE(IsUnknown(result, K::global_batch_size));
  EXPECT_TRUE(IsUnknown(result, K::seq_length));
}

TEST(BridgeYaml, RefusesWhatNoVariableCanHold) {
  for (const char* text : {"env_vars:\n  A: null\n", "env_vars:\n  A: [1, 2]\n"}) {
    const ParseResult result = ParseBridgeYaml(text, Bridge());
    ASSERT_EQ(result.findings.size(), 1u) << text;
    EXPECT_EQ(result.findings[0].finding.rule_id, "env.vars-scalar");
  }
  const ParseResult open = ParseBridgeYaml("dataset:\n  offline_packing_specs: null\n", Bridge());
  EXPECT_EQ(Find(open, K::dataset_offline_packing_specs)->value, Value(false));
}

}  // namespace
}  // namespace flightplan
