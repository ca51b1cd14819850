#include "resolver/rules/decide/measured.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan::decide {
namespace {

// Two runs differ by a per cent each time: the 95 % interval of a pair whose report gives none, and the least that any
// number of pairs is worth.
constexpr double kUsualHalf = 0.02, kLeastHalf = 0.005;

// Of the global batch: more microbatches repeat the same work.
bool Near(int64_t a, int64_t b) { return a <= 2 * b && b <= 2 * a; }

RunLayout LayoutOf(const Features& f) { return {f.tp, f.pp, f.vpp, f.cp, f.ep, f.etp, f.mbs}; }

std::string Cite(const Measurement& m) {
  return absl::StrFormat("measurement %s: %s, %d %s, %s=%s -> %s: %+.1f %% (matched%s%s)", m.id, m.model, m.gpu_count,
                         m.gpu, std::string(Name(m.knob)), m.from.ToText(), m.to.ToText(), 100 * m.value,
                         m.tenant.empty() ? "" : ", reported by ", m.tenant);
}

}  // namespace

std::vector<const Measurement*> PairsFor(const NormalizedIntent& intent,
                                         absl::Span<const Measurement* const> reported) {
  std::vector<const Measurement*> pairs;
  const std::string model_class = reported.empty() ? std::string() : ModelClass(intent.model);
  for (const Measurement* m : reported) {
    if (m->metric == Metric::kAbChange && m->precision == intent.workload.precision && m->target == intent.env.target &&
        m->gpu_count == intent.gpu_count && m->seq_length == intent.workload.seq_length &&
        Near(m->global_batch_size, intent.workload.global_batch_size) && m->model_class == model_class) {
      pairs.push_back(m);
    }
  }
  return pairs;
}

PairEffect EffectOfPairs(absl::Span<const Measurement* const> pairs, const Features& features, Knob knob,
                         const Value& value) {
  PairEffect effect;
  double weight = 0, sum = 0;
  for (auto at = pairs.rbegin(); at != pairs.rend(); ++at) {  // newest first
    const Measurement& m = **at;
    const bool forward = m.from == value, backward = m.to == value;
    if (m.knob != knob || forward == backward || !(m.layout == LayoutOf(features))) continue;
    const Value& other = forward ? m.to : m.from;
    if (effect.citations.empty()) effect.other = other;
    if (!(effect.other == other)) continue;
    const double half = std::max(m.error.value_or(kUsualHalf), kLeastHalf);
    // Back the other way: 1 / (1 + x) - 1.
    sum += (forward ? m.value : 1 / (1 + m.value) - 1) / (half * half);
    weight += 1 / (half * half);
    effect.citations.push_back(Cite(m));
  }
  if (weight == 0) return effect;
  effect.change = sum / weight;
  effect.half = std::max(1 / std::sqrt(weight), kLeastHalf);
  return effect;
}

}  // namespace flightplan::decide
