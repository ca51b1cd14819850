// Questions on a configuration that rules of several topics ask.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

inline int64_t Pp(const Facts& f) { return f.num(Knob::pipeline_model_parallel_size); }
// As LoongForge reads it, whose sizes may be 0.
inline int64_t PpOrOne(const Facts& f) { return std::max<int64_t>(1, Pp(f)); }
inline bool PrecisionAware(const Facts& f) { return f.on(Knob::use_precision_aware_optimizer); }
inline bool StartsTooHigh(const Facts& f) { return f.real(Knob::lr_warmup_init) > f.real(Knob::lr); }
inline bool Offloads(const Facts& f) { return f.on(Knob::fine_grained_activation_offloading); }
inline bool Selective(const Facts& f) { return f.is(Knob::recompute_granularity, "selective"); }
inline bool Recomputes(const Facts& f, absl::string_view module) {
  return Selective(f) && f.has(Knob::recompute_modules, module);
}
// Bridge packs what its Energon dataset brings, sample by sample.
inline bool NativeEnergonPacking(const Facts& f) {
  return f.is(Knob::dataset_kind, "energon") && f.set(Knob::dataset_packing_buffer_size);
}

}  // namespace flightplan
