#include "service/observe/door_reviews.h"

#include "absl/strings/str_cat.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kDoors[] = {"slurm", "kubernetes"};
constexpr absl::string_view kModes[] = {"shadow", "warn", "enforce"};
// failed: the review itself, such as an object that could not be read.
constexpr absl::string_view kVerdicts[] = {"allowed", "warned", "refused", "not_judged", "failed"};

}  // namespace

std::string DoorReview::Key() const { return absl::StrCat(door, "/", mode, "/", verdict); }

const std::vector<DoorReview>& DoorReviewSeries() {
  static const auto* const kSeries = [] {
    auto* series = new std::vector<DoorReview>();
    for (absl::string_view door : kDoors) {
      for (absl::string_view mode : kModes) {
        for (absl::string_view verdict : kVerdicts) series->push_back({door, mode, verdict});
      }
    }
    return series;
  }();
  return *kSeries;
}

}  // namespace flightplan::service
