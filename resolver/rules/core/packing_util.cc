#include "resolver/rules/core/packing_util.h"

namespace flightplan {
namespace {

using K = Knob;

}  // namespace

bool UsesCudaGraphs(const Facts& f) { return f.set(K::cuda_graph_impl) && !f.is(K::cuda_graph_impl, "none"); }

bool OverlapsTensorParallel(const Facts& f) {
  return f.on(K::tp_comm_overlap) && f.num(K::tensor_model_parallel_size) > 1;
}

void HandOnTypes(Editor& editor) {
  const Facts& f = editor.facts();
  const char* const type = f.on(K::bf16) ? "bf16" : f.on(K::fp16) ? "fp16" : "fp32";
  editor.Fill(K::params_dtype, type);
  editor.Fill(K::pipeline_dtype, type);
  editor.Fill(K::optimizer_use_distributed_optimizer, f.on(K::use_distributed_optimizer));
}

void VaryLengths(Editor& editor) {
  if (!editor.facts().on(K::variable_seq_lengths)) editor.Set(K::variable_seq_lengths, true);
}

}  // namespace flightplan
