#include "resolver/judge/conversion_reasons.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/spellings.h"
#include "resolver/judge/same_meaning.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/stack.h"

namespace flightplan {

bool SaidByOwnWords(Knob knob, const Environment& env) {
  return StackOf(env).hf_models && (knob == Knob::seq_length || knob == Knob::global_batch_size);
}

bool MeansAnother(Knob knob, const Environment& from, const Environment& to) {
  const auto rollouts = [](const Stack& stack) { return stack.packs && stack.command_line; };
  return knob == Knob::eval_interval && rollouts(StackOf(to)) && !rollouts(StackOf(from));
}

bool IsReadThereAlone(Knob knob, const Environment& from, const Environment& to) {
  const bool decay = knob == Knob::start_weight_decay || knob == Knob::end_weight_decay;
  return decay && StackOf(to).container && !StackOf(from).container;
}

bool IsAskedBeforeDerived(Knob knob, const Environment& to) {
  return knob == Knob::virtual_pipeline_model_parallel_size && StackOf(to).container;
}

bool IsUnread(Knob knob, const Config& written, const Config& runs) {
  return knob == Knob::num_query_groups && !SameValue(written.Get(knob), runs.Get(knob));
}

bool SetByStack(const RunResult& run, absl::string_view source, Knob knob) {
  return std::any_of(run.changes.begin(), run.changes.end(), [&](const ConfigChange& change) {
    return change.env_var.empty() && change.knob == knob && absl::StartsWith(change.source, source);
  });
}

void ExportWhatSourceSets(const Config& written, const Environment& from, Environment* to) {
  if (RunsMegatronLm(StackOf(from)) || !RunsMegatronLm(StackOf(*to))) return;
  const RunResult run = Run(written, *to);
  for (const Finding& finding : run.findings) {
    if (finding.severity != Severity::kError || finding.fixes.size() != 1) continue;
    for (const Assignment& fix : finding.fixes.front()) {
      if (!fix.env_var.empty()) to->vars.emplace(fix.env_var, fix.value.ToText());
    }
  }
}

bool IsOfProcess(Knob knob) { return knob == Knob::local_rank; }

bool TakesWord(Knob knob, const Value& value, const Environment& env) {
  const internal::FlagRow* flag = FirstFlag(knob, env.core_release);
  if (StackOf(env).container || flag == nullptr || *flag->choices == '\0' || !value.is_text()) return true;
  const std::vector<absl::string_view> choices = absl::StrSplit(flag->choices, '|');
  return std::find(choices.begin(), choices.end(), value.text()) != choices.end();
}

std::string WhyNoWord(Knob source, const Config& config, const Environment& from, const Environment& to) {
  if (from.target == to.target) return absl::StrCat(TargetName(to), " has no such knob");
  if (const absl::string_view flag = WordFor(source, kBridgeOverride);
      StackOf(to).container && absl::StartsWith(flag, "--")) {
    return absl::StrCat("run_recipe.py takes ", flag, " in front of the overrides");
  }
  const bool rotary = config.Get(Knob::position_embedding_type).text() != "learned_absolute";
  if (source == Knob::max_position_embeddings && rotary) {
    return absl::StrCat("rotary embeddings take any length, and ", TargetName(to), " asks for none");
  }
  return absl::StrCat("no word of ", TargetName(to), " is known for it here; write its counterpart yourself");
}

}  // namespace flightplan
