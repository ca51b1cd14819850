// Process groups: what initialize_model_parallel demands of the sizes. Every target builds them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool ManyInstances(F f) { return f.num(K::num_distributed_optimizer_instances) > 1; }
bool Indivisible(std::optional<int64_t> world, std::optional<int64_t> size) {
  return world.has_value() && (!size.has_value() || !Divisible(*world, *size));
}
std::optional<int64_t> Quotient(std::optional<int64_t> world, std::optional<int64_t> size) {
  if (!world.has_value() || !size.has_value() || !Divisible(*world, *size)) return std::nullopt;
  return FloorDiv(*world, *size);
}
std::optional<int64_t> DenseDp(F f) { return Quotient(WorldSize(f), DenseSize(f)); }
std::optional<int64_t> ExpertDp(F f) { return Quotient(WorldSize(f), ExpertSize(f)); }
bool PipelineBeforeData(F f) { return f.on(K::use_tp_pp_dp_mapping) && f.num(K::pipeline_model_parallel_size) > 1; }

// No ranks can be arranged by it (parallel_state.py:408).
bool NegativeLevel(F f) {
  const Value::List& sizes = f.value(K::hierarchical_context_parallel_sizes).list();
  return std::any_of(sizes.begin(), sizes.end(), [](const Value& size) { return size.integer() < 0; });
}

// What NumPy takes is below 2^32, on the last stage, too.
int64_t HighestSeed(F f) {
  constexpr int64_t kNumPys = (int64_t{1} << 32) - 1, kStage = 100;
  return kNumPys - kStage * std::clamp<int64_t>(Pp(f) - 1, 0, kNumPys / kStage);
}

// UCC's transport, as the process groups set it up.
void SetUccVariables(Editor& e) {
  if (!e.facts().is(K::pipeline_model_parallel_comm_backend, "ucc")) return;
  constexpr std::pair<absl::string_view, absl::string_view> kWhereUnset[] = {
      {"TORCH_UCC_BLOCKING_WAIT", "none"}, {"UCC_EC_CUDA_STREAM_TASK_MODE", "driver"}, {"UCX_TLS", "ib,cuda_copy"}};
  constexpr std::pair<absl::string_view, absl::string_view> kAlways[] = {{"NSYS_UCP_COMM_PARAMS", "1"},
                                                                         {"UCX_RNDV_THRESH", "0"},
                                                                         {"UCX_NET_DEVICES", "all"},
                                                                         {"UCC_CL_BASIC_TLS", "^sharp,nccl"}};
  for (const auto& [name, value] : kWhereUnset) {
    if (!e.facts().var_set(name)) e.SetVar(name, value);
  }
  for (const auto& [name, value] : kAlways) e.SetVar(name, value);
}

// Made 1. What is 0 divides no number of GPUs, which other rules say.
Patch NegativeSizes(F f) {
  Patch ones;
  for (const K size : {K::tensor_model_parallel_size, K::context_parallel_size, K::expert_model_parallel_size,
                       K::expert_tensor_parallel_size}) {
    if (f.num(size) < 0) ones.push_back(Assign(size, 1));
  }
  return ones;
}

std::vector<Patch> SmallerGrid(F f, std::initializer_list<K> knobs, bool expert) {
  std::vector<Patch> fixes;
  const std::optional<int64_t> world = WorldSize(f);
  const std::optional<int64_t> size = expert ? ExpertSize(f) : DenseSize(f);
  if (!world.has_value()) return fixes;
  for (K knob : knobs) {
    if (!size.has_value() || *size <= 0) break;
    const int64_t current = knob == K::expert_tensor_parallel_size ? ExpertTp(f) : f.num(knob);
    if (current <= 1) continue;
    const std::optional<int64_t> value = NextSmallerFit(*world, FloorDiv(*size, current), current);
    if (value.has_value()) fixes.push_back({Assign(knob, *value)});
  }
  if (fixes.empty()) {  // no single size does: the grid of ones always fits
    Patch ones;
    for (K knob : knobs) ones.push_back(Assign(knob, 1));
    if (HasWeightShards(f)) {
      ones.push_back(Assign(K::tensor_parallel_num_weight_shards, Value()));
      ones.push_back(Assign(K::expert_tensor_parallel_num_weight_shards, Value()));
    }
    fixes.push_back(std::move(ones));
  }
  return fixes;
}
// An expert tensor parallel size that nobody asked for goes first: unset, it is the dense one, which command lines
// write into it.
std::vector<Patch> SmallerExpertGrid(F f) {
  // A dense model has no experts to split otherwise.
  if (f.none(K::num_moe_experts) && ExpertTp(f) == f.num(K::tensor_model_parallel_size)) {
    return SmallerGrid(
        f, {K::tensor_model_parallel_size, K::expert_model_parallel_size, K::pipeline_model_parallel_size}, true);
  }
  std::vector<Patch> fixes;
  const std::optional<int64_t> size = ExpertSize(f);
  const bool unasked = !f.given(K::expert_tensor_parallel_size) && ExpertTp(f) > 1 && size.has_value();
  if (unasked && Divisible(*WorldSize(f), FloorDiv(*size, ExpertTp(f)))) {
    fixes.push_back({Assign(K::expert_tensor_parallel_size, 1)});
  }
  for (Patch& patch : SmallerGrid(
           f, {K::expert_model_parallel_size, K::expert_tensor_parallel_size, K::pipeline_model_parallel_size}, true)) {
    const bool known = !fixes.empty() && patch.size() == 1 && patch.front().knob == fixes.front().front().knob;
    if (!known) fixes.push_back(std::move(patch));
  }
  return fixes;
}

// A hierarchy that multiplies to the context parallel size, or none where none is asked for.
std::vector<Patch> FittingHierarchy(F f) {
  const int64_t size = f.num(K::context_parallel_size);
  const Value& comm = f.value(K::cp_comm_type);
  const bool asked = f.is(K::cp_comm_type, "a2a+p2p") || f.has(K::cp_comm_type, "a2a+p2p");
  if (!asked) return {{Assign(K::hierarchical_context_parallel_sizes, Value())}};
  if (size >= 4 && Divisible(size, 2)) {
    return {{Assign(K::hierarchical_context_parallel_sizes, Value(Value::List{2, FloorDiv(size, 2)}))}};
  }
  const Value ring = comm.is_list() ? Value(Value::List{"p2p"}) : Value("p2p");
  return {{Assign(K::hierarchical_context_parallel_sizes, Value()), Assign(K::cp_comm_type, ring)}};
}
std::string Text(absl::string_view name, std::optional<int64_t> size) {
  return absl::StrCat(name, " = ", size.has_value() ? absl::StrCat(*size) : "more than 64 bits");
}
std::vector<Patch> FewerInstances(F f, std::optional<int64_t> replicas) {
  const std::optional<int64_t> value =
      NextSmallerFit(replicas.value_or(1), 1, f.num(K::num_distributed_optimizer_instances));
  return {{Assign(K::num_distributed_optimizer_instances, value.value_or(1))}};
}
std::optional<int64_t> DenseReplicas(F f) {
  const std::optional<int64_t> dp = DenseDp(f);
  return dp.has_value() ? Product({*dp, f.num(K::context_parallel_size)}) : std::nullopt;
}

const Rule kRules[] = {
    {.id = "mesh.gtp-multi-instance",
     .area = "parallelism",
     .at = {Phase::kMesh, 808},
     .source = "Megatron-LM:megatron/core/parallel_state.py:808",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::num_distributed_optimizer_instances},
     .when = [](F f) { return HasWeightShards(f) && ManyInstances(f); },
     .needs = "weight shards need num_distributed_optimizer_instances 1",
     .fixes = {{{K::num_distributed_optimizer_instances, 1}}}},
    {.id = "mesh.sizes-positive",
     .area = "parallelism",
     .at = {Phase::kMesh, 348},
     .source = "Megatron-LM:megatron/core/parallel_state.py:348",
     .reads = {K::tensor_model_parallel_size, K::context_parallel_size, K::expert_model_parallel_size,
               K::expert_tensor_parallel_size},
     .when = [](F f) { return !NegativeSizes(f).empty(); },
     .needs = "a parallel size is at least 1",
     .fix = [](F f) -> std::vector<Patch> { return {NegativeSizes(f)}; }},
    {.id = "mesh.sharp-group",
     .area = "launch",
     .at = {Phase::kMesh, 789},
     .source = "Megatron-LM:megatron/core/parallel_state.py:789",
     .reads = {K::sharp_enabled_group, K::use_sharp, K::num_distributed_optimizer_instances},
     .when =
         [](F f) {
           const bool replicas = f.is(K::sharp_enabled_group, "dp_replica") && !ManyInstances(f);
           return f.set(K::sharp_enabled_group) && (!f.on(K::use_sharp) || replicas);
         },
     .needs = "sharp_enabled_group says which group uses SHARP: with use_sharp, and dp_replica with "
              "num_distributed_optimizer_instances above 1",
     .fixes = {{{K::sharp_enabled_group, kUnset}}}},
    {.id = "mesh.world-divisible",
     .area = "parallelism",
     .at = {Phase::kMesh, 823},
     .source = "Megatron-LM:megatron/core/parallel_state.py:823",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when = [](F f) { return Indivisible(WorldSize(f), DenseSize(f)); },
     .needs = "the world size must be a multiple of tp*pp*cp",
     .fix = [](F f) -> std::vector<Patch> {
       return SmallerGrid(f, {K::context_parallel_size, K::pipeline_model_parallel_size, K::tensor_model_parallel_size},
                          false);
     },
     .detail = [](F f) -> std::string { return Text("tp*pp*cp", DenseSize(f)); }},
    {.id = "mesh.vpp-needs-pp",
     .area = "pipeline",
     .at = {Phase::kMesh, 829},
     .source = "Megatron-LM:megatron/core/parallel_state.py:829",
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.set(K::virtual_pipeline_model_parallel_size) && f.num(K::pipeline_model_parallel_size) <= 1;
         },
     .needs = "virtual pipeline stages need pipeline_model_parallel_size above 1",
     .fixes = {{{K::virtual_pipeline_model_parallel_size, kUnset},
                {K::num_virtual_stages_per_pipeline_rank, kUnset},
                {K::num_layers_per_virtual_pipeline_stage, kUnset},
                {K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "mesh.expert-world-divisible",
     .area = "parallelism",
     .at = {Phase::kMesh, 882},
     .source = "Megatron-LM:megatron/core/parallel_state.py:882",
     .reads = {K::expert_tensor_parallel_size, K::expert_model_parallel_size, K::pipeline_model_parallel_size},
     .reads_env = {"world_size"},
     .when = [](F f) { return Indivisible(WorldSize(f), ExpertSize(f)); },
     .needs = "the world size must be a multiple of etp*ep*pp",
     .fix = SmallerExpertGrid,
     .detail = [](F f) -> std::string { return Text("etp*ep*pp", ExpertSize(f)); }},
    {.id = "mesh.pp-before-dp-needs-equal-dp",
     .area = "parallelism",
     .at = {Phase::kMesh, 898},
     .source = "Megatron-LM:megatron/core/parallel_state.py:898",
     .reads = {K::use_tp_pp_dp_mapping, K::pipeline_model_parallel_size, K::expert_tensor_parallel_size,
               K::expert_model_parallel_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           return PipelineBeforeData(f) && DenseDp(f).has_value() && ExpertDp(f).has_value() &&
                  *DenseDp(f) != *ExpertDp(f);
         },
     .needs = "with use_tp_pp_dp_mapping the dense and the expert data parallel sizes must be equal",
     .fixes = {{{K::use_tp_pp_dp_mapping, false}}},
     .detail = [](F f) -> std::string {
       return absl::StrCat(Text("dense dp", DenseDp(f)), ", ", Text("expert dp", ExpertDp(f)));
     }},
    {.id = "mesh.pp-groups-equal",
     .area = "parallelism",
     .at = {Phase::kMesh, 904},
     .source = "Megatron-LM:megatron/core/parallel_state.py:904",
     .reads = {K::pipeline_model_parallel_size, K::expert_tensor_parallel_size, K::expert_model_parallel_size},
     .reads_env = {"world_size"},
     .when = [](F f) { return !PipelineGroupsEqual(f); },
     .needs = "the dense and the expert grid must give the same pipeline groups",
     .fixes = {{{K::use_tp_pp_dp_mapping, false}}}},
    {.id = "mesh.dopt-instances-divisible",
     .area = "optimizer",
     .at = {Phase::kMesh, 922},
     .source = "Megatron-LM:megatron/core/parallel_state.py:922",
     .reads = {K::num_distributed_optimizer_instances, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           return DenseReplicas(f).has_value() &&
                  !Divisible(*DenseReplicas(f), f.num(K::num_distributed_optimizer_instances));
         },
     .needs = "dp*cp must be a multiple of num_distributed_optimizer_instances",
     .fix = [](F f) -> std::vector<Patch> { return FewerInstances(f, DenseReplicas(f)); },
     .detail = [](F f) -> std::string { return Text("dp*cp", DenseReplicas(f)); }},
    {.id = "mesh.hier-cp-product",
     .area = "context-parallel",
     .at = {Phase::kMesh, 1128},
     .source = "Megatron-LM:megatron/core/parallel_state.py:1128",
     .reads = {K::hierarchical_context_parallel_sizes, K::context_parallel_size},
     .when =
         [](F f) { return f.on(K::hierarchical_context_parallel_sizes) && (!HierarchyFits(f) || NegativeLevel(f)); },
     .needs = "hierarchical_context_parallel_sizes are above 0, and their product is context_parallel_size",
     .fix = FittingHierarchy},
    {.id = "mesh.ucc-cdmc",
     .area = "env",
     .at = {Phase::kMesh, 1205},
     .source = "Megatron-LM:megatron/core/parallel_state.py:1205",
     .reads = {K::pipeline_model_parallel_comm_backend},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when =
         [](F f) {
           return f.is(K::pipeline_model_parallel_comm_backend, "ucc") && f.var("CUDA_DEVICE_MAX_CONNECTIONS") == "1";
         },
     .needs = "UCC point-to-point needs CUDA_DEVICE_MAX_CONNECTIONS above 1",
     .fixes = {{{K::pipeline_model_parallel_comm_backend, "nccl"}}}},
    {.id = "mesh.ucc-variables",
     .area = "env",
     .kind = Kind::kChange,
     .at = {Phase::kMesh, 1222},
     .source = "Megatron-LM:megatron/core/parallel_state.py:1222",
     .reads = {K::pipeline_model_parallel_comm_backend},
     .reads_env = {"TORCH_UCC_BLOCKING_WAIT", "UCC_EC_CUDA_STREAM_TASK_MODE", "UCX_TLS"},
     .change = SetUccVariables},
    {.id = "mesh.dopt-instances-edp-divisible",
     .area = "optimizer",
     .at = {Phase::kMesh, 1447},
     .source = "Megatron-LM:megatron/core/parallel_state.py:1447",
     .reads = {K::num_distributed_optimizer_instances, K::expert_model_parallel_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           return ExpertDp(f).has_value() && !Divisible(*ExpertDp(f), f.num(K::num_distributed_optimizer_instances));
         },
     .needs = "the expert data parallel size must be a multiple of num_distributed_optimizer_instances",
     .fix = [](F f) -> std::vector<Patch> { return FewerInstances(f, ExpertDp(f)); },
     .detail = [](F f) -> std::string { return Text("expert dp", ExpertDp(f)); }},
    {.id = "mlm.gtp-te",
     .area = "gtp",
     .at = {Phase::kHardware, 3000},
     .source = "Megatron-LM:megatron/training/initialize.py:372",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards},
     .reads_env = {"te"},
     .when = [](F f) { return HasWeightShards(f) && !f.te_at_least("2.19.0"); },
     .needs = "weight shards need Transformer Engine 2.19",
     .fixes = {{{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mesh.seed-positive",
     .area = "misc",
     .at = {Phase::kMesh, 30484},
     .source = "Megatron-LM:megatron/training/initialize.py:484",
     .reads = {K::seed, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.value(K::seed).is_int() && (f.num(K::seed) <= 0 || f.num(K::seed) > HighestSeed(f)); },
     .needs = "the seed is above 0, and below 2^32 on the last pipeline stage, where NumPy is given 100 more for each "
              "stage before it",
     .fixes = {{{K::seed, 1234}}}},
};

}  // namespace

RuleList CoreMeshRules() { return kRules; }

}  // namespace flightplan
