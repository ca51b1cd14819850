#include "clients/cli/request.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "clients/cli/findings.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

absl::Status Build(const std::vector<std::string>& args, v1::ResolveConfigRequest* request) {
  ResolveOptions options;
  CommandLine command;
  command.groups = ResolveFlags(&options);
  if (absl::StatusOr<ParsedArguments> parsed = ParseArguments(command, args); !parsed.ok()) return parsed.status();
  return BuildResolveRequest(options, request);
}

std::vector<std::string> With(std::vector<std::string> more) {
  std::vector<std::string> args = {"--model", "deepseek-v3", "--gpu", "h100-sxm", "--gpus", "1024"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// A fix is printed with the flag, behind the question's own words, which may have been --set.
TEST(ResolveRequest, TheLastWordHoldsWhereAFlagAndASetSayOneKnob) {
  const std::string set = "virtual_pipeline_model_parallel_size=";
  v1::ResolveConfigRequest flag_last;
  ASSERT_TRUE(Build(With({"--set", set + "4", "--vpp", "3"}), &flag_last).ok());
  EXPECT_EQ(flag_last.layout().virtual_pipeline_model_parallel_size(), 3);
  EXPECT_EQ(flag_last.pinned_knobs_size(), 0);
  for (const std::vector<std::string>& pin :
       {std::vector<std::string>{"--set", set + "null"}, {"--unset", "virtual_pipeline_model_parallel_size"}}) {
    v1::ResolveConfigRequest set_last;
    ASSERT_TRUE(Build(With({"--vpp", "3", pin[0], pin[1]}), &set_last).ok());
    EXPECT_FALSE(set_last.layout().has_virtual_pipeline_model_parallel_size());
    ASSERT_EQ(set_last.pinned_knobs_size(), 1);
    EXPECT_FALSE(set_last.pinned_knobs(0).has_value() && set_last.pinned_knobs(0).value().has_int_value());
  }
  v1::ResolveConfigRequest layout;
  ASSERT_TRUE(
      Build(With({"--pipeline-layout", "Et|tL", "--set", "pipeline_model_parallel_layout=null"}), &layout).ok());
  EXPECT_FALSE(layout.layout().has_pipeline_model_parallel_layout());
  EXPECT_EQ(layout.pinned_knobs_size(), 1);
  v1::ResolveConfigRequest same;
  EXPECT_TRUE(Build(With({"--tp", "2", "--set", "tensor_model_parallel_size=2"}), &same).ok());
  v1::ResolveConfigRequest batch;
  ASSERT_TRUE(Build(With({"--set", "global_batch_size=256", "--gbs", "128"}), &batch).ok());
  EXPECT_EQ(batch.workload().global_batch_size(), 128);
  EXPECT_EQ(batch.pinned_knobs_size(), 0);
}

TEST(ResolveRequest, HoldsWhatWasWritten) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build(With({"--tp",
                          "2",
                          "--pp",
                          "8",
                          "--vpp",
                          "4",
                          "--ep",
                          "64",
                          "--mbs",
                          "1",
                          "--seq",
                          "8192",
                          "--gbs",
                          "2048",
                          "--target",
                          "megatron-bridge@0.4",
                          "--stage",
                          "tune",
                          "--objective",
                          "benchmark",
                          "--precision",
                          "fp8_block",
                          "--te",
                          "2.9.0",
                          "--capability",
                          "hybridep,paged_stash",
                          "--nvlink-domain",
                          "72",
                          "--host-cpu",
                          "arm",
                          "--host-memory-gib",
                          "1024",
                          "--reserved-memory-gib",
                          "1.5",
                          "--env",
                          "NCCL_DEBUG=",
                          "--package",
                          "deep_ep=1.2.1",
                          "--profile-step-ms",
                          "6.5",
                          "--profile-wall",
                          "host"}),
                    &request)
                  .ok());
  EXPECT_EQ(request.model().name(), "deepseek-v3");
  EXPECT_EQ(request.hardware().gpu_count(), 1024);
  EXPECT_EQ(request.hardware().fabric().nvlink_domain_gpu_count(), 72);
  EXPECT_EQ(request.hardware().host_cpu_class(), v1::HOST_CPU_CLASS_ARM);
  EXPECT_EQ(request.hardware().reserved_bytes(), int64_t{3} << 29);
  EXPECT_EQ(request.hardware().host_memory_bytes(), int64_t{1} << 40);
  EXPECT_EQ(request.layout().virtual_pipeline_model_parallel_size(), 4);
  EXPECT_FALSE(request.layout().has_context_parallel_size());
  EXPECT_EQ(request.workload().global_batch_size(), 2048);
  EXPECT_EQ(request.workload().objective(), v1::OBJECTIVE_BENCHMARK);
  EXPECT_EQ(request.target().framework(), "megatron-bridge");
  EXPECT_EQ(request.target().version(), "0.4");
  EXPECT_EQ(request.stage(), v1::STAGE_TUNE);
  EXPECT_EQ(request.software().te_version(), "2.9.0");
  ASSERT_EQ(request.software().dispatchers().backends_size(), 1);
  EXPECT_TRUE(request.software().paged_stash());
  EXPECT_EQ(request.software().packages().at("deep_ep"), "1.2.1");
  EXPECT_EQ(request.env().at("NCCL_DEBUG"), "");
  EXPECT_DOUBLE_EQ(request.profile().step_time_us(), 6500);
  EXPECT_EQ(request.profile().wall(), v1::WALL_HOST);
}

TEST(ResolveRequest, FillsSequenceAndBatchOnly) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build(With({}), &request).ok());
  EXPECT_EQ(request.workload().seq_length(), kDefaultSeqLength);
  EXPECT_EQ(request.workload().global_batch_size(), 1024 * kDefaultSamplesPerGpu);
  EXPECT_FALSE(request.software().has_dispatchers());  // not known differs from none
  EXPECT_FALSE(request.has_profile());
  EXPECT_EQ(request.pinned_knobs_size(), 0);
}

TEST(ResolveRequest, NoneInstalledDiffersFromUnknown) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build(With({"--capability", "none"}), &request).ok());
  EXPECT_TRUE(request.software().has_dispatchers());
  EXPECT_EQ(request.software().dispatchers().backends_size(), 0);
}

TEST(Pins, AreTypedByTheKnobTable) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build(With({"--set", "moe_shared_expert_overlap=true", "--set", "recompute_modules=mlp,moe_act", "--set",
                          "moe_router_topk=8", "--unset", "recompute_granularity"}),
                    &request)
                  .ok());
  ASSERT_EQ(request.pinned_knobs_size(), 4);
  EXPECT_TRUE(request.pinned_knobs(0).value().bool_value());
  EXPECT_EQ(request.pinned_knobs(1).value().list_value().values_size(), 2);
  EXPECT_EQ(request.pinned_knobs(2).value().int_value(), 8);
  EXPECT_EQ(request.pinned_knobs(3).name(), "recompute_granularity");
  EXPECT_EQ(request.pinned_knobs(3).value().kind_case(), v1::KnobValue::KIND_NOT_SET);
}

TEST(Pins, UnsetTakesBackAnEarlierSet) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(
      Build(With({"--set", "moe_shared_expert_overlap=true", "--unset", "moe_shared_expert_overlap"}), &request).ok());
  EXPECT_EQ(request.pinned_knobs_size(), 0);
}

// A fix that sets None holds behind the question's own words, which --unset would only take back.
TEST(Pins, AFixOfNoneIsReadAsNoneBehindTheWordsOfTheQuestion) {
  v1::ResolveConfigResponse answer;
  for (const char* const knob :
       {"recompute_granularity", "virtual_pipeline_model_parallel_size", "pipeline_model_parallel_layout"}) {
    v1::ConfigEntry* const entry = answer.add_config();
    entry->set_name(knob);
    entry->set_origin(v1::CONFIG_ORIGIN_CALLER);
  }
  const Spelling spelling = FlagSpelling(answer.config());
  EXPECT_EQ(spelling.knob("recompute_method", {}), "--unset recompute_method");
  EXPECT_EQ(spelling.knob("fp8", {}), "--precision bf16");  // nobody else asks for it
  std::vector<std::string> words = {
      "--set", "recompute_granularity=selective", "--pp", "2", "--vpp", "2", "--pipeline-layout", "Et|t|t|tL"};
  for (const v1::ConfigEntry& entry : answer.config()) {
    for (const absl::string_view word : absl::StrSplit(spelling.knob(entry.name(), {}), ' ')) {
      words.push_back(word == "''" ? "" : std::string(word));
    }
  }
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build(With(words), &request).ok());
  EXPECT_EQ(request.layout().virtual_pipeline_model_parallel_size(), 1);
  EXPECT_TRUE(request.layout().pipeline_model_parallel_layout().empty());
  ASSERT_EQ(request.pinned_knobs_size(), 2);
  for (const auto& pin : request.pinned_knobs()) {
    EXPECT_EQ(pin.value().kind_case(), v1::KnobValue::KIND_NOT_SET) << pin.name();
  }
}

struct Wrong {
  std::vector<std::string> args;
  const char* says;
};

TEST(ResolveRequest, SaysWhatWouldBeRight) {
  const Wrong rows[] = {
      {{"--gpu", "h100", "--gpus", "8"}, "--model is missing"},
      {{"--model", "x", "--gpus", "8"}, "--gpu is missing"},
      {{"--model", "x", "--gpu", "h100"}, "--gpus is missing"},
      {With({"--set", "moe_token_dispatcher_typ=flex"}), "did you mean moe_token_dispatcher_type?"},
      {With({"--set", "moe_token_dispatcher_type=flexx"}), "--set moe_token_dispatcher_type must be one of"},
      {With({"--set", "moe_router_topk=eight"}), "--set moe_router_topk must be an integer"},
      {With({"--tp", "2", "--set", "tensor_model_parallel_size=4"}),
       "--set tensor_model_parallel_size=4 contradicts --tp 2: both are the word on tensor_model_parallel_size"},
      {With({"--gbs", "512", "--set", "global_batch_size=256"}), "contradicts --gbs 512"},
      {With({"--capability", "deepeep"}), "--capability wants deepep, hybridep"},
      {With({"--capability", "none,deepep"}), "--capability has none beside"},
      {With({"--env", "NOVALUE"}), "--env wants NAME=VALUE, not 'NOVALUE'"},
      {With({"--tp", "3000000000"}), "--tp is too large"},
      {{"--model", "no/such/config.json", "--gpu", "h100", "--gpus", "8"}, "--model cannot read no/such/config.json"},
      {{"--model", "/", "--gpu", "h100", "--gpus", "8"}, "--model / is a folder"},
  };
  for (const Wrong& row : rows) {
    v1::ResolveConfigRequest request;
    const absl::Status status = Build(row.args, &request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.says;
    EXPECT_NE(std::string(status.message()).find(row.says), std::string::npos) << status;
  }
}

// Its owner and name on the hub are no path, unless a file is called so.
TEST(ResolveRequest, TakesAModelByItsNameOnTheHub) {
  v1::ResolveConfigRequest request;
  ASSERT_TRUE(Build({"--model", "Qwen/Qwen3-30B-A3B", "--gpu", "h100", "--gpus", "8"}, &request).ok());
  EXPECT_EQ(request.model().name(), "Qwen/Qwen3-30B-A3B");
}

TEST(ValidateRequest, TakesAWorldSizeWithoutHardware) {
  StackOptions options;
  options.gpus = 64;
  v1::ValidateConfigRequest request;
  ASSERT_TRUE(BuildValidateRequest(options, /*read=*/nullptr, &request).ok());
  EXPECT_EQ(request.world_size(), 64);
  EXPECT_FALSE(request.has_hardware());
  EXPECT_FALSE(request.has_knobs());
}

}  // namespace
}  // namespace flightplan::cli
