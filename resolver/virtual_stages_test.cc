#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/work.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/layouts/search_work.h"
#include "resolver/resolver.h"
#include "tests/properties/freedom_answers.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::TestResolver;
using testing::Training;

v1::ResolveConfigRequest Question(const char* model, const char* gpu, int gpus, int batch, const char* target) {
  v1::ResolveConfigRequest request = Training(model, gpu, gpus, 16384, batch);
  request.mutable_target()->set_framework(target);
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_layout()->set_pipeline_model_parallel_size(4);
  return request;
}

// What the step counts for with what next to nobody runs, and where the memory leaves no room.
double RankedUs(const v1::ResolveConfigResponse& answer, const v1::ResolveConfigRequest& request) {
  constexpr int64_t kDomain = 8;  // TP and CP stay inside it in all that is asked here
  return properties::RankedOf(answer, request, kDomain);
}

// The best numbers by the search need not be those that fit: its list goes on to one that does.
TEST(VirtualStages, LeftOpenAreAsFastAsTheBestGiven) {
  v1::ResolveConfigRequest request = Question("llama-4-scout", "gb200-nvl16-or-partial", 8, 64, "megatron-lm");
  SetSizes({.tp = 1, .ep = 1}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  ASSERT_EQ(open.outcome(), v1::OUTCOME_RESOLVED);
  int launchable = 0;
  for (const int virtual_stages : {1, 2, 3, 4, 5, 6, 12}) {
    request.mutable_layout()->set_virtual_pipeline_model_parallel_size(virtual_stages);
    const v1::ResolveConfigResponse given = Resolved(request);
    if (given.outcome() != v1::OUTCOME_RESOLVED) continue;
    ++launchable;
    EXPECT_LE(RankedUs(open, request), RankedUs(given, request) * 1.0101) << virtual_stages;
  }
  EXPECT_GT(launchable, 2);
}

// Who says selective recompute, and no modules, has those that cost least; what is left at its default costs an
// optimizer on the host here.
TEST(VirtualStages, AreWeighedWithTheModulesThatSelectiveRecomputeLeavesOpen) {
  v1::ResolveConfigRequest request = Question("llama-4-maverick", "gb200-nvl72", 128, 128, "megatron-lm");
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_software()->set_te_version("2.12.0");
  SetSizes({.tp = 1, .pp = 2, .ep = 16}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  Pin("recompute_granularity", "selective", &request);
  const v1::ResolveConfigResponse selective = Resolved(request);
  ASSERT_EQ(selective.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LE(StepUs(selective), StepUs(open) * 1.1);
}

// An optimizer on the host is the precision-aware one, in the search as in the plan that has it.
TEST(VirtualStages, AreWeighedWithTheOptimizerOnTheHost) {
  v1::ResolveConfigRequest request = Question("qwen3.5-397b-a17b", "b200-sxm", 64, 512, "megatron-bridge");
  SetSizes({.tp = 2, .ep = 4}, &request);
  request.mutable_software()->set_te_version("2.12.0");
  for (const int virtual_stages : {0, 1}) {
    if (virtual_stages > 0) request.mutable_layout()->set_virtual_pipeline_model_parallel_size(virtual_stages);
    const v1::ResolveConfigResponse answer = Resolved(request);
    EXPECT_EQ(answer.outcome(), v1::OUTCOME_RESOLVED) << virtual_stages;
    const auto offload = std::find_if(answer.config().begin(), answer.config().end(), [](const v1::ConfigEntry& entry) {
      return entry.name() == "optimizer_cpu_offload";
    });
    ASSERT_NE(offload, answer.config().end());
    EXPECT_TRUE(offload->value().bool_value()) << virtual_stages;
  }
}

// A pipeline without them fits by what the decisions hold for enough, and by less than the search's room; with them an
// optimizer on the host would pay for that room.
TEST(VirtualStages, MakeWayWhereTheyPayForMemory) {
  v1::ResolveConfigRequest request = Question("minimax-m3", "gb200-nvl72", 128, 256, "megatron-lm");
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_PRODUCTION);
  SetSizes({.tp = 2, .ep = 8}, &request);
  request.add_pinned_knobs()->set_name("recompute_granularity");
  request.mutable_pinned_knobs(0)->mutable_value();
  const v1::ResolveConfigResponse open = Resolved(request);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(1);
  const v1::ResolveConfigResponse without = Resolved(request);
  ASSERT_EQ(without.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LE(RankedUs(open, request), RankedUs(without, request) * 1.0101);
}

// A number that fits with one flex backend alone is looked at where the backend is open.
TEST(VirtualStages, AreWeighedWithEachFlexBackend) {
  v1::ResolveConfigRequest request = Question("minimax-m3", "a800-sxm-80gb", 128, 1024, "megatron-lm");
  request.mutable_workload()->set_seq_length(16384);
  request.mutable_software()->set_te_version("2.12.0");
  for (const char* backend : {"deepep", "hybridep"})
    request.mutable_software()->mutable_dispatchers()->add_backends(backend);
  SetSizes({.tp = 1, .pp = 8, .ep = 8}, &request);
  Pin("moe_token_dispatcher_type", "flex", &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  Pin("moe_flex_dispatcher_backend", "", &request);
  for (const char* backend : {"deepep", "hybridep"}) {
    request.mutable_pinned_knobs(1)->mutable_value()->set_string_value(backend);
    const v1::ResolveConfigResponse named = Resolved(request);
    ASSERT_EQ(named.outcome(), v1::OUTCOME_RESOLVED) << backend;
    EXPECT_LE(RankedUs(open, request), RankedUs(named, request) * 1.0101) << backend;
  }
}

// Nothing fits with the backend that is decided without virtual stages, and some numbers do with the all-to-all.
TEST(VirtualStages, AreWeighedWithAnotherDispatcherWhereNoneFits) {
  v1::ResolveConfigRequest request = Question("ernie-4.5-300b-a47b", "a800-sxm-80gb", 64, 256, "loongforge");
  request.mutable_workload()->set_seq_length(16384);
  request.mutable_software()->set_te_version("2.12.0");
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  SetSizes({.tp = 1, .ep = 16}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(7);
  ASSERT_EQ(Resolved(request).outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_EQ(open.outcome(), v1::OUTCOME_RESOLVED);
}

// What next to nobody runs counts by how a number is executed, not by how the search would have executed it.
TEST(VirtualStages, AreRankedAsTheyAreExecuted) {
  v1::ResolveConfigRequest request = Question("gemma-2-27b", "l40s", 32, 64, "megatron-lm");
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_hardware()->mutable_fabric()->set_hbm_bytes(72'458'698'752);
  SetSizes({.tp = 1, .pp = 8, .ep = 1}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(6);
  const v1::ResolveConfigResponse most = Resolved(request);
  ASSERT_EQ(most.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LE(RankedUs(open, request), RankedUs(most, request) * 1.0101);
}

// A list of layouts weighs where the layers go as well, and so does the question with the sizes of one of them.
TEST(VirtualStages, HaveTheLayersThatASearchGivesThem) {
  struct Row {
    const char *model, *gpu, *target;
    int gpus, seq_length, batch, micro_batch;
    testing::Sizes sizes;
  };
  const Row rows[] = {
      {"deepseek-v2-lite", "h100-sxm", "megatron-lm", 16, 4096, 128, 4, {.tp = 1, .pp = 4, .vpp = 6, .ep = 4}},
      {"qwen3-30b-a3b", "b200-sxm", "megatron-lm", 8, 2048, 64, 8, {.tp = 1, .pp = 2, .vpp = 10, .ep = 4}},
      {"moonlight-16b-a3b", "h800-sxm", "verl", 64, 16384, 512, 1, {.tp = 1, .pp = 2, .ep = 4}},  // VPP is open
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    v1::PlanLayoutsRequest list;
    *list.mutable_base() = Training(row.model, row.gpu, row.gpus, row.seq_length, row.batch);
    list.mutable_base()->mutable_target()->set_framework(row.target);
    SetSizes(row.sizes, list.mutable_base());
    v1::Layout* layout = list.mutable_base()->mutable_layout();
    layout->set_context_parallel_size(1);
    layout->set_expert_tensor_parallel_size(1);
    layout->set_micro_batch_size(row.micro_batch);
    const v1::ResolveConfigResponse one = Resolved(list.base());
    v1::PlanResult plans;
    ASSERT_TRUE(TestResolver().PlanLayouts(list, {}, &plans).ok());
    ASSERT_GT(plans.plans_size(), 0);
    EXPECT_LE(RankedUs(one, list.base()), RankedUs(plans.plans(0), list.base()) * 1.0101);
  }
}

// What an overlap that was left to an A/B gains falls short of what that asks for beside one split, and not beside
// another: the split of an answer is given back with it.
TEST(VirtualStages, AreExecutedAsBeforeWithTheSplitGivenBack) {
  struct Row {
    const char *model, *gpu, *target;
    int gpus, seq_length, batch, micro_batch;
    testing::Sizes sizes;
    int cp;
  };
  const Row rows[] = {
      {"gpt-oss-20b", "rtx-pro-6000-server", "megatron-lm", 512, 4096, 4096, 2, {.pp = 2, .vpp = 6, .ep = 4}, 1},
      {"deepseek-v4-flash", "h20-sxm-96gb", "ms-swift", 256, 8192, 256, 1, {.pp = 2, .vpp = 6, .ep = 128}, 4},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    v1::ResolveConfigRequest request = Training(row.model, row.gpu, row.gpus, row.seq_length, row.batch);
    request.mutable_target()->set_framework(row.target);
    SetSizes(row.sizes, &request);
    v1::Layout* const layout = request.mutable_layout();
    layout->set_tensor_model_parallel_size(1);
    layout->set_context_parallel_size(row.cp);
    layout->set_expert_tensor_parallel_size(1);
    layout->set_micro_batch_size(row.micro_batch);
    const v1::ResolveConfigResponse found = Resolved(request);
    const v1::ConfigEntry* const split = testing::FindEntry(found.config(), "pipeline_model_parallel_layout");
    ASSERT_NE(split, nullptr);
    ASSERT_FALSE(split->value().string_value().empty());
    layout->set_pipeline_model_parallel_layout(split->value().string_value());
    EXPECT_LE(StepUs(Resolved(request)), StepUs(found) * 1.001);
  }
}

// More memory may be slower in a bring-up, but never less plain.
TEST(VirtualStages, AreLeftOutOfABringUpWhereItStarts) {
  v1::ResolveConfigRequest request = Question("step-3", "h200-sxm", 64, 128, "megatron-lm");
  request.set_stage(v1::STAGE_BRING_UP);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_hardware()->set_reserved_bytes(106'870'000'000);
  SetSizes({.tp = 4, .pp = 4, .ep = 16}, &request);
  request.mutable_software()->set_te_version("2.12.0");
  const auto stages_of = [](const v1::ResolveConfigResponse& answer) {
    EXPECT_EQ(answer.outcome(), v1::OUTCOME_RESOLVED);
    for (const v1::Decision& decision : answer.decisions()) {
      if (decision.name() == "virtual_pipeline_model_parallel_size") return decision;
    }
    ADD_FAILURE() << "no decision about virtual stages";
    return v1::Decision();
  };
  const v1::Decision needed = stages_of(Resolved(request));
  EXPECT_GT(needed.value().int_value(), 1);
  EXPECT_NE(needed.reason().find("no pipeline without virtual stages starts"), std::string::npos) << needed.reason();
  request.mutable_hardware()->clear_reserved_bytes();
  const v1::Decision left_out = stages_of(Resolved(request));
  EXPECT_EQ(left_out.value().int_value(), 0);
  EXPECT_NE(left_out.reason().find("after the run is correct"), std::string::npos) << left_out.reason();
}

// The stages of an open layout are searched anew where a fix of its plan is tried, with a TP that nobody said.
TEST(VirtualStages, AreSearchedWithoutATensorParallelSize) {
  v1::ResolveConfigRequest request = Question("mt-nlg-530b", "l40s", 512, 128, "megatron-lm");
  request.mutable_layout()->clear_pipeline_model_parallel_size();
  request.mutable_layout()->set_context_parallel_size(2);
  request.mutable_layout()->set_micro_batch_size(2);
  request.mutable_workload()->set_seq_length(2048);
  Pin("optimizer_cpu_offload", true, &request);
  Pin("use_precision_aware_optimizer", false, &request);
  Pin("recompute_granularity", "selective", &request);
  EXPECT_EQ(Resolved(request).outcome(), v1::OUTCOME_INFEASIBLE);
}

// The virtual stages of a deep model with an irregular pattern are weighed where a search may be, not within one
// answer.
TEST(VirtualStages, OfADeepModelAreSearchedWithinTheirWork) {
  v1::ResolveConfigRequest request = Training("deepseek-v3", "h100-sxm", 512, 4096, 512 * 5040);
  SetSizes({.tp = 1, .pp = 8, .ep = 64}, &request);
  v1::ModelSpec* const spec = request.mutable_model()->mutable_spec();
  v1::GetModelRequest get;
  get.set_name("deepseek-v3");
  ASSERT_TRUE(CatalogAnswers(std::make_shared<const Catalog>(*Catalog::Builtin())).GetModel(get, spec).ok());
  spec->clear_parameters();
  spec->set_num_layers(10000);
  std::string pattern = "[1";
  uint32_t bits = 1;
  for (int i = 1; i < 10000; ++i) {
    bits = bits * 1664525 + 1013904223;
    pattern += (bits >> 31) != 0 ? ",1" : ",0";
  }
  spec->set_moe_layer_freq(pattern + "]");
  constexpr uint64_t kWork = uint64_t{1} << 22;
  const Work work(kWork);
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(ReasonOf(status), kSearchNeeded) << status;
  EXPECT_LE(work.used(), 2 * kWork);
}

// A decision made of the pipeline without virtual stages does not stand with its reason beside those found later.
TEST(VirtualStages, NoReasonSpeaksOfAPipelineWithout) {
  v1::ResolveConfigRequest request = Training("deepseek-v3.2", "h200-sxm", 512, 4096, 4096);
  SetSizes({.tp = 1, .pp = 8, .ep = 64}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  ASSERT_GT(answer.layout().sizes().virtual_pipeline_model_parallel_size(), 1);
  for (const v1::Decision& decision : answer.decisions()) {
    EXPECT_FALSE(absl::StrContains(decision.reason(), "without virtual stages")) << decision.reason();
  }
}

}  // namespace
}  // namespace flightplan
