// ConfigContainer.validate: the checks and changes across Bridge's sections, before and after the DDP, optimizer and
// model configs are finalized.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py; a helper that
// validate calls stands at the line of the call, with its own line as the order within.
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/bridge/graph_modules_util.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kDeterministic = 1501;
constexpr int kSync = 1504;
constexpr int kPrecision = 1505;
constexpr int kOffload = 1506;
constexpr int kCpCommType = 1598;

constexpr Place Late(int line, int sub = 0) { return {Phase::kContainer, line, sub}; }
constexpr Place Early(int line) { return {Phase::kContainerStart, line}; }

bool ContextParallel(F f) { return f.num(K::context_parallel_size) > 1; }
bool Sft(F f) {
  if (f.is(K::dataset_kind, "sft")) return true;
  return f.bridge(6) && f.in(K::dataset_kind, {"hf_sft", "energon", "mock_vlm"});
}
bool HierarchicalCp(F f) {
  if (absl::StrContains(f.text(K::cp_comm_type), "a2a+p2p")) return true;
  for (const Value& type : f.value(K::cp_comm_type).list()) {
    if (absl::StrContains(type.text(), "a2a+p2p")) return true;
  }
  return false;
}
int64_t HierarchicalProduct(F f) {
  const Value::List& sizes = f.value(K::hierarchical_context_parallel_sizes).list();
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         [](int64_t product, const Value& size) { return SaturatingMul(product, size.integer()); });
}
// The dataset says the length, too, where it does.
Patch SequenceOf(F f, int64_t length) {
  Patch patch = {Assign(K::seq_length, length)};
  if (f.set(K::dataset_seq_length)) patch.push_back(Assign(K::dataset_seq_length, length));
  return patch;
}
std::vector<Patch> FlatCp(F) {
  return {{Assign(K::cp_comm_type, "p2p"), Assign(K::hierarchical_context_parallel_sizes, Value())}};
}

const Rule kRules[] = {
    {.id = "dataset.pad-to-max-with-pp-ep",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = Early(1348),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1348",
     .bridge = {.since = 6},
     .reads = {K::dataset_pad_to_max_length, K::pipeline_model_parallel_size, K::expert_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const bool fixed_shape =
               f.num(K::pipeline_model_parallel_size) > 1 || f.num(K::expert_model_parallel_size) > 1;
           if (f.set(K::dataset_pad_to_max_length) && fixed_shape) e.Set(K::dataset_pad_to_max_length, true);
         }},
    {.id = "rng.te-tracker-sync",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = Late(1415),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1415",
     .reads = {K::te_rng_tracker, K::use_te_rng_tracker},
     .change =
         [](Editor& e) {
           if (!e.facts().on(K::te_rng_tracker) && !e.facts().on(K::use_te_rng_tracker)) return;
           e.Set(K::te_rng_tracker, true);
           e.Set(K::use_te_rng_tracker, true);
         }},
    {.id = "deterministic.no-flash",
     .area = "determinism",
     .at = Late(kDeterministic, 1029),
     .source = "Megatron-Bridge 0.4.2:src/megatron/bridge/training/config.py:1029",
     .bridge = {.until = 4},
     .reads = {K::deterministic_mode, K::attention_backend},
     .when = [](F f) { return f.on(K::deterministic_mode) && f.is(K::attention_backend, "flash"); },
     .needs = "flash attention is not deterministic",
     .fixes = {{{K::attention_backend, "fused"}}, {{K::deterministic_mode, false}}}},
    {.id = "deterministic.no-ce-fusion",
     .area = "determinism",
     .at = Late(kDeterministic, 1053),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1053",
     .reads = {K::deterministic_mode, K::cross_entropy_loss_fusion},
     .when = [](F f) { return f.on(K::deterministic_mode) && f.on(K::cross_entropy_loss_fusion); },
     .needs = "the fused cross entropy, on by default in Bridge, is not deterministic",
     .fixes = {{{K::cross_entropy_loss_fusion, false}}}},
    {.id = "deterministic.nccl-algo",
     .area = "env",
     .at = Late(kDeterministic, 1058),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1058",
     .reads = {K::deterministic_mode},
     .reads_env = {"NCCL_ALGO"},
     .when =
         [](F f) {
           if (!f.on(K::deterministic_mode)) return false;
           for (absl::string_view algo : {"Tree", "Ring", "CollnetDirect", "CollnetChain", "^NVLS"}) {
             if (f.var("NCCL_ALGO") == algo) return false;
           }
           return true;
         },
     .needs = "NCCL_ALGO is one of Tree, Ring, CollnetDirect, CollnetChain, ^NVLS",
     .fix = [](F) { return std::vector<Patch>{{AssignVar("NCCL_ALGO", "Ring")}}; }},
    {.id = "distopt.sync-warn",
     .area = "distributed-optimizer",
     .kind = Kind::kWarning,
     .at = Late(kSync, 2116),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2116",
     .reads = {K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer},
     .when = [](F f) { return f.on(K::use_distributed_optimizer) != f.on(K::optimizer_use_distributed_optimizer); },
     .needs = "ddp and optimizer agree on the distributed optimizer; both are switched on, too late for comm_overlap",
     .fixes = {{{K::use_distributed_optimizer, true}, {K::optimizer_use_distributed_optimizer, true}}}},
    {.id = "distopt.sync",
     .area = "distributed-optimizer",
     .kind = Kind::kChange,
     .at = Late(kSync, 2122),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2122",
     .reads = {K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!f.on(K::use_distributed_optimizer) && !f.on(K::optimizer_use_distributed_optimizer)) return;
           e.Set(K::use_distributed_optimizer, true);
           e.Set(K::optimizer_use_distributed_optimizer, true);
         }},
    {.id = "param-gather.sync-warn",
     .area = "dp-overlap",
     .kind = Kind::kWarning,
     .at = Late(kSync, 2130),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2130",
     .bridge = {.since = 5},
     .reads = {K::overlap_param_gather, K::optimizer_overlap_param_gather},
     .when = [](F f) { return f.on(K::overlap_param_gather) != f.on(K::optimizer_overlap_param_gather); },
     .needs = "ddp and optimizer agree on the overlapped parameter gather; both are switched on",
     .fixes = {{{K::overlap_param_gather, true}, {K::optimizer_overlap_param_gather, true}}}},
    {.id = "param-gather.sync",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = Late(kSync, 2136),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2136",
     .bridge = {.since = 5},
     .reads = {K::overlap_param_gather, K::optimizer_overlap_param_gather},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!f.on(K::overlap_param_gather) && !f.on(K::optimizer_overlap_param_gather)) return;
           e.Set(K::overlap_param_gather, true);
           e.Set(K::optimizer_overlap_param_gather, true);
         }},
    {.id = "bridge-precision.model-bf16-fp16",
     .area = "precision",
     .at = Late(kPrecision, 2154),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2154",
     .reads = {K::bf16, K::fp16},
     .when = [](F f) { return f.on(K::bf16) && f.on(K::fp16); },
     .needs = "the model runs in bf16 or in fp16",
     .fixes = {{{K::fp16, false}}, {{K::bf16, false}}}},
    {.id = "bridge-precision.optimizer-bf16-fp16",
     .area = "precision",
     .at = Late(kPrecision, 2157),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2157",
     .reads = {K::optimizer_bf16, K::optimizer_fp16},
     .when = [](F f) { return f.on(K::optimizer_bf16) && f.on(K::optimizer_fp16); },
     .needs = "the optimizer runs in bf16 or in fp16",
     .fix =
         [](F f) {  // the one that the model does not use goes
           return std::vector<Patch>{{Assign(f.on(K::fp16) ? K::optimizer_bf16 : K::optimizer_fp16, false)}};
         }},
    {.id = "bridge-precision.pao-bf16",
     .area = "precision",
     .at = Late(kPrecision, 2165),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2165",
     .reads = {K::use_precision_aware_optimizer, K::bf16, K::optimizer_bf16},
     .when = [](F f) { return PrecisionAware(f) && f.on(K::bf16) && !f.on(K::optimizer_bf16); },
     .needs = "the precision-aware optimizer has the model's precision",
     .fixes = {{{K::optimizer_bf16, true}}, {{K::use_precision_aware_optimizer, false}}}},
    {.id = "bridge-precision.pao-fp16",
     .area = "precision",
     .at = Late(kPrecision, 2170),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2170",
     .reads = {K::use_precision_aware_optimizer, K::fp16, K::optimizer_fp16},
     .when = [](F f) { return PrecisionAware(f) && f.on(K::fp16) && !f.on(K::optimizer_fp16); },
     .needs = "the precision-aware optimizer has the model's precision",
     .fixes = {{{K::optimizer_fp16, true}, {K::optimizer_bf16, false}}, {{K::use_precision_aware_optimizer, false}}}},
    {.id = "bridge-precision.pao-fp32",
     .area = "precision",
     .at = Late(kPrecision, 2175),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2175",
     .reads = {K::use_precision_aware_optimizer, K::bf16, K::fp16, K::optimizer_bf16, K::optimizer_fp16},
     .when =
         [](F f) {
           return PrecisionAware(f) && !f.on(K::bf16) && !f.on(K::fp16) &&
                  (f.on(K::optimizer_bf16) || f.on(K::optimizer_fp16));
         },
     .needs = "the precision-aware optimizer has the model's precision, here fp32",
     .fixes = {{{K::optimizer_bf16, false}, {K::optimizer_fp16, false}}}},
    {.id = "bridge-act-offload.te-impl",
     .area = "act-offload",
     .at = Late(kOffload, 2204),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2204",
     .reads = {K::fine_grained_activation_offloading, K::transformer_impl},
     .when =
         [](F f) {
           return f.on(K::fine_grained_activation_offloading) && !f.is(K::transformer_impl, "transformer_engine");
         },
     .needs = "activation offloading is part of the Transformer Engine implementation",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}, {{K::fine_grained_activation_offloading, false}}}},
    {.id = "bridge-act-offload.te-2.10-env",
     .area = "env",
     .at = Late(kOffload, 2212),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:2212",
     .reads = {K::fine_grained_activation_offloading},
     .reads_env = {"te", "NVTE_CPU_OFFLOAD_V1"},
     .when =
         [](F f) {
           return f.on(K::fine_grained_activation_offloading) && f.te_at_least("2.10.0") &&
                  f.var("NVTE_CPU_OFFLOAD_V1") != "1";
         },
     .needs = "since Transformer Engine 2.10 NVTE_CPU_OFFLOAD_V1=1 keeps the weights on the GPU",
     .fix = [](F) { return std::vector<Patch>{{AssignVar("NVTE_CPU_OFFLOAD_V1", "1")}}; }},
    {.id = "bridge-cuda-graph.full-iter-no-nan-check",
     .area = "cuda-graph",
     .at = Late(1510),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1510",
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::check_for_nan_in_loss},
     .when = [](F f) { return FullIterationGraph(f) && f.on(K::check_for_nan_in_loss); },
     .needs = "a whole-iteration graph cannot stop to look at the loss",
     .fixes = {{{K::check_for_nan_in_loss, false}}}},
    {.id = "modelopt.no-gradient-fusion",
     .area = "fusion",
     .at = Late(1518),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1518",
     .reads = {K::restore_modelopt_state, K::gradient_accumulation_fusion},
     .when = [](F f) { return f.on(K::restore_modelopt_state) && f.on(K::gradient_accumulation_fusion); },
     .needs = "a model quantized by ModelOpt adds up its gradients without gradient_accumulation_fusion",
     .fixes = {{{K::gradient_accumulation_fusion, false}}}},
    {.id = "modelopt.no-non-persistent",
     .area = "checkpoint",
     .at = Late(1524),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1524",
     .bridge = {.since = 6},
     .reads = {K::restore_modelopt_state, K::non_persistent_ckpt_type},
     .when = [](F f) { return f.on(K::restore_modelopt_state) && f.set(K::non_persistent_ckpt_type); },
     .needs = "the state of ModelOpt is restored from persistent checkpoints only: non_persistent_ckpt_type unset",
     .fixes = {{{K::non_persistent_ckpt_type, kUnset}}}},
    {.id = "dist.cpu-init-from-lazy",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = Late(1548),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1548",
     .reads = {K::lazy_mpu_init, K::use_cpu_initialization},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::lazy_mpu_init)) e.Set(K::use_cpu_initialization, true);
         }},
    {.id = "dist.decentralized-no-gloo",
     .area = "parallelism",
     .at = Late(1552),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1552",
     .reads = {K::use_decentralized_pg, K::use_gloo_process_groups},
     .when = [](F f) { return f.on(K::use_decentralized_pg) && f.on(K::use_gloo_process_groups); },
     .needs = "decentralized process groups are NCCL only",
     .fixes = {{{K::use_gloo_process_groups, false}}, {{K::use_decentralized_pg, false}}}},
    {.id = "dist.decentralized-no-hierarchical-cp",
     .area = "context-parallel",
     .at = {Phase::kMesh, 411},
     .source = "Megatron-Bridge:src/megatron/bridge/training/initialize.py:410",
     .reads = {K::use_decentralized_pg, K::hierarchical_context_parallel_sizes},
     .when = [](F f) { return f.on(K::use_decentralized_pg) && f.set(K::hierarchical_context_parallel_sizes); },
     .needs = "decentralized process groups have no hierarchical context parallelism",
     .fixes = {{{K::use_decentralized_pg, false}}},
     .fix = FlatCp},
    {.id = "bridge-ckpt.distopt-torch-dist",
     .area = "checkpoint",
     .at = Late(1560),
     .source = "Megatron-Bridge 0.4.2:src/megatron/bridge/training/config.py:1184",
     .bridge = {.since = 4, .until = 4},
     .reads = {K::use_gloo_process_groups, K::use_distributed_optimizer, K::ckpt_format},
     .when =
         [](F f) {
           return !f.on(K::use_gloo_process_groups) && f.on(K::use_distributed_optimizer) && f.given(K::ckpt_format) &&
                  !f.is(K::ckpt_format, "torch_dist");
         },
     .needs = "without Gloo groups the distributed optimizer is saved in the torch_dist format only",
     .fixes = {{{K::ckpt_format, "torch_dist"}}, {{K::use_gloo_process_groups, true}}}},
    {.id = "cp.seq-divisible",
     .area = "context-parallel",
     .at = Late(1575),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1575",
     .reads = {K::context_parallel_size, K::seq_length},
     .when =
         [](F f) {
           return ContextParallel(f) && f.num(K::seq_length) % SaturatingMul(2, f.num(K::context_parallel_size)) != 0;
         },
     .needs = "each context-parallel rank takes two equal chunks of the sequence",
     .fix =
         [](F f) {
           const int64_t step = SaturatingMul(2, f.num(K::context_parallel_size));
           return std::vector<Patch>{SequenceOf(f, SaturatingMul(f.num(K::seq_length) / step + 1, step))};
         }},
    {.id = "cp.sft-loss",
     .area = "context-parallel",
     .at = Late(1591),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1591",
     .reads = {K::context_parallel_size, K::dataset_kind, K::calculate_per_token_loss, K::average_in_collective},
     .when =
         [](F f) {
           return ContextParallel(f) && Sft(f) &&
                  (!f.on(K::calculate_per_token_loss) || f.on(K::average_in_collective));
         },
     .needs = "a rank whose tokens are all masked would divide by zero unless the loss is counted per token",
     .fixes = {{{K::calculate_per_token_loss, true}, {K::average_in_collective, false}}}},
    {.id = "bridge-seq.dataset-length",
     .area = "data",
     .at = Late(1644),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1644",
     .reads = {K::seq_length, K::dataset_seq_length, K::dataset_kind},
     // A dataset of a class that upstream does not know is not held to it.
     .when =
         [](F f) {
           const bool own = f.given(K::dataset_kind) && f.is(K::dataset_kind, "plain");
           return f.set(K::dataset_seq_length) && !own && f.num(K::dataset_seq_length) != f.num(K::seq_length);
         },
     .needs = "the dataset's samples are as long as the model's sequence: a length is said in both sections",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::dataset_seq_length, f.num(K::seq_length))},
                                     {Assign(K::seq_length, f.num(K::dataset_seq_length))}};
         }},
    {.id = "bridge-cp.comm-type-list-length",
     .area = "context-parallel",
     .at = Late(kCpCommType, 1673),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1673",
     .reads = {K::context_parallel_size, K::cp_comm_type, K::num_layers},
     .when =
         [](F f) {
           const Value& types = f.value(K::cp_comm_type);
           return ContextParallel(f) && types.is_list() &&
                  static_cast<int64_t>(types.list().size()) != f.num(K::num_layers);
         },
     .needs = "a list of communication types has one entry per layer",
     .fixes = {{{K::cp_comm_type, "p2p"}}}},
    {.id = "cp.hierarchical-sizes-needed",
     .area = "context-parallel",
     .at = Late(kCpCommType, 1683),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1683",
     .reads = {K::cp_comm_type, K::hierarchical_context_parallel_sizes},
     .when = [](F f) { return HierarchicalCp(f) && f.none(K::hierarchical_context_parallel_sizes); },
     .needs = "'a2a+p2p' needs the sizes of its two levels; without them ranks would not exchange anything",
     .fix = FlatCp},
    {.id = "cp.hierarchical-sizes-product",
     .area = "context-parallel",
     .at = Late(kCpCommType, 1694),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1694",
     .reads = {K::hierarchical_context_parallel_sizes, K::context_parallel_size},
     .when =
         [](F f) {
           return f.set(K::hierarchical_context_parallel_sizes) &&
                  HierarchicalProduct(f) != f.num(K::context_parallel_size);
         },
     .needs = "the hierarchical sizes multiply to the context-parallel size",
     .fix = FlatCp},
};

}  // namespace

RuleList BridgeContainerRules() { return kRules; }

}  // namespace flightplan
