#include "resolver/pipeline/memory_fixes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/mxfp8_parameters.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

int64_t SizeIn(const Config& config, Knob knob) { return std::max<int64_t>(1, config.Get(knob).integer()); }

Assignment Set(Knob knob, Value value) { return {knob, "", std::move(value)}; }

// Names of modules, each one text for all the patches that name it.
using Modules = std::vector<Value>;

// Modules that are cheap to compute again, cheapest first; the model must have them.
Modules LightModules(const Config& c) {
  Modules modules;
  const bool moe = c.Get(K::num_moe_experts).integer() > 0;
  if (moe) modules.emplace_back("moe_act");
  modules.emplace_back("layernorm");
  if (c.Get(K::multi_latent_attention).truthy()) modules.emplace_back("mla_up_proj");
  if (moe && c.Get(K::moe_shared_expert_intermediate_size).integer() > 0) modules.emplace_back("shared_experts");
  modules.emplace_back("mlp");
  return modules;
}

// Modules, and sets of them that are worth a try, the cheapest first. A set has a bit for each of its modules.
struct ModuleSets {
  Modules names;
  std::vector<unsigned> sets;
};

// Sparse attention by operators that form every score.
bool FormsSparseScores(const Config& c) {
  return c.Get(K::experimental_attention_variant).text() == "dsa" && c.Get(K::dsa_kernel_backend).text() == "none";
}

// Fused attention computes itself again whatever is asked for (recompute.core-attn-fused-hint).
bool KeepsScores(const Config& c) {
  const absl::string_view backend = c.Get(K::attention_backend).text();
  return backend == "unfused" || backend == "local" || c.Get(K::transformer_impl).text() == "local" ||
         FormsSparseScores(c);
}

ModuleSets SetsOf(const Config& c) {
  ModuleSets of{LightModules(c), {}};
  const size_t light = of.names.size();
  const unsigned all_light = (1u << light) - 1;
  for (size_t i = 0; i < light; ++i) of.sets.push_back(1u << i);
  for (size_t i = 0; i < light; ++i) {
    for (size_t k = i + 1; k < light; ++k) of.sets.push_back(1u << i | 1u << k);
  }
  if (light > 2) of.sets.push_back(all_light);
  const bool moe = c.Get(K::num_moe_experts).integer() > 0 && !c.Get(K::overlap_moe_expert_parallel_comm).truthy();
  const auto add_heavy = [&](const char* heavy) {
    const unsigned bit = 1u << of.names.size();
    of.names.emplace_back(heavy);
    of.sets.push_back(bit);
    of.sets.push_back(all_light | bit);
  };
  if (KeepsScores(c)) add_heavy("core_attn");
  if (moe) add_heavy("moe");
  return of;
}

void AddSelective(const Config& c, std::vector<Patch>* out) {
  const Value selective("selective");
  Modules now;
  if (c.Get(K::recompute_granularity).text() == "selective") {
    const auto list = c.Get(K::recompute_modules).list();
    now.assign(list.begin(), list.end());
    if (!KeepsScores(c)) std::erase(now, Value("core_attn"));
  }
  const ModuleSets of = SetsOf(c);
  unsigned there = 0;
  for (size_t i = 0; i < of.names.size(); ++i) {
    if (std::find(now.begin(), now.end(), of.names[i]) != now.end()) there |= 1u << i;
  }
  std::vector<unsigned> known;
  for (const unsigned set : of.sets) {
    const unsigned added = set & ~there;
    if (added == 0 || std::find(known.begin(), known.end(), added) != known.end()) continue;
    known.push_back(added);
    Modules modules = now;
    for (size_t i = 0; i < of.names.size(); ++i) {
      if ((added >> i & 1) != 0) modules.push_back(of.names[i]);
    }
    out->push_back({Set(K::recompute_granularity, selective), Set(K::recompute_modules, Value(std::move(modules)))});
  }
}

// What may wait on the host, the largest activations first (megatron/core/transformer/transformer_config.py:2131).
// Empty: not ours to move.
std::vector<Modules> OffloadSetsOf(const Config& c) {
  const Origin origin = c.origin(K::fine_grained_activation_offloading);
  if (origin == Origin::kAbsent || origin == Origin::kCaller || c.origin(K::offload_modules) == Origin::kAbsent ||
      c.Get(K::fine_grained_activation_offloading).truthy() || c.Get(K::cpu_offloading).truthy() ||
      c.Get(K::recompute_granularity).text() == "full") {
    return {};
  }
  std::vector<Modules> sets;
  if (c.Get(K::num_moe_experts).integer() > 0) {
    sets = {{Value("expert_fc1")}, {Value("moe_act")}, {Value("expert_fc1"), Value("moe_act")}};
  }
  // Graphs cannot capture what is offloaded.
  if (c.Get(K::cuda_graph_impl).is_none() || c.Get(K::cuda_graph_impl).text() == "none") {
    sets.push_back({Value("core_attn"), Value("attn_proj")});
  }
  return sets;
}

// `recompute`: what goes with it.
Patch Offload(Modules modules, const Patch& recompute) {
  Patch patch = {Set(K::fine_grained_activation_offloading, Value(true)),
                 Set(K::offload_modules, Value(std::move(modules)))};
  patch.insert(patch.end(), recompute.begin(), recompute.end());
  patch.push_back({Knob{}, "NVTE_CPU_OFFLOAD_V1", Value("1")});  // from Transformer Engine 2.10 on
  return patch;
}

// Activations of modules on the host.
void AddActivationOffload(const Config& c, std::vector<Patch>* out) {
  const Patch kept = KeptRecompute(c);
  for (Modules& modules : OffloadSetsOf(c)) out->push_back(Offload(std::move(modules), kept));
}

// Half of the optimizer's state on the host, or all of it, with what lets its copies run beside the step.
void AddOptimizerOffload(const Config& c, std::vector<Patch>* out) {
  if (c.origin(K::optimizer_cpu_offload) == Origin::kAbsent || c.Get(K::optimizer_cpu_offload).truthy()) return;
  for (const double fraction : {0.5, 1.0}) {
    Patch patch = {Set(K::optimizer_cpu_offload, Value(true)), Set(K::optimizer_offload_fraction, Value(fraction))};
    for (const Knob companion : kOffloadCompanions) {
      if (c.origin(companion) != Origin::kAbsent && !c.Get(companion).truthy()) {
        patch.push_back(Set(companion, Value(true)));
      }
    }
    // Which excludes the offload (mlm.opt-offload-fp8pg).
    if (InMxfp8(c) && c.origin(K::fp8_param_gather) == Origin::kDecided && c.Get(K::fp8_param_gather).truthy()) {
      patch.push_back(Set(K::fp8_param_gather, Value(false)));
      patch.push_back(Set(K::reuse_grad_buf_for_mxfp8_param_ag, Value(false)));
    }
    out->push_back(std::move(patch));
  }
}

// One copy of the parameters instead of two. Core 0.18 may save stale weights so (field.mxfp8-gather-before-save).
void AddParameterGather(const Config& c, std::vector<Patch>* out) {
  if (!InMxfp8(c) || c.Get(K::fp8_param_gather).truthy() || !MayGatherMxfp8(c) || c.Get(K::save).truthy()) return;
  out->push_back({Set(K::fp8_param_gather, Value(true)), Set(K::reuse_grad_buf_for_mxfp8_param_ag, Value(true))});
}

// Fused by its native kernel, the loss holds a copy of the softmax more (derive/memory, LossBytes).
bool FusesLossNatively(const Config& c) {
  return c.Get(K::cross_entropy_loss_fusion).truthy() && c.Get(K::cross_entropy_fusion_impl).text() == "native";
}
Assignment UnfusedLoss() { return Set(K::cross_entropy_loss_fusion, Value(false)); }

void AddExecution(const Config& c, std::vector<Patch>* out) {
  const bool full = c.Get(K::recompute_granularity).text() == "full";
  const bool overlap = c.Get(K::overlap_moe_expert_parallel_comm).truthy();
  if (FormsSparseScores(c) && c.origin(K::dsa_kernel_backend) != Origin::kCaller) {
    out->push_back({Set(K::dsa_kernel_backend, Value("cudnn"))});
  }
  if (SizeIn(c, K::tensor_model_parallel_size) > 1 && !c.Get(K::sequence_parallel).truthy()) {
    out->push_back({Set(K::sequence_parallel, Value(true))});
  }
  if (FusesLossNatively(c)) out->push_back({UnfusedLoss()});
  if (!full) AddSelective(c, out);
  if (!c.Get(K::use_distributed_optimizer).truthy()) out->push_back({Set(K::use_distributed_optimizer, Value(true))});
  // Of what is computed again as a whole nothing can wait on the host.
  const bool moves = c.Get(K::fine_grained_activation_offloading).truthy();
  if (!full && !overlap && !moves) {
    out->push_back({Set(K::recompute_granularity, Value("full")), Set(K::recompute_method, Value("uniform")),
                    Set(K::recompute_num_layers, Value(1))});
  }
  if (const int64_t batch = SizeIn(c, K::micro_batch_size); batch % 2 == 0) {
    out->push_back({Set(K::micro_batch_size, Value(batch / 2))});
  }
  AddParameterGather(c, out);
  AddActivationOffload(c, out);
  AddOptimizerOffload(c, out);
}

constexpr int64_t kMostTimes = 8;           // of a size, in one fix
constexpr int64_t kMostTensorParallel = 8;  // GPUs of a node of any kind

void AddLayouts(const Config& c, std::vector<Patch>* out) {
  const int64_t pp = SizeIn(c, K::pipeline_model_parallel_size), tp = SizeIn(c, K::tensor_model_parallel_size);
  const int64_t cp = SizeIn(c, K::context_parallel_size);
  const int64_t ep = SizeIn(c, K::expert_model_parallel_size), experts = c.Get(K::num_moe_experts).integer();
  const Value& vpp = c.Get(K::virtual_pipeline_model_parallel_size);
  const bool own_layout = !c.Get(K::pipeline_model_parallel_layout).is_none();
  for (int64_t times = 2; times <= kMostTimes && experts > 0 && experts % (times * ep) == 0; times *= 2) {
    out->push_back({Set(K::expert_model_parallel_size, Value(times * ep))});
  }
  if (!own_layout) {
    out->push_back({Set(K::pipeline_model_parallel_size, Value(2 * pp))});
    if (vpp.integer() > 1) {
      const Value half = vpp.integer() > 2 && vpp.integer() % 2 == 0 ? Value(vpp.integer() / 2) : Value();
      out->push_back(
          {Set(K::pipeline_model_parallel_size, Value(2 * pp)), Set(K::virtual_pipeline_model_parallel_size, half)});
    }
  }
  for (int64_t times = 4; times <= kMostTimes && !own_layout; times *= 2) {
    out->push_back({Set(K::pipeline_model_parallel_size, Value(times * pp))});
  }
  const int64_t batch = SizeIn(c, K::micro_batch_size);
  for (int64_t times = 4; times <= kMostTimes && batch % times == 0; times *= 2) {
    out->push_back({Set(K::micro_batch_size, Value(batch / times))});
  }
  // Long sequences take more than half away: their logits are as long as they are.
  for (int64_t times = 2; times <= kMostTimes; times *= 2) {
    if (times == 2 || times * tp <= kMostTensorParallel) {
      out->push_back({Set(K::tensor_model_parallel_size, Value(times * tp)), Set(K::sequence_parallel, Value(true))});
    }
    out->push_back({Set(K::context_parallel_size, Value(times * cp))});
  }
  if (ep > 1 && ep % 2 == 0 && !own_layout) {  // the grid that more stages need
    out->push_back(
        {Set(K::pipeline_model_parallel_size, Value(2 * pp)), Set(K::expert_model_parallel_size, Value(ep / 2))});
  }
}

}  // namespace

Patch KeptRecompute(const Config& config) {
  Patch kept;
  for (const Knob knob : {K::recompute_granularity, K::recompute_modules}) {
    if (knob == K::recompute_modules && config.Get(K::recompute_granularity).text() != "selective") break;
    if (config.origin(knob) != Origin::kCaller) kept.push_back(Set(knob, config.Get(knob)));
  }
  return kept;
}

Patch ExpandableSegments(const Config& config, const Environment& env) {
  constexpr char kAllocator[] = "PYTORCH_CUDA_ALLOC_CONF", kRegister[] = "NCCL_GRAPH_REGISTER";
  const auto given = [&](const char* name) { return env.vars.find(name) != env.vars.end(); };
  const bool said = given(kAllocator) || given("PYTORCH_ALLOC_CONF");
  if (said || (StackOf(env).exports_to_engine && !env.engine_apart) || !decide::SegmentsMayExpand(config, env))
    return {};
  const Value& graphs = config.Get(K::cuda_graph_impl);
  const bool graphed = !graphs.is_none() && graphs.text() != "none";
  Patch patch = {{Knob{}, kAllocator, Value("expandable_segments:True")}};
  if (graphed && !given(kRegister)) patch.push_back({Knob{}, kRegister, Value("0")});
  return patch;
}

MemoryFixes MemoryFixesOf(const Config& config) {
  MemoryFixes fixes;
  AddExecution(config, &fixes.execution);
  AddLayouts(config, &fixes.layout);
  return fixes;
}

std::vector<Patch> CombinedFixesOf(const Config& config) {
  if (config.origin(K::recompute_granularity) == Origin::kCaller) return {};
  const std::vector<Modules> offloads = OffloadSetsOf(config);
  const bool loss = FusesLossNatively(config);
  if (offloads.empty() && !loss) return {};
  std::vector<Patch> recomputes;
  AddSelective(config, &recomputes);
  constexpr size_t kCheapest = 6;
  recomputes.resize(std::min(recomputes.size(), kCheapest));
  std::vector<Patch> fixes;
  for (const Patch& recompute : recomputes) {
    for (const Modules& modules : offloads) fixes.push_back(Offload(modules, recompute));
    if (!loss) continue;
    fixes.push_back(recompute);
    fixes.back().push_back(UnfusedLoss());
  }
  return fixes;
}

}  // namespace flightplan
