// Every model of the catalogue with every stack: what refuses it is its size, or what is named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/stack.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::Resolved;
using testing::SetSizes;
using testing::Training;

// The stack's own converters have none for the model.
constexpr absl::string_view kNoConverter[] = {"verl.model-class", "nemo-rl.model-class", "roll.model-type",
                                              "slime.model-type", "miles.model-type",    "ms-swift.model-type"};

// Flags that say what the model needs are newer than the Megatron-Core of these stacks.
bool NeedsNewerFlags(absl::string_view model) {
  return absl::StartsWith(model, "gpt-oss") || absl::StartsWith(model, "deepseek-v4");
}
constexpr absl::string_view kOfNewerFlags[] = {"mlm.argparse", "router.expert-bias-score-fn"};

bool In(absl::string_view id, absl::Span<const absl::string_view> ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST(EveryModel, IsRefusedForNothingOfOurOwn) {
  const Catalog catalog = *Catalog::Builtin();
  int resolved = 0, without = 0;
  for (const Stack* const stack : AllStacks()) {
    if (FindStack(stack->name) == nullptr) continue;  // of classes, which nobody launches
    for (const ModelSpec& model : catalog.models()) {
      v1::ResolveConfigRequest request = Training(model.name.c_str(), "b300-sxm", 8, 4096, 64);
      request.mutable_target()->set_framework(std::string(stack->name));
      SetSizes({.tp = 1, .pp = 1, .ep = 1}, &request);
      bool plain = true;
      for (const std::string& id : Errors(Resolved(request).findings())) {
        if (absl::StartsWith(id, "fit.")) continue;
        plain = false;
        EXPECT_TRUE(In(id, kNoConverter) || (NeedsNewerFlags(model.name) && In(id, kOfNewerFlags)))
            << stack->name << " " << model.name << ": " << id;
      }
      ++(plain ? resolved : without);
    }
  }
  EXPECT_GT(resolved, 3 * without) << resolved << " of " << resolved + without;
}

}  // namespace
}  // namespace flightplan
