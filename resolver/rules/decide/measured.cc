#include "resolver/rules/decide/measured.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan::decide {
namespace {

// Two runs differ by a per cent each time: the 95 % interval of a pair whose report gives none, and the least that any
// number of pairs is worth.
constexpr double kUsualHalf = 0.02, kLeastHalf = 0.005;
// The newest ones: one question's answer does not grow with what is reported.
constexpr size_t kMaxPairs = 256, kMaxCitations = 8;

// Of the global batch: more microbatches repeat the same work.
bool Near(int64_t a, int64_t b) { return a <= 2 * b && b <= 2 * a; }

RunLayout LayoutOf(const Features& f) { return {f.tp, f.pp, f.vpp, f.cp, f.ep, f.etp, f.mbs}; }

std::string Cite(const Measurement& m) {
  const MeasuredRun& run = *m.run;
  return absl::StrFormat("measurement %s: %s, %d %s, %s=%s -> %s: %+.1f %% (matched%s%s)", m.id, run.model,
                         run.gpu_count, run.gpu, std::string(Name(run.knob)), run.from.ToText(), run.to.ToText(),
                         100 * m.value, m.tenant.empty() ? "" : ", reported by ", m.tenant);
}

}  // namespace

std::vector<const Measurement*> PairsFor(const NormalizedIntent& intent,
                                         absl::Span<const Measurement* const> of_class) {
  std::vector<const Measurement*> pairs;
  for (auto at = of_class.rbegin(); at != of_class.rend() && pairs.size() < kMaxPairs; ++at) {
    const MeasuredRun& run = *(*at)->run;
    if (run.precision == intent.workload.precision && run.target == intent.env.target &&
        run.gpu_count == intent.gpu_count && run.seq_length == intent.workload.seq_length &&
        Near(run.global_batch_size, intent.workload.global_batch_size)) {
      pairs.push_back(*at);
    }
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

PairEffect EffectOfPairs(absl::Span<const Measurement* const> pairs, const Features& features, Knob knob,
                         const Value& value) {
  PairEffect effect;
  double weight = 0, sum = 0;
  for (auto at = pairs.rbegin(); at != pairs.rend(); ++at) {  // newest first
    const Measurement& m = **at;
    const MeasuredRun& run = *m.run;
    if (run.knob != knob) continue;
    const bool forward = run.from == value, backward = run.to == value;
    if (forward == backward || !(run.layout == LayoutOf(features))) continue;
    const Value& other = forward ? run.to : run.from;
    if (effect.citations.empty()) effect.other = other;
    if (!(effect.other == other)) continue;
    const double half = std::max(m.error.value_or(kUsualHalf), kLeastHalf);
    // Back the other way: 1 / (1 + x) - 1.
    sum += (forward ? m.value : 1 / (1 + m.value) - 1) / (half * half);
    weight += 1 / (half * half);
    if (effect.citations.size() < kMaxCitations) effect.citations.push_back(Cite(m));
  }
  if (weight == 0) return effect;
  effect.change = sum / weight;
  effect.half = std::max(1 / std::sqrt(weight), kLeastHalf);
  return effect;
}

}  // namespace flightplan::decide
