#include "tests/bench/echo_service.h"

#include <utility>

#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/message_allocator.h"

namespace flightplan::bench {
namespace {

using Request = v1::ResolveConfigRequest;
using Response = v1::ResolveConfigResponse;

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

class ArenaAllocator final : public grpc::MessageAllocator<Request, Response> {
  class Holder final : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() : arena_(block_, sizeof(block_)) {
      set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    alignas(8) char block_[128 << 10];
    google::protobuf::Arena arena_;
  };
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder; }
};

class StructuredEcho final
    : public v1::ResolverService::WithCallbackMethod_ResolveConfig<v1::ResolverService::Service> {
 public:
  explicit StructuredEcho(Response answer) : answer_(std::move(answer)) {
    SetMessageAllocatorFor_ResolveConfig(&allocator_);
  }
  grpc::ServerUnaryReactor* ResolveConfig(grpc::CallbackServerContext* context, const Request*,
                                          Response* response) override {
    *response = answer_;
    return FinishNow(context);
  }

 private:
  const Response answer_;
  ArenaAllocator allocator_;
};

class RawEcho final : public v1::ResolverService::WithRawCallbackMethod_ResolveConfig<v1::ResolverService::Service> {
 public:
  explicit RawEcho(const Response& answer) : slice_(answer.SerializeAsString()) {}
  grpc::ServerUnaryReactor* ResolveConfig(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                          grpc::ByteBuffer* response) override {
    *response = grpc::ByteBuffer(&slice_, 1);
    return FinishNow(context);
  }

 private:
  const grpc::Slice slice_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStructuredEcho(Response answer) {
  return std::make_unique<StructuredEcho>(std::move(answer));
}
std::unique_ptr<grpc::Service> MakeRawEcho(const Response& answer) { return std::make_unique<RawEcho>(answer); }

}  // namespace flightplan::bench
