// What reported runs change in an answer, and the findings that name them.
#pragma once

#include <vector>

#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/plan/config.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The run that a plan will be, to be compared with reported ones.
RunLayout RunLayoutOf(const Config& config);

// The peak of the very run that a profile was sent of, in bytes; 0: none was.
double MeasuredPeak(const NormalizedIntent& intent);
// Whether a run with this peak has no room left on its GPUs.
bool IsFull(double peak, const EstimatedPlan& estimate);
// Says it beside the forecast. The forecast itself stays: it is what neighbours of the run are compared by.
void ReportMeasuredPeak(const NormalizedIntent& intent, const EstimatedPlan& estimate, std::vector<Finding>* findings);

// Leaves the step of a profile out, and says so, where no run computes that fast (LeastStepUs).
void LeaveOutImpossibleStep(double least_us, NormalizedIntent* intent, std::vector<Finding>* findings);

// Leaves the step and the peak of a profile out, and says so, where the sizes of the run that had them are not given.
void LeaveOutOtherSizes(NormalizedIntent* intent, std::vector<Finding>* findings);

// Moves the memory of every stage, and its band, to what runs like this one needed.
void ApplyMemoryEvidence(const NormalizedIntent& intent, const Config& config, const EvidenceSnapshot& evidence,
                         EstimatedPlan* estimate, std::vector<Finding>* findings);

// The same for the step time; not where a profile of the very run was sent with the question.
void ApplyStepEvidence(const NormalizedIntent& intent, const Config& config, const EvidenceSnapshot& evidence,
                       StepOutlook* outlook, std::vector<Finding>* findings);

// That the store does not answer and the evidence may be old.
void ReportStale(const EvidenceSnapshot& evidence, std::vector<Finding>* findings);

}  // namespace flightplan
