#include "resolver/normalize/measurement_message.h"

#include "flightplan/v1/evidence.pb.h"

namespace flightplan {

std::optional<Quality> QualityOf(absl::string_view name) {
  if (name == "matched") return Quality::kMatched;
  if (name == "directional") return Quality::kDirectional;
  if (name == "confounded") return Quality::kConfounded;
  if (name == "synthetic") return Quality::kSynthetic;
  return std::nullopt;
}

void FillReport(const v1::Measurement& message, Measurement* out) {
  out->id = message.id();
  out->revision = message.revision();
  out->value = message.value();
  out->error = message.has_error() ? std::optional<double>(message.error()) : std::nullopt;
  out->quality = QualityOf(message.quality()).value_or(Quality::kDirectional);
  out->trust = message.trust() == "operator"      ? Trust::kOperator
               : message.trust() == "quarantined" ? Trust::kQuarantined
                                                  : Trust::kTenant;
  out->tenant = message.tenant();
  out->cluster = message.cluster();
}

}  // namespace flightplan
