#include "service/doors/gpu_label.h"

#include <gtest/gtest.h>

#include "resolver/catalog/catalog.h"

namespace flightplan::doors {
namespace {

TEST(GpuFromLabel, KnowsTheWordsOfSchedulersAndClouds) {
  const auto catalog = Catalog::Builtin();
  ASSERT_TRUE(catalog.ok());
  const std::pair<const char*, const char*> cases[] = {
      {"h100", "h100-sxm"},
      {"H100", "h100-sxm"},
      {"nvidia_h100_80gb_hbm3", "h100-sxm"},
      {"NVIDIA-H100-80GB-HBM3", "h100-sxm"},
      {"nvidia-h100-mega-80gb", "h100-sxm"},
      {"Standard_ND96isr_H200_v5", "h200-sxm"},
      {"p5en.48xlarge", "h200-sxm"},
      {"NVIDIA-A100-SXM4-80GB", "a100-sxm-80gb"},
      {"NVIDIA-GB200", "gb200-nvl72"},
      {"NVIDIA-B200", "b200-sxm"},
      {"NVIDIA-L40S", "l40s"},
      // Another GPU, a slice of one, or no GPU at all.
      {"NVIDIA-H100-PCIe", ""},
      {"NVIDIA-H100-NVL", ""},
      {"NVIDIA-A100-SXM4-40GB", ""},
      {"nvidia-tesla-a100", ""},
      {"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", ""},
      {"haswell", ""},
      {"", ""},
      {"$(reboot)", ""},
  };
  for (const auto& [label, gpu] : cases) EXPECT_EQ(GpuFromLabel(*catalog, label), gpu) << label;
}

}  // namespace
}  // namespace flightplan::doors
