#include "service/doors/spelling.h"

#include <gtest/gtest.h>

#include <string>

#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::doors {
namespace {

std::string Spelled(absl::string_view target, const std::string& knob, std::initializer_list<const char*> items) {
  v1::Fix fix;
  v1::KnobSetting* const setting = fix.add_knobs();
  setting->set_name(knob);
  for (const char* item : items) {
    setting->mutable_value()->mutable_list_value()->add_values()->set_string_value(item);
  }
  return FixText(fix, TargetSpelling({}, target));
}

TEST(FixText, WritesAListAsOneWhereSettingsTakeIt) {
  EXPECT_EQ(Spelled("verl main", "recompute_modules", {"moe"}),
            "'actor_rollout_ref.actor.megatron.override_transformer_config.recompute_modules=[moe]'");
  EXPECT_EQ(Spelled("verl main", "offload_modules", {"moe_act"}),
            "'+actor_rollout_ref.actor.megatron.override_transformer_config.offload_modules=[moe_act]'");
  EXPECT_EQ(Spelled("nemo-rl main", "cuda_graph_modules", {"attn", "mlp"}),
            "'policy.megatron_cfg.cuda_graph_modules=[attn,mlp]'");
  EXPECT_EQ(Spelled("megatron-bridge main", "recompute_modules", {"moe_act"}), "'model.recompute_modules=[moe_act]'");
}

TEST(FixText, WritesAListAsWordsBehindAFlag) {
  for (const char* target : {"megatron-lm main", "loongforge main", "slime main"}) {
    EXPECT_EQ(Spelled(target, "recompute_modules", {"moe", "mlp"}), "--recompute-modules moe mlp") << target;
  }
  EXPECT_EQ(Spelled("ms-swift main", "recompute_modules", {"moe", "mlp"}), "--recompute_modules moe mlp");
}

TEST(FixText, QuotesWhatAShellWouldTakeForItself) {
  v1::Fix fix;
  v1::KnobSetting* const setting = fix.add_knobs();
  setting->set_name("pipeline_model_parallel_layout");
  setting->mutable_value()->set_string_value("Et|tL");
  EXPECT_EQ(FixText(fix, TargetSpelling({}, "megatron-lm main")), "--pipeline-model-parallel-layout 'Et|tL'");
}

TEST(FixTexts, WritesWhatIsWordedAlikeOnce) {
  v1::Finding finding;
  for (const int assignments : {1, 2}) {
    v1::Fix* const fix = finding.add_fixes();
    for (int i = 0; i < assignments; ++i) {
      v1::KnobSetting* const setting = fix->add_knobs();
      setting->set_name("mock_data");
      setting->mutable_value()->set_bool_value(false);
    }
  }
  EXPECT_EQ(FixTexts(finding.fixes(), TargetSpelling({}, "megatron-lm main"), 3),
            std::vector<std::string>{"without --mock-data"});
}

// The field of comm_overlap is copied over the model's, whose word is the same.
TEST(FixText, SaysAWordOfTwoKnobsOnce) {
  v1::Fix fix;
  for (const char* knob : {"overlap_p2p_comm", "comm_overlap.overlap_p2p_comm"}) {
    v1::KnobSetting* const setting = fix.add_knobs();
    setting->set_name(knob);
    setting->mutable_value()->set_bool_value(false);
  }
  const std::string once = "comm_overlap.overlap_p2p_comm=false";
  const Entries config = [] {
    Entries entries;
    for (const char* knob : {"overlap_p2p_comm", "comm_overlap.overlap_p2p_comm"}) {
      v1::ConfigEntry* const entry = entries.Add();
      entry->set_name(knob);
      entry->set_spelling("comm_overlap.overlap_p2p_comm");
    }
    return entries;
  }();
  EXPECT_EQ(FixText(fix, TargetSpelling(config, "megatron-bridge main")), once);
}

TEST(FixText, OverrulesTheRecipesValueWithNull) {
  v1::Fix fix;
  for (const char* knob : {"recompute_method", "recompute_num_layers"}) fix.add_knobs()->set_name(knob);
  EXPECT_EQ(FixText(fix, TargetSpelling({}, "megatron-bridge main")),
            "model.recompute_method=null model.recompute_num_layers=null");
  EXPECT_EQ(FixText(fix, TargetSpelling({}, "megatron-lm main")),
            "without --recompute-method without --recompute-num-layers");
}

TEST(FixText, WritesOneFieldWhereTheReferenceTellsOfTwo) {
  v1::Fix fix;
  for (const char* knob : {"use_distributed_optimizer", "optimizer.use_distributed_optimizer"}) {
    v1::KnobSetting* const setting = fix.add_knobs();
    setting->set_name(knob);
    setting->mutable_value()->set_bool_value(true);
  }
  EXPECT_EQ(FixText(fix, TargetSpelling({}, "megatron-bridge main")),
            "ddp.use_distributed_optimizer=true optimizer.use_distributed_optimizer=true");
}

}  // namespace
}  // namespace flightplan::doors
