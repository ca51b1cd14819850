#include "resolver/normalize/hardware_message.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "flightplan/v1/hardware.pb.h"
#include "resolver/base/bytes.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/quantity.h"

namespace flightplan {
namespace {

constexpr std::pair<v1::HostCpuClass, HostCpuClass> kHosts[] = {
    {v1::HOST_CPU_CLASS_UNSPECIFIED, HostCpuClass::kUnknown},
    {v1::HOST_CPU_CLASS_X86_FAST, HostCpuClass::kX86Fast},
    {v1::HOST_CPU_CLASS_X86_SLOW, HostCpuClass::kX86Slow},
    {v1::HOST_CPU_CLASS_ARM, HostCpuClass::kArm}};

constexpr absl::string_view kTransports[] = {"infiniband", "roce", "efa", "slingshot", "tcp"};

// Takes a stated quantity over the catalogue's.
void Override(bool present, double value, const Quantity& quantity, absl::string_view field,
              std::optional<double>* known, Violations* violations) {
  if (!present) return;
  const std::string fault = OutsideOf(quantity, value);
  if (!fault.empty()) violations->Add(field, fault);
  *known = value;
}

void ReadFabric(const v1::Fabric& m, GpuSystem* gpu, std::string* transport, Violations* violations) {
  if (m.has_nvlink_domain_gpu_count()) {
    CheckRange("hardware.fabric.nvlink_domain_gpu_count", m.nvlink_domain_gpu_count(), kMaxGpus, violations);
    gpu->nvlink_domain_gpus = m.nvlink_domain_gpu_count();
  }
  if (m.has_gpus_per_node_count()) {
    CheckRange("hardware.fabric.gpus_per_node_count", m.gpus_per_node_count(), kMaxGpusPerNode, violations);
    // A domain of one node reaches no further than the node has GPUs.
    const bool one_node = gpu->nvlink_domain_gpus > 1 && gpu->nvlink_domain_gpus <= gpu->gpus_per_node;
    if (one_node && !m.has_nvlink_domain_gpu_count()) {
      gpu->nvlink_domain_gpus = std::clamp<int64_t>(m.gpus_per_node_count(), 1, gpu->nvlink_domain_gpus);
    }
    gpu->gpus_per_node = m.gpus_per_node_count();
  }
  Override(m.has_nvlink_bytes_per_second(), m.nvlink_bytes_per_second(), kBytesPerSecond,
           "hardware.fabric.nvlink_bytes_per_second", &gpu->nvlink_bytes_per_second, violations);
  Override(m.has_nic_bytes_per_second(), m.nic_bytes_per_second(), kBytesPerSecond,
           "hardware.fabric.nic_bytes_per_second", &gpu->nic_bytes_per_second, violations);
  if (m.has_hbm_bytes()) {
    const std::string fault = OutsideOf(kGpuMemoryBytes, static_cast<double>(m.hbm_bytes()));
    if (!fault.empty()) violations->Add("hardware.fabric.hbm_bytes", fault);
    gpu->hbm_bytes = m.hbm_bytes();
  }
  if (m.has_transport()) {
    *transport = m.transport();
    const auto* known = std::find(std::begin(kTransports), std::end(kTransports), absl::string_view(m.transport()));
    if (known == std::end(kTransports)) {
      violations->Add("hardware.fabric.transport", "must be infiniband, roce, efa, slingshot or tcp");
    }
  }
}

void ReadHostMemory(const v1::Hardware& m, GpuSystem* gpu, Violations* violations) {
  if (!m.has_host_memory_bytes()) return;
  const std::string fault = OutsideOf(kHostMemoryBytes, static_cast<double>(m.host_memory_bytes()));
  if (!fault.empty()) violations->Add("hardware.host_memory_bytes", fault);
  gpu->host_memory_bytes = m.host_memory_bytes();
}

// Taken off what a step may use.
void ReadReserved(const v1::Hardware& m, GpuSystem* gpu, Violations* violations) {
  if (!m.has_reserved_bytes()) return;
  const auto bytes = static_cast<double>(m.reserved_bytes());
  if (!(bytes >= 0 && bytes <= kGpuMemoryBytes.high)) {
    violations->Add("hardware.reserved_bytes", absl::StrCat("must be 0..", NumberText(kGpuMemoryBytes.high),
                                                            " bytes of one GPU, not ", m.reserved_bytes()));
  } else if (gpu->hbm_bytes.has_value() && m.reserved_bytes() >= *gpu->hbm_bytes) {
    violations->Add("hardware.reserved_bytes",
                    absl::StrFormat("must be below the GPU's memory, %.4g GiB, not %.4g GiB",
                                    static_cast<double>(*gpu->hbm_bytes) / kGib, bytes / kGib));
  } else {
    Reserve(m.reserved_bytes(), gpu);
  }
}

}  // namespace

HardwareFacts HardwareFromMessage(const v1::Hardware& m, const Catalog& catalog, Environment* env,
                                  Violations* violations) {
  HardwareFacts facts;
  if (m.gpu().empty()) {
    violations->Add("hardware.gpu", "is required: a name such as h100-sxm; `flightplan gpus` (ListGpus) has them all");
  } else if (auto gpu = catalog.FindGpu(m.gpu()); gpu.ok()) {
    facts.gpu = **gpu;
  } else {
    // What is decided hangs on the GPU: there is no answer to half of the question.
    violations->Add(
        "hardware.gpu",
        absl::StrCat(gpu.status().message(),
                     " (`flightplan gpus`, ListGpus, has them all). A GPU of your own is described by its numbers "
                     "in a site's catalogue; `flightplan validate`, ValidateConfig, judges a finished "
                     "configuration without it"));
  }
  CheckRange("hardware.gpu_count", m.gpu_count(), kMaxGpus, violations);
  ReadFabric(m.fabric(), &facts.gpu, &facts.transport, violations);
  ReadReserved(m, &facts.gpu, violations);
  ReadHostMemory(m, &facts.gpu, violations);
  facts.host_cpu = ReadEnum(m.host_cpu_class(), kHosts, HostCpuClass::kUnknown, "hardware.host_cpu_class", violations);
  env->gpu_name = facts.gpu.device_name;
  env->cc_major = facts.gpu.cc_major;
  env->cc_minor = facts.gpu.cc_minor;
  env->nvlink_domain_gpus = static_cast<int>(facts.gpu.nvlink_domain_gpus);
  env->gpus_per_node = static_cast<int>(facts.gpu.gpus_per_node);
  env->world_size = m.gpu_count();
  return facts;
}

std::string UnknownGpu(const std::string& name, const Catalog& catalog) {
  if (name.empty() || name.size() > kMaxNameBytes) return "";
  const auto gpu = catalog.FindGpu(name);
  return gpu.ok() ? "" : std::string(gpu.status().message());
}

void ReadUnknownGpu(const v1::Hardware& m, Environment* env, Violations* violations) {
  GpuSystem stated;
  std::string transport;
  CheckRange("hardware.gpu_count", m.gpu_count(), kMaxGpus, violations);
  ReadFabric(m.fabric(), &stated, &transport, violations);
  ReadReserved(m, &stated, violations);
  ReadHostMemory(m, &stated, violations);
  ReadEnum(m.host_cpu_class(), kHosts, HostCpuClass::kUnknown, "hardware.host_cpu_class", violations);
  if (m.fabric().has_nvlink_domain_gpu_count()) env->nvlink_domain_gpus = static_cast<int>(stated.nvlink_domain_gpus);
  if (m.fabric().has_gpus_per_node_count()) env->gpus_per_node = static_cast<int>(stated.gpus_per_node);
  env->world_size = m.gpu_count();
}

absl::Span<const absl::string_view> TransportNames() { return kTransports; }

}  // namespace flightplan
