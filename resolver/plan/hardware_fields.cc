#include "resolver/plan/hardware_fields.h"

#include "resolver/plan/quantity.h"

namespace flightplan {
namespace {

using G = GpuSystem;

constexpr int64_t kMaxGpus = int64_t{1} << 24;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kGigabit = 1e9 / 8;
constexpr int64_t kMiB = int64_t{1} << 20;

const Field<GpuSystem> kGpuFields[] = {
    {"name", &G::name},
    {"aliases", &G::aliases},
    {"device_name", &G::device_name},
    {"memory_nominal_gb", &G::memory_nominal_gb, 1, 100000},
    {"memory_reported_mib", &G::memory_reported_mib, 1, 100000000},
    {"hbm_tb_per_second", &G::hbm_bytes_per_second, 0, 100000, {}, kTera},
    {"bf16_tflops", &G::bf16_flops_per_second, 0, 100000000, {}, kTera},
    {"fp8_tflops", &G::fp8_flops_per_second, 0, 100000000, {}, kTera},
    {"fp4_tflops", &G::fp4_flops_per_second, 0, 100000000, {}, kTera},
    {"sm_count", &G::sm_count, 1, 10000},
    {"nvlink_gb_per_second", &G::nvlink_bytes_per_second, 0, 1000000, {}, kGiga},
    {"nvlink_domain_gpus", &G::nvlink_domain_gpus, 1, kMaxGpus},
    {"gpus_per_node", &G::gpus_per_node, 1, 1024},
    {"nic_gbit_per_second", &G::nic_bytes_per_second, 0, 1000000, {}, kGigabit},
    {"host_link", &G::host_link},
    {"host_link_gb_per_second", &G::host_link_bytes_per_second, 0, 1000000, {}, kGiga},
    {"flex_backends", &G::flex_backends},
    {"flex_note", &G::flex_note},
    {"fp8_recipes", &G::fp8_recipes},
    {"source", &G::source},
    {"notes", &G::notes},
};

}  // namespace

absl::Span<const Field<GpuSystem>> GpuFields() { return kGpuFields; }

std::vector<std::pair<absl::string_view, std::string>> GpuFaults(const GpuSystem& gpu) {
  std::vector<std::pair<absl::string_view, std::string>> faults;
  const auto check = [&](absl::string_view field, const Quantity& quantity, std::optional<double> value) {
    if (value.value_or(0) == 0) return;  // not known, or none
    if (std::string fault = OutsideOf(quantity, *value); !fault.empty()) faults.emplace_back(field, std::move(fault));
  };
  check("hbm_tb_per_second", kBytesPerSecond, gpu.hbm_bytes_per_second);
  check("bf16_tflops", kFlopsPerSecond, gpu.bf16_flops_per_second);
  check("fp8_tflops", kFlopsPerSecond, gpu.fp8_flops_per_second);
  check("fp4_tflops", kFlopsPerSecond, gpu.fp4_flops_per_second);
  check("nvlink_gb_per_second", kBytesPerSecond, gpu.nvlink_bytes_per_second);
  check("nic_gbit_per_second", kBytesPerSecond, gpu.nic_bytes_per_second);
  check("host_link_gb_per_second", kBytesPerSecond, gpu.host_link_bytes_per_second);
  return faults;
}

void DeriveGpuMemory(GpuSystem* gpu) {
  if (gpu->memory_reported_mib.has_value()) {
    gpu->hbm_bytes = *gpu->memory_reported_mib * kMiB;
    gpu->hbm_estimated = false;
  } else if (gpu->memory_nominal_gb.has_value()) {
    // Boards are sold by the GiB and report a little less: 0.9947 to 0.9958 of the nominal size on the H100, H200,
    // B300, GB200 and GB300 of gpus.yaml. The low end, in exact integers.
    gpu->hbm_bytes = *gpu->memory_nominal_gb * 1024 * kMiB / 10000 * 9947;
    gpu->hbm_estimated = true;
  }
}

}  // namespace flightplan
