#include "service/web/connect_method.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"

namespace flightplan::service {

ConnectMethods::ConnectMethods(const google::protobuf::DescriptorPool* pool, const std::vector<std::string>& services) {
  for (const std::string& name : services) {
    const google::protobuf::ServiceDescriptor* const service = pool->FindServiceByName(name);
    if (service == nullptr) continue;
    prefixes_.push_back(absl::StrCat("/", name.substr(0, name.rfind('.') + 1)));
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor* const rpc = service->method(i);
      const bool none = rpc->options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
      methods_.emplace(absl::StrCat("/", name, "/", rpc->name()), ConnectMethod{rpc, !none});
    }
  }
}

const ConnectMethod* ConnectMethods::Find(absl::string_view path) const {
  const auto found = methods_.find(std::string(path));
  return found == methods_.end() ? nullptr : &found->second;
}

bool ConnectMethods::Covers(absl::string_view path) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return absl::StartsWith(path, prefix); });
}

}  // namespace flightplan::service
