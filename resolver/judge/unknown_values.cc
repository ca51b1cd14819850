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
  for (const Knob knob : unknown) {
    if (IsCheckpointPath(knob)) continue;  // what is said of it is that it is written
    names.insert(Name(knob));
    for (const Consequence& consequence : kConsequences) {
      if (consequence.knob == knob) names.insert(consequence.name);
    }
  }
  const size_t before = run->findings.size();
  const auto rests_on_unknown = [&](const Finding& finding) {
    // What memory takes without a value that is not known is the weighing's own to say (weigh_config.h).
    if (absl::StartsWith(finding.rule_id, "fit.")) return false;
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
  const std::string resting =
      dropped == 0 ? "" : absl::StrCat(", and ", dropped, dropped == 1 ? " finding" : " findings", " resting on them");
  reading->not_judged.push_back(
      absl::StrCat("values that only a run would know", resting, ": ", absl::StrJoin(spelled, ", "), more));
}

}  // namespace flightplan
