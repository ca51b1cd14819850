// AdmissionReview v1: what the API server asks before it stores an object, and what it is told.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/doors/kubernetes_workload.h"
#include "clients/doors/review.h"

namespace flightplan::doors {

enum class Mode { kShadow, kWarn, kEnforce };
absl::string_view ModeWord(Mode mode);  // "shadow", "warn", "enforce"

inline constexpr size_t kMaxAdmissionFindings = 10;  // more are found by the decision's id
inline constexpr size_t kMaxWarningBytes = 256;      // the API server cuts longer ones

struct AdmissionRequest {
  std::string uid;
  std::string name;       // "namespace/name", for logs
  std::string operation;  // "CREATE"
  Workload workload;      // of anything but a CREATE: not judged, since what runs already must stay changeable
};

// INVALID_ARGUMENT: no AdmissionReview v1; says what is wrong. Reads JSON of any depth without recursion.
absl::Status ParseAdmissionReview(absl::string_view json, AdmissionRequest* request);

// The question, from the object and what the site states in `base`.
Question AskAboutWorkload(const AdmissionRequest& admission, absl::Span<const std::string> releases,
                          const Catalog& catalog, v1::ValidateConfigRequest* base);

// The answer as JSON. In shadow mode everything is allowed without a word; in warn mode with warnings; in enforce mode
// a refused object is denied with its findings and fixes.
std::string RenderAdmissionReview(const AdmissionRequest& request, const Review& review, Mode mode);
// Where the review itself failed.
std::string RenderFailedReview(const AdmissionRequest& request, absl::string_view why, Mode mode, bool fail_closed);

}  // namespace flightplan::doors
