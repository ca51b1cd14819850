// Reads and writes AdmissionReview v1: the API server's question before it stores an object, and the reply.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "service/doors/kubernetes_workload.h"
#include "service/doors/review.h"

namespace flightplan::doors {

enum class Mode { kShadow, kWarn, kEnforce };
absl::string_view ModeWord(Mode mode);  // "shadow", "warn", "enforce"

inline constexpr size_t kMaxAdmissionFindings = 10;    // more are found by the decision's id
inline constexpr size_t kMaxWarningBytes = 256;        // the API server cuts longer ones
inline constexpr size_t kMaxAdmissionNameBytes = 512;  // of an object's and a user's name in logs; longer ones are cut

struct AdmissionRequest {
  std::string uid;
  std::string name;       // "namespace/name" or, where the API server makes the name, "namespace/prefix*"; for logs
  std::string user;       // who creates it, as the API server knows them: "system:serviceaccount:kueue:controller"
  std::string operation;  // "CREATE", "UPDATE"
  bool dry_run = false;   // nothing will be stored
  // What is created, or becomes of an object whose launch changes. An UPDATE that leaves the launch alone is not
  // judged: what was stored before, whatever is wrong with it, must stay changeable.
  Workload workload;
};

// INVALID_ARGUMENT: no AdmissionReview v1; says what is wrong. Reads JSON of any depth without recursion.
absl::Status ParseAdmissionReview(absl::string_view json, AdmissionRequest* request);

// The question, from the object and what the site states in `base`.
Question AskAboutWorkload(const AdmissionRequest& admission, absl::Span<const std::string> releases,
                          const Catalog& catalog, v1::ValidateConfigRequest* base);

// What the site wants done.
struct Policy {
  Mode mode = Mode::kWarn;
  bool fail_closed = false;  // enforce denies what could not be checked
};

// Whether the API server is told to go on.
bool Allows(const Review& review, Policy policy);
// The same where the review itself failed.
bool AllowsFailed(Policy policy);

// The answer as JSON. In shadow mode everything is allowed without a word; in warn mode with warnings; in enforce mode
// a refused object is denied with its findings and fixes, and with `fail_closed` one that could not be read is too.
std::string RenderAdmissionReview(const AdmissionRequest& request, const Review& review, Policy policy);
// Where the review itself failed.
std::string RenderFailedReview(const AdmissionRequest& request, absl::string_view why, Policy policy);

}  // namespace flightplan::doors
