#include "resolver/stacks/loongforge/yaml.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/loongforge/dialect.h"

namespace flightplan {
namespace {

Environment LoongForge() {
  Environment env;
  env.target = Target::kLoongForge;
  return env;
}

const ParsedKnob* Find(const ParseResult& result, Knob knob) {
  const ParsedKnob* found = nullptr;
  for (const ParsedKnob& parsed : result.knobs) {
    if (parsed.knob == knob) found = &parsed;
  }
  return found;
}

std::vector<std::string> Ids(const ParseResult& result) {
  std::vector<std::string> ids;
  for (const ParseFinding& entry : result.findings) ids.emplace_back(entry.finding.rule_id);
  return ids;
}

constexpr absl::string_view kLanguageModel = R"(
_target_: loongforge.models.foundation.DeepseekConfig
num_layers: 61
num_experts: 256
moe_layer_freq: ${moe_freq:"[0]*3+[1]*58"}
fp8_param: true
multi_latent_attention: true
model_type: "deepseek"
convert_file: ${oc.env:LOONGFORGE_PATH}/configs/convert.yaml
)";

TEST(LoongForgeYaml, ReadsALanguageModelsArguments) {
  const ParseResult result = ParseLoongForgeYaml(kLanguageModel, LoongForge());
  EXPECT_TRUE(result.findings.empty()) << result.findings[0].finding.seen;
  ASSERT_NE(Find(result, Knob::num_layers), nullptr);
  EXPECT_EQ(Find(result, Knob::num_layers)->value, Value(61));
  EXPECT_EQ(Find(result, Knob::num_layers)->at.line, 3);
  EXPECT_EQ(Find(result, Knob::num_moe_experts)->value, Value(256));
  EXPECT_EQ(Find(result, Knob::moe_layer_freq)->value.list().size(), 61U);
  EXPECT_EQ(Find(result, Knob::fp8_param_gather)->value, Value(true));
  EXPECT_EQ(Find(result, Knob::model_family)->value, Value("deepseek"));
  EXPECT_EQ(Find(result, Knob::model_component), nullptr);
}

TEST(LoongForgeYaml, ReadsTheFoundationOfAVisionLanguageModel) {
  const ParseResult result = ParseLoongForgeYaml(
      "defaults: [_self_]\nmodel:\n  model_type: qwen3_vl\n  image_encoder: {num_layers: 27}\n"
      "  foundation: {num_layers: 48, rotary_base: 1000000, model_spec: [a, b]}\n  image_projector: {num_layers: 1}\n",
      LoongForge());
  EXPECT_EQ(Find(result, Knob::num_layers)->value, Value(48));
  EXPECT_EQ(Find(result, Knob::model_family)->value, Value("qwen3_vl"));
  EXPECT_EQ(Find(result, Knob::model_component)->value, Value("foundation"));
  EXPECT_EQ(Ids(result), (std::vector<std::string>{"input.not-judged", "input.not-judged"}));
  EXPECT_EQ(result.findings[1].finding.seen, "image_encoder, image_projector");
}

TEST(LoongForgeYaml, ReadsAComponentGivenAlone) {
  const ParseResult result =
      ParseLoongForgeYaml("model: {model_type: qwen3_vl, image_encoder: {num_layers: 27}}\n", LoongForge());
  EXPECT_EQ(Find(result, Knob::model_component)->value, Value("image_encoder"));
  EXPECT_TRUE(result.findings.empty());
}

TEST(LoongForgeYaml, RefusesWhatCannotBeRead) {
  const ParseResult result = ParseLoongForgeYaml(
      "num_layers: many\nnum_layer: 3\nhidden_size: ${hidden}\nseq_length: ${oc.env:SEQ}\nlr: ${oc.env:LR,1e-4}\n",
      LoongForge());
  EXPECT_EQ(Ids(result),
            (std::vector<std::string>{"mlm.argparse", "lf.yaml-unknown-key", "input.not-judged", "mlm.argparse"}));
  EXPECT_EQ(result.findings[1].at.line, 2);
  EXPECT_EQ(Find(result, Knob::lr)->value, Value(1e-4));
  EXPECT_EQ(Ids(ParseLoongForgeYaml("[1, 2]", LoongForge())), std::vector<std::string>{"mlm.argparse"});
}

TEST(LoongForgeYaml, TakesTheFieldsOfItsClass) {
  const std::string key = "o_lora_rank: 1024\n";
  const std::string target = "_target_: loongforge.models.foundation.deepseek_v4.DeepseekV4Config\n";
  EXPECT_EQ(Ids(ParseLoongForgeYaml(key, LoongForge())), std::vector<std::string>{"lf.yaml-unknown-key"});
  EXPECT_TRUE(ParseLoongForgeYaml(target + key, LoongForge()).findings.empty());
}

TEST(LoongForgeYaml, IsRecognisedByTheFilesName) {
  EXPECT_EQ(RecogniseFile("deepseek_v3.yaml", kLanguageModel, Target::kLoongForge), "loongforge-yaml");
}

TEST(LoongForgeFlags, HaveTheForksOwnChoices) {
  const ParseResult good = ParseLoongForge(
      ArgumentsOfLines("--ckpt-format zarr\n--cross-entropy-fusion-impl linear\n--chat-template empty\n"),
      LoongForge());
  EXPECT_TRUE(good.findings.empty());
  EXPECT_EQ(Ids(ParseLoongForge(ArgumentsOfLines("--ckpt-format torch_dcp\n"), LoongForge())),
            std::vector<std::string>{"mlm.argparse"});
}

}  // namespace
}  // namespace flightplan
