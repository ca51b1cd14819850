#include "tests/plans/plan_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/pipeline.h"
#include "resolver/engine/settle.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {
namespace {

constexpr double kAlike = 0.01;

LayoutSizes WithoutInterleaving(LayoutSizes sizes) {
  sizes.vpp = 0;
  return sizes;
}

NormalizedIntent WithSizes(const NormalizedIntent& question, const LayoutSizes& sizes) {
  NormalizedIntent given = question;
  LayoutWish& w = given.layout;
  w.tensor_model_parallel_size = sizes.tp;
  w.pipeline_model_parallel_size = sizes.pp;
  w.virtual_pipeline_model_parallel_size = sizes.vpp;
  w.context_parallel_size = sizes.cp;
  if (given.model.is_moe()) {
    w.expert_model_parallel_size = sizes.ep;
    w.expert_tensor_parallel_size = sizes.etp;
  }
  w.micro_batch_size = sizes.micro_batch_size;
  w.pipeline_model_parallel_layout.reset();
  return given;
}

}  // namespace

LayoutSizes SizesOf(const NormalizedIntent& recipe) {
  const LayoutWish& w = recipe.layout;
  const auto size = [](const std::optional<int64_t>& wish) { return static_cast<int32_t>(wish.value_or(1)); };
  LayoutSizes sizes{size(w.tensor_model_parallel_size),
                    size(w.pipeline_model_parallel_size),
                    size(w.virtual_pipeline_model_parallel_size),
                    size(w.context_parallel_size),
                    size(w.expert_model_parallel_size),
                    size(w.expert_tensor_parallel_size),
                    w.micro_batch_size.value_or(1)};
  if (w.pipeline_model_parallel_layout.has_value()) {
    const int64_t stages = LayoutStages(*w.pipeline_model_parallel_layout).value_or(sizes.pp);
    sizes.vpp = static_cast<int32_t>(std::max<int64_t>(1, stages / sizes.pp));
  }
  return sizes;
}

NormalizedIntent WithOpenLayout(NormalizedIntent intent) {
  intent.layout = {};
  return intent;
}

std::string SizesText(const LayoutSizes& sizes, bool moe) {
  std::string text = absl::StrCat("TP", sizes.tp, " CP", sizes.cp, " PP", sizes.pp);
  if (sizes.vpp > 1) absl::StrAppend(&text, " VPP", sizes.vpp);
  if (moe) absl::StrAppend(&text, " EP", sizes.ep, sizes.etp > 1 ? absl::StrCat(" ETP", sizes.etp) : "");
  return absl::StrCat(text, " MBS", sizes.micro_batch_size);
}

bool Accepted(const NormalizedIntent& question, const LayoutSizes& sizes) {
  const NormalizedIntent given = WithSizes(question, sizes);
  const SettledPlan settled = Settle(Decide(given, Derive(given)), given.env);
  return std::none_of(settled.run.findings.begin(), settled.run.findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::kError; });
}

JudgedLayout JudgeLayout(const NormalizedIntent& question, const LayoutSizes& sizes,
                         const std::optional<std::string>& pipeline_layout) {
  NormalizedIntent given = WithSizes(question, sizes);
  given.layout.pipeline_model_parallel_layout = pipeline_layout;
  LayoutSearch search;
  JudgedLayout judged;
  if (!PrepareSearch(std::move(given), &search).ok()) return judged;
  SearchResult found = Search(search.question);
  judged.legal = found.statistics.layouts > 0;
  if (!found.plans.empty()) {
    judged.plan = std::move(found.plans.front());
    judged.plan->candidate.stages = nullptr;  // of the search, which ends here
  }
  return judged;
}

bool Alike(const FoundPlan& a, const FoundPlan& b) {
  return WithoutInterleaving(a.sizes) == WithoutInterleaving(b.sizes) &&
         std::abs(a.step.us - b.step.us) < kAlike * std::min(a.step.us, b.step.us);
}

std::vector<FoundPlan> Distinct(const NormalizedIntent& question, std::vector<FoundPlan> plans, size_t most) {
  std::vector<FoundPlan> distinct;
  std::vector<FoundPlan> best;  // of what each distinct one stands for
  for (FoundPlan& plan : plans) {
    size_t i = 0;
    while (i < best.size() && !Alike(best[i], plan)) ++i;
    if (i < best.size()) {
      if (plan.sizes.vpp < distinct[i].sizes.vpp && Accepted(question, plan.sizes)) distinct[i] = std::move(plan);
    } else if (distinct.size() < most && Accepted(question, plan.sizes)) {
      best.push_back(plan);
      distinct.push_back(std::move(plan));
    }
  }
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const FoundPlan& a, const FoundPlan& b) { return a.step.us < b.step.us; });
  return distinct;
}

}  // namespace flightplan
