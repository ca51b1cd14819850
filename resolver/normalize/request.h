// From request messages to what the caller wants: presence, aliases, ranges, names. Everything wrong is collected.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/judge_question.h"

namespace flightplan {

namespace v1 {
class ConvertConfigRequest;
class Hardware;
class Layout;
class ModelRef;
class ResolveConfigRequest;
class SoftwareStack;
class TargetStack;
class ValidateConfigRequest;
}  // namespace v1

absl::StatusOr<NormalizedIntent> NormalizeResolve(const v1::ResolveConfigRequest& request, const Catalog& catalog);

absl::StatusOr<JudgeQuestion> NormalizeValidate(const v1::ValidateConfigRequest& request, const Catalog& catalog);

// Violations of the source stand below "source".
absl::StatusOr<ConvertQuestion> NormalizeConvert(const v1::ConvertConfigRequest& request, const Catalog& catalog);

// "megatron-lm" and its release into `env`; an unknown release becomes the nearest known one and is kept in
// env.unknown_version, for a finding.
void NormalizeTarget(const v1::TargetStack& message, absl::string_view field, Environment* env, Violations* violations);

// The model of a request's `model`, and the sizes of its `layout`.
ModelSpec NormalizeModel(const v1::ModelRef& message, const Catalog& catalog, Violations* violations);
LayoutWish NormalizeLayout(const v1::Layout& message, Violations* violations);

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
