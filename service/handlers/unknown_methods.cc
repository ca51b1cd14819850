#include "service/handlers/unknown_methods.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/base/utf8.h"

namespace flightplan::service {
namespace {

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(const Edge& edge, const Metrics::Method& method, grpc::GenericCallbackServerContext* context)
      : call_(edge, method, context) {
    Finish(call_.Finish(
        WithReason(absl::UnimplementedError(absl::StrCat("no method is called ", Utf8Prefix(context->method(), 128))),
                   "METHOD_UNKNOWN")));
  }
  void OnDone() override { delete this; }

 private:
  Call call_;
};

}  // namespace

grpc::ServerGenericBidiReactor* UnknownMethods::CreateReactor(grpc::GenericCallbackServerContext* context) {
  return new Reactor(edge_, *edge_.metrics->ForMethod("", ""), context);
}

}  // namespace flightplan::service
