// Published layouts beside the planner's: what both tools of this folder share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/plan_answers.h"
#include "tests/recipes/recipe.h"

namespace flightplan {

// The sizes that a recipe states, 0 nowhere: VPP and EP are 1 where it has none.
LayoutSizes SizesOf(const NormalizedIntent& recipe);

// The same question with every size open; the caller's pins stay.
NormalizedIntent WithOpenLayout(NormalizedIntent intent);

// "TP2 CP1 PP8 VPP4 EP64 ETP1 MBS1".
std::string SizesText(const LayoutSizes& sizes, bool moe);

// What a layout is forecast to take, executed as well as it can be.
struct JudgedLayout {
  bool legal = false;             // the sizes are in the search's space
  double room = 0;                // share of the memory that it may fill, of kRooms
  std::optional<FoundPlan> plan;  // the best way to execute it that fits
};
JudgedLayout JudgeLayout(const NormalizedIntent& question, const LayoutSizes& sizes,
                         const std::optional<std::string>& pipeline_layout);

// The rules of the release take the layout, with what is decided for it.
bool Accepted(const NormalizedIntent& question, const LayoutSizes& sizes);

// The first `most` accepted layouts, best first, each with those that it stands for, as in the planner's answers.
struct DistinctPlan {
  FoundPlan plan;
  std::vector<LayoutSizes> variants;  // named in its answer
};
std::vector<DistinctPlan> Distinct(const NormalizedIntent& question, const std::vector<FoundPlan>& plans, size_t most);
bool Alike(const FoundPlan& a, const FoundPlan& b);

}  // namespace flightplan
