#include "resolver/stacks/megatron_bridge/override_reader.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/yaml.h"
#include "tests/support/bridge_launch.h"

namespace flightplan {
namespace {

using testing::BridgeEnv;

// Upstream assigns what it reads: where its configuration code computes with the field Python stops, else the build
// does.
TEST(ParseBridge, TellsWhatStopsAtAValueOfAnotherType) {
  struct Row {
    const char* word;
    const char* id;  // "": taken
    Value value;     // that other rules see; None: not known
    std::optional<Value> fix;
  };
  constexpr char kRefused[] = "bridge-override.unreadable", kLater[] = "build.value-type";
  const Row rows[] = {
      {"train.global_batch_size=abc", kRefused, Value(), std::nullopt},
      {"train.global_batch_size=1024.0", kLater, Value(1024), Value(1024)},
      {"train.global_batch_size=7.5", kRefused, Value(), std::nullopt},
      {"model.num_layers=48.0", kLater, Value(48), Value(48)},
      {"model.num_layers=None", kRefused, Value(), std::nullopt},
      {"model.num_layers='48'", kRefused, Value(), Value(48)},
      {"model.num_query_groups=None", kRefused, Value(), Value()},
      {"model.moe_expert_capacity_factor=None", kRefused, Value(), Value()},
      {"model.virtual_pipeline_model_parallel_size=None", kRefused, Value(), Value()},
      {"model.moe_ffn_hidden_size=7.5", kLater, Value(), std::nullopt},
      {"model.moe_ffn_hidden_size=None", kLater, Value(), Value()},
      {"model.hidden_size='64'", kLater, Value(), Value(64)},
      {"model.moe_aux_loss_coeff=None", kLater, Value(), std::nullopt},
      {"model.tensor_model_parallel_size=1.0", kLater, Value(1), Value(1)},
      {"model.context_parallel_size=2.0", kRefused, Value(2), Value(2)},
      {"optimizer.lr=[1]", kLater, Value(), std::nullopt},
      {"optimizer.lr=1e-4", "", Value(1e-4), std::nullopt},
      {"train.train_iters=1e3", "", Value(1000), std::nullopt},
      {"model.sequence_parallel=no", "bridge-override.no-switch", Value(true), std::nullopt},
      {"model.bf16=''", "bridge-override.no-switch", Value(false), std::nullopt},
      {"model.recompute_granularity=None", "bridge-override.none-is-text", Value("None"), std::nullopt},
      {"model.num_layers=${train.train_iters}", "", Value(), std::nullopt},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.word);
    const ParseResult parsed = ParseBridge({std::string(row.word)}, BridgeEnv());
    ASSERT_EQ(parsed.findings.size(), *row.id == '\0' ? 0u : 1u);
    EXPECT_EQ(parsed.knobs.empty() ? Value() : parsed.knobs.back().value, row.value);
    EXPECT_EQ(parsed.unknown.size(), row.value.is_none() ? 1u : 0u);
    if (parsed.findings.empty()) continue;
    const Finding& finding = parsed.findings[0].finding;
    EXPECT_EQ(finding.rule_id, row.id);
    EXPECT_EQ(finding.verdict == Verdict::kWillRun, finding.rule_id == kLater);
    ASSERT_EQ(finding.fixes.size(), row.fix.has_value() ? 1u : 0u);
    EXPECT_EQ(row.fix.has_value() ? finding.fixes[0][0].value : Value(), row.fix.value_or(Value()));
  }
}

TEST(ParseBridge, TakesADictWhereTheFieldIsNoKnob) {
  const auto ids = [](const char* word) {
    const ParseResult parsed = ParseBridge({std::string(word)}, BridgeEnv());
    return parsed.findings.empty() ? "" : parsed.findings[0].finding.rule_id;
  };
  EXPECT_EQ(ids("dataset.hf_dataset.load_kwargs={revision:b14}"), "");
  EXPECT_EQ(ids("logger.wandb_kwargs={tags:[a,b],notes:{by:me}}"), "");
  for (const char* word : {"model.num_layers={a:1}", "peft.target_modules={a:1}", "env_vars.A={b:1}",
                           "comm_overlap={a:1}", "dataset.hf_dataset.load_kwargs={revision}"}) {
    EXPECT_EQ(ids(word), "bridge-override.unreadable") << word;
  }
}

// A YAML file has text where it writes None.
TEST(ParseBridgeYaml, TellsTextWhereANumberIsMeant) {
  const ParseResult parsed = ParseBridgeYaml(
      "model:\n  num_query_groups: None\n  recompute_granularity: None\n  kv_channels: null\n", BridgeEnv());
  ASSERT_EQ(parsed.findings.size(), 2u);
  EXPECT_EQ(parsed.findings[0].finding.rule_id, "bridge-override.unreadable");
  EXPECT_EQ(parsed.findings[0].at.line, 2);
  EXPECT_EQ(parsed.findings[1].finding.rule_id, "bridge-override.none-is-text");
}

}  // namespace
}  // namespace flightplan
