#include "resolver/stacks/megatron_lm/yaml.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(MegatronLmYaml, ReadsNestedArguments) {
  Environment env;
  env.vars["DATA"] = "/data";
  const ParseResult result = ParseMegatronLmYaml(R"(language_model:
  num_layers: 4
  activation_func: swiglu
  moe_layer_freq: ([0]*1+[1]*3)
  kv_channels: null
model_parallel:
  tensor_model_parallel_size: 2
  sequence_parallel: yes
lr: 1e-4
recompute_modules: [moe_act, layernorm]
data_cache_path: ${DATA}/cache
)",
                                                 env);
  ASSERT_TRUE(result.ok());
  Config config;
  ApplyKnobs(result.knobs, &config);
  EXPECT_EQ(config.Get(Knob::num_layers), Value(4));
  EXPECT_EQ(config.Get(Knob::swiglu), Value(true));
  EXPECT_EQ(config.Get(Knob::moe_layer_freq).ToJson(), "[0,1,1,1]");
  EXPECT_TRUE(config.Get(Knob::kv_channels).is_none());
  EXPECT_EQ(config.Get(Knob::sequence_parallel), Value(true));
  EXPECT_EQ(config.Get(Knob::lr), Value(0.0001));
  EXPECT_EQ(config.Get(Knob::recompute_modules).ToJson(), R"(["moe_act","layernorm"])");
  EXPECT_EQ(config.Get(Knob::data_cache_path), Value("/data/cache"));
  EXPECT_EQ(result.knobs[0].at.line, 2);
  EXPECT_EQ(result.knobs[0].at.column, 15);
}

TEST(MegatronLmYaml, ReadsTheCommandLineOfAFunctionalTest) {
  Environment env;
  env.vars["DATA_PATH"] = "/data";
  const ParseResult result = ParseMegatronLmYaml(R"(ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS: &ARGS
  --num-layers: 12
  --bf16: true
  --num-layers: 24
  --moe-layer-freq: ([0]*1+[1]*23)
  --recompute-modules: "[moe_act layernorm]"
  --data-path: ${DATA_PATH}/text
  --vocab-file: ${UNKNOWN}/vocab.json
  --hidden-size: ""
  --return-log-probs: true
  --tensor-model-parallel-size: two
MODEL_ARGS_2:
  <<: *ARGS
  --num-layers: 48
TEST_TYPE: regular
)",
                                                 env);
  Config config;
  ApplyKnobs(result.knobs, &config);
  EXPECT_EQ(config.Get(Knob::num_layers), Value(24));
  EXPECT_EQ(config.Get(Knob::bf16), Value(true));
  EXPECT_EQ(config.Get(Knob::moe_layer_freq).list().size(), 24u);
  EXPECT_EQ(config.Get(Knob::recompute_modules).ToJson(), R"(["moe_act","layernorm"])");
  EXPECT_EQ(config.Get(Knob::data_path).ToJson(), R"(["/data/text"])");
  EXPECT_EQ(config.origin(Knob::hidden_size), Origin::kAbsent);
  EXPECT_EQ(result.recipe_vars.at("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  // A flag of the test's own program is told; a value that the parser refuses is an error.
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].finding.seen, "--return-log-probs");
  EXPECT_EQ(result.findings[0].finding.severity, Severity::kWarning);
  EXPECT_EQ(result.findings[0].at.line, 12);
  EXPECT_EQ(result.findings[1].finding.severity, Severity::kError);
  EXPECT_EQ(result.findings[1].at.line, 13);
}

// A repository with such files of its own leaves out what is false.
TEST(MegatronLmYaml, FalseIsAWordOfUpstreamsOwnTestsAlone) {
  constexpr absl::string_view kText = "MODEL_ARGS:\n  --num-layers: 12\n  --moe-permute-fusion: false\n";
  EXPECT_EQ(ParseMegatronLmYaml(kText, {}).findings.size(), 0u);
  EXPECT_EQ(ParseMegatronLmYaml(absl::StrCat("TEST_TYPE: regular\n", kText), {}).findings.size(), 1u);
}

TEST(MegatronLmYaml, LeavesTheSettingsOfOtherPrograms) {
  for (const char* arguments : {"", "  trainer.devices: 8\n  data.seq_length: 512\n",
                                "  --transformer-impl: inference_optimized\nMODE: inference\n"}) {
    const ParseResult result = ParseMegatronLmYaml(absl::StrCat("TEST_TYPE: regular\nMODEL_ARGS:\n", arguments), {});
    EXPECT_TRUE(result.ok()) << arguments;
    EXPECT_TRUE(result.knobs.empty()) << arguments;
    EXPECT_EQ(result.elsewhere, "in the test's own script");
  }
}

TEST(MegatronLmYaml, PointsAtFaults) {
  const ParseResult result = ParseMegatronLmYaml("num_layers: four\nnum_layerz: 4\nload: ${NOWHERE}\n", {});
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.findings[0].at.line, 1);
  EXPECT_EQ(result.findings[1].finding.rule_id, "mlm.yaml-unknown-key");
  EXPECT_NE(result.findings[1].finding.needs.find("num_layers"), std::string::npos);
}

TEST(MegatronLmYaml, RefusesWhatIsNoMap) {
  for (const char* text : {"", "- 1", "a: &x [*x]", "{", "\xff"})
    EXPECT_FALSE(ParseMegatronLmYaml(text, {}).ok()) << text;
}

}  // namespace
}  // namespace flightplan
