// The pipeline layout: which layers each (virtual) pipeline stage holds. Read as Megatron-Core reads it, either from
// its text form "Et*3|(tt|)*29,m|L" or from a list of lists of layer names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// Repeat counts multiply quickly; nothing real comes near this many layers.
inline constexpr size_t kMaxLayoutLayers = 1 << 15;

struct PipelineLayout {
  enum class Fault {
    kNone,
    kTooLarge,            // more than kMaxLayoutLayers after expansion
    kUnknownCharacter,    // of the text form; `culprit` holds it
    kNotListOfLists,      // list form: a stage is not a list
    kStagesNotDivisible,  // number of stages is not a multiple of the pipeline size
    kElementType,         // list form: an element is not text
    kElementUnknown,      // list form: not a layer name; `culprit` holds it
  };

  Fault fault = Fault::kNone;
  std::string culprit;

  // One string per stage, in the order of execution (virtual stage first, then pipeline rank), one letter per layer:
  // E embedding, t decoder, m multi-token prediction, L loss, e encoder.
  std::vector<std::string> stages;
  int64_t pipeline_size = 0;
  int64_t virtual_size = 0;  // stages per pipeline rank; 0 with a fault

  int64_t Count(char letter) const;
  char First() const;  // 0 when there is no layer at all
  char Last() const;
  bool DecoderAfterMtp() const;
  // A multi-token-prediction layer in a stage that is not the last virtual one of its rank.
  bool MtpBeforeLastVirtualStage() const;
  bool MtpOnFirstRankBeforeLastVirtualStage() const;
  // True when some stage holds such layers, but not all `mtp_layers` of them.
  bool MtpSpread(int64_t mtp_layers) const;
  // Upstream's mtp_standalone: such layers stand in the last virtual stage of a rank other than the last.
  bool MtpStandalone() const;
};

PipelineLayout ParsePipelineLayout(const Value& layout, int64_t pipeline_size);

// The layer name of a letter: 't' -> "decoder".
absl::string_view LayerName(char letter);

}  // namespace flightplan
