#include "resolver/rules/megatron_lm/fix_flags_util.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "resolver/catalog/spellings.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

class FlagPatch {
 public:
  explicit FlagPatch(F f) : f_(f) {}

  void Take(const Assignment& a) {
    if (!a.env_var.empty()) {
      out_.push_back(a);
    } else if (a.knob == K::virtual_pipeline_model_parallel_size) {
      SetVirtualStages(a.value);
    } else if (a.knob == K::cpu_offloading) {
      Add(K::cpu_offloading_num_layers, a.value.truthy() ? Value(1) : Value(0));
    } else if (a.knob == K::bias_activation_fusion) {
      Add(K::bias_swiglu_fusion, a.value);
      Add(K::bias_gelu_fusion, a.value);
    } else if (a.knob == K::persist_layer_norm) {
      Add(K::no_persist_layer_norm, !a.value.truthy());
    } else {
      if (a.knob == K::cuda_graph_impl || a.knob == K::cuda_graph_modules) LeaveOldGraphFlags();
      const absl::Span<const std::pair<K, K>> copied = CopiedArguments();
      const auto* const renamed =
          std::find_if(copied.begin(), copied.end(), [&](const auto& pair) { return pair.first == a.knob; });
      Add(Flag(renamed == copied.end() ? a.knob : renamed->second), a.value);
    }
  }
  Patch Finish() {
    if (Unsets(K::hierarchical_context_parallel_sizes) && f_.has(K::cp_comm_type, "a2a+p2p")) Add(K::cp_comm_type, {});
    if (Unsets(K::fp4)) {
      for (const K param : {K::fp4_param, K::fp4_param_gather}) {
        if (f_.on(param)) Add(param, false);
      }
    }
    if (f_.fork()) FollowLoongForge();
    return std::move(out_);
  }

 private:
  // Whether the patch takes a value away.
  bool Unsets(K knob) const {
    return std::any_of(out_.begin(), out_.end(), [knob](const Assignment& a) {
      return a.env_var.empty() && a.knob == knob && !a.value.truthy();
    });
  }

  // What the fork would make a fix's value of again, or has no use for without it.
  void FollowLoongForge() {
    if (Unsets(K::pipeline_model_parallel_layout)) {
      for (const K list : {K::custom_pipeline_layers, K::custom_virtual_pipeline_layers}) {
        if (f_.set(list)) Add(list, Value());
      }
      const auto pp = std::find_if(out_.begin(), out_.end(), [](const Assignment& a) {
        return a.env_var.empty() && a.knob == K::pipeline_model_parallel_size;
      });
      if (pp != out_.end() && pp->value == Value(1)) Add(K::num_virtual_stages_per_pipeline_rank, Value());
    }
    const bool nothing = (Unsets(K::offload_modules) && !f_.on(K::offload_tensors)) ||
                         (Unsets(K::offload_tensors) && !f_.on(K::offload_modules));
    if (nothing) Add(K::fine_grained_activation_offloading, false);
    if (Unsets(K::selective_fp8) && f_.on(K::selective_fp8_allowed_ub_names)) {
      Add(K::selective_fp8_allowed_ub_names, Value());
    }
  }

  void Add(K knob, const Value& value) {
    const bool there = std::any_of(out_.begin(), out_.end(),
                                   [knob](const Assignment& a) { return a.env_var.empty() && a.knob == knob; });
    if (!there) out_.push_back(Assign(knob, value));
  }

  // Before 0.17 the FP4 gather went by the field's name.
  K Flag(K knob) const { return knob == K::fp4_param_gather && !f_.core(17) ? K::fp4_param : knob; }

  // Virtual stages are counted by a flag, divided by another or read from the layout.
  void SetVirtualStages(const Value& stages) {
    Add(K::num_virtual_stages_per_pipeline_rank, stages);
    if (f_.set(K::num_layers_per_virtual_pipeline_stage)) Add(K::num_layers_per_virtual_pipeline_stage, Value());
    if (f_.set(K::pipeline_model_parallel_layout)) Add(K::pipeline_model_parallel_layout, Value());
  }

  // What validate_args has already translated and cleared would be translated again over the fix.
  void LeaveOldGraphFlags() {
    if (f_.origin(K::cuda_graph_impl) == Origin::kUpstream) {
      Add(K::enable_cuda_graph, false);
      Add(K::external_cuda_graph, false);
    }
    if (f_.set(K::cuda_graph_scope_deprecated)) Add(K::cuda_graph_scope_deprecated, Value());
  }

  F f_;
  Patch out_;
};

}  // namespace

void RedirectToFlags(F f, std::vector<Patch>* fixes) {
  for (Patch& patch : *fixes) {
    FlagPatch flags(f);
    for (const Assignment& a : patch) flags.Take(a);
    patch = flags.Finish();
  }
}

}  // namespace flightplan
