// Maps a scheduler's word for a GPU (a Slurm gres type, a node label, a cloud's machine type) to a catalogue entry.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {
class Catalog;
}

namespace flightplan::doors {

// "h100", "nvidia_h100_80gb_hbm3", "NVIDIA-H100-80GB-HBM3", "p5.48xlarge". Empty when the catalogue has no such GPU or
// the word leaves open which: the hardware is then not judged, which is better than judging another one.
std::string GpuFromLabel(const Catalog& catalog, absl::string_view label);

}  // namespace flightplan::doors
