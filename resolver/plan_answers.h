// What a search found as full answers: every layout through the whole pipeline, best first.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/layout_search.h"
#include "resolver/resolver.h"

namespace flightplan {

struct PlanAnswer {
  LayoutSizes sizes;
  v1::ResolveConfigResponse answer;
};

struct PlanAnswers {
  std::vector<PlanAnswer> plans;  // that can be launched and do not certainly run out of memory; best first
  int64_t refused = 0;            // layouts that the rules of the release refuse
  int64_t alike = 0;              // layouts that a better plan stands for
};

// What a forecast can tell apart of one model on one GPU: the median error of the effect in matched A/B pairs
// (tests/evidence/README.md).
inline constexpr double kResolution = 0.04;

// The same mapping, in VPP and micro-batch as they may be, and the same step time as far as a forecast can tell.
bool Alike(const LayoutSizes& a, double a_us, const LayoutSizes& b, double b_us);

// How much of its list a search keeps for one mapping: the best, and what it may stand for.
inline constexpr size_t kKeepAlike = 6;

// `base`: the question, whose open sizes become those of each layout. A plan has what the decisions make of its layout;
// where the search found a recompute set, or a split of the layers, that makes the step clearly shorter, it has that
// one, and its decision says what it gains. What the search chose is marked as decided, not as the caller's word.
absl::Status AnswerPlans(const Resolver& resolver, const v1::ResolveConfigRequest& base, const LayoutSearch& search,
                         const SearchResult& found, const EvidenceSnapshot& evidence, PlanAnswers* answers);

// Rule ids of decisions that the search took.
inline constexpr char kLayoutDecision[] = "plan.layout";
inline constexpr char kRecomputeDecision[] = "plan.recompute";
inline constexpr char kSplitDecision[] = "plan.layer-split";

// A finding about a search.
void PlanFinding(absl::string_view id, v1::Severity severity, std::string seen, std::string needs,
                 google::protobuf::RepeatedPtrField<v1::Finding>* findings);

}  // namespace flightplan
