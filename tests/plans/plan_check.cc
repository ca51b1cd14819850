// The planner against published layouts:  plan_check RECIPES.jsonl[.gz] [--all] [--show K] [--top] [--only TEXT]
//                                              [--ask SIZES;...] [--max-gpus N] [--min LIST] [--max LIST]
//
//   --show K    the K rows in which the recipe is furthest behind; with --top the first ten plans of each as well, and
//               the recipe's layout after them
//   --only      rows whose id contains the text; with --ask only what is forecast for these sizes, each as
//               TP,PP,VPP,CP,EP,ETP,MBS
//
// Each recipe's question is asked again with the layout left open:
//   legal      the recipe's layout is among the search's candidates
//   fits       and fits, executed in some way that the stack and the GPU leave; where the recipe does not state how its
//              layers are split, that is part of executing it
//   no-slower  the planner's first choice counts for no slower than the recipe's layout, by the same model, when both
//   are
//              executed as well as they can be; what nobody published counts for more than its time (planner/caution.h)
//   top10      the recipe's layout is one of the first ten plans of the answer, or one of those stands for it: the same
//              mapping on the GPUs, and it names the layout as a variant or has the same step as far as a forecast can
//              tell (resolver/layouts/plan_answers.h)
//   mapping    the recipe's mapping is one of those of the first ten plans, whatever its step, VPP and micro-batch
//   named      as top10, and the answer shows exactly the recipe's sizes, as a plan or as a variant of one
// Beside these shares, figures of which less is better; `--max` gives limits, in per cent:
//   regret     p90 over the recipes inside the evidence (no caution holds for them, and they leave the room that a plan
//              of ours leaves): how much longer the first choice is forecast to take than the recipe's layout, both as
//              they are, without what cautions count for
//   changed    of each coefficient of the forecast moved by its error, up and down: how often another mapping is
//              ahead of the choice, among the layouts that the search kept
//   unstable   the same, by more than a forecast can tell
// Rows are the current releases' unless --all. Recipes that their authors mark as untuned, and those that cannot run on
// their own GPU count, are left out. Exit 1 when a share is below --min, 2 for misuse.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/step_rates.h"
#include "resolver/estimate/probe_outlook.h"
#include "tests/plans/plan_rows.h"

namespace flightplan {
namespace {

constexpr size_t kTop = 10;
constexpr size_t kListed = 30;

struct Options {
  const char* path = nullptr;
  bool all = false;
  int show = 0;
  bool top = false;  // the first ten of each question as well
  std::vector<LayoutSizes> asked;
  std::string only;      // rows whose id contains it
  int64_t max_gpus = 0;  // 0: no limit
  std::map<std::string, double> minimum, maximum;
};

struct Row {
  std::string id, gpu;
  bool moe = false;
  LayoutSizes sizes;
  bool legal = false, fits = false, no_slower = false, top = false, mapping = false, named = false;
  size_t rank = 0;  // of distinct layouts; 0: not in the list
  double recipe_us = 0, best_us = 0;
  std::optional<double> regret;  // of those inside the evidence
  LayoutSizes best;
  std::vector<std::string> listed;  // what is in the list, best first
};

// What the search of one question found; recipes that ask the same share it.
struct Searched {
  std::vector<DistinctPlan> distinct;
  // Coefficients up and down; those that put another mapping first, and those that put one clearly first.
  int64_t moved = 0, changed = 0, unstable = 0;
};

using Questions = std::map<std::string, std::unique_ptr<Searched>>;  // by QuestionKey

double StepUs(const LayoutSearch& search, const GpuRates& rates, const FoundPlan& plan) {
  StepForecast step;
  ForecastStep(*search.question.work, plan.candidate, rates, &step);
  return step.us;
}

// What comes first of the plans that were found when each coefficient is off by its error.
void TryCoefficients(const LayoutSearch& search, Searched* searched) {
  if (searched->distinct.empty()) return;
  const FoundPlan& choice = searched->distinct.front().plan;
  for (const CoefficientRow& row : kCoefficientRows) {
    if (row.error <= 0) continue;
    for (const double factor : {1 / (1 + row.error), 1 + row.error}) {
      StepCoefficients moved;
      moved.*row.field *= factor;
      const GpuRates rates = RatesOf(search.intent.gpu, moved);
      const double choice_us = StepUs(search, rates, choice) * choice.caution;
      double other_us = choice_us;
      for (const DistinctPlan& other : searched->distinct) {
        if (MappingOf(other.plan.sizes) == MappingOf(choice.sizes)) continue;
        other_us = std::min(other_us, StepUs(search, rates, other.plan) * other.plan.caution);
      }
      ++searched->moved;
      searched->changed += other_us < choice_us ? 1 : 0;
      searched->unstable += other_us * (1 + kResolution) < choice_us ? 1 : 0;
    }
  }
}

std::string QuestionKey(const Recipe& recipe, const NormalizedIntent& intent) {
  std::string key =
      absl::StrCat(recipe.model, "|", recipe.gpu, "|", recipe.gpus, "|", recipe.precision, "|", recipe.release, "|",
                   recipe.origin, "|", intent.workload.seq_length, "|", intent.workload.global_batch_size, "|",
                   intent.workload.objective == Objective::kBenchmark);
  for (const auto& [knob, value] : intent.pins) absl::StrAppend(&key, "|", Name(knob), "=", value.ToText());
  return key;
}

const Searched* SearchOnce(const std::string& key, const NormalizedIntent& intent, Questions* known) {
  auto& slot = (*known)[key];
  if (slot != nullptr) return slot.get();
  slot = std::make_unique<Searched>();
  LayoutSearch search;
  if (!PrepareSearch(WithOpenLayout(intent), &search).ok() || !search.question.rates.known) return slot.get();
  search.question.keep = kPool;
  search.question.room = kRooms[0];
  search.question.keep_alike = kKeepAlike;
  // In the order of an answer of ten plans, then what is left, which the plan of its mapping names.
  std::vector<DistinctPlan> found = Distinct(intent, Search(search.question).plans, kListed);
  std::vector<LayoutSizes> sizes;
  sizes.reserve(found.size());
  for (const DistinctPlan& one : found) sizes.push_back(one.plan.sizes);
  std::vector<bool> taken(found.size(), false);
  for (const size_t i : FirstOfEachMapping(sizes, kTop)) taken[i] = true, slot->distinct.push_back(found[i]);
  const auto ten = slot->distinct.size();
  for (size_t i = 0; i < found.size(); ++i) {
    if (taken[i]) continue;
    const auto end = slot->distinct.begin() + static_cast<std::ptrdiff_t>(ten);
    const auto stands = std::find_if(slot->distinct.begin(), end, [&](const DistinctPlan& one) {
      return MappingOf(one.plan.sizes) == MappingOf(sizes[i]);
    });
    if (stands != end) {
      stands->variants.push_back(sizes[i]);
      stands->variants.insert(stands->variants.end(), found[i].variants.begin(), found[i].variants.end());
    }
    slot->distinct.push_back(std::move(found[i]));
  }
  TryCoefficients(search, slot.get());
  for (DistinctPlan& one : slot->distinct) one.plan.candidate.stages = nullptr;  // of the search, which ends here
  return slot.get();
}

std::string Line(const FoundPlan& plan, bool moe) {
  const Candidate& c = plan.candidate;
  const StepParts& p = plan.step.parts;
  return absl::StrFormat(
      "%-34s %8.1f ms %5.1f GiB  d%d o%d%d g%d/%d r%d/%d off%g | mm %.0f att %.0f mem %.0f rec %.0f tp %.0f ep %.0f pp "
      "%.0f "
      "bub %.0f dp %.0f host %.0f opt %.0f",
      SizesText(plan.sizes, moe), plan.step.us / 1e3, plan.memory.value / (1 << 30), static_cast<int>(c.dispatcher),
      c.ep_overlap, c.delay_wgrad, static_cast<int>(c.graphs), c.graph_modules, static_cast<int>(c.recompute),
      c.recompute_modules, c.optimizer_offload, p.matmul / 1e3, p.attention / 1e3, p.memory_bound / 1e3,
      p.recompute / 1e3, p.tensor_parallel / 1e3, p.expert_exchange / 1e3, p.pipeline_transfer / 1e3, p.bubble / 1e3,
      p.data_parallel / 1e3, p.host / 1e3, p.optimizer / 1e3);
}

Row Judge(const Recipe& recipe, const NormalizedIntent& intent, const Searched& searched) {
  Row row;
  row.id = recipe.id;
  row.gpu = recipe.gpu;
  row.moe = intent.model.is_moe();
  row.sizes = SizesOf(intent);
  const JudgedLayout own = JudgeLayout(intent, row.sizes, intent.layout.pipeline_model_parallel_layout);
  row.legal = own.legal;
  row.fits = own.plan.has_value();
  if (row.fits) row.recipe_us = own.plan->step.us * own.plan->caution;
  if (searched.distinct.empty()) return row;
  for (size_t i = 0; i < std::min(kTop, searched.distinct.size()); ++i) {
    row.listed.push_back(Line(searched.distinct[i].plan, row.moe));
  }
  if (row.fits) row.listed.push_back(Line(*own.plan, row.moe));
  row.best = searched.distinct.front().plan.sizes;
  row.best_us = searched.distinct.front().plan.step.us * searched.distinct.front().plan.caution;
  if (row.fits && own.plan->caution <= 1 && own.room <= kRooms[0]) {
    row.regret = std::max(0.0, searched.distinct.front().plan.step.us / own.plan->step.us - 1);
  }
  // A recipe that fills more of the memory than a plan of ours may is no measure of our speed.
  row.no_slower = row.fits && (own.room > kRooms[0] || row.best_us <= row.recipe_us * (1 + 1e-9));
  for (size_t i = 0; row.fits && i < searched.distinct.size(); ++i) {
    FoundPlan published = *own.plan;
    published.sizes = row.sizes;
    const DistinctPlan& one = searched.distinct[i];
    const auto& variants = one.variants;
    const bool shown =
        one.plan.sizes == row.sizes || std::find(variants.begin(), variants.end(), row.sizes) != variants.end();
    if (!shown && !Alike(one.plan, published)) continue;
    row.rank = i + 1;
    row.named = shown && row.rank <= kTop;
    break;
  }
  row.top = row.rank > 0 && row.rank <= kTop;
  for (size_t i = 0; i < std::min(kTop, searched.distinct.size()); ++i) {
    row.mapping |= MappingOf(searched.distinct[i].plan.sizes) == MappingOf(row.sizes);
  }
  return row;
}

void Print(const Row& row) {
  std::printf("  %-52s %-34s %s", row.id.c_str(), SizesText(row.sizes, row.moe).c_str(),
              !row.legal  ? "NOT LEGAL"
              : !row.fits ? "does not fit"
                          : "");
  if (row.fits)
    std::printf("rank %-4s %8.0f ms", row.rank == 0 ? "-" : absl::StrCat(row.rank).c_str(), row.recipe_us / 1e3);
  if (row.best_us > 0) {
    std::printf("   best %-34s %8.0f ms", SizesText(row.best, row.moe).c_str(), row.best_us / 1e3);
    if (row.fits) std::printf("  %+.1f %%", (row.recipe_us / row.best_us - 1) * 100);
  }
  std::printf("\n");
}

double Percent(const std::vector<Row>& rows, bool Row::*field) {
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*field; });
  return rows.empty() ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(rows.size());
}

// "TP,PP,VPP,CP,EP,ETP,MBS".
bool ParseSizes(absl::string_view text, LayoutSizes* sizes) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  return parts.size() == 7 && absl::SimpleAtoi(parts[0], &sizes->tp) && absl::SimpleAtoi(parts[1], &sizes->pp) &&
         absl::SimpleAtoi(parts[2], &sizes->vpp) && absl::SimpleAtoi(parts[3], &sizes->cp) &&
         absl::SimpleAtoi(parts[4], &sizes->ep) && absl::SimpleAtoi(parts[5], &sizes->etp) &&
         absl::SimpleAtoi(parts[6], &sizes->micro_batch_size);
}

bool Parse(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--all") {
      o->all = true;
    } else if (arg == "--top") {
      o->top = true;
    } else if (arg == "--ask" && more) {
      for (absl::string_view item : absl::StrSplit(argv[++i], ';')) {
        if (!ParseSizes(item, &o->asked.emplace_back())) return false;
      }
    } else if (arg == "--only" && more) {
      o->only = argv[++i];
    } else if (arg == "--show" && more) {
      o->show = std::atoi(argv[++i]);
    } else if (arg == "--max-gpus" && more) {
      o->max_gpus = std::atoll(argv[++i]);
    } else if ((arg == "--min" || arg == "--max") && more) {  // legal=100,fits=95: fails below, or above
      std::map<std::string, double>& limits = arg == "--min" ? o->minimum : o->maximum;
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        const std::vector<std::string> parts = absl::StrSplit(item, '=');
        if (parts.size() != 2) return false;
        limits[parts[0]] = std::atof(parts[1].c_str());
      }
    } else if (arg[0] != '-' && o->path == nullptr) {
      o->path = argv[i];
    } else {
      return false;
    }
  }
  return o->path != nullptr;
}

// The shares, and how many of them are below their limit.
int PrintShares(const std::vector<Row>& rows, const Options& o) {
  int below = 0;
  for (const auto& [name, field] :
       {std::pair("legal", &Row::legal), std::pair("fits", &Row::fits), std::pair("no-slower", &Row::no_slower),
        std::pair("top10", &Row::top), std::pair("mapping", &Row::mapping), std::pair("named", &Row::named)}) {
    const double share = Percent(rows, field);
    const auto least = o.minimum.find(name);
    const bool low = least != o.minimum.end() && share < least->second;
    std::printf("%-10s %5.1f %%%s\n", name, share, low ? absl::StrCat("   BELOW ", least->second).c_str() : "");
    below += low ? 1 : 0;
  }
  return below;
}

// The figures of which less is better, and how many of them are above their limit.
int PrintFigures(const std::vector<Row>& rows, const Questions& searched, const Options& o) {
  int above = 0;
  std::vector<double> regrets;
  for (const Row& row : rows) {
    if (row.regret.has_value()) regrets.push_back(100 * *row.regret);
  }
  std::sort(regrets.begin(), regrets.end());
  int64_t moved = 0, changed = 0, unstable = 0;
  for (const auto& [key, one] : searched) moved += one->moved, changed += one->changed, unstable += one->unstable;
  const double p90 = regrets.empty() ? 0 : regrets[regrets.size() * 9 / 10];
  const auto share = [&](int64_t count) {
    return moved == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(moved);
  };
  for (const auto& [name, value, of] :
       {std::tuple("regret", p90, static_cast<int64_t>(regrets.size())), std::tuple("changed", share(changed), moved),
        std::tuple("unstable", share(unstable), moved)}) {
    const auto most = o.maximum.find(name);
    const bool high = most != o.maximum.end() && (value > most->second || of == 0);
    std::printf("%-10s %5.1f %% of %lld%s\n", name, value, static_cast<long long>(of),
                high ? absl::StrCat("   ABOVE ", most->second).c_str() : "");
    above += high ? 1 : 0;
  }
  return above;
}

void PrintExcess(const std::vector<Row>& rows) {
  std::vector<double> excess;
  for (const Row& row : rows) {
    if (row.fits && row.best_us > 0) excess.push_back(row.recipe_us / row.best_us - 1);
  }
  std::sort(excess.begin(), excess.end());
  if (!excess.empty()) {
    std::printf("recipe's layout against the choice: median %+.1f %%, p90 %+.1f %%\n", excess[excess.size() / 2] * 100,
                excess[excess.size() * 9 / 10] * 100);
  }
}

bool Counts(const Recipe& recipe, const Options& o) {
  return !recipe.starter && !recipe.layout_check && (!recipe.superseded || o.all) &&
         recipe.id.find(o.only) != std::string::npos && (o.max_gpus == 0 || recipe.gpus <= o.max_gpus);
}

// The sizes that --ask names, for one recipe's question.
void PrintAsked(const NormalizedIntent& intent, const std::vector<LayoutSizes>& asked) {
  const bool moe = intent.model.is_moe();
  for (const LayoutSizes& sizes : asked) {
    const JudgedLayout judged = JudgeLayout(intent, sizes, std::nullopt);
    const std::string outcome = judged.legal ? ": does not fit" : ": not legal";
    std::printf("%s\n",
                judged.plan.has_value() ? Line(*judged.plan, moe).c_str() : (SizesText(sizes, moe) + outcome).c_str());
  }
}

int Main(int argc, char** argv) {
  Options o;
  if (!Parse(argc, argv, &o)) {
    std::fprintf(stderr,
                 "usage: plan_check RECIPES.jsonl[.gz] [--all] [--show K] [--top] [--only TEXT] [--ask "
                 "TP,PP,VPP,CP,EP,ETP,MBS;...] [--max-gpus N] [--min name=percent,...] [--max name=percent,...]\n");
    return 2;
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  const absl::StatusOr<std::vector<Recipe>> recipes = ReadRecipes(o.path);
  if (!catalog.ok() || !recipes.ok()) {
    std::fprintf(stderr, "%s\n", (catalog.ok() ? recipes.status() : catalog.status()).ToString().c_str());
    return 2;
  }
  Questions searched;
  std::vector<Row> rows;
  std::map<std::string, int> skipped;
  for (const Recipe& recipe : *recipes) {
    if (!Counts(recipe, o)) continue;
    std::string why;
    const std::optional<NormalizedIntent> intent = MakeIntent(*catalog, recipe, &why);
    if (intent.has_value() && !RatesFor(*intent).known) why = "the GPU's rates are not published";
    if (intent.has_value() && intent->workload.global_batch_size <= 0) why = "no batch stated";
    if (!why.empty()) {
      ++skipped[why];
      continue;
    }
    PrintAsked(*intent, o.asked);
    if (!o.asked.empty()) continue;
    rows.push_back(Judge(recipe, *intent, *SearchOnce(QuestionKey(recipe, *intent), *intent, &searched)));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto score = [](const Row& row) { return row.fits ? row.recipe_us / std::max(1.0, row.best_us) : 1e9; };
    return score(a) > score(b);
  });
  for (int i = 0; i < std::min<int>(o.show, static_cast<int>(rows.size())); ++i) {
    Print(rows[static_cast<size_t>(i)]);
    for (const std::string& line : rows[static_cast<size_t>(i)].listed) {
      if (o.top) std::printf("      %s\n", line.c_str());
    }
  }
  std::printf("%zu recipes, %zu questions\n", rows.size(), searched.size());
  for (const auto& [why, count] : skipped) std::printf("  %d left out: %s\n", count, why.c_str());
  const int missed = PrintShares(rows, o) + PrintFigures(rows, searched, o);
  PrintExcess(rows);
  return missed > 0 || rows.empty() ? 1 : 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
