#include "service/net/reflection.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/resource_quota.h"

namespace flightplan::service {
namespace {

// Linking gRPC's reflection library alone turns it on for every server of the process.
class ReflectionOption final : public grpc::ServerBuilderOption {
 public:
  explicit ReflectionOption(bool on) : on_(on) {}
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    auto reflection = std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(),
                                  [&](const auto& plugin) { return plugin->name() == reflection->name(); }),
                   plugins->end());
    if (on_) plugins->push_back(std::move(reflection));
  }

 private:
  const bool on_;
};

}  // namespace

void ServeReflection(bool on, grpc::ServerBuilder* builder) {
  builder->SetOption(std::make_unique<ReflectionOption>(on));
  grpc::ResourceQuota threads;
  threads.SetMaxThreads(kReflectionThreads);
  builder->SetResourceQuota(threads);
  builder->SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);  // each takes a thread of these to wait with
}

}  // namespace flightplan::service
