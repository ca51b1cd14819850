// What the tests of the resolver's methods share: one resolver, the README's request, and what an answer says.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"

namespace flightplan::testing {

// Over the built-in catalogue, one for the whole program.
inline const Resolver& TestResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

// DeepSeek-V3 on 1,024 H100, TP2 PP8 VPP4 EP64: the README's example.
inline v1::ResolveConfigRequest DeepSeekOnH100() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v3");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(1024);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(8192);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-lm");
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(2);
  layout->set_pipeline_model_parallel_size(8);
  layout->set_virtual_pipeline_model_parallel_size(4);
  layout->set_expert_model_parallel_size(64);
  return request;
}

// Its layout is left open.
inline v1::ResolveConfigRequest QwenOnSixteen() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  return request;
}

// Rule ids of the findings of level error.
inline std::set<std::string> Errors(const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) ids.insert(finding.rule_id());
  }
  return ids;
}

// Fields that a refusal names; none when it names none.
inline std::set<std::string> ViolatedFields(const absl::Status& status) {
  google::rpc::BadRequest details;
  std::set<std::string> fields;
  auto payload = status.GetPayload(kBadRequestPayload);
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  return fields;
}

}  // namespace flightplan::testing
