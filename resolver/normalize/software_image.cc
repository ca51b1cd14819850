#include "resolver/normalize/software_image.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/catalog/images.h"
#include "resolver/plan/stack.h"

namespace flightplan {

void TakeVersionsOfImage(Environment* env) {
  const Image* const image = ImageOf(StackOf(*env).name, ReleaseOf(*env));
  if (!env->te_stated) env->te = image == nullptr ? std::nullopt : Version::Parse(image->te);
  if (!env->torch_stated) env->torch = image == nullptr ? std::nullopt : Version::Parse(image->torch);
}

void AssumeImage(NormalizedIntent* intent) {
  Environment& env = intent->env;
  const absl::string_view stack = StackOf(env).name;
  const Image* const image = ImageOf(stack, ReleaseOf(env));
  if (image == nullptr) return;
  std::vector<Observed> assumed;
  TakeVersionsOfImage(&env);
  if (!std::exchange(env.te_stated, true)) {
    assumed.push_back({"te", Value(std::string(image->te))});
  }
  if (!std::exchange(env.torch_stated, true)) {
    assumed.push_back({"torch", Value(std::string(image->torch))});
  }
  if (!env.capabilities_known && env.cc_major >= image->compute && !image->backends.empty()) {
    for (const absl::string_view backend : image->backends) env.capabilities.emplace(backend);
    assumed.push_back({"dispatchers", Value(absl::StrJoin(image->backends, ","))});
  }
  if (assumed.empty()) return;
  Finding finding;
  finding.rule_id = "decide.software-from-image";
  finding.area = "version-gate";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.seen = absl::StrCat(absl::StrJoin(assumed, ", ",
                                            [](std::string* out, const Observed& one) {
                                              absl::StrAppend(out, one.name, "=", one.value.ToText());
                                            }),
                              ": not given, taken from the image of ", stack, " ", ReleaseText(image->release));
  finding.observed = std::move(assumed);
  finding.needs = "say what is installed where the launch runs in another image";
  finding.source = image->source;
  intent->findings.push_back(std::move(finding));
}

}  // namespace flightplan
