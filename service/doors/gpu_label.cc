#include "service/doors/gpu_label.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::doors {
namespace {

// Machine types whose name does not say the GPU.
constexpr struct {
  absl::string_view machine;
  absl::string_view gpu;
} kMachines[] = {
    {"p4de.24xlarge", "a100-sxm-80gb"},  {"p5.48xlarge", "h100-sxm"},      {"p5e.48xlarge", "h200-sxm"},
    {"p5en.48xlarge", "h200-sxm"},       {"p6-b200.48xlarge", "b200-sxm"}, {"p6-b300.48xlarge", "b300-sxm"},
    {"a2-ultragpu-8g", "a100-sxm-80gb"}, {"a3-highgpu-8g", "h100-sxm"},    {"a3-megagpu-8g", "h100-sxm"},
    {"a3-ultragpu-8g", "h200-sxm"},      {"a4-highgpu-8g", "b200-sxm"},    {"a4x-highgpu-4g", "gb200-nvl72"},
    {"bm.gpu.h100.8", "h100-sxm"},       {"bm.gpu.h200.8", "h200-sxm"},
};

// The part of a label that names the chip. First match; `not_with` are words of variants that the catalogue lacks.
struct Chip {
  absl::string_view word;
  absl::string_view gpu;
  std::vector<absl::string_view> not_with;
};

const std::vector<Chip>& Chips() {
  static const auto* const kChips = new std::vector<Chip>{
      {"vr200", "vr200-nvl", {}},
      {"gb300", "gb300-nvl72", {}},
      {"gb200", "gb200-nvl72", {}},
      {"b300", "b300-sxm", {}},
      {"b200", "b200-sxm", {}},
      {"h200", "h200-sxm", {"nvl", "gh200"}},
      {"h100", "h100-sxm", {"nvl", "pcie", "96gb", "64gb"}},
      {"h800", "h800-sxm", {"pcie"}},
      {"h20", "h20-sxm-96gb", {"141gb"}},
      {"a800", "a800-sxm-80gb", {"pcie", "40gb"}},
      {"a100", "a100-sxm-80gb", {"pcie", "40gb", "tesla"}},  // GKE's nvidia-tesla-a100 has 40 GB
      {"l40s", "l40s", {}},
  };
  return *kChips;
}

bool Has(const std::vector<std::string>& words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string GpuFromLabel(const Catalog& catalog, absl::string_view label) {
  if (label.empty() || label.size() > 128) return "";
  if (const auto gpu = catalog.FindGpu(label); gpu.ok()) return (*gpu)->name;
  const std::string lower = absl::AsciiStrToLower(label);
  std::string found;
  for (const auto& row : kMachines) {
    if (lower == row.machine) found = std::string(row.gpu);
  }
  const std::vector<std::string> words = absl::StrSplit(lower, absl::ByAnyChar(" -_.:/"), absl::SkipEmpty());
  // A slice of a GPU (MIG) or a virtual one is not the GPU.
  if (Has(words, "mig") || Has(words, "1g") || Has(words, "shared")) return "";
  for (const Chip& chip : Chips()) {
    if (!found.empty() || !Has(words, chip.word)) continue;
    const bool other = std::any_of(chip.not_with.begin(), chip.not_with.end(),
                                   [&words](absl::string_view word) { return Has(words, word); });
    if (other) return "";
    found = std::string(chip.gpu);
  }
  return !found.empty() && catalog.FindGpu(found).ok() ? found : "";
}

}  // namespace flightplan::doors
