#include "resolver/stacks/written_knobs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"

namespace flightplan {

absl::Span<const Argument> AsManyAsAreRead(absl::Span<const Argument> args, absl::string_view source,
                                           ParseResult* result) {
  if (args.size() <= kMaxArguments) return args;
  KeepFinding(MakeParseFinding({}, "input.limit", Severity::kError, absl::StrCat(args.size(), " arguments"),
                               absl::StrCat("at most ", kMaxArguments, " arguments are read"), source),
              &result->findings);
  return args.subspan(0, kMaxArguments);
}

const ParsedKnob* WrittenKnobs::Last(Knob knob) const {
  const auto found = std::find_if(result_.knobs.rbegin(), result_.knobs.rend(),
                                  [knob](const ParsedKnob& parsed) { return parsed.knob == knob; });
  return found == result_.knobs.rend() ? nullptr : &*found;
}

bool WrittenKnobs::Unknown(Knob knob) const {
  return std::find(result_.unknown.begin(), result_.unknown.end(), knob) != result_.unknown.end();
}

std::optional<int64_t> WrittenKnobs::Number(Knob knob) const {
  const ParsedKnob* parsed = Last(knob);
  return parsed != nullptr && parsed->value.is_int() ? std::optional(parsed->value.integer()) : std::nullopt;
}

int64_t WrittenKnobs::Size(Knob knob) const { return std::max<int64_t>(1, Number(knob).value_or(1)); }

void WrittenKnobs::Take(Knob knob, Value value, SourcePosition at) {
  result_.unknown.erase(std::remove(result_.unknown.begin(), result_.unknown.end(), knob), result_.unknown.end());
  result_.knobs.push_back({knob, std::move(value), at});
}

std::optional<int64_t> WrittenKnobs::GpusOfReplica() const {
  int64_t gpus = 1;
  for (const Knob size :
       {Knob::tensor_model_parallel_size, Knob::pipeline_model_parallel_size, Knob::context_parallel_size}) {
    if (Unknown(size)) return std::nullopt;
    gpus = SaturatingMul(gpus, Size(size));
  }
  return gpus;
}

bool WrittenKnobs::SetWorld(std::optional<int64_t> nodes, std::optional<int64_t> gpus_per_node) {
  const auto known = [](std::optional<int64_t> count) {
    return count.has_value() && *count >= 1 && *count <= kMostGpus;
  };
  if (!known(nodes) || !known(gpus_per_node)) return false;
  result_.gpus_per_node = *gpus_per_node;
  Set(Knob::launch_num_gpus, *nodes * *gpus_per_node);
  return true;
}

void WrittenKnobs::SetBefore(const std::vector<DefaultKnob>& defaults) {
  std::vector<ParsedKnob> before;
  for (const DefaultKnob& row : defaults) {
    if (!row.value.is_none() && !Has(row.knob) && !Unknown(row.knob))
      before.push_back({row.knob, row.value, {}, Origin::kUpstream});
  }
  result_.knobs.insert(result_.knobs.begin(), before.begin(), before.end());
}

}  // namespace flightplan
