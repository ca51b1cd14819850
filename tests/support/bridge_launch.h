// What tests of Megatron-Bridge's spellings share.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/plan/stack.h"

namespace flightplan::testing {

// Two nodes of eight H100.
inline Environment BridgeEnv() {
  Environment env;
  env.target = Target::kMegatronBridge;
  env.te = Version::Parse("2.12.0");
  env.torch = Version::Parse("2.9.0");
  env.gpu_name = "NVIDIA H100 80GB HBM3";
  env.cc_major = 9;
  env.world_size = 16;
  env.gpus_per_node = 8;
  return env;
}

// As it was last written; none: it was not.
inline Value LastOf(const ParseResult& parsed, Knob knob) {
  Value value;
  for (const ParsedKnob& word : parsed.knobs) {
    if (word.knob == knob) value = word.value;
  }
  return value;
}

}  // namespace flightplan::testing
