// How a pipeline's layers are cut into stages, where that is left open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/execute_layout.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The plain split of the layers stays unless another makes the step shorter by more than this: half of what is as fast,
// so that what is found beside it is no longer than what another question finds.
inline constexpr double kWorthASplit = kAsFast / 2;

// Whether the caller says how many layers a stage has.
bool SplitIsGiven(const NormalizedIntent& intent);

// Whether the stages of a plan may differ in their layers where the caller leaves it open: a hybrid pattern places its
// layers itself, and a release without pipeline_model_parallel_layout spells the plain split alone. `config`: as the
// plan or its search has decided it.
bool MaySplit(const NormalizedIntent& intent, const Config& config);

// Layers that the first stage must have: a fork's hash layers stand there (lff.hash-first-stage).
int64_t LeastInFirstStage(const Config& config, const Environment& env);

// The splits that a search knows, but for the plan's own. `plan` has a forecast.
std::vector<StageLayout> OtherSplits(const ResolvedPlan& plan);

// The stages as pipeline_model_parallel_layout spells them.
std::string LayoutTextOf(const StageLayout& stages, int64_t mtp_depths);

// Whether the plan with another split takes its place.
bool IsBetterCut(const ResolvedPlan& plan, const ResolvedPlan& split);
// The layout text of a plan that was cut here; "": it was not.
std::string CutOf(const ResolvedPlan& plan);
// Gives it to the question of such a plan's neighbour.
void GiveCut(const ResolvedPlan& plan, NormalizedIntent* intent);
// The split was given to the pipeline as a word that stands; the caller did not say it. Nothing where none was given.
void TellCut(const ResolvedPlan& plan, ResolvedPlan* split);

// Takes the split that a search of layouts would find in the plan's place, where that is worth it: the last rank has
// fewer layers, for its output layer, loss and MTP. Where memory is short, what is executed with each is open, too
// (LookAtSplits). `plan` answers `intent`, and still does afterwards.
absl::Status WeighSplits(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan);

// An overlap and graphs that were left to an A/B, and that the forecast chooses where the search cuts the layers, hold
// where the caller gives its cut back, too: beside that their gain may fall a little short of what an A/B asks for.
absl::Status ExecuteAsUncut(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan);

}  // namespace flightplan
