// The request that every benchmark asks: DeepSeek-V3 on 1,024 H100, TP2 PP8 VPP4 EP64.
#pragma once

#include <cstdint>
#include <random>

#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::bench {

inline v1::ResolveConfigRequest SampleResolveRequest() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v3");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(1024);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(8192);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_software()->set_te_version("2.12.0");
  request.mutable_software()->set_torch_version("2.9.0");
  request.mutable_software()->mutable_dispatchers();  // none, as every figure so far was measured
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  request.mutable_layout()->set_pipeline_model_parallel_size(8);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(4);
  request.mutable_layout()->set_expert_model_parallel_size(64);
  return request;
}

// Another batch size, another question that takes the same work: no cache answers it.
inline void SetQuestion(int64_t number, v1::ResolveConfigRequest* request) {
  request->mutable_workload()->set_global_batch_size(8192 + number * 128);
}
// So that a second caller asks nothing that the first one has asked.
inline int64_t FirstQuestion() { return static_cast<int64_t>(std::random_device()() % 1'000'000); }

// The launch that `answer` renders, as a scheduler would hand it back.
inline v1::ValidateConfigRequest SampleValidateRequest(const v1::ResolveConfigResponse& answer) {
  v1::ValidateConfigRequest request;
  if (answer.launches_size() > 0) {
    for (const std::string& argument : answer.launches(0).argv()) request.mutable_arguments()->add_values(argument);
    *request.mutable_env() = answer.launches(0).env();
  }
  const v1::ResolveConfigRequest question = SampleResolveRequest();
  *request.mutable_target() = question.target();
  *request.mutable_hardware() = question.hardware();
  *request.mutable_software() = question.software();
  return request;
}

}  // namespace flightplan::bench
