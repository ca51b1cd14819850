// Attention of Transformer Engine: which layers have it, and how these may exchange the context.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// The linear attention of Qwen3-Next, by the name that the release looks for.
bool GatedDeltaNet(const Facts& f);

// Sparse attention, Mamba and what a spec names have kernels of their own, and LoongForge's fork exchanges by a degree
// of its own.
bool HasTeAttention(const Facts& f);
inline bool SplitsTeAttention(const Facts& f) { return HasTeAttention(f) && f.num(Knob::context_parallel_size) > 1; }

// Attention sinks: the softmax has a term of its own beside the keys.
inline bool HasSinks(const Facts& f) { return f.set(Knob::softmax_type) && !f.is(Knob::softmax_type, "vanilla"); }

// Heads a rank has of queries and of keys that an all-to-all deals out to so many ranks.
bool HeadsDivide(const Facts& f, int64_t ranks);

// True if `is` holds for the exchange of any layer, and for whether it sees a window alone. "p2p" where nothing is
// said; two levels of which one has a single rank are the other.
bool AnyExchange(const Facts& f, bool (*is)(const Facts& f, absl::string_view type, bool windowed));

// Whether layers can exchange this way, and the fault it has otherwise.
bool DealsHeadsUnevenly(const Facts& f, absl::string_view type, bool windowed);
bool CutsWindow(const Facts& f, absl::string_view type, bool windowed);
bool CutsSinks(const Facts& f, absl::string_view type, bool windowed);

bool ServesAllLayers(const Facts& f, absl::string_view type);
// One exchange that all layers can have, the plainest there is, and no context parallelism; with sinks, as many ranks
// as their exchange serves.
std::vector<Patch> ExchangesLeft(const Facts& f);

}  // namespace flightplan
