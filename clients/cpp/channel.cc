#include "flightplan/channel.h"

#include "flightplan/service_config.h"

namespace flightplan {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace flightplan
