// The methods that can be asked over the Connect protocol, from the descriptors of their services.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace flightplan::service {

struct ConnectMethod {
  const google::protobuf::MethodDescriptor* rpc = nullptr;
  bool side_effects = true;  // false, where the contract says so: GET is understood too

  bool unary() const { return !rpc->client_streaming() && !rpc->server_streaming(); }
};

class ConnectMethods {
 public:
  // A service that `pool` does not know is left out.
  ConnectMethods(const google::protobuf::DescriptorPool* pool, const std::vector<std::string>& services);

  // "/flightplan.v1.ResolverService/ResolveConfig"; null: there is none of that name.
  const ConnectMethod* Find(absl::string_view path) const;
  // Whether the path is below one of the services.
  bool Covers(absl::string_view path) const;

 private:
  std::map<std::string, ConnectMethod, std::less<>> methods_;  // by path
  std::vector<std::string> prefixes_;                          // of their packages: "/flightplan.v1."
};

}  // namespace flightplan::service
