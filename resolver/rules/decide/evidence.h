// What the decisions rest on: published measurements and recipes, each with its source, and the thresholds taken from
// them. A citation reads "what was measured -> what came out (quality); source".
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/base/bytes.h"

namespace flightplan::decide::evidence {

// ---- context parallelism
inline constexpr absl::string_view kWindowedContext =
    "NVIDIA/Megatron-LM#2222: sliding windows run with all_gather and a2a; Megatron-Bridge gpt_oss recipes: a2a alone "
    "serves attention sinks";
inline constexpr absl::string_view kLongContext =
    "E-071..E-073: DeepSeek-V3, 256 to 512 H100, 64k to 256k tokens with CP16 to CP64: 300 to 310 TFLOP/s as at 4k "
    "(rounded), which no ring of its keys over the network reaches; Megatron-Bridge@067f987df "
    "skills/nemo-mbridge-perf-moe-long-context/card.yaml";

// ---- EP overlap and delayed weight gradients
inline constexpr absl::string_view kOverlapAlltoallTwoNodes =
    "E-001: Qwen3-30B-A3B, 16 H100, EP16 alltoall, overlap off -> on: 41.25 -> 31.31 s (directional); "
    "NVIDIA-NeMo/Megatron-Bridge skills/nemo-mbridge-perf-moe-comm-overlap";
inline constexpr absl::string_view kOverlapHybridepTwoNodes =
    "E-012: Qwen3-30B-A3B, 16 H100, EP16 hybridep, overlap off -> on: 24.71 -> 20.99 s (matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-moe-comm-overlap/card.yaml";
inline constexpr absl::string_view kOverlapSmallEpFewMicrobatches =
    "E-004: Qwen3-30B-A3B, 2 H100 nodes, EP4 alltoall, GBS 8, overlap off -> on: 822 -> 827 ms (matched); "
    "Megatron-Bridge communication-overlap guide";
inline constexpr absl::string_view kOverlapSmallEp =
    "E-005: Qwen3-30B-A3B, 2 H100 nodes, EP4 alltoall, GBS 64, overlap off -> on: 4889 -> 5538 ms (matched); "
    "Megatron-Bridge communication-overlap guide";
inline constexpr absl::string_view kOverlapEfa =
    "E-171: Qwen3-30B-A3B, 64 H100, EP32 alltoall, 16 microbatches, overlap off -> on: 9.24 -> 6.29 s (matched); "
    "awslabs/awsome-distributed-ai megatron-bridge/qwen3-30b";
inline constexpr absl::string_view kOverlapLargeEp =
    "E-121: DeepSeek-V3, 1024 H100, EP64 deepep: exposed EP communication 30-40 % -> under 5 % of the step (second "
    "hand); "
    "arXiv:2603.07685";
inline constexpr absl::string_view kOverlapNearMemoryLimit =
    "NVIDIA/Megatron-LM#6429: overlap close to the memory limit 3044 -> 16985 ms, with room 3044 -> 2839 ms";
inline constexpr absl::string_view kOverlapAfterHostOverhead =
    "E-421: Qwen3-30B-A3B, 8 GB200, EP8, scoped graphs -> full-iteration graphs + overlap + delayed wgrad: 26112 -> "
    "40706 "
    "tokens/s/GPU (release changed too); Megatron-Bridge docs/performance-summary";
inline constexpr absl::string_view kDelayWgradLargeEp =
    "E-002: Qwen3-30B-A3B, 16 H100, EP16 alltoall, delayed wgrad off -> on: 31.31 -> 31.20 s, -0.35 % (directional); "
    "NVIDIA-NeMo/Megatron-Bridge skills/nemo-mbridge-perf-moe-comm-overlap";
inline constexpr absl::string_view kDelayWgradSmallEp =
    "E-006: Qwen3-Next-80B-A3B, 8 nodes, EP8 alltoall, delayed wgrad off -> on: 4686 -> 4912 ms, +4.8 % (matched); "
    "Megatron-Bridge communication-overlap guide";

// The fewest microbatches per step with a measured gain (E-171). The first forward and the last backward run alone, and
// E-004 shows no gain with a handful.
inline constexpr int64_t kMinMicrobatchesForOverlap = 16;

// ---- dispatcher
inline constexpr absl::string_view kDispatcherGuide = "Megatron-Bridge skills/perf-moe-dispatcher-selection";
inline constexpr absl::string_view kFewCopiesInNode =
    "E-414: gpt-oss-120b (top-4), 64 B200, EP8, hybridep -> alltoall: 13045 -> 13568 tokens/s/GPU (release changed "
    "too); "
    "Megatron-Bridge docs/performance-summary-archive";
inline constexpr absl::string_view kFewCopiesInRack =
    "E-417: gpt-oss-120b (top-4), 64 GB200, EP64, hybridep -> alltoall: 15938 -> 16640 tokens/s/GPU (release changed "
    "too); "
    "Megatron-Bridge docs/performance-summary-archive";
inline constexpr absl::string_view kDeepepOnEfa =
    "E-161, E-155: Qwen3-30B-A3B, 64 H100 over EFA, alltoall -> deepep: +6.5 % (EP16) to +86 % (EP32) step time "
    "(matched); "
    "awslabs/awsome-distributed-ai megatron-bridge/qwen3-30b";
inline constexpr absl::string_view kDeepepNeedsRdma =
    "DeepEP@dd758caf4 README.md:72: RDMA network for internode communication";
inline constexpr absl::string_view kHybridepRecipes =
    "Megatron-Bridge@067f987df perf_recipes: hybridep wherever EP stays inside an NVLink domain, and over the network "
    "for "
    "DeepSeek-V3 and Qwen3-30B-A3B";
inline constexpr absl::string_view kHybridepInNodes =
    "E-428, Megatron-Bridge#3490: Qwen3-235B-A22B, 256 B300, EP8, alltoall -> hybridep: 4865 -> 5936 tokens/s/GPU "
    "(release changed too); Megatron-Bridge#1731: DeepSeek-V3 on B200, EP8: 8 % above the same layout without it";
// Sizes of an expert group (rules/deepep_groups.h).
inline constexpr absl::string_view kDeepepGroups = "deepseek-ai/DeepEP@dd758ca deep_ep/buffers/legacy.py:259";
inline constexpr absl::string_view kDeepepRecipes =
    "Megatron-Bridge@067f987df perf_recipes/qwen: deepep for 512 experts at EP64 over the network; "
    "Megatron-MoE-ModelZoo";
inline constexpr absl::string_view kDeepepBetweenBlackwellNodes =
    "Megatron-Bridge#5067, #3704: 64 to 256 B200 and B300, deepep: timeout in the first dispatch; DeepEP#707, #553: "
    "with NVSHMEM 3.5.19 and later, which its images have since 0.5";
inline constexpr absl::string_view kDeepepOnBlackwellNodes =
    "Megatron-MoE-ModelZoo@e8650517 dockers/B200.Dockerfile:49: DeepEP with NVSHMEM 3.4.5, EP16 and EP32 on B200; "
    "Megatron-LM's images pin the same";
inline constexpr absl::string_view kHybridepBetweenBlackwellNodes =
    "Megatron-Bridge#2883: hybridep is not tuned for EP beyond 8 on nodes of 8 GPUs; DeepEP#590: a third of the link";
inline constexpr absl::string_view kPartialRack =
    "Megatron-Bridge 1805a6043: an NVL16 partition cannot allocate HybridEP's fabric handle at EP32";
inline constexpr absl::string_view kHybridepHarnessSms =
    "Megatron-Bridge@067f987df scripts/performance/utils/overrides.py:86 sets 32 SMs for hybridep";
inline constexpr absl::string_view kHybridepNetworkSms =
    "DeepEP@94a9f8f6 docs/README_Hybrid-EP.md: EP64 on H100 over the network, 8 -> 16 SMs: dispatch 41.5 -> 41.2 GB/s, "
    "combine 47.7 -> 46.6; Megatron-Bridge@067f987df recipes/deepseek/h100: 16 at EP64";
inline constexpr absl::string_view kDeepepDefaultSms =
    "Megatron-LM@d98e8a64dd megatron/core/transformer/moe/token_dispatcher.py:1287 uses 20 SMs for deepep";

// At most this many experts per token, and hardly any saving from sending a token once per destination, leave a flex
// dispatcher without its advantage (E-414, E-417: top-4).
inline constexpr int64_t kFewCopies = 4;
inline constexpr double kLittleDedup = 0.75;
// SMs that HybridEP was measured with between nodes.
inline constexpr int kNetworkSms = 16;
// HybridEP gathers a routing map of EP x experts entries per token. The largest published one over a network is
// DeepSeek-V3's, EP64 x 256 experts; the published EP64 x 512 recipe uses deepep.
inline constexpr int64_t kMaxNetworkRoutingMap = int64_t{64} * 256;
// The largest EP degree over a network with published flex results (DeepEP's own table, DeepSeek-V3); recipes with
// EP128 use alltoall.
inline constexpr int64_t kMaxNetworkFlexEp = 64;

// ---- CUDA graphs
inline constexpr absl::string_view kGraphsGuide =
    "Megatron-Bridge@067f987df docs/training/cuda-graphs.md: confirm host gaps in a profile first; not where memory is "
    "tight, especially with PP > 1; docs/performance-guide.md: more than 10 GB with PP > 1";
inline constexpr absl::string_view kGraphsQwen =
    "E-018: Qwen3-30B-A3B, 16 H100, TP2 PP2 EP4, no graphs -> attn+moe_router+moe_preprocess: 623 -> 484 ms (matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-cuda-graphs/card.yaml";
inline constexpr absl::string_view kGraphsGptOss =
    "E-020: gpt-oss-20b, 16 H100, TP2 PP4 EP4, no graphs -> attn+moe_router+moe_preprocess: 493 -> 395 ms (matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-cuda-graphs/card.yaml";
inline constexpr absl::string_view kGraphsOutOfMemory =
    "E-022: gpt-oss-120b, 32 H100: eager run at 70 of 79 GB, the same with graphs out of memory (matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-cuda-graphs/card.yaml";
inline constexpr absl::string_view kGraphsCommunicationBound =
    "E-023: Qwen3-30B-A3B, 16 H100, EP16 alltoall, no graphs -> graphs: 41.36 -> 42.00 s (matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-cuda-graphs/SKILL.md";
inline constexpr absl::string_view kFusedPathBf16 =
    "E-105: gpt-oss-120b, 64 GB300, BF16 through the op fuser: 4.0 -> 34.4 s, the fused path does not exist there "
    "(confounded); NVIDIA-NeMo/Megatron-Bridge@ef1ddb3c7";

// Capacity of an expert rank's fixed buffers against the mean: published with forced balance; and the largest EP for
// which published recipes train with buffers that hold every token.
inline constexpr double kForcedBalanceCapacity = 1.5;
inline constexpr int64_t kMaxLosslessCapacityEp = 8;
// Extra memory of scoped graphs: a few GB, more than 10 GB with pipelining (Megatron-Bridge CUDA-graph guide).
inline constexpr double kGraphBytes = 3.0 * kGib;
inline constexpr double kGraphBytesPipeline = 10.0 * kGib;
// Above this many tokens of a microbatch, attention's static buffers and private pools are the larger part of the
// graphs' memory, and published recipes capture router and preprocess only.
inline constexpr int64_t kManyTokensForAttentionGraph = 32768;

// ---- recompute and offload
inline constexpr absl::string_view kRecomputeCosts =
    "E-025..E-034: Moonlight-16B, 8 H100, step time with moe_act +2.0 %, core_attn +3.9 %, mla_up_proj +5.2 %, "
    "layernorm+moe_act +10.8 % (matched); NVIDIA-NeMo/Megatron-Bridge@067f987df "
    "skills/nemo-mbridge-perf-activation-recompute/card.yaml";
inline constexpr absl::string_view kRecomputeRecipes =
    "Megatron-Bridge@067f987df perf_recipes: mla_up_proj+mlp (DeepSeek-V3), layernorm+moe_act (gpt-oss-120b)";
inline constexpr absl::string_view kUpProjectionRecipes =
    "Megatron-Bridge@067f987df perf_recipes: mla_up_proj in each of the 12 pipelines of Kimi K2 that say what they "
    "recompute, and in most of DeepSeek-V3, whether they would fit without or not";
inline constexpr absl::string_view kOptimizerOffloadCost =
    "E-055..E-061: Qwen3-30B-A3B, 16 H100: optimizer offload 25/50/75/100 % costs +88/+149/+220/+321 % step time "
    "(matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-cpu-offloading/card.yaml";

// ---- dense communication and environment
inline constexpr absl::string_view kConnectionsMeasured =
    "NVIDIA/Megatron-LM#6311: DeepSeek-V3 shape, 64 H100, EP16: 184.2 TFLOP/s/GPU without overlap, 191.1 with it at 1 "
    "connection, 198.5 at 32";
inline constexpr absl::string_view kConnectionsRequired = "Megatron-LM@d98e8a64dd megatron/training/arguments.py:1477";
inline constexpr absl::string_view kConnectionsRecipes =
    "Megatron-Bridge@067f987df scripts/performance/utils/overrides.py:248";
inline constexpr absl::string_view kFragmentation =
    "E-047: Llama-3-70B, 32 H100: out of memory by fragmentation at 58.8 GB, passes with expandable segments "
    "(matched); "
    "NVIDIA-NeMo/Megatron-Bridge@067f987df skills/nemo-mbridge-perf-memory-tuning/card.yaml";
inline constexpr absl::string_view kTopologyVariables =
    "Megatron-Bridge@067f987df scripts/performance/utils/utils.py:316";
inline constexpr absl::string_view kPerfRecipeEnvironment = "Megatron-Bridge@067f987df perf_recipes environments";
inline constexpr absl::string_view kLoongForgeOverlap =
    "LoongForge@c6275661 docs/source/features/moe_all2all_overlap.md: module recompute and tensor offload inside the "
    "overlap schedule";
inline constexpr absl::string_view kMxfp8Recipe =
    "Megatron-Bridge@067f987df src/megatron/bridge/training/mixed_precision.py: bf16_with_mxfp8_mixed";
inline constexpr absl::string_view kOverlapGuide = "Megatron-Bridge docs/training/communication-overlap.md";
inline constexpr absl::string_view kMoeGuide = "Megatron-Bridge docs/training/moe-optimization.md";

// ---- where ranks run
inline constexpr absl::string_view kCpuBindingExecutor =
    "Megatron-Bridge@067f987df scripts/performance/utils/executors.py:182: numactl around every rank";
inline constexpr absl::string_view kCpuBindingGuide =
    "Megatron-Bridge@067f987df docs/performance-guide.md:304: mitigates long latency, more so with large communication "
    "domains; skills/nemo-mbridge-perf-moe-hardware-configs/SKILL.md:176: on GB200 and GB300 almost as much as a "
    "dispatcher swap";
inline constexpr absl::string_view kCpuBindingTorchrun =
    "pytorch/pytorch#149334; docs.pytorch.org/docs/main/elastic/numa.html: typically 1 to 10 %; node if in doubt";

}  // namespace flightplan::decide::evidence
