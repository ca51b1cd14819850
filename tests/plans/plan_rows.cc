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

constexpr double kSame = 0.01;

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
  const SettledPlan settled = Settle(Decide(given, Derive(given)), given.env, {});
  return std::none_of(settled.run.findings.begin(), settled.run.findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::kError; });
}

JudgedLayout JudgeLayout(const NormalizedIntent& question, const LayoutSizes& sizes,
                         const std::optional<std::string>& pipeline_layout) {
  NormalizedIntent open = WithOpenLayout(question);
  open.layout.pipeline_model_parallel_layout = pipeline_layout;
  LayoutSearch search;
  JudgedLayout judged;
  if (!PrepareSearch(std::move(open), &search).ok()) return judged;
  search.question.layout.wish = sizes;  // judged as the search that leaves them open judges them
  SearchResult found;
  for (const double room : kRooms) {
    search.question.room = judged.room = room;
    found = Search(search.question);
    if (!found.plans.empty()) break;
  }
  judged.legal = found.statistics.layouts > 0;
  if (!found.plans.empty()) {
    judged.plan = found.plans.front();
    judged.plan->candidate.stages = nullptr;  // of the search, which ends here
  }
  return judged;
}

bool Alike(const FoundPlan& a, const FoundPlan& b) { return Alike(a.sizes, a.step.us, b.sizes, b.step.us); }

std::vector<DistinctPlan> Distinct(const NormalizedIntent& question, const std::vector<FoundPlan>& plans, size_t most) {
  std::vector<DistinctPlan> distinct;
  std::vector<double> best_us;  // of what each stands for
  for (const FoundPlan& plan : plans) {
    size_t i = 0;
    while (i < distinct.size() && !Alike(distinct[i].plan.sizes, best_us[i], plan.sizes, plan.step.us)) ++i;
    if ((i == distinct.size() && i == most) || !Accepted(question, plan.sizes)) continue;
    if (i == distinct.size()) {
      best_us.push_back(plan.step.us);
      distinct.push_back({plan, {}});
      continue;
    }
    distinct[i].variants.push_back(plan.sizes);
    if (plan.sizes.vpp < distinct[i].plan.sizes.vpp && plan.step.us < best_us[i] * (1 + kSame)) {
      std::swap(distinct[i].variants.back(), distinct[i].plan.sizes);
      distinct[i].plan = plan;
    }
  }
  std::stable_sort(distinct.begin(), distinct.end(), [](const DistinctPlan& a, const DistinctPlan& b) {
    return a.plan.step.us * a.plan.caution < b.plan.step.us * b.plan.caution;
  });
  return distinct;
}

}  // namespace flightplan
