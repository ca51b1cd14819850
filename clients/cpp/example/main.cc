// Asks for a plan and prints its arguments, one a line. usage: example HOST:PORT
#include <iostream>

#include "flightplan/channel.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"

int main(int argc, char** argv) {
  const auto stub =
      flightplan::v1::ResolverService::NewStub(flightplan::MakeChannel(argc > 1 ? argv[1] : "127.0.0.1:50051"));

  flightplan::v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_expert_model_parallel_size(8);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);

  grpc::ClientContext context;
  flightplan::v1::ResolveConfigResponse plan;
  if (const grpc::Status status = stub->ResolveConfig(&context, request, &plan); !status.ok()) {
    std::cerr << status.error_message() << "\n";
    return 1;
  }
  for (const auto& finding : plan.findings()) std::cerr << finding.rule_id() << ": " << finding.seen() << "\n";
  if (plan.outcome() != flightplan::v1::OUTCOME_RESOLVED) return 1;
  for (const std::string& argument : plan.launches(0).argv()) std::cout << argument << "\n";
}
