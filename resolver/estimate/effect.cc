#include "resolver/estimate/effect.h"

#include <cmath>

namespace flightplan {

StepEffect EffectOf(const StepForecast& from, const StepForecast& to) {
  StepEffect effect;
  if (from.us <= 0 || to.us <= 0) return {0, -1, 1};
  const StepParts &a = from.parts, &b = to.parts;
  // Relative errors of a difference in one part.
  constexpr double kCompute = 0.25, kCommunication = 0.35, kHost = 0.45, kBubble = 0.2, kOptimizer = 0.3;
  const double error = kCompute * std::abs(b.compute() - a.compute()) +
                       kCommunication * std::abs(b.communication() - a.communication()) +
                       kHost * std::abs(b.host - a.host) + kBubble * std::abs(b.bubble - a.bubble) +
                       kOptimizer * std::abs(b.optimizer - a.optimizer);
  constexpr double kFloor = 0.01;  // repeat runs of the published recipes differ by this much
  effect.change = to.us / from.us - 1;
  const double half = kFloor + error / from.us;
  effect.low = effect.change - half;
  effect.high = effect.change + half;
  return effect;
}

}  // namespace flightplan
