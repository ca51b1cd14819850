// What a fix has to take along so that it does not bring the next fault: older spellings that upstream would migrate
// over it, and knobs that only mean something beside the value that it removes.
#pragma once

#include <cstdint>
#include <vector>

#include "resolver/plan/finding.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// The same stages with the layers spread over them: embedding and loss taken for a layer each where that comes out
// even, else by a layout. Nothing where there are more stages than layers to give.
std::vector<Patch> SpreadLayers(const Facts& f, int64_t stages);

// No layout, nor the other splits that it overruled and that would wake up without it. Upstream then gives each rank
// the same number of layers.
Patch WithoutLayout(const Facts& f);
// The same with as many ranks as that takes.
Patch EvenRanks(const Facts& f);
// For a layout of so many stages: as many ranks as divide them, the nearest first; else even ones.
std::vector<Patch> RanksForStages(const Facts& f, int64_t stages);

// Everything in BF16 again.
Patch WithoutFp8(const Facts& f);

void CompleteFixes(const Facts& f, std::vector<Patch>* fixes);

}  // namespace flightplan
