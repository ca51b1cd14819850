#include "resolver/answer/plan_answer.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/answer/resolve_answer.h"
#include "resolver/answer/response.h"

namespace flightplan {

ConfigAnswer AnswerOf(const PlanList& list, absl::Span<const ConfigAnswer> plans) {
  using M = v1::PlanResult;
  size_t room = size_t{4} << 10;
  for (const ConfigAnswer& plan : plans) room += plan.bytes.size() + 8;
  WireWriter w(room);
  for (const ConfigAnswer& plan : plans) {
    w.PutText(M::kPlansFieldNumber, absl::string_view(plan.bytes.data(), plan.bytes.size()));
  }
  const SearchStatistics& s = list.statistics;
  w.Int(M::kSpaceCountFieldNumber, s.space);
  w.Int(M::kJudgedCountFieldNumber, s.judged);
  const std::map<absl::string_view, int64_t> pruned = {{"alike", list.alike},
                                                       {"incompatible", s.incompatible},
                                                       {"memory_bound", s.memory_bound},
                                                       {"refused_by_rules", list.refused},
                                                       {"time_bound", s.time_bound}};
  for (const auto& entry : pruned) {
    w.PutMessage(M::kPrunedCountsFieldNumber, [&] {
      w.PutText(1, entry.first);
      w.PutInt(2, entry.second);
    });
  }
  ConfigAnswer answer;
  for (const Finding& finding : list.findings) {
    PutFinding(M::kFindingsFieldNumber, finding, /*place=*/nullptr, &w);
    AddFound(finding, &answer);
  }
  answer.bytes = std::move(w).Take();
  return answer;
}

}  // namespace flightplan
