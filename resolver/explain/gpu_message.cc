#include "resolver/explain/gpu_message.h"

#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/hardware.pb.h"

namespace flightplan {
namespace {

// The contract's counts are 32 bits wide; a site's entry may hold more, and then the largest one is shown.
int32_t Narrow(int64_t value) {
  if (value > std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
  if (value < std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

// Sets a message field from an optional member, when there is a value.
template <class T, class Message, class Arg>
void Put(const std::optional<T>& value, Message* message, void (Message::*set)(Arg)) {
  if (!value.has_value()) return;
  if constexpr (std::is_same_v<T, int64_t> && std::is_same_v<Arg, int32_t>) {
    (message->*set)(Narrow(*value));
  } else {
    (message->*set)(*value);
  }
}

}  // namespace

void GpuToMessage(const GpuSystem& gpu, v1::GpuSystem* message) {
  using G = v1::GpuSystem;
  message->set_name(gpu.name);
  for (const std::string& alias : gpu.aliases) message->add_aliases(alias);
  message->set_device_name(gpu.device_name);
  if (gpu.cc_major > 0) message->set_compute_capability(absl::StrCat(gpu.cc_major, ".", gpu.cc_minor));
  Put(gpu.hbm_bytes, message, &G::set_hbm_bytes);
  Put(gpu.hbm_bytes_per_second, message, &G::set_hbm_bytes_per_second);
  Put(gpu.bf16_flops_per_second, message, &G::set_bf16_flops_per_second);
  Put(gpu.fp8_flops_per_second, message, &G::set_fp8_flops_per_second);
  Put(gpu.fp4_flops_per_second, message, &G::set_fp4_flops_per_second);
  Put(gpu.sm_count, message, &G::set_sm_count);
  Put(gpu.nvlink_bytes_per_second, message, &G::set_nvlink_bytes_per_second);
  message->set_nvlink_domain_gpu_count(Narrow(gpu.nvlink_domain_gpus));
  Put(gpu.nic_bytes_per_second, message, &G::set_nic_bytes_per_second);
  Put(gpu.host_link_bytes_per_second, message, &G::set_host_link_bytes_per_second);
  message->set_gpus_per_node_count(Narrow(gpu.gpus_per_node));
  for (const std::string& backend : gpu.flex_backends) message->add_flex_backends(backend);
  for (const std::string& recipe : gpu.fp8_recipes) message->add_fp8_recipes(recipe);
  message->set_source(gpu.source);
  message->set_notes(gpu.notes);
}

}  // namespace flightplan
