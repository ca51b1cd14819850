// What an open-loop caller found, as one line of figures.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace flightplan::bench {

using Clock = std::chrono::steady_clock;

inline constexpr char kResolveMethod[] = "/flightplan.v1.ResolverService/ResolveConfig";
// How long a caller waits for an answer.
inline constexpr std::chrono::seconds kCallDeadline{10};

inline double Milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// True for the bytes of a google.rpc.Status that says RESOURCE_EXHAUSTED and when to come back.
inline bool SaysWhenToReturn(const std::string& details) {
  google::rpc::Status status;
  if (!status.ParseFromString(details) || status.code() != 8) return false;
  for (const auto& detail : status.details()) {
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&retry)) return retry.retry_delay().seconds() > 0 || retry.retry_delay().nanos() > 0;
  }
  return false;
}

struct LoadFigures {
  double rate = 0;     // calls per second that were due
  double seconds = 0;  // from the first call to the last answer
  // Refused: with RESOURCE_EXHAUSTED and when to come back. Any other answer but the one asked for has failed.
  int64_t total = 0, ok = 0, refused = 0, failed = 0, unanswered = 0, not_sent = 0;
  // In milliseconds. Of answered calls: since the call was due, since it was sent. Of refused ones: since it was due.
  // Of all that were sent: how late that was.
  std::vector<double> latencies, since_sent, refusals, lags;
  std::string first_error;  // the first that is neither an answer nor a refusal

  void Sent(Clock::time_point due, Clock::time_point sent) { lags.push_back(Milliseconds(sent - due)); }
  void Answered(Clock::time_point due, Clock::time_point sent, Clock::time_point now) {
    ++ok;
    latencies.push_back(Milliseconds(now - due));
    since_sent.push_back(Milliseconds(now - sent));
  }
  void Refused(Clock::time_point due, Clock::time_point now) {
    ++refused;
    refusals.push_back(Milliseconds(now - due));
  }
  void Failed(const std::string& why) {
    ++failed;
    if (first_error.empty()) first_error = why;
  }
};

inline double Quantile(std::vector<double>* values, double q) {
  if (values->empty()) return 0;
  const auto at = values->begin() + static_cast<int64_t>(q * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

// One line on stdout, the first error on stderr. Returns the exit code: 1 when nothing was answered.
inline int Report(LoadFigures* figures) {
  std::printf(
      "offered=%.0f/s total=%lld ok=%lld goodput=%.0f/s refused=%lld failed=%lld unanswered=%lld not_sent=%lld "
      "p50_ms=%.2f p99_ms=%.2f sent_p99_ms=%.2f refused_p99_ms=%.2f lag_p50_ms=%.2f lag_p99_ms=%.2f\n",
      figures->rate, static_cast<long long>(figures->total), static_cast<long long>(figures->ok),
      static_cast<double>(figures->ok) / figures->seconds, static_cast<long long>(figures->refused),
      static_cast<long long>(figures->failed), static_cast<long long>(figures->unanswered),
      static_cast<long long>(figures->not_sent), Quantile(&figures->latencies, 0.5),
      Quantile(&figures->latencies, 0.99), Quantile(&figures->since_sent, 0.99), Quantile(&figures->refusals, 0.99),
      Quantile(&figures->lags, 0.5), Quantile(&figures->lags, 0.99));
  if (!figures->first_error.empty()) std::fprintf(stderr, "first error: %s\n", figures->first_error.c_str());
  return figures->ok > 0 ? 0 : 1;
}

// Values of flags. False: out of range or no number.
inline bool ReadRate(absl::string_view text, double* rate) {
  return absl::SimpleAtod(text, rate) && *rate > 0 && *rate <= 1e6;
}
inline bool ReadSeconds(absl::string_view text, double* seconds) {
  return absl::SimpleAtod(text, seconds) && *seconds > 0 && *seconds <= 900;
}

}  // namespace flightplan::bench
