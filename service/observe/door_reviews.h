// The series of flightplan_door_reviews_total: what the doors (Slurm, Kubernetes) made of the answers.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::service {

// Metadata of a call by which a door outside this process tells its verdict: "slurm/enforce/refused".
inline constexpr char kDoorReviewHeader[] = "x-flightplan-door-review";

struct DoorReview {
  absl::string_view door, mode, verdict;
  std::string Key() const;  // "slurm/enforce/refused"
};

// All there are: a caller cannot make new ones.
const std::vector<DoorReview>& DoorReviewSeries();

}  // namespace flightplan::service
