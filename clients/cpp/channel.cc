#include "flightplan/channel.h"

#include <grpcpp/support/client_interceptor.h>

#include <typeinfo>
#include <utility>
#include <vector>

#include "clients/cpp/plaintext_token.h"
#include "flightplan/service_config.h"

namespace flightplan {
namespace {

using grpc::experimental::InterceptionHookPoints;

// Ends a call that carries a token before a byte of it is sent.
class TokenGuard final : public grpc::experimental::Interceptor {
 public:
  explicit TokenGuard(std::string address) : address_(std::move(address)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    bool refuse = false;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      refuse = methods->GetSendInitialMetadata()->count("authorization") > 0;
      refused_ = refused_ || refuse;
    }
    // A call that is hijacked gets its end from here.
    if (refused_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      methods->FailHijackedSendMessage();
    }
    if (refused_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_MESSAGE)) {
      methods->FailHijackedRecvMessage();
    }
    if (refused_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_RECV_STATUS)) {
      *methods->GetRecvStatus() = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, PlaintextTokenRefusal(address_));
    }
    if (refuse) {
      methods->Hijack();
    } else {
      methods->Proceed();
    }
  }

 private:
  const std::string address_;
  bool refused_ = false;
};

class TokenGuards final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenGuards(std::string address) : address_(std::move(address)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* /*info*/) override {
    return new TokenGuard(address_);
  }

 private:
  const std::string address_;
};

bool IsPlaintext(const grpc::ChannelCredentials& credentials) {
  const std::shared_ptr<grpc::ChannelCredentials> plaintext = grpc::InsecureChannelCredentials();
  const grpc::ChannelCredentials& known = *plaintext;
  return typeid(credentials) == typeid(known);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  const bool plaintext = credentials != nullptr && IsPlaintext(*credentials);
  // A proxy would read what is in plain text, and cannot reach this machine's own addresses.
  if (plaintext || IsLocalAddress(address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> guards;
  if (plaintext && !MayCarryPlaintextToken(address)) {
    guards.push_back(std::make_unique<TokenGuards>(address));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, arguments, std::move(guards));
}

}  // namespace flightplan
