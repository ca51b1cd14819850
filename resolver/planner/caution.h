// What published layouts leave alone. A forecast knows least about what nobody has run, and what it forgets there costs
// time: a layout outside the evidence is ranked as if its step were longer. The forecast that is shown stays as it is.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/planner/space.h"

namespace flightplan {

struct Caution {
  absl::string_view what;  // "CP at a sequence of 4,096 or less"
  double ratio;            // of the step, on top
  int published;           // of the 572 published layouts in tests/data/recipes.jsonl.gz; -1: they do not say
};

// What a plan counts for by the share of the memory that its forecast fills; null: it leaves room for the forecast's
// error (kRoom of estimate/memory.h). A launch that does not start is one more in the queue, so a step counts for what
// it takes in the share of launches that do: nine in ten up to kTightRoom, and seven in ten above.
const Caution* MemoryCaution(double filled_ratio);

// What the cautions look at besides the sizes.
struct CautionContext {
  bool moe = false;
  int64_t gpus = 1, seq_length = 1;
  int domain_gpus = 8;
  const Caution* memory = nullptr;  // MemoryCaution's
};

inline constexpr size_t kCautions = 9;

// Those that hold for a plan: of its sizes in the order of the table, then of its execution, then of its memory.
struct Cautions {
  std::array<const Caution*, kCautions + 2> held{};
  size_t count = 0;
  bool empty() const { return count == 0; }
  double ratio() const;  // their sum
};
// `executed`: how; its sizes are not looked at.
Cautions CautionsOf(const LayoutSizes& sizes, const Candidate& executed, const CautionContext& context);

// The least that any execution of these sizes has in this context: the sum without the execution's. Far below a
// microsecond.
double CautionRatio(const LayoutSizes& sizes, const CautionContext& context);

}  // namespace flightplan
