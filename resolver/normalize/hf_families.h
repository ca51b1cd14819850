// Which config.json key becomes which field, per architecture class. The facts are those of Megatron-Bridge@067f987df
// (src/megatron/bridge/models/<family>/*_bridge.py, conversion/model_bridge.py); classes that it does not convert
// follow Megatron-LM's documents, the Megatron-MoE-ModelZoo scripts and the transformers configuration classes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/normalize/hf_reader.h"

namespace flightplan {

// One field. `keys`: JSON paths, '|' separated; the first one present gives the value, also when it is null (upstream's
// reading order). No keys: the value is always `otherwise`. `field` is a field of ModelSpec or else a knob.
struct HfRow {
  absl::string_view field;
  absl::string_view keys;
  // Value where no key gives one, as a plain YAML scalar ("null" empties it). "": the field stays as it is; kRequired:
  // an error.
  absl::string_view otherwise = {};
  bool zero_is_none = false;
  // Where there are no keys: the one whose other value a user should hear of. "": that of the common row of the field;
  // kUnchecked: none.
  absl::string_view checked = {};
};
// Beyond any model.
inline constexpr int64_t kMaxLayers = 10000, kMaxHeads = 65536, kMaxSize = int64_t{1} << 24;
inline constexpr absl::string_view kRequired = "!";
inline constexpr absl::string_view kUnchecked = "-";
inline constexpr absl::string_view kPartialRotary = "partial_rotary_factor|rope_parameters.partial_rotary_factor";

// What no single key says: patterns, products, nested settings. They run after the rows, in their order.
using HfDerivation = absl::Status (*)(HfReader& reader);

struct HfFamily {
  absl::string_view label;
  // Architecture classes, '|' separated. "Class/type": a wrapper whose language fields have that model_type.
  absl::string_view classes;
  absl::Span<const HfRow> rows;
  absl::Span<const HfDerivation> derivations;
  absl::string_view note = {};  // what a user should know
  absl::string_view own = {};   // a field that the common rows leave to the family's own
};

absl::Span<const HfRow> HfCommonRows();
absl::Span<const HfDerivation> HfCommonDerivations();  // before the family's rows
absl::Span<const HfFamily> HfFamilies();

// Classes whose layers a model description has no words for, and why.
struct HfRefusal {
  absl::string_view classes;  // '|' separated
  absl::string_view has;
};
absl::Span<const HfRefusal> HfRefusals();
absl::Status FinishHfModel(HfReader& reader);  // after everything

// What derivations share.
namespace hf {
Value Flags(const std::vector<int64_t>& flags);
// Shared experts of a width, as many as the file or else the class has.
absl::Status SetSharedExperts(HfReader& reader, absl::string_view width_path, absl::string_view count_path,
                              int64_t fallback_count);
}  // namespace hf

// The derivations that the family table names.
namespace hf {
absl::Status Activation(HfReader& reader);
absl::Status RopeScaling(HfReader& reader);
absl::Status VocabularyDivisor(HfReader& reader);
absl::Status Latent(HfReader& reader);
absl::Status EveryLayerMoe(HfReader& reader);
absl::Status FirstLayersDense(HfReader& reader);
absl::Status SharedExperts(HfReader& reader);
absl::Status SharedLikeRouted(HfReader& reader);
absl::Status NormalizedTopk(HfReader& reader);
absl::Status OnlyMoeLayers(HfReader& reader);
absl::Status SlidingWindow(HfReader& reader);
absl::Status NormsBehind(HfReader& reader);
absl::Status RotaryInWindowsAlone(HfReader& reader);
absl::Status Windows(HfReader& reader);
absl::Status NotCarried(HfReader& reader);  // after everything but FinishHfModel
absl::Status LinearLayers(HfReader& reader);
absl::Status SparseIndexer(HfReader& reader);
absl::Status GlmHeadSizes(HfReader& reader);
absl::Status DeepSeekV4(HfReader& reader);
absl::Status SoftmaxScoringOnly(HfReader& reader);
absl::Status RotaryDimension(HfReader& reader);
absl::Status MiniMaxM3(HfReader& reader);
absl::Status Ernie(HfReader& reader);
absl::Status Grok(HfReader& reader);
absl::Status Hunyuan(HfReader& reader);
absl::Status GraniteHybrid(HfReader& reader);
absl::Status NemotronHybrid(HfReader& reader);
absl::Status KimiHybrid(HfReader& reader);
absl::Status KimiK3(HfReader& reader);
absl::Status Llama4(HfReader& reader);
absl::Status Gemma(HfReader& reader);
absl::Status Gemma2(HfReader& reader);
absl::Status Gemma3(HfReader& reader);
absl::Status Gemma4(HfReader& reader);
absl::Status MiMoV2Flash(HfReader& reader);
absl::Status Step3(HfReader& reader);
absl::Status Step35(HfReader& reader);
}  // namespace hf

}  // namespace flightplan
