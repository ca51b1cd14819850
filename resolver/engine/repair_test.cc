#include "resolver/engine/repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

using K = Knob;

Environment Core() {
  Environment env;
  env.target = Target::kCore;
  env.te = Version::Parse("2.12.0");
  env.torch = Version::Parse("2.9.0");
  env.cc_major = 9;
  return env;
}

Config Small(const Environment& env) {
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  config.Set(K::num_layers, 8, Origin::kCaller);
  config.Set(K::hidden_size, 1024, Origin::kCaller);
  config.Set(K::num_attention_heads, 16, Origin::kCaller);
  return config;
}

size_t ErrorCount(const RunResult& run) {
  size_t count = 0;
  for (const Finding& finding : run.findings) count += finding.severity == Severity::kError ? 1 : 0;
  return count;
}

TEST(FindRepair, LeavesALegalConfigAlone) {
  const Environment env = Core();
  const Repair repair = FindRepair(Small(env), env);
  EXPECT_TRUE(repair.steps.empty());
  EXPECT_TRUE(repair.left.empty());
}

TEST(FindRepair, AppliesFixesUntilNoErrorIsLeft) {
  Environment env = Core();
  Config config = Small(env);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);    // needs a method
  config.Set(K::moe_shared_expert_overlap, true, Origin::kCaller);  // needs shared experts and an all-to-all
  config.Set(K::sequence_parallel, true, Origin::kCaller);          // needs TP
  ASSERT_GT(ErrorCount(flightplan::Run(config, env)), 0u);
  const Repair repair = FindRepair(config, env);
  EXPECT_TRUE(repair.left.empty()) << repair.left[0].rule_id;
  EXPECT_FALSE(repair.steps.empty());
  ApplyPatch(repair.patch, &config, &env);
  EXPECT_EQ(ErrorCount(flightplan::Run(config, env)), 0u);
}

// The overlap needs virtual stages, which 63 microbatches do not divide into; once it is off, full recompute is no
// fault, and no other dispatcher is needed.
TEST(FindRepair, TakesBackWhatALaterStepMadeUnnecessary) {
  Environment env;
  env.target = Target::kMegatronLm;
  env.te = Version::Parse("2.12.0");
  env.torch = Version::Parse("2.9.0");
  env.cc_major = 9;
  env.world_size = 64;
  Config config = Small(env);
  for (const auto& [knob, value] : std::initializer_list<std::pair<Knob, Value>>{
           {K::num_layers, Value(46)},
           {K::num_moe_experts, Value(128)},
           {K::tensor_model_parallel_size, Value(2)},
           {K::pipeline_model_parallel_size, Value(4)},
           {K::expert_model_parallel_size, Value(16)},
           {K::overlap_moe_expert_parallel_comm, Value(true)},
           {K::recompute_granularity, Value("full")},
           {K::recompute_method, Value("uniform")},
           {K::recompute_num_layers, Value(1)},
           {K::pipeline_model_parallel_layout, Value("Et*12|t*12|t*12|t*10L")},
           {K::bf16, Value(true)},
           {K::seq_length, Value(4096)},
           {K::max_position_embeddings, Value(4096)},
           {K::micro_batch_size, Value(1)},
           {K::global_batch_size, Value(504)}}) {
    config.Set(knob, value, Origin::kCaller);
  }
  const Repair repair = FindRepair(config, env);
  EXPECT_TRUE(repair.left.empty()) << repair.left[0].rule_id;
  const auto changes = [&](Knob knob) {
    return std::any_of(repair.patch.begin(), repair.patch.end(),
                       [knob](const Assignment& a) { return a.env_var.empty() && a.knob == knob; });
  };
  EXPECT_TRUE(changes(K::overlap_moe_expert_parallel_comm));
  for (const Knob kept : {K::recompute_granularity, K::recompute_method, K::pipeline_model_parallel_layout,
                          K::moe_token_dispatcher_type, K::delay_wgrad_compute}) {
    EXPECT_FALSE(changes(kept)) << Name(kept);
  }
}

// The layout says four stages. What may not be changed is not, and the other knob that the rule names gives way.
TEST(FindRepair, FitsTheRanksToTheLayoutOrTheLayoutToTheRanks) {
  Environment env = Core();
  Config config = Small(env);
  config.Set(K::num_layers, Value(13), Origin::kCaller);
  config.Set(K::pipeline_dtype, Value("bf16"), Origin::kCaller);
  config.Set(K::pipeline_model_parallel_size, Value(3), Origin::kCaller);
  config.Set(K::pipeline_model_parallel_layout, Value("Ettt|tttt|tttt|ttL"), Origin::kCaller);
  const Repair repair = FindRepair(config, env);
  EXPECT_TRUE(repair.left.empty()) << repair.left[0].rule_id;
  EXPECT_EQ(repair.patch, (Patch{{K::pipeline_model_parallel_size, "", Value(4)}}));
  RepairOptions options;
  options.kept = {K::pipeline_model_parallel_size};
  const Repair kept = FindRepair(config, env, options);
  EXPECT_TRUE(kept.left.empty()) << kept.left[0].rule_id;
  EXPECT_TRUE(std::none_of(kept.patch.begin(), kept.patch.end(),
                           [](const Assignment& a) { return a.knob == K::pipeline_model_parallel_size; }));
  EXPECT_FALSE(kept.patch.empty());
}

// What rests on a layout that is not written counts for nothing until the repair writes one.
TEST(FindRepair, KeepsWhatItsOwnWordsNeed) {
  Environment env = Core();
  env.target = Target::kMegatronBridge;
  Config config = Small(env);
  config.Set(K::num_layers, Value(62), Origin::kCaller);
  config.Set(K::pipeline_model_parallel_size, Value(4), Origin::kCaller);
  config.Set(K::virtual_pipeline_model_parallel_size, Value(4), Origin::kCaller);
  RepairOptions options;
  options.counts = [](const Finding& finding) { return finding.rule_id != "pp-layout.vpp-matches"; };
  const Repair repair = FindRepair(config, env, options);
  ASSERT_FALSE(repair.steps.empty());
  ApplyPatch(repair.patch, &config, &env);
  for (const Finding& finding : flightplan::Run(config, env).findings) {
    EXPECT_NE(finding.rule_id, "pp-layout.vpp-matches");
  }
}

TEST(FindRepair, TouchesConvergenceOnlyWhereAllowed) {
  const Environment env = Core();
  Config config = Small(env);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);
  for (bool allow : {false, true}) {
    for (const RepairStep& step : FindRepair(config, env, {allow}).steps) {
      EXPECT_TRUE(allow || !ChangesConvergence(step.patch)) << step.rule_id;
    }
  }
  EXPECT_TRUE(ChangesConvergence({{K::global_batch_size, "", Value(8)}}));
  EXPECT_FALSE(ChangesConvergence({{K::recompute_method, "", Value("uniform")}, {K{}, "NCCL_ALGO", Value("Ring")}}));
}

// Sixteen stages of a layout on two ranks, whose interleaved schedule takes an even number of microbatches.
Config SixteenStages(const Environment& env) {
  Config config = Small(env);
  config.Set(K::num_layers, 16, Origin::kCaller);
  config.Set(K::seq_length, 1024, Origin::kCaller);
  config.Set(K::max_position_embeddings, 1024, Origin::kCaller);
  config.Set(K::pipeline_model_parallel_size, 2, Origin::kCaller);
  config.Set(K::pipeline_model_parallel_layout, "Et|t|t|t|t|t|t|t|t|t|t|t|t|t|t|tL", Origin::kCaller);
  config.Set(K::micro_batch_size, 4, Origin::kCaller);
  config.Set(K::global_batch_size, 100, Origin::kCaller);
  return config;
}

// With microbatches of two they would divide, into 25.
TEST(FindRepair, MendsABatchForTheInterleavedSchedule) {
  Environment env = Core();
  env.target = Target::kMegatronLm;
  env.world_size = 4;
  Config config = SixteenStages(env);
  ASSERT_EQ(ErrorCount(flightplan::Run(config, env)), 2u);  // for the evaluation, too, which nobody gave a batch
  const Repair repair = FindRepair(config, env);
  ASSERT_EQ(repair.patch.size(), 1u);
  EXPECT_EQ(repair.patch[0].knob, K::micro_batch_size);
  EXPECT_EQ(repair.patch[0].value, Value(1));
  ApplyPatch(repair.patch, &config, &env);
  EXPECT_EQ(ErrorCount(flightplan::Run(config, env)), 0u);
}

// An answer says of both batches once that they do not divide. Were the evaluation's mended alone, the training's would
// be an error that was not there before.
TEST(FindRepair, DoesNotMendOneOfTwoThatAreSaidOnce) {
  Environment env = Core();
  env.target = Target::kMegatronLm;
  env.world_size = 4;
  Config config = SixteenStages(env);
  config.Set(K::global_batch_size, 101, Origin::kCaller);
  config.Set(K::eval_global_batch_size, 100, Origin::kCaller);
  config.Set(K::eval_micro_batch_size, 4, Origin::kCaller);
  const Repair repair = FindRepair(config, env);
  EXPECT_TRUE(repair.patch.empty()) << Row(repair.patch[0].knob).name;
  EXPECT_EQ(repair.left.size(), 2u);
}

TEST(FindRepair, SameInputSameSteps) {
  const Environment env = Core();
  Config config = Small(env);
  config.Set(K::overlap_moe_expert_parallel_comm, true, Origin::kCaller);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);
  const Repair a = FindRepair(config, env), b = FindRepair(config, env);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].rule_id, b.steps[i].rule_id);
}

}  // namespace
}  // namespace flightplan
