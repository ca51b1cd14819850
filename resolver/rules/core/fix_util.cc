#include "resolver/rules/core/fix_util.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/derive/pipeline.h"
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/prediction_stages.h"

namespace flightplan {
namespace {

// Any size that is read; the next number is one, too.
constexpr int64_t kMostRanks = int64_t{1} << 40;

using K = Knob;
using F = const Facts&;

const Assignment* Find(const Patch& patch, K knob) {
  const auto it = std::find_if(patch.begin(), patch.end(),
                               [knob](const Assignment& a) { return a.env_var.empty() && a.knob == knob; });
  return it == patch.end() ? nullptr : &*it;
}

bool Assigns(const Patch& patch, K knob, absl::string_view text) {
  const Assignment* a = Find(patch, knob);
  return a != nullptr && a->value.text() == text;
}

void Add(K knob, Value value, Patch* patch) {
  if (Find(*patch, knob) == nullptr) patch->push_back(Assign(knob, std::move(value)));
}

// Another dispatcher than flex: nothing may ask for a flex backend any more.
void LeaveFlex(F f, Patch* patch) {
  if (f.on(K::moe_enable_deepep)) Add(K::moe_enable_deepep, false, patch);
  // One that stays behind alone would be the next finding, whose fix is the flex dispatcher again.
  if (f.given(K::moe_flex_dispatcher_backend) && f.set(K::moe_flex_dispatcher_backend)) {
    Add(K::moe_flex_dispatcher_backend, Value(), patch);
  }
  // The old switch may have written over another backend, which would come back without it.
  const bool overwritten = f.origin(K::moe_flex_dispatcher_backend) == Origin::kUpstream;
  if (overwritten || f.is(K::moe_flex_dispatcher_backend, "ncclep")) {
    Add(K::moe_flex_dispatcher_backend, "deepep", patch);
  }
  if (f.set(K::launch_flex_backend)) Add(K::launch_flex_backend, Value(), patch);
  for (K wire : {K::moe_dispatch_fwd_dtype, K::moe_combine_bwd_dtype}) {
    if (f.set(wire) && !f.is(wire, "bf16")) Add(wire, "bf16", patch);
  }
}

// Another flex backend: the switches that name one would win.
void ChangeBackend(F f, const Value& backend, Patch* patch) {
  if (f.on(K::moe_enable_deepep) && backend.text() != "deepep") Add(K::moe_enable_deepep, false, patch);
  if (f.set(K::launch_flex_backend)) Add(K::launch_flex_backend, backend, patch);
}

// Without the precision-aware optimizer its states have their usual precision.
void DropPrecisionAware(F f, Patch* patch) {
  for (K dtype : {K::main_grads_dtype, K::main_params_dtype, K::exp_avg_dtype, K::exp_avg_sq_dtype}) {
    if (f.set(dtype) && !f.is(dtype, "fp32")) Add(dtype, "fp32", patch);
  }
}

// With another data-parallel size Bridge's batches may come out uneven and are rounded up. Where the training batch
// does, validation follows it again: rounded up for validation alone, it would not train.
void KeepBatchEven(F f, Patch* patch) {
  constexpr K kSizes[] = {K::context_parallel_size, K::pipeline_model_parallel_size, K::tensor_model_parallel_size};
  if (!f.env().world_size.has_value()) return;
  int64_t model_size = 1;
  bool changed = false;
  for (K knob : kSizes) {
    const Assignment* a = Find(*patch, knob);
    changed = changed || a != nullptr;
    const std::optional<int64_t> next = Product({model_size, a != nullptr ? a->value.integer() : f.num(knob)});
    if (!next.has_value()) return;
    model_size = *next;
  }
  if (!changed || model_size <= 0) return;
  const K batch = f.set(K::eval_global_batch_size) ? K::eval_global_batch_size : K::global_batch_size;
  const K micro = f.set(K::eval_micro_batch_size) ? K::eval_micro_batch_size : K::micro_batch_size;
  const int64_t replicas = *f.env().world_size / model_size;
  const std::optional<int64_t> training = Product({f.num(K::micro_batch_size), replicas});
  if (!training.has_value() || *training <= 0) return;
  if (const int64_t global = f.num(K::global_batch_size); global > 0 && global % *training != 0) {
    Add(K::global_batch_size, SaturatingMul(global / *training + 1, *training), patch);
    for (const K knob : {K::eval_global_batch_size, K::eval_micro_batch_size}) {
      if (f.set(knob)) Add(knob, Value(), patch);
    }
    return;
  }
  const std::optional<int64_t> step = Product({f.num(micro), replicas});
  if (!step.has_value() || *step <= 0 || f.none(batch) || f.num(batch) % *step == 0) return;
  const std::optional<int64_t> rounded = Product({f.num(batch) / *step + 1, *step});
  if (rounded.has_value()) Add(K::eval_global_batch_size, *rounded, patch);
}

// Other sizes of the grid: what only went together with the old ones.
void FollowGrid(F f, Patch* patch) {
  constexpr K kSizes[] = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size,
                          K::expert_tensor_parallel_size, K::expert_model_parallel_size};
  const bool changed =
      std::any_of(std::begin(kSizes), std::end(kSizes), [&](K k) { return Find(*patch, k) != nullptr; });
  // That mapping wants the dense and the expert grid equal.
  if (changed && f.on(K::use_tp_pp_dp_mapping)) Add(K::use_tp_pp_dp_mapping, false, patch);
  const Assignment* pp = Find(*patch, K::pipeline_model_parallel_size);
  if (pp == nullptr || pp->value.integer() > 1) return;
  if (f.set(K::virtual_pipeline_model_parallel_size)) Add(K::virtual_pipeline_model_parallel_size, Value(), patch);
  for (const K stages : {K::num_layers_per_virtual_pipeline_stage, K::num_virtual_stages_per_pipeline_rank}) {
    if (f.set(stages)) Add(stages, Value(), patch);
  }
  if (f.on(K::defer_embedding_wgrad_compute)) Add(K::defer_embedding_wgrad_compute, false, patch);
}

// Selective recompute of no module computes nothing again, and a flag without a value is easily lost.
void LeaveEmptyRecompute(F f, Patch* patch) {
  const auto modules = std::find_if(patch->begin(), patch->end(), [](const Assignment& a) {
    return a.env_var.empty() && a.knob == K::recompute_modules && a.value.is_list() && a.value.list().empty();
  });
  const Assignment* const granularity = Find(*patch, K::recompute_granularity);
  if (modules == patch->end() || granularity != nullptr || !f.is(K::recompute_granularity, "selective")) return;
  modules->value = Value();
  patch->push_back(Assign(K::recompute_granularity, Value()));
  // A method or a number of layers that selective recompute refused, EP overlap refuses, too.
  for (const K knob : {K::recompute_method, K::recompute_num_layers}) {
    if (f.set(knob)) Add(knob, Value(), patch);
  }
}

void Complete(F f, Patch* patch) {
  FollowGrid(f, patch);
  LeaveEmptyRecompute(f, patch);
  const Assignment* dispatcher = Find(*patch, K::moe_token_dispatcher_type);
  const Assignment* backend = Find(*patch, K::moe_flex_dispatcher_backend);
  if (dispatcher != nullptr && dispatcher->value.text() != "flex") {
    LeaveFlex(f, patch);
  } else {
    // The two compete (field.tp-overlap-with-flex).
    if (dispatcher != nullptr && f.on(K::tp_comm_overlap)) Add(K::tp_comm_overlap, false, patch);
    if (backend != nullptr) ChangeBackend(f, Value(backend->value), patch);
  }
  // The op fuser's kernels for gated experts have a variable of their own (build_environment.cc).
  const Assignment* fuser = Find(*patch, K::use_transformer_engine_op_fuser);
  if (fuser != nullptr && fuser->value.truthy() && f.core(19) && f.on(K::gated_linear_unit)) {
    patch->push_back(AssignVar("NVTE_CUTEDSL_FUSED_GROUPED_MLP", "1"));
  }
  // Multi-token prediction takes its layers one by one alone (build_layers.cc).
  const bool layers_open = f.num(K::recompute_num_layers) != 1 && Find(*patch, K::recompute_num_layers) == nullptr;
  if (Assigns(*patch, K::recompute_method, "uniform") && f.on(K::mtp_num_layers) && layers_open) {
    Add(K::recompute_num_layers, 1, patch);
  }
  const Assignment* aware = Find(*patch, K::use_precision_aware_optimizer);
  if (aware != nullptr && !aware->value.truthy()) DropPrecisionAware(f, patch);
  // It needs the distributed optimizer (optimizer.cc), which Megatron-FSDP turns on, or does without, itself.
  if (aware != nullptr && aware->value.truthy() && !f.on(K::use_megatron_fsdp)) {
    for (const K distributed : {K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer}) {
      if (!f.on(distributed)) Add(distributed, true, patch);
    }
  }
  // A graph of the whole iteration cannot stop to look at the loss.
  const bool bridge = f.container();
  if (bridge) KeepBatchEven(f, patch);
  const Assignment* impl = Find(*patch, K::cuda_graph_impl);
  const bool graphs = impl != nullptr ? impl->value.text() != "none" : Find(*patch, K::enable_cuda_graph) != nullptr;
  const bool named = HasGraphName(f.value(K::cuda_graph_modules), "full_iteration") ||
                     HasGraphName(f.value(K::cuda_graph_scope), "full_iteration");
  const bool whole = graphs && (named || Assigns(*patch, K::cuda_graph_impl, "full_iteration"));
  if (bridge && whole && f.on(K::check_for_nan_in_loss)) {
    Add(K::check_for_nan_in_loss, false, patch);
  }
}

}  // namespace

std::vector<Patch> SpreadLayers(F f, int64_t stages) {
  const int64_t layers = f.num(K::num_layers), mtp = std::max<int64_t>(0, f.num(K::mtp_num_layers));
  if (layers > kMostLayersOfText || mtp > layers || stages > layers || stages < 2) return {};
  const std::vector<int64_t> sizes = WithDecoderBesidePrediction(BalancedStages(layers, mtp, stages), mtp, f.stack());
  Patch layout = {Assign(K::pipeline_model_parallel_layout, LayoutText(sizes, mtp))};
  // A layout says the virtual stages, too, and what counts as a layer.
  for (const K knob : {K::num_virtual_stages_per_pipeline_rank, K::num_layers_per_virtual_pipeline_stage}) {
    if (f.set(knob)) layout.push_back(Assign(knob, Value()));
  }
  for (const K knob : {K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split}) {
    if (f.on(knob)) layout.push_back(Assign(knob, false));
  }
  std::vector<Patch> patches;
  if (Divisible(layers + 2, stages)) {
    patches.push_back({Assign(K::account_for_embedding_in_pipeline_split, true),
                       Assign(K::account_for_loss_in_pipeline_split, true)});
  } else if (Divisible(layers + 1, stages)) {
    patches.push_back({Assign(K::account_for_loss_in_pipeline_split, true)});
  }
  patches.push_back(std::move(layout));
  return patches;
}

Patch WithoutLayout(F f) {
  Patch patch = {Assign(K::pipeline_model_parallel_layout, Value())};
  for (const K count : {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage}) {
    if (f.set(count)) patch.push_back(Assign(count, Value()));
  }
  for (const K flag : {K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split}) {
    if (f.on(flag)) patch.push_back(Assign(flag, false));
  }
  return patch;
}

Patch EvenRanks(F f) {
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  const int64_t layers = f.num(f.set(K::num_layers) ? K::num_layers : K::decoder_num_layers);
  const int64_t even = LargestDivisorUpTo(layers, pp);
  Patch patch = WithoutLayout(f);
  if (even != pp) patch.push_back(Assign(K::pipeline_model_parallel_size, even));
  return patch;
}

std::vector<Patch> RanksForStages(F f, int64_t stages) {
  const int64_t pp = std::clamp<int64_t>(f.num(K::pipeline_model_parallel_size), 1, kMostRanks);
  const int64_t fewer = LargestDivisorUpTo(stages, pp - 1), more = SmallestDivisorFrom(stages, pp + 1);
  std::vector<Patch> patches;
  // One rank cannot hold several virtual stages.
  if (fewer > 1 || stages == 1) patches.push_back({Assign(K::pipeline_model_parallel_size, fewer)});
  if (more > pp) {
    const bool nearer = fewer <= 1 || more - pp <= pp - fewer;  // as near, it takes less memory
    patches.insert(nearer ? patches.begin() : patches.end(), {Assign(K::pipeline_model_parallel_size, more)});
  }
  patches.push_back(EvenRanks(f));
  return patches;
}

Patch WithoutFp8(F f) {
  Patch patch = {Assign(K::fp8, Value())};
  for (const K of_fp8 : {K::fp8_param, K::fp8_param_gather}) {
    if (f.on(of_fp8)) patch.push_back(Assign(of_fp8, false));
  }
  return patch;
}

void CompleteFixes(F f, std::vector<Patch>* fixes) {
  for (Patch& patch : *fixes) Complete(f, &patch);
}

}  // namespace flightplan
