#include "probe/fit/sm_advice.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flightplan::fit {
namespace {

// A smooth minimum, as in SaturatingCurve: close to where the link takes over, both limits show.
double ExchangeUs(const SmQuestion& question, double bytes_per_second) {
  const double by_sms = question.exchange_bytes / bytes_per_second * 1e6;
  const double by_link = question.exchange_bytes * question.link_us_per_byte;
  const double most = std::fmax(by_sms, by_link), least = std::fmin(by_sms, by_link);
  const double ratio = least / most;
  return question.latency_us + most * std::sqrt(std::sqrt(1 + ratio * ratio * ratio * ratio));
}

double PairUs(SmQuestion question, double sms, const SaturatingCurve& bandwidth, const CorunCurve& corun) {
  const double exchange = ExchangeUs(question, bandwidth.At(sms));
  const Slowdown slow = corun.At(sms);
  for (size_t i = 0; i < kPairNodes; ++i) {
    const auto node = static_cast<PairNode>(i);
    if (IsExchange(node)) {
      question.parts[node] = exchange;
    } else {
      question.parts.beside[i] = slow;
    }
  }
  return ForecastPair(question.parts, question.schedule).us;
}

}  // namespace

SmAdvice PickSms(const std::array<double, kSmCounts>& us, size_t count, double error) {
  constexpr double kSame = 1.005;
  // Both sides of a comparison share most of their errors, so the counts are told apart better than either is known.
  constexpr double kShared = 0.25;
  double shortest = us[0];
  for (size_t i = 1; i < count; ++i) shortest = std::fmin(shortest, us[i]);
  size_t best = 0;
  while (best + 1 < count && us[best] > shortest * kSame) ++best;
  const double tolerance = std::max(kSame, 1 + kShared * error);
  size_t low = best, high = best;
  while (low > 0 && us[low - 1] <= shortest * tolerance) --low;
  while (high + 1 < count && us[high + 1] <= shortest * tolerance) ++high;
  const auto sms = [](size_t i) { return kLeastSms + 2 * static_cast<int>(i); };
  return {sms(best), sms(low), sms(high), us[best]};
}

std::optional<SmAdvice> AdviseSms(const SmQuestion& question, const SaturatingCurve& bandwidth,
                                  const CorunCurve& corun) {
  if (!(question.exchange_bytes > 0) || !(bandwidth.slope > 0)) return std::nullopt;
  std::array<double, kSmCounts> us{};
  size_t count = 0;
  for (size_t i = 0; i < kSmCounts; ++i) {
    const double sms = kLeastSms + 2.0 * static_cast<double>(i);
    if (sms > corun.total_sms / 2) break;
    us[i] = PairUs(question, sms, bandwidth, corun);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return PickSms(us, count, std::max(bandwidth.error, corun.error));
}

}  // namespace flightplan::fit
