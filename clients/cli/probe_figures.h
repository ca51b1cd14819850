// A profile's figures for people: values in readable units, parameters, and what the fitted model says.
#pragma once

#include <string>
#include <vector>

#include "flightplan/v1/profile.pb.h"
#include "resolver/evidence/fitted_profile.h"

namespace flightplan::cli {

// "4.07 TB/s", "812 TFLOP/s", "331 us", "1.24".
std::string ProbeValue(const v1::ProbeRow& row);
// Half-width of the interval relative to the value: "0.8 %"; empty: none.
std::string ProbeSpread(const v1::ProbeRow& row);
// "sms 20, ranks 8, paced beside gemm"; large sizes as powers of two.
std::string ProbeParameters(const v1::ProbeRow& row);

// "push", "paced at 383 GB/s".
std::string ExchangeName(const FittedCorun& cell);

// Sentences that follow from the curves: "90 % of the copy bandwidth from 62 SMs on".
std::vector<std::string> ProbeConclusions(const FittedProfile& fitted);

// Fitted again from the message, which the caller has checked.
std::shared_ptr<const FittedProfile> FitMessage(const v1::HardwareProfile& profile);

}  // namespace flightplan::cli
