#include "resolver/layouts/search_work.h"

#include <algorithm>

#include "resolver/base/reason.h"
#include "resolver/base/work.h"

namespace flightplan {

size_t WorkOfAPlan(const NormalizedIntent& intent) {
  constexpr size_t kWorkOfPlan = size_t{1} << 19, kWorkOfLayer = 512;
  return kWorkOfPlan + kWorkOfLayer * static_cast<size_t>(std::max<int64_t>(0, intent.model.num_layers));
}

absl::Status CheckWork() {
  if (!Work::Spent()) return absl::OkStatus();
  if (Work::Abandoned()) return absl::CancelledError("the search was ended before its end");
  return WithReason(absl::ResourceExhaustedError("the layout takes more work to search than one answer may cost: give "
                                                 "more of its sizes"),
                    kSearchNeeded);
}

}  // namespace flightplan
