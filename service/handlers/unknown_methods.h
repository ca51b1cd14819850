// Methods that are in no service of ours.
#pragma once

#include "grpcpp/generic/async_generic_service.h"
#include "service/call/call.h"

namespace flightplan::service {

// Counted as one method, and answered as gRPC does. `edge` must outlive it.
class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  explicit UnknownMethods(const Edge* edge) : edge_(*edge) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  const Edge& edge_;
};

}  // namespace flightplan::service
