// A forecast as the bytes of an answer.
#pragma once

#include "resolver/base/wire_writer.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/estimate/throughput.h"
#include "resolver/judge/weigh_config.h"

namespace flightplan {

// Each writes one message as the field `field` of the message being written.
void PutRange(int field, double value, double low, double high, WireWriter* w);
void PutMemory(int field, const MemoryStanding& memory, WireWriter* w);
void PutEstimate(int field, const EstimatedPlan& estimate, const StepOutlook* outlook, const Throughput* throughput,
                 WireWriter* w);  // null: no step forecast

}  // namespace flightplan
