// What the decisions turn on: the few physical features of a request. No decision looks at a model's name.
#pragma once

#include <cstdint>

#include "resolver/derive/memory.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"

namespace flightplan::decide {

struct Features {
  // Layout, from the configuration: pins, the caller's layout, class defaults.
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  int64_t world = 1, dp = 1, edp = 1;
  int64_t mbs = 1, gbs = 0, seq = 0;
  int64_t microbatches = 0;  // per step; 0: unknown
  bool fsdp = false;
  bool sequence_parallel = false;

  // Model.
  bool moe = false, mla = false, shared_expert = false;
  bool shared_expert_covers = false;  // the shared expert is work enough to hide part of an exchange
  bool hybrid_attention = false;      // linear attention or Mamba blocks among the layers
  int64_t experts = 0, topk = 0;

  // Hardware.
  int64_t domain = 8;  // GPUs that share one NVLink domain
  int64_t node = 8;    // GPUs of one operating system image
  bool hopper = false, blackwell = false;
  bool mxfp8 = false;              // Blackwell on which Transformer Engine has it: not from compute capability 12.0 on
  bool rack_scale = false;         // the NVLink domain is larger than a node (NVL72)
  bool ep_crosses_domain = false;  // tokens leave the NVLink domain
  int64_t ep_domains = 1;          // domains that one expert-parallel group spans

  // Rows that a flex dispatcher sends against the rows of an all-to-all, for balanced routing: a token travels once to
  // each destination GPU (domain, where the exchange crosses domains) rather than once for each of its experts.
  double dedup_ratio = 1;

  // Software.
  bool deepep = false, hybridep = false, paged_stash = false;
  bool deepep_group = true;  // DeepEP has kernels for the expert group, between nodes of this size where it leaves one
  bool flex_on_nvlink = false;  // the flex backends were built for NVLink alone: nothing of theirs leaves a domain
  bool verbs = true;            // between nodes (plan/network.h)
  bool deepep_hangs = false;    // between nodes, with the NVSHMEM that is installed or that the stack's image has

  // Workload.
  bool benchmark = false, bring_up = false;
  Precision precision = Precision::kBf16;
  bool sixteen_bit = true;

  // Memory.
  bool memory_known = false;
  double capacity = 0;  // bytes that a plan may use
  ModelShape shape;     // without layers when the model's parameters cannot be counted
  StageLayout stages;
  Candidate candidate;  // as far as the sizes and the precision settle it; `stages` is set where it is used
  MemoryDevice device;
};

// What one GPU of the fullest stage allocates with this recompute: nothing, full, or these modules; and with what is
// left of their inputs on the host.
struct Recompute {
  bool full = false;
  unsigned modules = 0;  // RecomputeModule bits
  unsigned offload = 0;  // OffloadModule bits
};
StageBytes MemoryNeed(const Features& features, Recompute recompute, double imbalance = 0);

// `shape`: of the model, where its parameters can be counted.
Features ExtractFeatures(const NormalizedIntent& intent, const std::optional<ModelShape>& shape, const Config& config);

// Whether the shared expert is work enough to hide part of an all-to-all behind it, if nothing else is in its way.
bool SharedExpertHidesAllToAll(const Features& features);

// Whether a flex backend runs on this hardware. DeepEP's gate is Megatron-Bridge's: compute capability 8 or 9, or a
// board named B200 or B300; rack-scale systems do not pass. HybridEP's says nothing of how far an expert group may
// reach: on rack-scale systems up to the NVLink domain.
bool DeepepRuns(const Features& features, const GpuSystem& gpu);
bool HybridepRuns(const Features& features, const GpuSystem& gpu);

// How many SMs a flex backend takes by what was published, over a network where its experts are spread over several
// NVLink domains.
int PublishedSms(bool hybridep, bool crosses_domain);

// Whether HybridEP's routing map is as small as the largest that was published over a network; inside an NVLink domain
// nothing is said against any.
bool HybridepMapFits(const Features& features);

// Whether no flex backend leaves the NVLink domain, by how it was built or for lack of a network that it knows.
inline bool FlexStaysInDomain(const Features& features) { return features.flex_on_nvlink || !features.verbs; }

// Whether a backend failed in the field between nodes of this hardware and software (rules/core/field_reports.cc).
bool DeepepFailsBetweenNodes(const Features& features);
bool HybridepFailsBetweenNodes(const Features& features);

// A fast x86 host keeps ahead of the GPU longer than a Grace or a slow one (host_us_grace, host_slow of
// step_rates.yaml), and what upstream's guide says against graphs of a pipeline or of tight memory weighs more there.
// Where nothing is said of the host, it is the one that the GPU is sold with.
bool OnFastX86Host(const Features& features, const NormalizedIntent& intent);

// Whether graphs of a pipeline of this model are left to an A/B on such a host, where no profile says that the host
// bounds the step.
bool LeavesGraphsOfPipelines(const Features& features, const NormalizedIntent& intent);

// Whether attention's graphs keep static buffers that a microbatch has room for; of many tokens they are the larger
// part of what graphs take.
bool AttentionGraphIsSmall(const Features& features);

// Whether CUDA graphs are those of Megatron-Core 0.15 and the fork: their scope is one word, expandable segments are
// refused beside them, and next to nothing in them is computed again (rules/core/cuda_graph_older.cc,
// loongforge/fork.cc).
inline bool GraphsOfCore15(const Environment& env) { return env.core_release <= 15; }

// Before core 0.19 experts without EP are reduced as dense weights are, and so must be split as those are
// (field.expert-grads-without-ep).
inline bool SplitsExpertsAsDense(const Environment& env) { return env.core_release <= 18; }

// Why no EP overlap runs, whatever the layout and the execution: what of the model its schedule cannot run, or a
// library that is too old. "": it may run.
absl::string_view ObstacleToOverlap(const NormalizedIntent& intent, const Config& config);

// Whether the fused loss is, or will be decided to be, Transformer Engine's. Megatron-LM's command line refuses it.
// Bridge's recipes have it, and what fits in them fits by it, though from Megatron-Core 0.18 on it is said to be
// unstable.
bool TakesTeLoss(const Config& config, const Environment& env);

// Whether the allocator's segments may expand: not with user buffers before torch 2.11, nor beside the graphs of core
// 0.15. An engine that the launch exports to is another matter (Stack::exports_to_engine).
bool SegmentsMayExpand(const Config& config, const Environment& env);

// Before core 0.18 the EP overlap schedules a prediction layer only in a pipeline (ep-overlap.mtp-needs-pp).
inline bool OverlapsPredictionInPipelinesAlone(const Environment& env) {
  return env.core_release == 16 || env.core_release == 17;
}

// Whether graphs of attention beside EP overlap were seen to spoil gradients (field.graphed-attention-ep-overlap).
bool OverlapSpoilsAttentionGraph(Precision precision);

// Bits of RecomputeModule that FP8 keeps out of the recompute (rules/core/recompute.cc).
unsigned NeverRecomputedInFp8(const Config& config, const Environment& env);

// Bits of OffloadModule: what may wait on the host where LoongForge computes experts again within its overlap.
unsigned InputsOfOverlapExperts(const Features& f);

// Those that scoped graphs of these modules (GraphModule bits; 0: of whole layers) keep out of it
// (rules/core/cuda_graph_older.cc and cuda_graph_modules.cc).
unsigned NeverRecomputedInGraphs(const Environment& env, unsigned modules);

// What the caller moves to the host, in bits of OffloadModule. What is computed again as a whole keeps nothing inside
// that could be moved: not whole layers, nor of a layer these (bits of RecomputeModule; rules/core/act_offload.cc).
unsigned MovedToHost(const Config& config);
unsigned NeverRecomputedBesideMoved(unsigned moved);

// Whether pipelines of this model compute the up projections of latent attention again even where they fit without, as
// published recipes do. What trains adapters alone keeps little to begin with.
bool UpProjectionIsHabit(const NormalizedIntent& intent, const Candidate& candidate);

// What the allocator reserves for it.
double Reserved(const Features& features, const StageBytes& bytes);

// Whether so many reserved bytes leave room for communicators, contexts and dispatch buffers.
bool Fits(const Features& features, double bytes);

// What these are, in words: "6 of 95 GiB kept free". The GPU's memory is known.
std::string KeptFree(const Features& features);

}  // namespace flightplan::decide
