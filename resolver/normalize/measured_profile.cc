#include "resolver/normalize/measured_profile.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/bytes.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/plan/quantity.h"

namespace flightplan {
namespace {

constexpr std::pair<v1::Wall, Wall> kWalls[] = {{v1::WALL_UNSPECIFIED, Wall::kUnknown},
                                                {v1::WALL_MEMORY, Wall::kMemory},
                                                {v1::WALL_COMMUNICATION, Wall::kCommunication},
                                                {v1::WALL_HOST, Wall::kHost},
                                                {v1::WALL_COMPUTE, Wall::kCompute}};

std::optional<double> ReadRatio(bool present, double value, absl::string_view name, Violations* violations) {
  if (!present) return std::nullopt;
  if (!(value >= 0 && value <= 1)) {
    violations->Add(absl::StrCat("profile.", name), absl::StrCat("is a share of the step, 0..1, not ", value));
  }
  return value;
}

// Cards of one name differ a little in what they report.
constexpr double kOverNominal = 1.1;
// Shares that were rounded may sum to a little more than the whole.
constexpr double kRounding = 0.02;

double WholeMemory(const GpuSystem& gpu) {
  return static_cast<double>(gpu.hbm_bytes.value_or(0) + gpu.reserved_bytes.value_or(0));
}

}  // namespace

MeasuredProfile MeasuredProfileFromMessage(const v1::MeasuredProfile& m, const GpuSystem& gpu, Violations* violations) {
  MeasuredProfile profile;
  if (m.has_step_time_us()) {
    const std::string fault = OutsideOf(kStepMicroseconds, m.step_time_us());
    if (!fault.empty()) violations->Add("profile.step_time_us", fault);
    profile.step_time_us = m.step_time_us();
  }
#define FLIGHTPLAN_READ_RATIO(name) profile.name = ReadRatio(m.has_##name(), m.name(), #name, violations)
  FLIGHTPLAN_READ_RATIO(exposed_communication_ratio);
  FLIGHTPLAN_READ_RATIO(exposed_all_to_all_ratio);
  FLIGHTPLAN_READ_RATIO(host_gap_ratio);
  FLIGHTPLAN_READ_RATIO(pipeline_bubble_ratio);
#undef FLIGHTPLAN_READ_RATIO
  // The GPU waits for one or for the other.
  const double waits = profile.exposed_communication_ratio.value_or(0) + profile.host_gap_ratio.value_or(0);
  if (profile.exposed_communication_ratio <= 1 && profile.host_gap_ratio <= 1 && waits > 1 + kRounding) {
    violations->Add(
        "profile.exposed_communication_ratio",
        absl::StrFormat("%g of the step beside host_gap_ratio (--profile-host) %g is more than a whole step: "
                        "the GPU waits for one or for the other",
                        *profile.exposed_communication_ratio, *profile.host_gap_ratio));
  }
  if (m.has_memory_high_water_bytes()) {
    const auto bytes = static_cast<double>(m.memory_high_water_bytes());
    if (!(bytes >= 0 && bytes <= kGpuMemoryBytes.high)) {
      violations->Add("profile.memory_high_water_bytes",
                      absl::StrCat("must be 0..", kGpuMemoryBytes.high, " bytes of one GPU, not ", bytes));
    } else if (const double whole = WholeMemory(gpu); whole > 0 && bytes > kOverNominal * whole) {
      violations->Add("profile.memory_high_water_bytes",
                      absl::StrFormat("is %.4g GiB; one %s has %.4g GiB, and the peak of one GPU is asked for",
                                      bytes / kGib, gpu.name, whole / kGib));
    }
    profile.memory_high_water_bytes = m.memory_high_water_bytes();
  }
  profile.wall = ReadEnum(m.wall(), kWalls, Wall::kUnknown, "profile.wall", violations);
  return profile;
}

}  // namespace flightplan
