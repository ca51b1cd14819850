// The stages of a launch, in the order in which it meets them.
#pragma once

namespace flightplan {

// Not every stack has every phase (plan/stack.h).
enum class Phase {
  kParse,           // Megatron-LM argparse
  kLoongForge,      // LoongForge's own validation before Megatron's
  kCliValidate,     // Megatron-LM validate_args
  kFlexBackend,     // Bridge apply_flex_dispatcher_backend
  kEnvVars,         // Bridge env_vars
  kMixedPrecision,  // Bridge mixed precision recipe
  kCommOverlap,     // Bridge comm overlap setup
  kContainerStart,  // Bridge ConfigContainer.validate before DDP, optimizer and model are finalized
  kModelPrepare,    // Bridge: CUDA-graph guard and defaults written right before the model's own post-init
  kModel,           // TransformerConfig.__post_init__ and its bases
  kModelMla,        // MLATransformerConfig additions after it
  kDdp,
  kOptimizer,
  kContainer,  // the rest of ConfigContainer.validate; Megatron-LM's config container
  kProvide,    // Bridge GPTModelProvider.provide
  kBuild,      // model construction
  kMesh,       // process groups
  kSchedule,   // the pipeline schedule's own entry checks
  kHardware,   // our gates: GPU, libraries, environment
  kAdvice,     // legal, but worth knowing
};

}  // namespace flightplan
