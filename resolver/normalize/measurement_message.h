// The parts of a measurement's message that need nothing but the message.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/evidence/measurement.h"

namespace flightplan {

namespace v1 {
class Measurement;
}

inline constexpr char kQualityNames[] = "matched, directional, confounded or synthetic";
std::optional<Quality> QualityOf(absl::string_view name);

// What is particular to a report: id, revision, value, error, quality, who reported it, where, and how far it is
// trusted. `run` stays as it is.
void FillReport(const v1::Measurement& message, Measurement* out);

}  // namespace flightplan
