#include "resolver/estimate/effect.h"

#include <algorithm>
#include <cmath>

namespace flightplan {

namespace {

// Relative errors of a difference in one part.
constexpr double kCompute = 0.25, kCommunication = 0.35, kHost = 0.45, kBubble = 0.2, kOptimizer = 0.3;
constexpr double kFloor = 0.01;  // repeat runs of the published recipes differ by this much

WallTimes TimesOf(const StepForecast& step) {
  const StepParts& parts = step.parts;
  return {step.us, parts.compute(), parts.communication(), parts.host, parts.bubble, parts.optimizer};
}

}  // namespace

StepEffect EffectOf(const WallTimes& from, const WallTimes& to) {
  StepEffect effect;
  if (from.us <= 0 || to.us <= 0) return {0, -1, 1};
  const double error = kCompute * std::abs(to.compute - from.compute) +
                       kCommunication * std::abs(to.communication - from.communication) +
                       kHost * std::abs(to.host - from.host) + kBubble * std::abs(to.bubble - from.bubble) +
                       kOptimizer * std::abs(to.optimizer - from.optimizer);
  effect.change = to.us / from.us - 1;
  const double half = kFloor + error / from.us;
  effect.low = effect.change - half;
  effect.high = effect.change + half;
  return effect;
}

double LeastCertain(double errors) {
  // Parts that change against each other only widen the interval.
  constexpr double kLeast = std::min({kCompute, kCommunication, kHost, kBubble, kOptimizer});
  return errors * kLeast < 1 ? -errors * kFloor / (1 - errors * kLeast) : -1;
}

double WholePercent(double change) {
  return std::round(100 * change) + 0.0;  // of -0 and 0 the sum is 0
}

StepEffect EffectOf(const StepForecast& from, const StepForecast& to) { return EffectOf(TimesOf(from), TimesOf(to)); }

}  // namespace flightplan
