// The GPUs of a request: those of the catalogue, with what the caller states of them instead.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Hardware;
}  // namespace v1

struct HardwareFacts {
  GpuSystem gpu;
  std::string transport;
  HostCpuClass host_cpu = HostCpuClass::kUnknown;
};
// Also writes what rules ask of the GPUs into `env`. A name that stands for no GPU is a violation.
HardwareFacts HardwareFromMessage(const v1::Hardware& message, const Catalog& catalog, Environment* env,
                                  Violations* violations);

// What is wrong with a name that stands for no GPU of the catalogue; empty: nothing, or there is no name.
std::string UnknownGpu(const std::string& name, const Catalog& catalog);

// A finished configuration is judged by its rules all the same; only what the caller states of the GPU is known.
void ReadUnknownGpu(const v1::Hardware& message, Environment* env, Violations* violations);

// What hardware.fabric.transport may be.
absl::Span<const absl::string_view> TransportNames();

}  // namespace flightplan
