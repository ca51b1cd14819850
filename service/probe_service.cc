#include "service/probe_service.h"

#include "flightplan/v1/probe_service.grpc.pb.h"
#include "service/handlers/not_built.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::ProbeService;
using Context = grpc::CallbackServerContext;
using Base = ProbeService::WithRawCallbackMethod_RunProbe<
    ProbeService::WithRawCallbackMethod_GetProfile<ProbeService::WithRawCallbackMethod_ListProfiles<
        ProbeService::WithRawCallbackMethod_ImportProfile<ProbeService::Service>>>>;

constexpr char kWhat[] = "the GPU probe (ProbeService)";

class ProbeServiceImpl final : public Base {
 public:
  explicit ProbeServiceImpl(const Edge* edge) : edge_(*edge) {}

  grpc::ServerWriteReactor<ByteBuffer>* RunProbe(Context* c, const ByteBuffer*) override {
    return HandleStreamNotBuilt(edge_, Series("RunProbe"), kWhat, c);
  }
  grpc::ServerUnaryReactor* GetProfile(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return HandleNotBuilt(edge_, Series("GetProfile"), kWhat, c);
  }
  grpc::ServerUnaryReactor* ListProfiles(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return HandleNotBuilt(edge_, Series("ListProfiles"), kWhat, c);
  }
  grpc::ServerUnaryReactor* ImportProfile(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return HandleNotBuilt(edge_, Series("ImportProfile"), kWhat, c);
  }

 private:
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(ProbeService::service_full_name(), method);
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeProbeService(const Edge* edge) { return std::make_unique<ProbeServiceImpl>(edge); }

}  // namespace flightplan::service
