#include "service/handlers/not_built.h"

#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

class StreamNotBuilt final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  StreamNotBuilt(const Edge& edge, const Metrics::Method& method, absl::string_view what,
                 grpc::CallbackServerContext* context)
      : call_(edge, method, context) {
    call_.CountReceived();
    const absl::Status refused = call_.Admit(Gated::kNo);
    Finish(call_.Finish(refused.ok() ? NotBuilt(what) : refused));
  }
  void OnDone() override { delete this; }

 private:
  Call call_;
};

}  // namespace

grpc::ServerUnaryReactor* HandleNotBuilt(const Edge& edge, const Metrics::Method& method, absl::string_view what,
                                         grpc::CallbackServerContext* context) {
  auto* unary = new UnaryCall(edge, method, context);
  grpc::ServerUnaryReactor* const reactor = unary->reactor();
  unary->call().CountReceived();
  const absl::Status refused = unary->call().Admit(Gated::kNo);
  unary->End(refused.ok() ? NotBuilt(what) : refused);
  return reactor;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleStreamNotBuilt(const Edge& edge, const Metrics::Method& method,
                                                                 absl::string_view what,
                                                                 grpc::CallbackServerContext* context) {
  return new StreamNotBuilt(edge, method, what, context);
}

}  // namespace flightplan::service
