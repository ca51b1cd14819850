// The variables under which a device is measured: the same ones, whoever started the worker.
#pragma once

namespace flightplan::probe {

// Sets CUDA_DEVICE_MAX_CONNECTIONS and takes away what else would change a figure and belongs to the job that started
// us: a training job's own variables leak in where the probe runs beside its launch. Which devices are seen, and where
// libraries are found, stays as it is. To be called before the first CUDA call.
void FixEnvironment(int connections);

}  // namespace flightplan::probe
