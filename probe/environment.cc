#include "probe/environment.h"

#include <cstdlib>
#include <string>

namespace flightplan::probe {
namespace {

// CUDA C++ Programming Guide, "CUDA Environment Variables"; cuBLAS and cuBLASLt, "Configuration".
constexpr const char* kForeign[] = {"CUDA_LAUNCH_BLOCKING",     "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
                                    "CUDA_FORCE_PTX_JIT",       "CUDA_MODULE_LOADING",
                                    "CUDA_AUTO_BOOST",          "CUDA_MODULE_DATA_LOADING",
                                    "NVIDIA_TF32_OVERRIDE",     "CUBLAS_WORKSPACE_CONFIG",
                                    "CUBLASLT_WORKSPACE_SIZE",  "CUBLASLT_DISABLE_HEURISTICS_CACHE",
                                    "CUDA_SCALE_LAUNCH_QUEUES", "CUDA_GRAPHS_USE_NODE_PRIORITY"};

}  // namespace

void FixEnvironment(int connections) {
  for (const char* name : kForeign) unsetenv(name);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(connections).c_str(), /*overwrite=*/1);
}

}  // namespace flightplan::probe
