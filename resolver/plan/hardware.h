// GPU systems and sites as the catalogue knows them. An empty optional: not published, or does not apply.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

struct GpuSystem {
  std::string name;                  // "h100-sxm"
  std::vector<std::string> aliases;  // "h100"
  std::string device_name;           // as the driver reports it, which is what upstream's gates compare
  int cc_major = 0;                  // compute capability; 0: not published
  int cc_minor = 0;

  std::optional<int64_t> memory_nominal_gb;
  std::optional<int64_t> memory_reported_mib;  // nvidia-smi's total
  // Memory to plan with: as reported where it is, else estimated from the nominal size (hbm_estimated).
  // Less reserved_bytes.
  std::optional<int64_t> hbm_bytes;
  std::optional<int64_t> reserved_bytes;  // that others hold while a step runs; empty: the question does not say
  bool hbm_estimated = false;
  std::optional<int64_t> host_memory_bytes;  // main memory of one node; empty: the question does not say
  std::optional<double> hbm_bytes_per_second;

  // Dense peak rates, floating point operations a second.
  std::optional<double> bf16_flops_per_second;
  std::optional<double> fp8_flops_per_second;
  std::optional<double> fp4_flops_per_second;
  std::optional<int64_t> sm_count;

  std::optional<double> nvlink_bytes_per_second;     // one direction, per GPU; 0: none
  int64_t nvlink_domain_gpus = 1;                    // GPUs that share one NVLink domain
  int64_t gpus_per_node = 8;                         // GPUs of one operating system image
  std::optional<double> nic_bytes_per_second;        // per GPU, one direction
  std::string host_link;                             // "PCIe5 x16", "NVLink-C2C"
  std::optional<double> host_link_bytes_per_second;  // one direction, per GPU

  std::vector<std::string> flex_backends;  // usable with moe_token_dispatcher_type=flex: deepep, hybridep
  std::string flex_note;                   // a condition on them that is no plain list
  std::vector<std::string> fp8_recipes;    // usual ones, best known first: mxfp8, fp8_cs, blockwise, nvfp4
  std::string source;
  std::string notes;
};

// True when the system's list of flex backends names this one.
inline bool HasFlexBackend(const GpuSystem& gpu, absl::string_view backend) {
  for (const std::string& name : gpu.flex_backends) {
    if (name == backend) return true;
  }
  return false;
}

// Others hold so many bytes of each GPU while a step runs; less than there are.
inline void Reserve(int64_t bytes, GpuSystem* gpu) {
  gpu->reserved_bytes = bytes;
  if (gpu->hbm_bytes.has_value()) *gpu->hbm_bytes -= bytes;
}

}  // namespace flightplan
