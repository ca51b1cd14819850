#include "resolver/engine/repeats.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

// The first says nothing new beside the second, whose fix mends both. Where both are certain the stack stops at the
// second: tests/golden holds that no rule is dropped at which it was seen to, nor a warning that it was seen to print.
constexpr std::pair<absl::string_view, absl::string_view> kRepeats[] = {
    {"mesh.world-divisible", "mlm.world-divisible"},
    {"mesh.world-divisible", "dp.world-divisible"},
    {"mesh.hier-cp-product", "mlm.hier-cp-product"},
    {"mlm.bf16-xor-fp16", "mlm.fp16-xor-bf16"},
    {"precision.fp16-and-bf16", "mlm.fp16-xor-bf16"},
    {"mesh.vpp-needs-pp", "mlm.interleaved-needs-pp2"},
    {"mesh.vpp-needs-pp", "mlm.interleaved-no-overlap-needs-pp3"},
    {"ep.requires-moe", "mlm.ep-needs-experts"},
    {"pp-layout.stages-divisible-by-pp", "mlm.layout-stages-divisible"},
    {"cuda-graph.full-iter-no-modules", "mlm.cg-full-iter-modules"},
    // Full recompute has a method and a number of layers, which the overlap refuses one by one.
    {"ep-overlap.no-recompute-method", "ep-overlap.no-full-recompute"},
    {"ep-overlap.no-recompute-num-layers", "ep-overlap.no-full-recompute"},
    {"ep-overlap.no-recompute-num-layers", "ep-overlap.no-recompute-method"},
    // Which selective recompute does not take either.
    {"ep-overlap.no-recompute-method", "mlm.selective-no-method"},
    {"ep-overlap.no-recompute-method", "recompute.selective-no-method"},
    {"ep-overlap.no-recompute-num-layers", "recompute.selective-no-num-layers"},
};

// The same where both have one fix: the batch of the evaluation is the training's where nobody gave one, and is looked
// at first.
constexpr std::pair<absl::string_view, absl::string_view> kRepeatsByFix[] = {
    {"mlm.num-microbatches-divisible", "mlm.gbs-divisible"},
};

// A warning about a precision beside the refusal of that very precision on this GPU: the stack prints it all the same
// (tests/golden), but its fix would leave the launch refused.
constexpr absl::string_view kOnMxfp8[] = {"opt.mxfp8-memory", "opt.mxfp8-memory-hint"};
constexpr absl::string_view kNoMxfp8[] = {"gpu-gate.fp8-needs-ada", "gpu-gate.mxfp8-needs-blackwell",
                                          "gpu-gate.mxfp8-not-on-12.0"};

// Checks of Megatron Core that Bridge makes itself, some before Core makes them and some behind.
constexpr absl::string_view kBridge = "bridge-";

template <class Table>
bool Lists(const Table& table, absl::string_view rule, absl::string_view other) {
  return std::find(std::begin(table), std::end(table), std::pair(rule, other)) != std::end(table);
}

bool SamePatch(const Patch& a, const Patch& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Assignment& x) {
           return std::any_of(b.begin(), b.end(), [&](const Assignment& y) {
             return x.knob == y.knob && x.env_var == y.env_var && x.value == y.value;
           });
         });
}

bool SameFixes(const Finding& a, const Finding& b) {
  return std::equal(a.fixes.begin(), a.fixes.end(), b.fixes.begin(), b.fixes.end(), SamePatch);
}

bool IsBridgesOwn(absl::string_view own, absl::string_view rule) {
  return absl::ConsumePrefix(&own, kBridge) && own == rule;
}

// Whether the finding says nothing that the other does not say too. `behind`: the stack would come to the other first.
bool Repeats(const Finding& finding, const Finding& other, bool behind) {
  const absl::string_view rule = finding.rule_id, said = other.rule_id;
  if (Lists(kRepeats, rule, said) || (Lists(kRepeatsByFix, rule, said) && SameFixes(finding, other))) return true;
  if (behind && (IsBridgesOwn(rule, said) || IsBridgesOwn(said, rule))) return true;
  return absl::StartsWith(said, kBridge) &&
         Lists(kRepeats, absl::StripPrefix(rule, kBridge), absl::StripPrefix(said, kBridge));
}

bool IsOneOf(const auto& rules, absl::string_view rule) {
  return std::find(std::begin(rules), std::end(rules), rule) != std::end(rules);
}

void DropMootFixes(std::vector<Finding>* findings) {
  const bool refused = std::any_of(findings->begin(), findings->end(), [](const Finding& finding) {
    return finding.severity == Severity::kError && IsOneOf(kNoMxfp8, finding.rule_id);
  });
  for (Finding& finding : *findings) {
    if (refused && IsOneOf(kOnMxfp8, finding.rule_id)) finding.fixes.clear();
  }
}

}  // namespace

void DropRepeats(std::vector<Finding>* findings) {
  DropMootFixes(findings);
  for (auto at = findings->begin(); at != findings->end();) {
    const auto said = std::find_if(findings->begin(), findings->end(), [&](const Finding& other) {
      return other.severity <= at->severity && Repeats(*at, other, &other < &*at);
    });
    if (said == findings->end()) {
      ++at;
      continue;
    }
    for (Patch& fix : at->fixes) {
      const bool known = std::any_of(said->fixes.begin(), said->fixes.end(),
                                     [&](const Patch& offered) { return SamePatch(offered, fix); });
      if (!known) said->fixes.push_back(std::move(fix));
    }
    at = findings->erase(at);
  }
}

}  // namespace flightplan
