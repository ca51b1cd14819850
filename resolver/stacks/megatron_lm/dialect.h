// Megatron-LM's command line: argv and environment to knobs, and back.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Reads the arguments after the script name with the parser of env.core_release. Flags that only exist when an
// optional package is installed (ModelOpt) are known when env.packages has it.
ParseResult ParseMegatronLm(absl::Span<const Argument> args, const Environment& env);
// `unknown`: what a flag is that the parser does not have.
ParseResult ParseMegatronLm(absl::Span<const Argument> args, const Environment& env, Severity unknown);
// The same for plain words; positions are argument indices.
ParseResult ParseMegatronLm(absl::Span<const std::string> argv, const Environment& env);

// Writes every knob that was given or decided, and every one that differs from argparse's default, in the order of the
// knob table. What upstream itself derived (Origin::kUpstream) is left out: it will derive it again.
Launch RenderMegatronLm(const RenderInput& input);
// The same words for another program that has Megatron-LM's parser, without what its start asks for.
Launch WriteMegatronFlags(const RenderInput& input, absl::string_view program);

// The same on one GPU that plays the first rank of the whole job: collectives are left out (--fake-process-group,
// megatron/training/arguments.py:3227), so that its peak memory shows whether the first pipeline stage fits. RANK says
// which rank it is: stage K begins at K times the GPUs of a stage. It starts as it is, on mock data.
Launch RenderOneGpuCheck(const RenderInput& input);

}  // namespace flightplan
