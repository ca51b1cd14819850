#include "clients/cli/comparison.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "clients/cli/command.h"
#include "clients/cli/diff_page.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

Side Answer(const char* name, const char* text) {
  v1::ResolveConfigResponse answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &answer));
  return SideOf(name, std::move(answer));
}

Side Before() {
  return Answer("before.json", R"pb(
    accepted_by_stack: true
    will_run: true
    target: "megatron-lm main"
    config {
      name: "expert_model_parallel_size"
      value { int_value: 32 }
      origin: CONFIG_ORIGIN_CALLER
      reason: "you set it"
    }
    config {
      name: "moe_permute_fusion"
      value { bool_value: true }
      origin: CONFIG_ORIGIN_DECIDED
      reason: "same"
    }
    config {
      name: "align_param_gather"
      value { bool_value: false }
      origin: CONFIG_ORIGIN_UPSTREAM
      reason: "the stack"
    }
    effective_changes { rule_id: "mlm.x" name: "align_param_gather" }
    decisions { name: "env.CUDA_DEVICE_MAX_CONNECTIONS" reason: "TP overlap wants one queue" }
    findings { rule_id: "old" severity: SEVERITY_WARNING seen: "an old thing" }
    findings { rule_id: "both" severity: SEVERITY_INFO seen: "the same" }
    launches { env { key: "CUDA_DEVICE_MAX_CONNECTIONS" value: "1" } }
    estimate {
      fit: FIT_VERDICT_FITS
      stages {
        stage: 0
        parts { name: "parameters" part_bytes: 10737418240 }
        total_bytes { value: 10737418240 }
      }
      stages {
        stage: 1
        parts { name: "parameters" part_bytes: 21474836480 }
        parts { name: "logits_and_loss" part_bytes: 1073741824 }
        total_bytes { value: 22548578304 }
      }
      step_time_us { value: 10e6 low: 8e6 high: 12e6 }
      wall_ratios { key: "compute" value: 0.6 }
      wall_ratios { key: "communication" value: 0.4 }
    })pb");
}

Side After() {
  return Answer("after.json", R"pb(
    accepted_by_stack: true
    will_run: false
    target: "megatron-lm main"
    config {
      name: "expert_model_parallel_size"
      value { int_value: 64 }
      origin: CONFIG_ORIGIN_CALLER
      reason: "you set it"
    }
    config {
      name: "moe_permute_fusion"
      value { bool_value: true }
      origin: CONFIG_ORIGIN_DECIDED
      reason: "same"
    }
    config {
      name: "moe_shared_expert_overlap"
      value { bool_value: true }
      origin: CONFIG_ORIGIN_DECIDED
      reason: "free"
    }
    findings { rule_id: "both" severity: SEVERITY_INFO seen: "the same" }
    findings { rule_id: "new" severity: SEVERITY_ERROR seen: "a new thing" needs: "another" }
    launches {}
    estimate {
      fit: FIT_VERDICT_MARGINAL
      stages {
        stage: 0
        parts { name: "parameters" part_bytes: 12884901888 }
        parts { name: "logits_and_loss" part_bytes: 1073741824 }
        total_bytes { value: 13958643712 }
      }
      step_time_us { value: 8e6 low: 6e6 high: 10e6 }
      wall_ratios { key: "compute" value: 0.75 }
      wall_ratios { key: "communication" value: 0.25 }
    })pb");
}

TEST(Compare, FindsWhatDiffersAndWhy) {
  const Comparison c = Compare(Before(), After());
  ASSERT_EQ(c.values.size(), 4u);  // moe_permute_fusion is the same
  EXPECT_EQ(c.values[0].name, "expert_model_parallel_size");
  EXPECT_EQ(c.values[0].a, "32");
  EXPECT_EQ(c.values[0].b, "64");
  EXPECT_EQ(c.values[1].name, "moe_shared_expert_overlap");
  EXPECT_EQ(c.values[1].a, "");
  EXPECT_EQ(c.values[1].why_b, "free");
  EXPECT_EQ(c.values[2].name, "env.CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(c.values[2].why_a, "TP overlap wants one queue");
  EXPECT_TRUE(c.values[3].by_stack);  // last, whatever the order of the answer
}

// A list of one that the stack takes apart is still the caller's.
TEST(Compare, ShowsWhatTheCallerWroteAndTheStackReshaped) {
  const Side a = Answer("a.json", R"pb(
    config {
      name: "moe_aux_loss_coeff"
      value { double_value: 0.001 }
      origin: CONFIG_ORIGIN_UPSTREAM
    })pb");
  const Side b = Answer("b.json", R"pb(
    config {
      name: "moe_aux_loss_coeff"
      value { double_value: 0.01 }
      origin: CONFIG_ORIGIN_UPSTREAM
    })pb");
  const Comparison c = Compare(a, b);
  ASSERT_EQ(c.values.size(), 1u);
  EXPECT_FALSE(c.values[0].by_stack);
}

// What a person reads as a difference is another value, not that one side spells the default out.
TEST(Compare, FoldsADefaultThatOneSideWrites) {
  const Side a = Answer("a.json", R"pb(
    target: "megatron-lm main"
    config {
      name: "overlap_p2p_comm"
      value { bool_value: true }
    }
    config {
      name: "micro_batch_size"
      value { int_value: 2 }
    })pb");
  const Side b = Answer("b.json", R"pb(target: "megatron-lm main")pb");
  const Comparison c = Compare(a, b), back = Compare(b, a);
  ASSERT_EQ(c.values.size(), 1u);
  EXPECT_EQ(c.values[0].name, "micro_batch_size");
  EXPECT_EQ(c.written_once, (std::vector<std::string>{"overlap_p2p_comm"}));
  EXPECT_EQ(back.written_once, c.written_once);
  Terminal terminal;
  EXPECT_TRUE(absl::StrContains(RenderDiffPage(a, b, c, false, terminal), "(and 1 of the same value"));
}

TEST(Compare, TakesTheFullestStageOfEach) {
  const Comparison c = Compare(Before(), After());
  EXPECT_EQ(c.memory_total.change(), 13958643712.0 - 22548578304.0);
  ASSERT_EQ(c.memory.size(), 1u);  // logits are the same
  EXPECT_EQ(c.memory[0].name, "parameters");
  EXPECT_EQ(c.memory[0].change(), 12884901888.0 - 21474836480.0);
}

TEST(Compare, CancelsWhatBothForecastsShare) {
  const Comparison c = Compare(Before(), After());
  ASSERT_TRUE(c.effect.has_value());
  EXPECT_DOUBLE_EQ(c.effect->change, -0.2);
  // Compute is the same 6 s: what is left is 2 s of communication with its error, though the two steps' own intervals
  // overlap.
  EXPECT_FALSE(c.effect->needs_ab());
  ASSERT_EQ(c.time.size(), 2u);
  EXPECT_EQ(c.time[0].name, "communication");
  EXPECT_DOUBLE_EQ(c.time[0].change(), -2e6);
}

// Two launches of the same arguments may differ in what they export alone.
TEST(Compare, FindsTheVariablesOfLaunches) {
  v1::ValidateConfigResponse a, b;
  (*a.mutable_env())["CUDA_DEVICE_MAX_CONNECTIONS"] = "32";
  (*b.mutable_env())["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  (*b.mutable_env())["NCCL_NVLS_ENABLE"] = "0";
  const Comparison c = Compare(SideOf("a.sh", a), SideOf("b.sh", b));
  ASSERT_EQ(c.values.size(), 2u);
  EXPECT_EQ(c.values[0].name, "env.CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(c.values[0].a, "32");
  EXPECT_EQ(c.values[0].b, "1");
  EXPECT_EQ(c.values[1].name, "env.NCCL_NVLS_ENABLE");
}

TEST(Compare, WithItselfFindsNothing) {
  const Comparison c = Compare(Before(), Before());
  EXPECT_TRUE(c.values.empty());
  EXPECT_TRUE(c.memory.empty());
  EXPECT_TRUE(c.findings.empty());
  EXPECT_EQ(c.common_findings, 2);
  ASSERT_TRUE(c.effect.has_value());
  EXPECT_EQ(c.effect->change, 0);
}

TEST(Compare, IsTheOtherWayRoundTheOtherWayRound) {
  const Comparison there = Compare(Before(), After()), back = Compare(After(), Before());
  EXPECT_EQ(there.values.size(), back.values.size());
  EXPECT_EQ(there.memory_total.change(), -back.memory_total.change());
  ASSERT_EQ(there.findings.size(), 2u);
  ASSERT_EQ(back.findings.size(), 2u);
  EXPECT_EQ(there.findings[0].finding.rule_id(), "old");
  EXPECT_TRUE(there.findings[0].in_a);
  EXPECT_EQ(back.findings[0].finding.rule_id(), "new");
}

TEST(Compare, SaysNothingOfWhatIsNotForecast) {
  Side judged = Before();
  judged.answer.clear_estimate();
  const Comparison c = Compare(judged, After());
  EXPECT_FALSE(c.effect.has_value());
  EXPECT_EQ(c.memory_total.a, 0);
  EXPECT_TRUE(c.time.empty());
}

TEST(DiffPage, ReadsFromTop) {
  Terminal wide;
  wide.width = 110;
  const Side a = Before(), b = After();
  const Comparison c = Compare(a, b);
  ExpectGolden("diff.txt", absl::StrCat(RenderDiffPage(a, b, c, false, wide), "==== same\n",
                                        RenderDiffPage(a, a, Compare(a, a), false, wide)));
}

TEST(DiffJson, IsOneObject) {
  const Side a = Before(), b = After();
  google::protobuf::Struct page;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(DiffJson(a, b, Compare(a, b)), &page).ok());
  const auto& fields = page.fields();
  EXPECT_EQ(fields.at("values").list_value().values_size(), 4);
  EXPECT_EQ(
      fields.at("time").struct_value().fields().at("step_ratio").struct_value().fields().at("value").number_value(),
      8e6 / 10e6 - 1);
  EXPECT_EQ(fields.at("findings").list_value().values(1).struct_value().fields().at("in").string_value(), "b");
}

// ---- the command

std::vector<std::string> Small(std::vector<std::string> more) {
  std::vector<std::string> args = {"diff",   "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm",
                                   "--gpus", "16",      "--tp",          "1"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

int RunArgs(const std::vector<std::string>& args, Context* context) { return RunCommandLine(args, *context); }

std::string Save(const TemporaryFolder& folder, const char* name, const std::string& text) {
  std::string path = folder.File(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Diff, TakesTwoSetsOfFlags) {
  Context context;
  ASSERT_EQ(RunArgs(Small({"--pp", "2", "--", "--ep", "4", "--", "--ep", "8"}), &context), kExitOk) << context.err;
  EXPECT_TRUE(absl::StrContains(context.out, "expert_model_parallel_size")) << context.out;
  EXPECT_FALSE(absl::StrContains(context.out, "\n  tensor_model_parallel_size")) << context.out;
  EXPECT_TRUE(absl::StrContains(context.out, "step by wall")) << context.out;
}

TEST(Diff, TakesASavedAnswerARequestAndAPlan) {
  const TemporaryFolder folder;
  Context resolve;
  ASSERT_EQ(RunArgs({"resolve", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "16", "--tp", "1", "--pp",
                     "2", "--ep", "8", "--format", "json"},
                    &resolve),
            kExitOk);
  EXPECT_TRUE(absl::StrContains(resolve.out, "assumed: --seq is not given")) << "no word of the caller's";
  EXPECT_TRUE(absl::StrContains(resolve.out, "assumed: --gbs is not given")) << "no word of the caller's";
  const std::string saved = Save(folder, "diff_answer.json", resolve.out);
  Context same;
  ASSERT_EQ(RunArgs(Small({"--pp", "2", saved, "--", "--ep", "8"}), &same), kExitOk) << same.err;
  EXPECT_TRUE(absl::StrContains(same.out, "no knob differs")) << same.out;
  const std::string asked = Save(folder, "diff_request.json", R"({
    "model": {"name": "qwen3-30b-a3b"}, "hardware": {"gpu": "h100-sxm", "gpu_count": 16},
    "workload": {"seq_length": 4096, "global_batch_size": 128}, "target": {"framework": "megatron-lm"},
    "layout": {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 2, "expert_model_parallel_size": 8}})");
  Context request;
  ASSERT_EQ(RunArgs({"diff", saved, asked}, &request), kExitOk) << request.err;
  EXPECT_TRUE(absl::StrContains(request.out, "B's step takes as long as A's")) << request.out;
}

TEST(Diff, JudgesALaunch) {
  const TemporaryFolder folder;
  const std::string a =
      Save(folder, "a.sh", "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16\n");
  const std::string b =
      Save(folder, "b.sh", "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16\n");
  Context context;
  RunArgs({"diff", a, b, "--gpus", "8"}, &context);
  EXPECT_TRUE(absl::StrContains(context.out, "num_layers")) << context.out << context.err;
}

// The verdict in validate's words, and its exit code.
TEST(Diff, SaysWhatValidateSays) {
  const TemporaryFolder folder;
  const std::string empty = Save(folder, "empty.sh", "");
  const std::string broken =
      Save(folder, "broken.sh", "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --no-such-flag 16\n");
  Context nothing;
  EXPECT_EQ(RunArgs({"diff", empty, empty}, &nothing), kExitOk) << nothing.err;
  EXPECT_TRUE(absl::StrContains(nothing.out, "not judged")) << nothing.out;
  EXPECT_FALSE(absl::StrContains(nothing.out, "will run")) << nothing.out;
  for (const auto& [a, b] : {std::pair(broken, empty), std::pair(empty, broken)}) {
    Context context;
    EXPECT_EQ(RunArgs({"diff", a, b, "--gpus", "8"}, &context), b == broken ? kExitFindings : kExitOk) << context.err;
    EXPECT_TRUE(absl::StrContains(context.out, "rejected by the stack")) << context.out;
  }
}

TEST(Diff, RefusesWhatMakesNoSense) {
  const TemporaryFolder folder;
  const std::string other = Save(folder, "other.json", R"({"neither": 1})");
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"diff"},
                                             {"diff", other},
                                             {"diff", other, other},
                                             {"diff", "-", "-"},
                                             {"diff", other, other, "--", "--ep", "8"},
                                             Small({"--", "--ep", "8"}),
                                             Small({"--", "--ep", "8", "--", "--ep", "4", "--", "--ep", "2"}),
                                             Small({"--", "--ep", "8", "--", "--nonsense"})}) {
    Context context;
    EXPECT_EQ(RunArgs(args, &context), kExitMisuse) << context.out;
    EXPECT_TRUE(absl::StrContains(context.err, "usage: flightplan diff")) << context.err;
  }
}

}  // namespace
}  // namespace flightplan::cli
