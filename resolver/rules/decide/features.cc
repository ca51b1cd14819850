#include "resolver/rules/decide/features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/catalog/memory_coefficients.h"
#include "resolver/derive/fp8_recipes.h"
#include "resolver/derive/module_names.h"
#include "resolver/plan/network.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/deepep_groups.h"
#include "resolver/rules/nvshmem.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// No cluster and no model has a size beyond this; larger input is refused elsewhere and must not overflow here.
constexpr int64_t kMaxSize = int64_t{1} << 20;
constexpr int64_t kMaxSequence = int64_t{1} << 40;

int64_t Bounded(int64_t value, int64_t most = kMaxSize) { return std::clamp<int64_t>(value, 1, most); }

bool Has(const Environment& env, const char* capability) { return env.capabilities.count(capability) != 0; }

// Expected number of the g-1 other groups that hold at least one of a token's k experts.
double RemoteGroups(double g, double k) { return g <= 1 ? 0 : (g - 1) * (1 - std::pow(1 - 1 / g, k)); }

// The precision of the request as the knobs will spell it; the decision that sets them comes later.
Config WithPrecision(const Config& config, Precision precision) {
  Config with = config;
  const auto set = [&](Knob knob, Value value) {
    if (with.origin(knob) != Origin::kCaller) with.Set(knob, std::move(value), Origin::kDecided);
  };
  set(precision == Precision::kFp16 ? K::fp16 : K::bf16, Value(true));
  if (const Fp8Recipe* const recipe = Fp8RecipeOf(precision)) {
    set(K::fp8, Value(recipe->format));
    set(K::fp8_recipe, Value(recipe->name));
  }
  if (precision == Precision::kNvfp4) set(K::fp4, Value("e2m1"));
  return with;
}

// The loss as the fusions will choose it; `given`: as the configuration has it.
LossKind LossToBe(const Config& config, const Environment& env, LossKind given) {
  const Origin fusion = config.origin(K::cross_entropy_loss_fusion);
  if (fusion == Origin::kAbsent || (fusion == Origin::kCaller && given == LossKind::kUnfused)) return given;
  if (fusion != Origin::kCaller && config.Get(K::deterministic_mode).truthy()) return LossKind::kUnfused;
  return TakesTeLoss(config, env) ? TeLossOf(env) : FusedLossOf(config.Get(K::cross_entropy_fusion_impl).text(), env);
}

// The candidate that the sizes and the request's precision make, before any of the later decisions.
void ExtractCandidate(const NormalizedIntent& intent, const std::optional<ModelShape>& shape, const Config& config,
                      Features* f) {
  f->device = {intent.gpu.cc_major, static_cast<int>(f->domain)};
  if (!shape.has_value()) return;
  f->shape = *shape;
  f->stages = StagesOf(f->shape, config, intent.known_stages != nullptr ? *intent.known_stages : StageLayout());
  Candidate& c = f->candidate;
  c = CandidateOf(WithPrecision(config, f->precision), intent.env, f->shape, f->stages);
  c.gpus = f->world;
  c.etp = static_cast<int32_t>(f->moe ? f->etp : 1);
  c.micro_batch_size = f->mbs;
  c.global_batch_size = f->gbs > 0 ? f->gbs : int64_t{1} << 30;  // unknown: many microbatches
  c.seq_length = f->seq;
  c.sequence_parallel = f->tp > 1;
  c.distributed_optimizer = true;
  c.shard_weights = c.shard_gradients = f->fsdp;
  c.recompute = RecomputeMode::kNone;
  c.offload_modules = 0;
  c.optimizer_offload = 0;
  // What is decided after recompute is not looked at where the caller gives it either: else a decision, given back as
  // the caller's word, would ask for other recompute than it was made with.
  c.ep_overlap = c.delay_wgrad = false;
  // The class's default, which the decision on the dispatcher does not leave.
  if (config.origin(K::moe_token_dispatcher_type) != Origin::kCaller) c.dispatcher = Dispatcher::kAllToAll;
  const bool uneven = f->moe && !f->benchmark && f->ep >= kUnevenExpertRanks;
  c.imbalance = static_cast<float>(c.BusiestRows(uneven ? kTrainingImbalance : 1));
  c.loss = LossToBe(config, intent.env, c.loss);
  c.grad_accumulation_fusion = true;
}

void ExtractLayout(const NormalizedIntent& intent, const Config& config, Features* f) {
  auto size = [&](Knob knob) { return Bounded(config.Get(knob).integer()); };
  f->tp = size(K::tensor_model_parallel_size);
  f->pp = size(K::pipeline_model_parallel_size);
  f->vpp = size(K::virtual_pipeline_model_parallel_size);
  f->cp = size(K::context_parallel_size);
  f->ep = size(K::expert_model_parallel_size);
  // Unset, experts are split over the tensor-parallel ranks.
  f->etp = config.Get(K::expert_tensor_parallel_size).is_none() ? f->tp : size(K::expert_tensor_parallel_size);
  f->world = Bounded(intent.gpu_count, int64_t{1} << 30);
  f->dp = std::max<int64_t>(1, f->world / (f->tp * f->pp * f->cp));
  f->edp = std::max<int64_t>(1, f->world / (f->etp * f->ep * f->pp));
  f->mbs = size(K::micro_batch_size);
  f->fsdp = config.Get(K::use_megatron_fsdp).truthy() || config.Get(K::use_torch_fsdp2).truthy();
  f->sequence_parallel = config.Get(K::sequence_parallel).truthy();
}

void ExtractWorkload(const NormalizedIntent& intent, const Config& config, Features* f) {
  const auto& workload = intent.workload;
  f->gbs = workload.global_batch_size > 0 ? workload.global_batch_size
                                          : std::max<int64_t>(0, config.Get(K::global_batch_size).integer());
  f->seq = Bounded(workload.seq_length > 0 ? workload.seq_length : config.Get(K::seq_length).integer(), kMaxSequence);
  f->microbatches = f->gbs / std::max<int64_t>(1, f->mbs * f->dp);
  f->benchmark = workload.objective == Objective::kBenchmark;
  f->bring_up = intent.stage == Stage::kBringUp;
  f->precision = workload.precision;
  f->sixteen_bit = f->precision == Precision::kBf16 || f->precision == Precision::kFp16;
}

void ExtractModel(const ModelSpec& model, Features* f) {
  f->moe = model.is_moe();
  f->mla = model.is_mla();
  f->shared_expert = model.moe_shared_expert_intermediate_size.value_or(0) > 0;
  f->hybrid_attention = model.hybrid_layer_pattern.has_value() || model.num_linear_attention_layers.value_or(0) > 0 ||
                        !model.linear_attention_freq.empty();
  f->experts = f->moe ? Bounded(model.num_moe_experts.value_or(0)) : 0;
  f->topk = f->moe ? Bounded(model.moe_router_topk.value_or(0)) : 0;
  // A shared expert with at least a quarter of the routed work can cover a noticeable part of an exchange.
  f->shared_expert_covers = static_cast<double>(model.moe_shared_expert_intermediate_size.value_or(0)) * 4 >=
                            static_cast<double>(f->topk) * static_cast<double>(model.moe_ffn_hidden_size.value_or(0));
}

void ExtractHardware(const NormalizedIntent& intent, Features* f) {
  const auto& gpu = intent.gpu;
  f->domain = Bounded(intent.env.nvlink_domain_gpus > 0 ? intent.env.nvlink_domain_gpus : gpu.nvlink_domain_gpus);
  f->node = Bounded(intent.env.gpus_per_node > 0 ? intent.env.gpus_per_node : gpu.gpus_per_node);
  f->hopper = gpu.cc_major == 9;
  // A system whose compute capability is not published yet is newer than those whose is; MXFP8 came with Blackwell.
  const bool mxfp8 = std::find(gpu.fp8_recipes.begin(), gpu.fp8_recipes.end(), "mxfp8") != gpu.fp8_recipes.end();
  f->blackwell = gpu.cc_major >= 10 || (gpu.cc_major == 0 && mxfp8);
  f->mxfp8 = f->blackwell && gpu.cc_major < 12;
  f->rack_scale = f->domain > f->node;
  f->memory_known = gpu.hbm_bytes.has_value();
  if (f->memory_known) f->capacity = std::max(0.0, static_cast<double>(*gpu.hbm_bytes) - memory::kHeadroomBytes.value);
  f->deepep = Has(intent.env, "deepep");
  f->hybridep = Has(intent.env, "hybridep");
  f->paged_stash = Has(intent.env, "paged_stash");
  f->flex_on_nvlink = Has(intent.env, "transport=nvlink");
  f->verbs = HasVerbs(intent.transport);
  // By the image alone only on Blackwell, where it was seen: recipes of the same releases have figures on Hopper.
  const bool stated = intent.env.packages.count("nvshmem") != 0;
  f->deepep_hangs = (stated || f->blackwell) && DeepepHangsBetweenNodes(intent.env).value_or(true);
}

// Where the layout puts a token's experts on this hardware.
void ExtractExchange(const Environment& env, Features* f) {
  const int64_t span = f->ep * f->etp;  // an expert group's ranks are contiguous within one pipeline stage
  f->deepep_group = IsDeepepGroup(DeepepGroups(env), span) && (span <= f->node || DeepepLeavesNodes(f->node));
  f->ep_domains = (span + f->domain - 1) / f->domain;
  f->ep_crosses_domain = f->moe && f->ep > 1 && f->ep_domains > 1;
  if (!f->moe || f->ep <= 1 || f->topk <= 0) return;
  const auto k = static_cast<double>(f->topk);
  const auto groups = static_cast<double>(f->ep_crosses_domain ? f->ep_domains : f->ep);
  const double copies = k * (1 - 1 / groups);
  f->dedup_ratio = copies > 0 ? RemoteGroups(groups, k) / copies : 1;
}

}  // namespace

bool SharedExpertHidesAllToAll(const Features& f) {
  return f.moe && f.shared_expert && f.shared_expert_covers && !f.bring_up;
}

bool DeepepRuns(const Features& features, const GpuSystem& gpu) {
  const int cc = gpu.cc_major;
  return features.domain > 1 && !features.rack_scale && (cc == 8 || cc == 9 || HasFlexBackend(gpu, "deepep"));
}

// A system whose compute capability is not published yet may have it.
bool HybridepRuns(const Features& features, const GpuSystem& gpu) {
  return features.domain > 1 && (gpu.cc_major == 0 || (gpu.cc_major >= 8 && gpu.cc_major <= 10));
}

bool HybridepMapFits(const Features& features) {
  return !features.ep_crosses_domain || features.ep * features.experts <= evidence::kMaxNetworkRoutingMap;
}

bool DeepepFailsBetweenNodes(const Features& features) {
  return FlexStaysInDomain(features) || (features.deepep_hangs && !features.rack_scale);
}
bool HybridepFailsBetweenNodes(const Features& features) {
  return FlexStaysInDomain(features) || (features.blackwell && !features.rack_scale);
}

bool OnFastX86Host(const Features& features, const NormalizedIntent& intent) {
  if (intent.host_cpu != HostCpuClass::kUnknown) return intent.host_cpu == HostCpuClass::kX86Fast;
  return !features.rack_scale && intent.gpu.host_link != "NVLink-C2C";
}

bool LeavesGraphsOfPipelines(const Features& features, const NormalizedIntent& intent) {
  return features.moe && !intent.model.hybrid_layer_pattern.has_value() && OnFastX86Host(features, intent);
}

bool AttentionGraphIsSmall(const Features& features) {
  return features.mbs * features.seq / features.cp < evidence::kManyTokensForAttentionGraph;
}

bool OverlapSpoilsAttentionGraph(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

unsigned InputsOfOverlapExperts(const Features& f) {
  return kOffloadDispatchedInput | (f.shared_expert ? unsigned{kOffloadPreMlpNormOutput} : 0U);
}

unsigned NeverRecomputedInFp8(const Config& config, const Environment& env) {
  if (!config.Get(Knob::fp8).truthy()) return 0;
  const bool delayed = config.Get(Knob::fp8_recipe).text() == "delayed";
  return delayed || !AtLeast(env.te, "2.6.0") ? kDropMoeAct | kDropLayernorm : 0;
}

unsigned NeverRecomputedInGraphs(const Environment& env, unsigned modules) {
  if (modules == 0) return 0;
  if (!GraphsOfCore15(env)) return (modules & kGraphMoeRouter) != 0 ? kDropMoe : 0;
  return modules == kGraphAttn ? kDropCoreAttn | kDropMlaUpProj : std::numeric_limits<uint16_t>::max();
}

unsigned MovedToHost(const Config& config) {
  const bool moves = config.Get(Knob::fine_grained_activation_offloading).truthy();
  return moves ? OffloadBitsOf(config.Get(Knob::offload_modules), Value()) : 0;
}

unsigned NeverRecomputedBesideMoved(unsigned moved) {
  return (moved & (kOffloadExpertFc1 | kOffloadMoeAct)) != 0 ? kDropMoe : 0;
}

Features ExtractFeatures(const NormalizedIntent& intent, const std::optional<ModelShape>& shape, const Config& config) {
  Features f;
  ExtractLayout(intent, config, &f);
  ExtractWorkload(intent, config, &f);
  ExtractModel(intent.model, &f);
  ExtractHardware(intent, &f);
  ExtractExchange(intent.env, &f);
  ExtractCandidate(intent, shape, config, &f);
  return f;
}

StageBytes MemoryNeed(const Features& f, Recompute recompute, double imbalance) {
  if (f.shape.kind_count == 0) return {};
  Candidate c = f.candidate;
  c.stages = &f.stages;
  c.vpp = f.stages.vpp;  // the decision on the pipeline may have laid it out anew
  if (recompute.full) {
    c.recompute = RecomputeMode::kFullUniform;
    c.recompute_layers = 1;
  } else if (recompute.modules != 0) {
    c.recompute = RecomputeMode::kSelective;
    c.recompute_modules = static_cast<uint16_t>(recompute.modules);
  }
  c.offload_modules = static_cast<uint16_t>(recompute.offload);
  if (imbalance > 0) c.imbalance = static_cast<float>(c.BusiestRows(imbalance));
  int rank = 0;
  return MemoryModel(f.shape, c, f.device).Fullest(&rank);
}

bool UpProjectionIsHabit(const NormalizedIntent& intent, const Candidate& candidate) {
  return intent.model.kv_lora_rank.has_value() && intent.model.is_moe() && !StackOf(intent.env).fork &&
         intent.stage != Stage::kBringUp && !candidate.adapters.any();
}

double Reserved(const Features& features, const StageBytes& bytes) {
  const double lasting = bytes.Static();
  return lasting + (bytes.Allocated() - lasting) /
                       (features.moe ? memory::kAllocatorEfficiencyMoe : memory::kAllocatorEfficiency).value;
}

bool Fits(const Features& features, double bytes) { return !features.memory_known || bytes <= features.capacity; }

std::string KeptFree(const Features& features) {
  const double kept = memory::kHeadroomBytes.value;
  return absl::StrFormat("%.0f of %.0f GiB kept free", kept / kGib, (features.capacity + kept) / kGib);
}

absl::string_view ObstacleToOverlap(const NormalizedIntent& intent, const Config& config) {
  if (intent.model.hybrid_layer_pattern.has_value()) {
    return "models of a hybrid layer pattern have no schedule that overlaps their all-to-all";
  }
  if (config.Get(Knob::mtp_num_layers).integer() > 1) return "more than one MTP layer";
  if (config.Get(Knob::moe_n_hash_layers).integer() > 0) return "its schedule cannot run hash layers";
  if (intent.env.torch.has_value() && !AtLeast(intent.env.torch, "2.6.0")) return "needs torch 2.6";
  return "";
}

bool TakesTeLoss(const Config& config, const Environment& env) {
  const Knob impl = Knob::cross_entropy_fusion_impl;
  if (config.origin(impl) != Origin::kDefault) return config.Get(impl).text() == "te";
  return StackOf(env).container && !(env.te_stated && !env.te.has_value());
}

bool SegmentsMayExpand(const Config& config, const Environment& env) {
  const Value& graphs = config.Get(Knob::cuda_graph_impl);
  const bool graphed = !graphs.is_none() && graphs.text() != "none";
  return !config.Get(Knob::nccl_ub).truthy() && !(graphed && GraphsOfCore15(env));
}

}  // namespace flightplan::decide
