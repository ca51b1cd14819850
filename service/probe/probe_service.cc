#include "service/probe/probe_service.h"

#include <string>
#include <utility>

#include "flightplan/v1/probe_service.grpc.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::ProbeService;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using Base = ProbeService::WithRawCallbackMethod_RunProbe<
    ProbeService::WithRawCallbackMethod_GetProfile<ProbeService::WithRawCallbackMethod_ListProfiles<
        ProbeService::WithRawCallbackMethod_ImportProfile<ProbeService::Service>>>>;

constexpr size_t kMaxQueuedImports = 16;  // a folder may hang, and each waiting one holds a caller's place

template <class Request>
absl::Status Parse(const ByteBuffer& buffer, Request* request) {
  const RequestBytes bytes(buffer);
  if (request->ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) return absl::OkStatus();
  return MalformedRequest(request->GetTypeName());
}

absl::Status Get(const ProfileStore& store, const ByteBuffer& in, ByteBuffer* out) {
  v1::GetProfileRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(in, &request));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const v1::HardwareProfile profile, store.Get(request.name()));
  *out = BufferOf(profile);
  return absl::OkStatus();
}

absl::Status List(const ProfileStore& store, const ByteBuffer& in, ByteBuffer* out) {
  v1::ListProfilesRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(in, &request));
  FLIGHTPLAN_ASSIGN_OR_RETURN(ProfileStore::Page page, store.List(request.page_size(), request.page_token()));
  v1::ListProfilesResponse response;
  for (v1::HardwareProfile& profile : page.profiles) *response.add_profiles() = std::move(profile);
  response.set_next_page_token(page.next);
  *out = BufferOf(response);
  return absl::OkStatus();
}

absl::Status Import(ProfileStore* store, const ByteBuffer& in, ByteBuffer* out) {
  v1::ImportProfileRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(in, &request));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const v1::HardwareProfile profile, store->Put(std::move(*request.mutable_profile())));
  *out = BufferOf(profile);
  return absl::OkStatus();
}

class ProbeServiceImpl final : public Base {
 public:
  ProbeServiceImpl(const Edge* edge, ProbeLink* probe) : edge_(*edge), probe_(*probe) {}

  grpc::ServerWriteReactor<ByteBuffer>* RunProbe(Context* c, const ByteBuffer* request) override {
    return HandleRunProbe(edge_, Series("RunProbe"), probe_.context(), c, request);
  }
  Reactor* GetProfile(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Read("GetProfile", &Get, c, in, out);
  }
  Reactor* ListProfiles(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Read("ListProfiles", &List, c, in, out);
  }
  // Writes a file: not on a thread of gRPC's.
  Reactor* ImportProfile(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    auto* unary = new UnaryCall(edge_, Series("ImportProfile"), c, out);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    if (const absl::Status refused = unary->call().Admit(Gated::kYes); !refused.ok()) {
      unary->End(refused);
      return reactor;
    }
    unary->call().CountReceived();
    const auto import = [this, unary, in, out] { unary->End(Import(probe_.context()->store, *in, out)); };
    if (!probe_.store_pool()->TrySubmit(import, kMaxQueuedImports)) {
      unary->End(WithReason(absl::UnavailableError("the folder of the profiles does not keep up: try again later"),
                            "STORE_DOWN"));
    }
    return reactor;
  }

 private:
  Reactor* Read(const char* method, absl::Status (*answer)(const ProfileStore&, const ByteBuffer&, ByteBuffer*),
                Context* c, const ByteBuffer* in, ByteBuffer* out) {
    auto* unary = new UnaryCall(edge_, Series(method), c, out);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    absl::Status status = unary->call().Admit(Gated::kNo);
    if (status.ok()) {
      unary->call().CountReceived();
      status = answer(*probe_.context()->store, *in, out);
    }
    unary->End(status);
    return reactor;
  }
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(ProbeService::service_full_name(), method);
  }

  const Edge& edge_;
  ProbeLink& probe_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeProbeService(const Edge* edge, ProbeLink* probe) {
  return std::make_unique<ProbeServiceImpl>(edge, probe);
}

}  // namespace flightplan::service
