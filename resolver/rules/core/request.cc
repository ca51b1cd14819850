// What is odd about the request itself, as findings like any other.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// The smallest closed layout: experts spread over one node, everything else whole.
std::vector<Patch> CloseLayout(F f) {
  Patch patch;
  for (const std::string& name : f.found().open_layout) {
    const std::optional<Knob> knob = FindKnob(name);
    if (!knob.has_value()) continue;
    int64_t size = 1;
    if (*knob == K::expert_model_parallel_size) {
      const int64_t experts = std::max<int64_t>(1, f.num(K::num_moe_experts));
      const int64_t world = f.env().world_size.value_or(1);
      const int64_t node = std::min<int64_t>(std::max(1, f.env().gpus_per_node), world);
      for (int64_t candidate = 1; candidate <= node; ++candidate) {
        if (experts % candidate == 0 && world % candidate == 0) size = candidate;
      }
    }
    patch.push_back(Assign(*knob, size));
  }
  return {patch};
}

const Rule kRules[] = {
    {.id = "layout.open",
     .area = "layout",
     .at = {Phase::kHardware, 0},
     .source = "Flightplan: a plan needs a layout",
     .reads_env = {"world_size"},
     .when = [](F f) { return !f.found().open_layout.empty(); },
     .needs = "give the open sizes; the rest of this answer counts each as 1",
     .fix = CloseLayout,
     .detail = [](F f) { return absl::StrCat("not given: ", absl::StrJoin(f.found().open_layout, ", ")); }},
    {.id = "model.features-missing",
     .area = "model",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 1},
     .source = "Flightplan: the knobs of the releases that were read",
     .when = [](F f) { return !f.found().missing_features.empty(); },
     .needs =
         "this release has no knob for it, so the launch would build another model; take a release or target that has",
     .detail = [](F f) { return absl::StrCat("the model needs ", absl::StrJoin(f.found().missing_features, ", ")); }},
    {.id = "target.unknown-version",
     .area = "version-gate",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 0},
     .source = "Flightplan: the releases whose code was read",
     .when = [](F f) { return !f.env().unknown_version.empty(); },
     .needs = "judged as the nearest known release; checks that came or went in between may differ",
     .detail =
         [](F f) {
           return absl::StrCat("release '", Utf8Prefix(f.env().unknown_version, 64), "' is none that was read, ",
                               ReleaseText(ReleaseOf(f.env())), " is the nearest");
         }},
    {.id = "target.command-line-not-read",
     .area = "version-gate",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 0},
     .source = "Flightplan: the releases whose code was read",
     .when = [](F f) { return RunsMegatronLm(f.stack()) && ReleaseOf(f.env()) < kFirstCommandLine; },
     .needs = "take a release whose command line was read, or expect that flags which came or went in between are "
              "judged by the later one",
     .detail =
         [](F f) {
           return absl::StrCat("of ", f.stack().name, " ", ReleaseText(ReleaseOf(f.env())),
                               " the config classes were read and the command line was not: flags, their defaults and "
                               "the checks of arguments.py are those of ",
                               ReleaseText(kFirstCommandLine));
         }},
};

}  // namespace

RuleList CoreRequestRules() { return kRules; }

}  // namespace flightplan
