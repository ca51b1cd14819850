#include "resolver/plan/tuning_variable.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

constexpr absl::string_view kPrefixes[] = {
    "CUDA_",        "CUBLAS_",      "CUDNN_",      "NCCL_",      "NVTE_",     "NVSHMEM_",      "NVLINK_",
    "TORCH_",       "PYTORCH_",     "TRITON_",     "OMP_",       "MKL_",      "UCX_",          "UB_",
    "GLOO_",        "FI_",          "MASTER_PORT", "WORLD_SIZE", "RANK",      "LOCAL_RANK",    "NODE_RANK",
    "HYBRID_EP_",   "HYBRIDEP_",    "DEEPEP_",     "DEEP_EP_",   "USE_MNNVL", "NUM_OF_",       "ENABLE_",
    "SLURM_NNODES", "SLURM_NTASKS", "CUDNNFE_",    "LCE_",       "MAMBA_",    "CAUSAL_CONV1D_"};
constexpr absl::string_view kSecretWords[] = {"KEY",    "TOKEN",      "SECRET",     "PASSWORD",
                                              "PASSWD", "CREDENTIAL", "CREDENTIALS"};

}  // namespace

bool IsNameCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

bool NamesASecret(absl::string_view name) {
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](absl::string_view word) { return absl::EndsWithIgnoreCase(name, word); });
}

bool IsTuningVariable(absl::string_view name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); }) &&
         !NamesASecret(name);
}

}  // namespace flightplan
