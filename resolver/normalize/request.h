// From request messages to what the caller wants: presence, aliases, ranges, names. Everything wrong is collected.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {
class Hardware;
class ModelRef;
class ModelSpec;
class ResolveConfigRequest;
class SoftwareStack;
class TargetStack;
class ValidateConfigRequest;
}  // namespace v1

absl::StatusOr<NormalizedIntent> NormalizeResolve(const v1::ResolveConfigRequest& request, const Catalog& catalog);

// The environment that a finished configuration is judged in; the configuration itself is read by a dialect. `gpu`,
// where it is asked for, is the system as the request describes it, or empty where it names none.
absl::StatusOr<Environment> NormalizeValidate(const v1::ValidateConfigRequest& request, const Catalog& catalog,
                                              std::optional<GpuSystem>* gpu = nullptr);

// How much of the answer its caller wants; NormalizeValidate has refused what is no view.
View ViewOf(const v1::ValidateConfigRequest& request);

// "megatron-lm" and its release into `env`; an unknown release becomes the nearest known one and is kept in
// env.unknown_version, for a finding.
void NormalizeTarget(const v1::TargetStack& message, absl::string_view field, Environment* env, Violations* violations);

// What workload.precision and hardware.fabric.transport may be.
std::vector<absl::string_view> PrecisionNames();
absl::Span<const absl::string_view> TransportNames();

// Bounds of a request (conventions: each is a named constant with a test at it and one above).
inline constexpr int64_t kMaxGpus = 1 << 20;
inline constexpr int64_t kMaxGpusPerNode = 1024;
inline constexpr int64_t kMaxSeqLength = 1 << 24;
inline constexpr int64_t kMaxParallelSize = 1 << 20;
inline constexpr int64_t kMaxBatchSize = 1 << 30;
inline constexpr int kMaxEnvVars = 1024;

}  // namespace flightplan
