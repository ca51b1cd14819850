// LoongForge's own way to say which pipeline stage holds which layers (baidu-baige/LoongForge@c6275661,
// loongforge/train/validators.py): --custom-pipeline-layers and --custom-virtual-pipeline-layers, which become a
// layout.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr size_t kMaxEntries = 4096;
constexpr int64_t kMaxLayersPerStage = 1024;

// "8,7,8" as numbers. Without a comma LoongForge reads no entry at all; so do we.
std::vector<int64_t> Entries(F f, Knob knob) {
  std::vector<int64_t> entries;
  const absl::string_view text = f.text(knob);
  if (!absl::StrContains(text, ',')) return entries;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    int64_t value = 0;
    if (entries.size() >= kMaxEntries || !absl::SimpleAtoi(item, &value)) return {};
    entries.push_back(value);
  }
  return entries;
}

int64_t Sum(const std::vector<int64_t>& entries) {
  int64_t sum = 0;
  for (int64_t entry : entries) {
    if (__builtin_add_overflow(sum, entry, &sum)) return -1;
  }
  return sum;
}

bool CustomPp(F f) { return f.set(K::custom_pipeline_layers); }
bool CustomVpp(F f) { return f.set(K::custom_virtual_pipeline_layers); }
int64_t Stages(F f) { return std::max<int64_t>(1, f.num(K::num_virtual_stages_per_pipeline_rank)); }

// `total` spread over `parts` as evenly as it goes, the first parts taking one more.
std::string Even(int64_t total, int64_t parts) {
  if (parts < 1 || parts > static_cast<int64_t>(kMaxEntries)) return "";
  std::vector<int64_t> sizes(static_cast<size_t>(parts), std::max<int64_t>(0, total) / parts);
  for (int64_t i = 0; i < std::max<int64_t>(0, total) % parts; ++i) ++sizes[static_cast<size_t>(i)];
  return absl::StrJoin(sizes, ",");
}

std::vector<Patch> EvenPp(F f) {
  Patch patch = {Assign(K::custom_pipeline_layers, PpOrOne(f) > 1 && f.num(K::num_layers) > 0
                                                       ? Value(Even(f.num(K::num_layers), PpOrOne(f)))
                                                       : Value())};
  // The list becomes a layout, which goes with no other way to count virtual stages.
  if (f.set(K::num_layers_per_virtual_pipeline_stage)) {
    patch.push_back(Assign(K::num_layers_per_virtual_pipeline_stage, Value()));
  }
  return {std::move(patch)};
}
// Without virtual stages.
std::vector<Patch> EvenPpAlone(F f) {
  Patch patch = {Assign(K::custom_virtual_pipeline_layers, Value())};
  if (f.num(K::num_layers) % PpOrOne(f) != 0) {
    const std::vector<Patch> even = EvenPp(f);
    patch.insert(patch.end(), even[0].begin(), even[0].end());
  }
  return {std::move(patch)};
}
std::vector<Patch> EvenVpp(F f) {
  int64_t parts = 0;
  if (__builtin_mul_overflow(PpOrOne(f), Stages(f), &parts)) return {};
  return {{Assign(K::custom_virtual_pipeline_layers, Value(Even(f.num(K::num_layers), parts)))}};
}

std::string Counted(F f, Knob knob, int64_t wanted) {
  const std::vector<int64_t> entries = Entries(f, knob);
  return absl::StrCat(entries.size(), " entries with ", Sum(entries), " layers, for ", wanted, " stages and ",
                      f.num(K::num_layers), " layers");
}

// Each stage's layers over its virtual stages, which are listed in the order of execution; the later ones take one
// more.
std::vector<int64_t> Spread(const std::vector<int64_t>& stages, int64_t virtual_stages) {
  std::vector<int64_t> entries;
  if (virtual_stages > static_cast<int64_t>(kMaxEntries)) return entries;
  for (int64_t i = 0; i < virtual_stages; ++i) {
    for (const int64_t layers : stages) {
      const bool more = i >= virtual_stages - layers % virtual_stages;
      entries.push_back(layers / virtual_stages + (more ? 1 : 0));
    }
  }
  return entries.size() > kMaxEntries ? std::vector<int64_t>() : entries;
}

bool NotANumber(F f, Knob knob) {
  if (!absl::StrContains(f.text(knob), ',')) return false;
  for (const absl::string_view item : absl::StrSplit(f.text(knob), ',')) {
    int64_t value = 0;
    const bool blank = absl::StripAsciiWhitespace(item).empty();
    if (!absl::SimpleAtoi(item, &value) && !(blank && knob == K::custom_virtual_pipeline_layers)) return true;
  }
  return false;
}

// Virtual stages are listed in the order of execution, embedding first, MTP and loss last.
std::string LayoutOf(const std::vector<int64_t>& entries, int64_t mtp_layers) {
  std::string layout;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] < 0 || entries[i] > kMaxLayersPerStage) return "";
    absl::StrAppend(&layout, i == 0 ? "E" : "|");
    layout.append(static_cast<size_t>(entries[i]), 't');
  }
  if (mtp_layers > 0 && mtp_layers <= 64) layout.append(static_cast<size_t>(mtp_layers), 'm');
  return layout + "L";
}

const Rule kRules[] = {
    {.id = "lf.custom-pp-xor-layout",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 500},
     .source = "LoongForge:loongforge/train/validators.py:449",
     .reads = {K::custom_pipeline_layers, K::pipeline_model_parallel_layout},
     .when = [](F f) { return CustomPp(f) && f.set(K::pipeline_model_parallel_layout); },
     .needs = "give custom_pipeline_layers or pipeline_model_parallel_layout, not both",
     .fixes = {{{K::custom_pipeline_layers, kUnset}}, {{K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "lf.custom-pp-no-first-last",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 501},
     .source = "LoongForge:loongforge/train/validators.py:456",
     .reads = {K::custom_pipeline_layers, K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage},
     .when =
         [](F f) {
           return CustomPp(f) &&
                  (f.on(K::num_layers_in_first_pipeline_stage) || f.on(K::num_layers_in_last_pipeline_stage));
         },
     .needs = "custom_pipeline_layers already says how many layers the first and last stage hold",
     .fixes = {{{K::num_layers_in_first_pipeline_stage, kUnset}, {K::num_layers_in_last_pipeline_stage, kUnset}}}},
    {.id = "lf.custom-vpp-xor-pp",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 502},
     .source = "LoongForge:loongforge/train/validators.py:491",
     .reads = {K::custom_virtual_pipeline_layers, K::custom_pipeline_layers},
     .when = [](F f) { return CustomPp(f) && CustomVpp(f); },
     .needs = "give custom_pipeline_layers or custom_virtual_pipeline_layers, not both",
     .fixes = {{{K::custom_pipeline_layers, kUnset}}}},
    {.id = "lf.custom-pp-word",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 502, 1},
     .source = "LoongForge:loongforge/train/validators.py:461",
     .reads = {K::custom_pipeline_layers, K::custom_virtual_pipeline_layers},
     .when =
         [](F f) {
           return NotANumber(f, K::custom_pipeline_layers) || NotANumber(f, K::custom_virtual_pipeline_layers);
         },
     .needs = "the entries are whole numbers of layers between commas",
     .fix = [](F f) { return CustomVpp(f) ? EvenVpp(f) : EvenPp(f); }},
    {.id = "lf.custom-pp-count",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 503},
     .source = "LoongForge:loongforge/train/validators.py:463",
     .reads = {K::custom_pipeline_layers, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return CustomPp(f) && static_cast<int64_t>(Entries(f, K::custom_pipeline_layers).size()) != PpOrOne(f);
         },
     .needs = "custom_pipeline_layers needs one entry per pipeline stage",
     .fix = EvenPp,
     .detail = [](F f) { return Counted(f, K::custom_pipeline_layers, PpOrOne(f)); }},
    {.id = "lf.custom-pp-sum",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 504},
     .source = "LoongForge:loongforge/train/validators.py:467",
     .reads = {K::custom_pipeline_layers, K::num_layers},
     .when = [](F f) { return CustomPp(f) && Sum(Entries(f, K::custom_pipeline_layers)) != f.num(K::num_layers); },
     .needs = "the entries of custom_pipeline_layers must add up to num_layers",
     .fix = EvenPp,
     .detail = [](F f) { return Counted(f, K::custom_pipeline_layers, PpOrOne(f)); }},
    {.id = "lf.custom-pp-vpp-min",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 505},
     .source = "LoongForge:loongforge/train/validators.py:471",
     .reads = {K::custom_pipeline_layers, K::num_virtual_stages_per_pipeline_rank},
     .when =
         [](F f) {
           if (!CustomPp(f) || f.none(K::num_virtual_stages_per_pipeline_rank)) return false;
           const std::vector<int64_t> entries = Entries(f, K::custom_pipeline_layers);
           return std::any_of(entries.begin(), entries.end(), [&](int64_t entry) { return entry < Stages(f); });
         },
     .needs = "every pipeline stage needs at least one layer per virtual stage",
     .fixes = {{{K::num_virtual_stages_per_pipeline_rank, kUnset}}}},
    {.id = "lf.custom-vpp-pp",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 506},
     .source = "LoongForge:loongforge/train/validators.py:487",
     .reads = {K::custom_virtual_pipeline_layers, K::pipeline_model_parallel_size},
     .when = [](F f) { return CustomVpp(f) && PpOrOne(f) <= 1; },
     .needs = "virtual pipeline layers need pipeline_model_parallel_size of at least 2",
     .fixes = {{{K::custom_virtual_pipeline_layers, kUnset}, {K::num_virtual_stages_per_pipeline_rank, kUnset}}}},
    {.id = "lf.custom-vpp-stages",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 507},
     .source = "LoongForge:loongforge/train/validators.py:489",
     .reads = {K::custom_virtual_pipeline_layers, K::num_virtual_stages_per_pipeline_rank},
     .when = [](F f) { return CustomVpp(f) && f.none(K::num_virtual_stages_per_pipeline_rank); },
     .needs = "custom_virtual_pipeline_layers needs num_virtual_stages_per_pipeline_rank",
     .fix = EvenPpAlone},
    {.id = "lf.custom-vpp-sum",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 508},
     .source = "LoongForge:loongforge/train/validators.py:498",
     .reads = {K::custom_virtual_pipeline_layers, K::num_layers},
     .when =
         [](F f) { return CustomVpp(f) && Sum(Entries(f, K::custom_virtual_pipeline_layers)) != f.num(K::num_layers); },
     .needs = "the entries of custom_virtual_pipeline_layers must add up to num_layers",
     .fix = EvenVpp,
     .detail = [](F f) { return Counted(f, K::custom_virtual_pipeline_layers, PpOrOne(f) * Stages(f)); }},
    {.id = "lf.custom-vpp-count",
     .area = "pipeline",
     .at = {Phase::kLoongForge, 509},
     .source = "LoongForge:loongforge/train/validators.py:502",
     .reads = {K::custom_virtual_pipeline_layers, K::pipeline_model_parallel_size,
               K::num_virtual_stages_per_pipeline_rank},
     .when =
         [](F f) {
           int64_t wanted = 0;
           if (!CustomVpp(f) || __builtin_mul_overflow(PpOrOne(f), Stages(f), &wanted)) return CustomVpp(f);
           return static_cast<int64_t>(Entries(f, K::custom_virtual_pipeline_layers).size()) != wanted;
         },
     .needs = "custom_virtual_pipeline_layers needs one entry per virtual stage of every pipeline rank",
     .fix = EvenVpp},
    {.id = "lf.custom-pp-to-layout",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 520},
     .source = "LoongForge:loongforge/train/validators.py:475",
     .reads = {K::custom_pipeline_layers, K::custom_virtual_pipeline_layers, K::pipeline_model_parallel_layout},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!CustomPp(f) && !CustomVpp(f)) return;
           const std::vector<int64_t> entries = CustomVpp(f) ? Entries(f, K::custom_virtual_pipeline_layers)
                                                             : Spread(Entries(f, K::custom_pipeline_layers), Stages(f));
           const std::string layout = entries.empty() ? "" : LayoutOf(entries, f.num(K::mtp_num_layers));
           if (layout.empty()) return;
           e.Set(K::pipeline_model_parallel_layout, Value(layout));
           e.Set(K::num_virtual_stages_per_pipeline_rank, Value());
         }},
};

}  // namespace

RuleList LoongforgePipelineRules() { return kRules; }

}  // namespace flightplan
