#include "resolver/plan/encoders.h"

#include "absl/strings/match.h"
#include "resolver/plan/stack.h"

namespace flightplan {

bool BuildsEncoders(const ModelSpec& model, const Environment& env) {
  // What transformers calls a model with other inputs than text.
  const bool encoders =
      model.architecture.has_value() && absl::EndsWith(*model.architecture, "ForConditionalGeneration");
  return encoders && !RunsMegatronLm(StackOf(env));
}

}  // namespace flightplan
