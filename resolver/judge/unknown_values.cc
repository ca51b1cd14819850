#include "resolver/judge/unknown_values.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace flightplan {
namespace {

// What the stack works out from a knob, under the names that findings give it.
struct Consequence {
  Knob knob{};
  absl::string_view name;
};
constexpr std::array<Consequence, 12> kConsequences = {{{Knob::tensor_model_parallel_size, "data_parallel_size"},
                                                        {Knob::pipeline_model_parallel_size, "data_parallel_size"},
                                                        {Knob::context_parallel_size, "data_parallel_size"},
                                                        {Knob::tensor_model_parallel_size, "num_microbatches"},
                                                        {Knob::pipeline_model_parallel_size, "num_microbatches"},
                                                        {Knob::context_parallel_size, "num_microbatches"},
                                                        {Knob::micro_batch_size, "num_microbatches"},
                                                        {Knob::global_batch_size, "num_microbatches"},
                                                        {Knob::hidden_size, "ffn_hidden_size"},
                                                        {Knob::hidden_size, "kv_channels"},
                                                        {Knob::num_attention_heads, "kv_channels"},
                                                        {Knob::num_attention_heads, "num_query_groups"}}};

// Without these no memory is forecast.
constexpr std::array<Knob, 13> kSizes = {Knob::num_layers,
                                         Knob::hidden_size,
                                         Knob::ffn_hidden_size,
                                         Knob::num_moe_experts,
                                         Knob::moe_ffn_hidden_size,
                                         Knob::moe_router_topk,
                                         Knob::seq_length,
                                         Knob::micro_batch_size,
                                         Knob::tensor_model_parallel_size,
                                         Knob::pipeline_model_parallel_size,
                                         Knob::context_parallel_size,
                                         Knob::expert_model_parallel_size,
                                         Knob::expert_tensor_parallel_size};

constexpr size_t kMostNames = 12;  // of a sentence

}  // namespace

void DropWhatIsNotKnown(Reading* reading, RunResult* run) {
  if (reading->no_launch) {
    run->findings.clear();
    run->changes.clear();
    return;
  }
  const std::vector<Knob>& unknown = reading->parsed.unknown;
  if (unknown.empty()) return;
  std::set<absl::string_view> names;
  bool sizes_known = true;
  for (const Knob knob : unknown) {
    names.insert(Name(knob));
    sizes_known = sizes_known && std::find(kSizes.begin(), kSizes.end(), knob) == kSizes.end();
    for (const Consequence& consequence : kConsequences) {
      if (consequence.knob == knob) names.insert(consequence.name);
    }
  }
  const size_t before = run->findings.size();
  const auto rests_on_unknown = [&](const Finding& finding) {
    if (!sizes_known && absl::StartsWith(finding.rule_id, "fit.")) return true;
    return std::any_of(finding.observed.begin(), finding.observed.end(),
                       [&names](const Observed& seen) { return names.count(seen.name) > 0; });
  };
  run->findings.erase(std::remove_if(run->findings.begin(), run->findings.end(), rests_on_unknown),
                      run->findings.end());
  const size_t dropped = before - run->findings.size();
  std::vector<absl::string_view> spelled;
  spelled.reserve(unknown.size());
  for (const Knob knob : unknown) spelled.push_back(Name(knob));
  std::sort(spelled.begin(), spelled.end());
  std::string more;
  if (spelled.size() > kMostNames) {
    more = absl::StrCat(" and ", spelled.size() - kMostNames, " more");
    spelled.resize(kMostNames);
  }
  reading->not_judged.push_back(absl::StrCat("values that only a run would know, and ", dropped,
                                             " findings that rest on them: ", absl::StrJoin(spelled, ", "), more));
}

}  // namespace flightplan
