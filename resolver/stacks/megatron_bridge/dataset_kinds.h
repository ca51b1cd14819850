// Which dataset config a class is, in the words of the knob dataset.kind. Internal to its folder.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

struct DatasetClass {
  absl::string_view name;
  absl::string_view kind;
};
inline constexpr DatasetClass kDatasetClasses[] = {
    {"DirectHFSFTDatasetConfig", "hf_sft"},
    {"GPTSFTDatasetConfig", "sft"},
    {"FinetuningDatasetConfig", "sft"},
    {"MockVLMSFTDatasetConfig", "mock_vlm"},
    {"EnergonDatasetConfig", "energon"},
    {"MockGPTDatasetConfig", "gpt"},
    {"GPTDatasetConfig", "gpt"},
};

// `name`: without its module. "plain": another class, a person's own among them.
inline absl::string_view DatasetKindOf(absl::string_view name) {
  for (const DatasetClass& row : kDatasetClasses) {
    if (row.name == name) return row.kind;
  }
  return "plain";
}

}  // namespace flightplan
