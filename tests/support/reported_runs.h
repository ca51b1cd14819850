// Runs as their owners report them, all of one question.
#pragma once

#include <string>

#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::testing {

// Qwen3-30B-A3B on 16 H100, EP16 alltoall: the overlap is decided by evidence, the delayed weight gradient needs an
// A/B.
inline v1::ResolveConfigRequest ReportedQuestion() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(1);
  layout->set_pipeline_model_parallel_size(1);
  layout->set_expert_model_parallel_size(16);
  layout->set_micro_batch_size(1);
  return request;
}

inline v1::Measurement Report(const std::string& id, const std::string& metric, double value) {
  const v1::ResolveConfigRequest question = ReportedQuestion();
  v1::Measurement m;
  m.set_id(id);
  m.set_metric(metric);
  m.set_value(value);
  m.set_model(question.model().name());
  m.set_gpu(question.hardware().gpu());
  m.set_gpu_count(question.hardware().gpu_count());
  *m.mutable_layout() = question.layout();
  *m.mutable_workload() = question.workload();
  *m.mutable_target() = question.target();
  *m.mutable_software() = question.software();
  m.set_quality("matched");
  m.set_trust("tenant");
  return m;
}

inline v1::Measurement Pair(const std::string& id, const std::string& knob, bool from, bool to, double change) {
  v1::Measurement m = Report(id, "ab_relative_change", change);
  m.set_varied_knob(knob);
  m.mutable_from()->set_bool_value(from);
  m.mutable_to()->set_bool_value(to);
  m.set_error(0.01);
  return m;
}

}  // namespace flightplan::testing
