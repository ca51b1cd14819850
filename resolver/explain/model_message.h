// Models and GPU systems as messages.
#pragma once

#include "resolver/plan/hardware.h"
#include "resolver/plan/model.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class GpuSystem;
class ModelSpec;
}  // namespace v1

// The message must be empty.
void ModelToMessage(const ModelSpec& model, v1::ModelSpec* message);
void GpuToMessage(const GpuSystem& gpu, v1::GpuSystem* message);

}  // namespace flightplan
