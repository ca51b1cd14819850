// The usual process_* metrics, read from /proc.
#pragma once

#include <vector>

#include "prometheus/metric_family.h"

namespace flightplan::service {

void AppendProcessMetrics(std::vector<prometheus::MetricFamily>* families);

}  // namespace flightplan::service
