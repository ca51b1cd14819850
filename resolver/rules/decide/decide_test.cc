#include "resolver/rules/decide/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "resolver/catalog/catalog.h"
#include "resolver/derive/start_config.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

struct Layout {
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, mbs = 1;
};

NormalizedIntent Intent(absl::string_view model, absl::string_view gpu, int64_t gpus, const Layout& layout,
                        int64_t gbs) {
  NormalizedIntent intent;
  intent.model = **TheCatalog().FindModel(model);
  intent.gpu = **TheCatalog().FindGpu(gpu);
  intent.gpu_count = gpus;
  intent.workload.seq_length = 4096;
  intent.workload.global_batch_size = gbs;
  intent.stage = Stage::kTune;
  intent.layout.tensor_model_parallel_size = layout.tp;
  intent.layout.pipeline_model_parallel_size = layout.pp;
  intent.layout.virtual_pipeline_model_parallel_size = layout.vpp;
  intent.layout.context_parallel_size = layout.cp;
  intent.layout.expert_model_parallel_size = layout.ep;
  intent.layout.micro_batch_size = layout.mbs;
  Environment& env = intent.env;
  env.target = Target::kMegatronBridge;
  env.mla = intent.model.is_mla();
  env.te = Version::Parse("2.15.0");
  env.torch = Version::Parse("2.11.0");
  env.capabilities = {"deepep", "hybridep"};
  env.capabilities_known = true;
  env.gpu_name = intent.gpu.device_name;
  env.cc_major = intent.gpu.cc_major;
  env.cc_minor = intent.gpu.cc_minor;
  env.world_size = gpus;
  env.nvlink_domain_gpus = static_cast<int>(intent.gpu.nvlink_domain_gpus);
  env.gpus_per_node = static_cast<int>(intent.gpu.gpus_per_node);
  return intent;
}

void Pin(NormalizedIntent& intent, Knob knob, Value value) { intent.pins.emplace_back(knob, std::move(value)); }

DecidedPlan Plan(const NormalizedIntent& intent) { return Decide(intent, Derive(intent)); }

const Decision* Find(const DecidedPlan& plan, Knob knob) {
  for (const Decision& decision : plan.decisions) {
    if (decision.env_var.empty() && decision.knob == knob) return &decision;
  }
  return nullptr;
}

const Finding* FindFinding(const DecidedPlan& plan, absl::string_view id) {
  for (const Finding& finding : plan.findings) {
    if (finding.rule_id == id) return &finding;
  }
  return nullptr;
}

bool Cites(const Decision* decision, absl::string_view id) {
  if (decision == nullptr) return false;
  for (const std::string& citation : decision->citations) {
    if (citation.find(std::string(id)) != std::string::npos) return true;
  }
  return false;
}

absl::string_view Dispatcher(const DecidedPlan& plan) {
  const absl::string_view type = plan.config.Get(Knob::moe_token_dispatcher_type).text();
  return type == "flex" ? plan.config.Get(Knob::moe_flex_dispatcher_backend).text() : type;
}

bool On(const DecidedPlan& plan, Knob knob) { return plan.config.Get(knob).truthy(); }

// ---- EP overlap and delayed weight gradients: the evidence of the overlap guides

TEST(ExpertOverlap, PaysWhenTheExchangeCrossesNodes) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_TRUE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_TRUE(Cites(Find(plan, Knob::overlap_moe_expert_parallel_comm), "E-001"));
  const Decision* wgrad = Find(plan, Knob::delay_wgrad_compute);
  ASSERT_NE(wgrad, nullptr);
  EXPECT_FALSE(wgrad->value.truthy());
  EXPECT_TRUE(wgrad->needs_ab);
  ASSERT_FALSE(plan.ab_suggestions.empty());
  EXPECT_EQ(plan.ab_suggestions.back().knob, Knob::delay_wgrad_compute);
}

TEST(ExpertOverlap, DoesNotPayInsideTheNode) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 4}, 64);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_FALSE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  const Decision* overlap = Find(plan, Knob::overlap_moe_expert_parallel_comm);
  ASSERT_NE(overlap, nullptr);
  EXPECT_EQ(overlap->basis, Basis::kMeasured);
  EXPECT_TRUE(Cites(overlap, "E-005"));
}

TEST(ExpertOverlap, DelayedWgradStaysOffForSmallEp) {
  NormalizedIntent intent = Intent("qwen3-next-80b-a3b", "h100", 64, {.ep = 8}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  Pin(intent, Knob::overlap_moe_expert_parallel_comm, true);
  const DecidedPlan plan = Plan(intent);
  const Decision* wgrad = Find(plan, Knob::delay_wgrad_compute);
  ASSERT_NE(wgrad, nullptr);
  EXPECT_FALSE(wgrad->value.truthy());
  EXPECT_FALSE(wgrad->needs_ab);
  EXPECT_TRUE(Cites(wgrad, "E-006"));
}

TEST(ExpertOverlap, NeedsEnoughMicrobatches) {
  for (const auto& [microbatches, on] : {std::pair<int64_t, bool>{15, false}, {16, true}}) {
    NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 16 * microbatches);
    Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
    EXPECT_EQ(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm), on) << microbatches;
  }
}

TEST(ExpertOverlap, NeedsVirtualStagesWithPipeline) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 64, {.pp = 2, .ep = 16}, 1024);
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent.layout.virtual_pipeline_model_parallel_size = 12;
  EXPECT_TRUE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, HasNoScheduleForHybridPatterns) {
  NormalizedIntent intent = Intent("nemotron-3-nano-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, StaysOutOfWhatExcludesIt) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::recompute_granularity, "full");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("deepseek-v2-lite", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_shared_expert_overlap, true);
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.env.torch = Version::Parse("2.5.1");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, AProfileOfThisRunDecides) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 128, {.ep = 8}, 2048);
  intent.profile.emplace();
  intent.profile->exposed_all_to_all_ratio = 0.3;
  EXPECT_TRUE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.profile.emplace();
  intent.profile->exposed_all_to_all_ratio = 0.01;
  const DecidedPlan plan = Plan(intent);
  EXPECT_FALSE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_EQ(Find(plan, Knob::overlap_moe_expert_parallel_comm)->basis, Basis::kMeasured);
}

// ---- dispatcher

TEST(Dispatcher, PinnedBackendThatCannotRunIsAnErrorAndStays) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb200", 256, {.pp = 4, .ep = 64}, 2048);
  Pin(intent, Knob::moe_token_dispatcher_type, "flex");
  Pin(intent, Knob::moe_flex_dispatcher_backend, "deepep");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "deepep");
  const Finding* finding = FindFinding(plan, "decide.backend-unsupported");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kError);
  ASSERT_FALSE(finding->fixes.empty());
  for (const Patch& patch : finding->fixes) {
    NormalizedIntent fixed = intent;
    for (const Assignment& assignment : patch) {
      for (auto& [knob, value] : fixed.pins) {
        if (knob == assignment.knob) value = assignment.value;
      }
    }
    EXPECT_EQ(FindFinding(Plan(fixed), "decide.backend-unsupported"), nullptr);
  }
}

TEST(Dispatcher, OpenBackendOfAPinnedFlexRunsHere) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb200", 256, {.pp = 4, .ep = 64}, 2048);
  intent.env.capabilities_known = false;
  Pin(intent, Knob::moe_token_dispatcher_type, "flex");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "hybridep");
  EXPECT_TRUE(plan.findings.empty());
}

TEST(Dispatcher, BackendWithoutFlexIsSaid) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_flex_dispatcher_backend, "deepep");
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(Dispatcher(plan), "alltoall");
  EXPECT_NE(FindFinding(plan, "decide.backend-without-flex"), nullptr);
  intent.pins.pop_back();  // the type left open: the backend's wish activates it
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
}

// Whether a backend is installed is no reason where none would run.
TEST(Dispatcher, SaysWhyNoBackendRuns) {
  const auto reason = [](const NormalizedIntent& intent) {
    return Find(Plan(intent), Knob::moe_token_dispatcher_type)->reason;
  };
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "l40s", 64, {.ep = 8}, 512);
  intent.env.capabilities_known = false;  // as where the stack's own image stands for what was not said
  EXPECT_EQ(reason(intent), "no NVLink between the GPUs, which the flex backends need");
  intent = Intent("deepseek-v3", "gb200-nvl72", 1024, {.pp = 4, .ep = 128}, 8192);
  intent.env.capabilities_known = false;
  EXPECT_EQ(reason(intent), "EP 128 exceeds the NVLink domain of 72 GPUs");
  intent = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 8}, 512);
  intent.env.capabilities_known = false;
  intent.env.capabilities.clear();
  EXPECT_EQ(reason(intent).substr(0, 17), "not known whether");
}

TEST(Dispatcher, HangsOnFabricAndCapabilities) {
  NormalizedIntent intent = Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  intent.env.capabilities = {"deepep"};
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.transport = "efa";
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  intent.transport.clear();
  intent.env.capabilities_known = false;  // as where the stack's own image stands for what was not said
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.capabilities.clear();
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  // Over the network, a routing map larger than any published one goes to deepep.
  intent = Intent("qwen3-next-80b-a3b", "h100", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  // NVSHMEM 3.5.19 and later make it hang there.
  intent.env.packages["nvshmem"] = "3.6.5";
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  intent.env.capabilities = {"deepep"};
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  // Between nodes of Blackwell GPUs hybridep is slow, and deepep hangs with the NVSHMEM of Bridge's images since 0.5.
  intent = Intent("qwen3-next-80b-a3b", "b200", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
  intent.env.packages["nvshmem"] = "3.4.5";
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.packages.clear();
  intent.env.bridge_release = 4;
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  intent.env.bridge_release = kMain;
  intent.env.target = Target::kMegatronLm;
  EXPECT_EQ(Dispatcher(Plan(intent)), "deepep");
  // Inside a node both serve.
  intent = Intent("qwen3-next-80b-a3b", "b200", 64, {.ep = 8}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  // In a rack, the same exchange stays inside the NVLink domain.
  intent = Intent("qwen3-next-80b-a3b", "gb200", 64, {.ep = 64}, 1024);
  EXPECT_EQ(Dispatcher(Plan(intent)), "hybridep");
  // A partition of the rack that EP exceeds serves no flex backend.
  intent.env.nvlink_domain_gpus = 16;
  EXPECT_EQ(Dispatcher(Plan(intent)), "alltoall");
}

TEST(Dispatcher, FewCopiesOfATokenFavourAlltoall) {
  EXPECT_EQ(Dispatcher(Plan(Intent("gpt-oss-120b", "gb200", 64, {.ep = 64, .mbs = 4}, 1280))), "alltoall");
  EXPECT_EQ(Dispatcher(Plan(Intent("gpt-oss-20b", "gb200", 8, {.ep = 4}, 64))),
            "hybridep");  // 4 destinations, 4 experts
}

TEST(Dispatcher, SmCountUsesTheReleasesKnob) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 8, {.ep = 8}, 1024);
  EXPECT_EQ(Plan(intent).config.Get(Knob::moe_flex_dispatcher_num_sms).integer(), 32);
  intent.env.bridge_release = 5;
  intent.env.core_release = 18;
  EXPECT_EQ(Plan(intent).config.Get(Knob::moe_hybridep_num_sms).integer(), 32);
}

// More of them move no more over the network (DeepEP docs/README_Hybrid-EP.md).
TEST(Dispatcher, FewerSmsBetweenNodes) {
  const auto sms = [](int64_t gpus, int32_t ep) {
    return Plan(Intent("qwen3-30b-a3b", "h100", gpus, {.ep = ep}, 1024))
        .config.Get(Knob::moe_flex_dispatcher_num_sms)
        .integer();
  };
  EXPECT_EQ(sms(8, 8), 32);
  EXPECT_EQ(sms(16, 16), 16);
}

TEST(Dispatcher, TopologyVariablesFollowTheDomain) {
  DecidedPlan plan = Plan(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024));
  EXPECT_EQ(plan.env.at("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN"), "8");
  EXPECT_EQ(plan.env.at("USE_MNNVL"), "0");
  plan = Plan(Intent("qwen3-next-80b-a3b", "gb200", 64, {.ep = 64}, 1024));
  EXPECT_EQ(plan.env.at("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN"), "64");
  EXPECT_EQ(plan.env.at("NVLINK_DOMAIN_SIZE"), "72");
  EXPECT_EQ(plan.env.at("USE_MNNVL"), "1");
}

// ---- recompute, graphs, layout, environment

TEST(Recompute, OnlyWhereTheLayoutDoesNotFit) {
  EXPECT_TRUE(
      Plan(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024)).config.Get(Knob::recompute_granularity).is_none());
  const DecidedPlan plan = Plan(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192));
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_EQ(plan.config.Get(Knob::recompute_modules).list()[0].text(), "mla_up_proj");
}

// Where it would fit without, too: but not without a pipeline, not of adapters alone, and not beside the caller's word.
TEST(Recompute, PipelinesOfLatentAttentionComputeItsUpProjectionsAgain) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb300", 256, {.pp = 4, .vpp = 4, .ep = 64}, 4096);
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_EQ(plan.config.Get(Knob::recompute_modules), Value(Value::List{"mla_up_proj"}));
  const Decision* const decision = Find(plan, Knob::recompute_granularity);
  ASSERT_NE(decision, nullptr);
  EXPECT_TRUE(IsSettled(*decision));
  EXPECT_TRUE(Cites(decision, "Kimi K2"));
  const NormalizedIntent unpipelined = Intent("moonlight-16b-a3b", "h100", 8, {.ep = 8}, 256);
  EXPECT_TRUE(Plan(unpipelined).config.Get(Knob::recompute_granularity).is_none());
  NormalizedIntent adapters = intent;
  Pin(adapters, Knob::peft_scheme, "lora");
  EXPECT_TRUE(Plan(adapters).config.Get(Knob::recompute_granularity).is_none());
  intent.stage = Stage::kBringUp;
  EXPECT_TRUE(Plan(intent).config.Get(Knob::recompute_granularity).is_none());
  intent.stage = Stage::kTune;
  Pin(intent, Knob::recompute_granularity, Value());
  EXPECT_TRUE(Plan(intent).config.Get(Knob::recompute_granularity).is_none());
}

TEST(CudaGraphs, ScopedForDroplessExpertsAndNotInBringUp) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "gb200", 8, {.ep = 8, .mbs = 2}, 512);
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_modules), Value(Value::List{"attn", "moe_router", "moe_preprocess"}));
  EXPECT_TRUE(On(plan, Knob::te_rng_tracker));
  intent.stage = Stage::kBringUp;
  const DecidedPlan bring_up = Plan(intent);
  EXPECT_EQ(bring_up.config.Get(Knob::cuda_graph_impl).text(), "none");
  EXPECT_EQ(Dispatcher(bring_up), "alltoall");
  EXPECT_FALSE(On(bring_up, Knob::overlap_grad_reduce));
}

TEST(CudaGraphs, PipelineOnX86HostsIsLeftToAnAb) {
  const Layout layout{.pp = 8, .ep = 8};
  const DecidedPlan x86 = Plan(Intent("qwen3-235b-a22b", "b200-sxm", 256, layout, 8192));
  const Decision* const graphs = Find(x86, Knob::cuda_graph_impl);
  ASSERT_NE(graphs, nullptr);
  EXPECT_EQ(graphs->value.text(), "none");
  EXPECT_TRUE(graphs->needs_ab);
  const auto suggested = [](const AbSuggestion& ab) { return ab.knob == Knob::cuda_graph_impl; };
  EXPECT_EQ(std::count_if(x86.ab_suggestions.begin(), x86.ab_suggestions.end(), suggested), 1);
  const DecidedPlan grace = Plan(Intent("qwen3-235b-a22b", "gb200-nvl72", 256, layout, 8192));
  EXPECT_EQ(grace.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
  const DecidedPlan one_stage = Plan(Intent("qwen3-30b-a3b", "b200-sxm", 8, {.ep = 8}, 512));
  EXPECT_EQ(one_stage.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
}

TEST(CudaGraphs, FullIterationOfAPipelineNeedsVirtualStages) {
  NormalizedIntent intent = Intent("qwen3-235b-a22b", "gb200-nvl72", 256, {.pp = 8, .vpp = 3, .ep = 32}, 8192);
  intent.workload.precision = Precision::kMxfp8;
  intent.workload.objective = Objective::kBenchmark;
  intent.env.capabilities.insert("paged_stash");
  Pin(intent, Knob::pipeline_model_parallel_layout, Value("Et*3|(tttt|)*22tttL"));
  const DecidedPlan staged = Plan(intent);
  EXPECT_EQ(staged.config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  EXPECT_TRUE(staged.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
  intent.pins.clear();
  intent.layout.virtual_pipeline_model_parallel_size = 1;
  EXPECT_NE(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
}

TEST(CudaGraphs, FullIterationWasAScopeBeforeItWasAnImplementation) {
  NormalizedIntent intent = Intent("llama-3.1-8b", "b200-sxm", 8, {.mbs = 2}, 128);
  intent.workload.objective = Objective::kBenchmark;
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  intent.env.bridge_release = 4;
  intent.env.core_release = StackOf(intent.env).core_release(4);
  const DecidedPlan older = Plan(intent);
  EXPECT_EQ(older.config.Get(Knob::cuda_graph_impl).text(), "local");
  EXPECT_EQ(older.config.Get(Knob::cuda_graph_scope), Value(Value::List{"full_iteration"}));
  EXPECT_EQ(older.config.Get(Knob::check_for_nan_in_loss), Value(false));
}

TEST(CudaGraphs, FullIterationBringsItsCompanions) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "gb200", 8, {.ep = 8, .mbs = 4}, 512);
  intent.workload.precision = Precision::kMxfp8;
  intent.workload.objective = Objective::kBenchmark;
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");  // no paged stash installed
  intent.env.capabilities.insert("paged_stash");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  EXPECT_TRUE(On(plan, Knob::moe_paged_stash));
  EXPECT_FALSE(On(plan, Knob::check_for_nan_in_loss));
  EXPECT_TRUE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_TRUE(On(plan, Knob::delay_wgrad_compute));
  EXPECT_EQ(plan.env.at("TORCH_NCCL_AVOID_RECORD_STREAMS"), "0");
  intent.env.te = Version::Parse("2.13.0");  // without the fused grouped MLP
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
}

TEST(ShardedParallel, FsdpShardsUnlessSaidOtherwise) {
  NormalizedIntent intent = Intent("llama-3.1-70b", "gb200", 64, {}, 256);
  EXPECT_EQ(Find(Plan(intent), Knob::data_parallel_sharding_strategy), nullptr);
  Pin(intent, Knob::use_megatron_fsdp, true);
  EXPECT_EQ(Plan(intent).config.Get(Knob::data_parallel_sharding_strategy).text(), "optim_grads_params");
  Pin(intent, Knob::data_parallel_sharding_strategy, "optim");
  EXPECT_EQ(Plan(intent).config.Get(Knob::data_parallel_sharding_strategy).text(), "optim");
}

TEST(ContextParallel, ExchangesAsTheAttentionAndTheFabricAllow) {
  NormalizedIntent intent = Intent("deepseek-v3", "h100", 256, {.pp = 8, .vpp = 4, .cp = 32, .ep = 32}, 32);
  intent.workload.seq_length = 131'072;
  const DecidedPlan far = Plan(intent);
  EXPECT_EQ(far.config.Get(Knob::cp_comm_type).ToText(), Value(Value::List{"a2a+p2p"}).ToText());
  EXPECT_EQ(far.config.Get(Knob::hierarchical_context_parallel_sizes).ToText(),
            Value(Value::List{Value(8), Value(4)}).ToText());
  Pin(intent, Knob::cp_comm_type, "p2p");
  const DecidedPlan pinned = Plan(intent);
  EXPECT_EQ(pinned.config.Get(Knob::cp_comm_type).text(), "p2p");
  EXPECT_TRUE(pinned.config.Get(Knob::hierarchical_context_parallel_sizes).is_none());
  const DecidedPlan windows = Plan(Intent("gpt-oss-20b", "h100", 8, {.cp = 2, .ep = 4}, 64));
  EXPECT_EQ(windows.config.Get(Knob::cp_comm_type).ToText(), Value(Value::List{"a2a"}).ToText());
}

TEST(Pipeline, UnevenLayersGetABalancedLayout) {
  const DecidedPlan plan = Plan(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192));
  std::string expected = "Et";
  for (int i = 0; i < 30; ++i) expected += "|tt";
  EXPECT_EQ(plan.config.Get(Knob::pipeline_model_parallel_layout).text(), expected + "|mL");
  EXPECT_TRUE(Plan(Intent("qwen3-30b-a3b", "h100", 64, {.pp = 4, .ep = 8}, 1024))
                  .config.Get(Knob::pipeline_model_parallel_layout)
                  .is_none());
}

// The layout that is decided, said by the caller, changes nothing else.
TEST(Pipeline, TheDecidedLayoutGivenDecidesTheSame) {
  int tight = 0;
  for (const char* gpu : {"h100", "b200", "gb200"}) {
    for (const Layout& layout :
         {Layout{.pp = 4, .vpp = 4, .ep = 64}, Layout{.pp = 8, .vpp = 2, .ep = 64}, Layout{.pp = 8, .vpp = 4, .ep = 32},
          Layout{.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, Layout{.pp = 16, .vpp = 2, .ep = 64}}) {
      NormalizedIntent intent = Intent("deepseek-v3", gpu, 1024, layout, 8192);
      const DecidedPlan open = Plan(intent);
      const Value& split = open.config.Get(Knob::pipeline_model_parallel_layout);
      ASSERT_FALSE(split.is_none());
      intent.layout.pipeline_model_parallel_layout = split.ToText();
      const DecidedPlan given = Plan(intent);
      for (Knob knob : {Knob::cuda_graph_impl, Knob::recompute_granularity, Knob::recompute_modules,
                        Knob::overlap_moe_expert_parallel_comm, Knob::optimizer_cpu_offload}) {
        EXPECT_EQ(given.config.Get(knob), open.config.Get(knob)) << gpu << " PP" << layout.pp << " " << Name(knob);
      }
      tight += open.config.Get(Knob::recompute_granularity).is_none() ? 0 : 1;
    }
  }
  EXPECT_GT(tight, 3);  // near the limit of the memory, where it would show
}

TEST(Environment, ConnectionsFollowWhatNeedsQueues) {
  auto connections = [](const NormalizedIntent& intent) { return Plan(intent).env.at("CUDA_DEVICE_MAX_CONNECTIONS"); };
  EXPECT_EQ(connections(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192)), "1");
  EXPECT_EQ(connections(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024)), "32");
  EXPECT_EQ(connections(Intent("qwen3-30b-a3b", "b200", 8, {.tp = 2, .ep = 8}, 512)), "32");
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.env.vars["CUDA_DEVICE_MAX_CONNECTIONS"] = "8";
  EXPECT_EQ(connections(intent), "8");
}

// ---- what holds for every decision

TEST(Decide, NeverChangesAPin) {
  const std::pair<Knob, Value> pins[] = {
      {Knob::moe_token_dispatcher_type, "allgather"},
      {Knob::overlap_moe_expert_parallel_comm, false},
      {Knob::cuda_graph_impl, "none"},
      {Knob::recompute_granularity, "full"},
      {Knob::tp_comm_overlap, true},
      {Knob::sequence_parallel, false},
      {Knob::moe_router_dtype, "fp64"},
      {Knob::moe_grouped_gemm, false},
      {Knob::use_distributed_optimizer, false},
      {Knob::moe_permute_fusion, false},
      {Knob::cross_entropy_loss_fusion, false},
      {Knob::manual_gc, false},
  };
  for (const auto& [knob, value] : pins) {
    NormalizedIntent intent = Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192);
    Pin(intent, knob, value);
    const DecidedPlan plan = Plan(intent);
    EXPECT_EQ(plan.config.Get(knob), value) << Name(knob);
    EXPECT_EQ(plan.config.origin(knob), Origin::kCaller) << Name(knob);
  }
}

TEST(Decide, EveryDecidedKnobHasOneDecisionWithAReason) {
  for (const ModelSpec& model : TheCatalog().models()) {
    const DecidedPlan plan =
        Plan(Intent(model.name, "h100", 64, {.tp = 2, .pp = 2, .ep = model.is_moe() ? 8 : 1}, 512));
    int decided = 0;
    for (int i = 0; i < kKnobCount; ++i)
      decided += plan.config.origin(static_cast<Knob>(i)) == Origin::kDecided ? 1 : 0;
    int recorded = 0;
    for (const Decision& decision : plan.decisions) {
      EXPECT_FALSE(decision.reason.empty()) << model.name << " " << decision.rule_id;
      if (decision.env_var.empty() && decision.basis != Basis::kCaller) ++recorded;
    }
    EXPECT_EQ(decided, recorded) << model.name;
  }
}

TEST(Decide, SurvivesAbsurdSizes) {
  for (const int64_t huge : {int64_t{0}, int64_t{-5}, int64_t{1} << 40, int64_t{1000000000000000000}}) {
    NormalizedIntent intent = Intent("deepseek-v3", "h100", huge,
                                     {.tp = huge, .pp = huge, .vpp = huge, .cp = huge, .ep = huge, .mbs = huge}, huge);
    intent.workload.seq_length = huge;
    intent.model.num_moe_experts = huge;
    intent.model.num_layers = huge > 0 ? huge : 1;
    intent.model.computed.reset();
    Plan(intent);
  }
}

}  // namespace
// Modules and tensors that only LoongForge recomputes and offloads, beside the exchange that it overlaps.
NormalizedIntent OnLoongForge(NormalizedIntent intent) {
  intent.env.target = Target::kLoongForge;
  intent.env.core_release = 15;
  intent.env.capabilities = {"deepep"};  // with hybridep and memory this tight, overlap "needs an A/B"
  return intent;
}

std::vector<std::string> Modules(const DecidedPlan& plan, Knob knob) {
  std::vector<std::string> names;
  for (const Value& value : plan.config.Get(knob).list()) names.emplace_back(value.text());
  return names;
}

TEST(LoongForge, RecomputesInsideTheOverlapScheduleRatherThanGiveItUp) {
  NormalizedIntent upstream =
      Intent("qwen3-30b-a3b", "h100-sxm", 16, {.tp = 1, .pp = 1, .vpp = 1, .cp = 1, .ep = 16, .mbs = 1}, 4096);
  upstream.workload.seq_length = 8192;
  const DecidedPlan plan = Plan(OnLoongForge(upstream));
  EXPECT_TRUE(plan.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_THAT(Modules(plan, Knob::recompute_modules), ::testing::Contains("a2a_overlap_mlp"));
  EXPECT_THAT(Modules(plan, Knob::recompute_modules), ::testing::Not(::testing::Contains("moe_act")));
  for (const std::string& module : Modules(Plan(upstream), Knob::recompute_modules)) {
    EXPECT_NE(module.substr(0, 4), "a2a_") << "upstream rejects it";
  }
}

TEST(LoongForge, OffloadsTheInputsOfRecomputedExpertsWhenThatIsNotEnough) {
  const NormalizedIntent tight = OnLoongForge(
      Intent("deepseek-v3", "h100-sxm", 1024, {.tp = 1, .pp = 8, .vpp = 4, .cp = 1, .ep = 64, .mbs = 1}, 4096));
  const DecidedPlan plan = Plan(tight);
  ASSERT_TRUE(plan.config.Get(Knob::fine_grained_activation_offloading).truthy());
  EXPECT_THAT(Modules(plan, Knob::offload_tensors),
              ::testing::ElementsAre("dispatched_input", "pre_mlp_layernorm_output"));
  EXPECT_TRUE(plan.config.Get(Knob::bindpcie).truthy());
  EXPECT_TRUE(plan.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
}

TEST(DecideEnvironment, RanksStayBesideTheirGpus) {
  const auto binding = [](const DecidedPlan& plan) -> const Decision* {
    for (const Decision& decision : plan.decisions) {
      if (decision.env_var == kNumaBindingName) return &decision;
    }
    return nullptr;
  };
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 64);
  const DecidedPlan bound = Plan(intent);
  ASSERT_NE(binding(bound), nullptr);
  EXPECT_EQ(binding(bound)->value, Value("node"));
  EXPECT_TRUE(Cites(binding(bound), "executors.py"));
  EXPECT_EQ(bound.env.count(kNumaBindingName), 0u);  // nothing to export
  EXPECT_TRUE(bound.findings.empty());
  intent.env.torch = Version::Parse("2.8.0");
  EXPECT_EQ(binding(Plan(intent)), nullptr);
}

TEST(DecideEnvironment, TheBindingOfATorchThatNobodyStatedIsSaidToRestOnIt) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 64);
  intent.env.torch.reset();
  intent.env.torch_stated = false;
  const DecidedPlan plan = Plan(intent);
  ASSERT_EQ(plan.findings.size(), 1u);
  EXPECT_EQ(plan.findings[0].rule_id, "launch.numa-binding");
  EXPECT_EQ(plan.findings[0].severity, Severity::kInfo);
  intent.env.gpus_per_node = 1;  // one rank a node is bound to nothing
  EXPECT_TRUE(Plan(intent).findings.empty());
}

}  // namespace flightplan
