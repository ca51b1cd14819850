// Measured peaks and runs that fitted or did not, as inputs of the memory forecast (tests/data/README.md).
#pragma once

#include <string>
#include <vector>

#include "tests/evidence/truth.h"

namespace flightplan {

struct MemoryRow {
  std::string id;
  Run run;
  double measured = 0;   // bytes of PyTorch's peak; 0: only whether it ran is known
  bool ran = false;      // it trained
  bool ran_out = false;  // it ran out of memory
  bool moe = false;
  bool first_stage = false;   // measured on rank 0, not on the fullest
  bool complete = true;       // of a recipe: it states recompute; else what it leaves open is set to what needs least
  bool layout_stated = true;  // false: the parallel sizes are those of a recipe, the row is no test of a forecast
  std::vector<std::string> assumed;  // what the row does not state, and where it was taken from
};

struct MemoryTruth {
  std::vector<MemoryRow> rows;
  std::vector<std::string> left_out;  // "id: reason"
};

// memory-truth.jsonl. What a row of Megatron-Bridge does not state is taken from the nearest recipe of the same model
// in `recipes` (recipes.jsonl), what another row does not state from its stack's defaults.
MemoryTruth ReadMemoryTruth(const Catalog& catalog, const std::string& text, const std::string& recipes);

// The peaks that A/B rows of evidence.jsonl state, both sides of each.
MemoryTruth ReadEvidencePeaks(const Catalog& catalog, const std::string& text, const std::string& recipes);

// Recipes whose authors ran them: published throughput or a tuned recipe function. Starter recipes of the library are
// left out: nothing says that they fit.
MemoryTruth ReadRecipesThatRan(const Catalog& catalog, const std::string& recipes);

}  // namespace flightplan
