// What a program that has its libraries in itself (FLIGHTPLAN_STATIC) gets in place of functions of theirs.
#include <grpc/grpc_security.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

namespace grpc_core {
class CoreConfiguration {
 public:
  class Builder;
};

// Without xDS, as in gRPC's own grpc_plugin_registry_noextra.cc, and without the load balancers that only xDS or a
// service config choose: nobody here can configure one. Together they are a seventh of the program.
#define FLIGHTPLAN_LEFT_OUT(name)         \
  void name(CoreConfiguration::Builder*); \
  void name(CoreConfiguration::Builder*) {}
FLIGHTPLAN_LEFT_OUT(RegisterExtraFilters)
FLIGHTPLAN_LEFT_OUT(RegisterGrpcLbPolicy)
FLIGHTPLAN_LEFT_OUT(RegisterOutlierDetectionLbPolicy)
FLIGHTPLAN_LEFT_OUT(RegisterPriorityLbPolicy)
FLIGHTPLAN_LEFT_OUT(RegisterRingHashLbPolicy)
FLIGHTPLAN_LEFT_OUT(RegisterRlsLbPolicy)
FLIGHTPLAN_LEFT_OUT(RegisterWeightedTargetLbPolicy)
#undef FLIGHTPLAN_LEFT_OUT
}  // namespace grpc_core

// What libgrpc++'s secure_credentials.cc refers to for the clouds' own identities, which the program has no flag for:
// null is its word for credentials that cannot be made. TLS, plain text and this program's tokens do not come by here.
grpc_channel_credentials* grpc_google_default_credentials_create(grpc_call_credentials*) { return nullptr; }
grpc_call_credentials* grpc_external_account_credentials_create(const char*, const char*) { return nullptr; }
grpc_call_credentials* grpc_sts_credentials_create(const grpc_sts_credentials_options*, void*) { return nullptr; }
grpc_channel_credentials* grpc_alts_credentials_create(const grpc_alts_credentials_options*) { return nullptr; }
grpc_server_credentials* grpc_alts_server_credentials_create(const grpc_alts_credentials_options*) { return nullptr; }
grpc_call_credentials* grpc_google_compute_engine_credentials_create(void*) { return nullptr; }
grpc_call_credentials* grpc_google_refresh_token_credentials_create(const char*, void*) { return nullptr; }
grpc_call_credentials* grpc_access_token_credentials_create(const char*, void*) { return nullptr; }
grpc_call_credentials* grpc_service_account_jwt_access_credentials_create(const char*, gpr_timespec, void*) {
  return nullptr;
}

// glibc has it since 2.36, and std::random_device of a libstdc++ built with that asks for it; the wheel runs with 2.34.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) std::abort();
  return value;
}
