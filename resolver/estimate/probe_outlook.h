// Forecasts with a probe's profile instead of the catalogue's rates, and reports on the knobs that a probe settles.
#pragma once

#include <memory>

#include "resolver/estimate/gpu_rates.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// SMs that an exchange holds where the configuration does not say: DeepEP's default.
inline constexpr double kUsualExchangeSms = 20;

// `sms`: what the exchange holds.
GpuRates WithProbe(GpuRates rates, const ProbeEvidence& probe, double sms = kUsualExchangeSms);

// The rates of a question: the catalogue's, the host's, the network's, and the probe's where there is one.
GpuRates RatesFor(const NormalizedIntent& intent);

// Null for no profile.
std::shared_ptr<const ProbeEvidence> MakeProbeEvidence(FoundProfile found);

}  // namespace flightplan
