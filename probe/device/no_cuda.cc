#include "probe/device/cuda_device.h"
#include "probe/device/presence.h"

namespace flightplan::probe {

Status OpenCudaDevice(const CudaRequest&, std::unique_ptr<Device>*) {
  if (Status status = FindGpu(/*cuda_runtime=*/0); !status.ok()) return status;
  return Fail(Code::kUnsupported,
              "this flightplan-probe was built without CUDA; build it where nvcc is (probe/README.md)");
}

}  // namespace flightplan::probe
