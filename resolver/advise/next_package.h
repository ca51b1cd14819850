// Another version of a library, or another word of the caller's, that would let the plan run what its own forecast
// prefers: asked of the engine as a question of its own, so that the step that is promised is that of an answer.
#pragma once

#include <optional>

#include "resolver/pipeline/resolved_plan.h"
#include "resolver/pipeline/vet_fixes.h"

namespace flightplan {

// NVSHMEM, where the one that is installed, or that the stack's image has or may have, keeps DeepEP from crossing
// nodes. Nothing where that is not so, or gains no more than runs differ by.
std::optional<Finding> FindNextPackage(const AnswerAgain& answer, const ResolvedPlan& plan);

// EP overlap, where the caller's overlap of the shared experts excludes it; nothing as above.
std::optional<Finding> FindNextPin(const AnswerAgain& answer, const ResolvedPlan& plan);

}  // namespace flightplan
