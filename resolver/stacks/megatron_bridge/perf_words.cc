#include "resolver/stacks/megatron_bridge/perf_words.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/base/nearest.h"

namespace flightplan {
namespace {

constexpr absl::string_view kScopes = "--cuda_graph_scope";

// Names that other parts of the stack, and people, have for the harness's words.
struct OtherName {
  absl::string_view flag, name, word;
};
constexpr OtherName kOtherNames[] = {
    {"--compute_dtype", "mxfp8", "fp8_mx"},
    {"--compute_dtype", "fp8mx", "fp8_mx"},
    {"--compute_dtype", "fp8_mxfp8", "fp8_mx"},
    {"--compute_dtype", "fp8", "fp8_cs"},
    {"--compute_dtype", "fp8cs", "fp8_cs"},
    {"--compute_dtype", "fp8_current_scaling", "fp8_cs"},
    {"--compute_dtype", "tensorwise", "fp8_cs"},
    {"--compute_dtype", "fp8sc", "fp8_sc"},
    {"--compute_dtype", "fp8_blockwise", "fp8_sc"},
    {"--compute_dtype", "blockwise", "fp8_sc"},
    {"--compute_dtype", "fp8_subchannel", "fp8_sc"},
    {"--compute_dtype", "fp4", "nvfp4"},
    {"--compute_dtype", "bfloat16", "bf16"},
    {"--task", "lora", "peft"},
    {"--task", "finetune", "sft"},
    {"--cuda_graph_impl", "te", "transformer_engine"},
    {"--moe_flex_dispatcher_backend", "alltoall", "None"},
};

// In small letters; empty: nothing is near.
absl::string_view Meant(const PerfFlag& flag, const std::string& text) {
  for (const OtherName& other : kOtherNames) {
    if (other.flag == flag.name && other.name == text) return other.word;
  }
  if (flag.name == "--compute_dtype") {
    for (const ComputeDtype& dtype : ComputeDtypes()) {
      if (dtype.recipe == text) return dtype.name;
    }
  }
  const std::vector<absl::string_view> choices = absl::StrSplit(flag.choices, '|');
  for (const absl::string_view choice : choices) {
    if (absl::AsciiStrToLower(choice) == text) return choice;
  }
  // GPUs' names are all near one another.
  if (const absl::string_view near = NearestName(text, choices); !near.empty() && flag.name != "--gpu") return near;
  for (const absl::string_view choice : choices) {  // gb200-nvl72, h100_sxm
    if (absl::StartsWith(text, choice) && absl::ascii_ispunct(static_cast<unsigned char>(text[choice.size()]))) {
      return choice;
    }
  }
  return "";
}

bool IsOneOf(absl::string_view text, absl::string_view choices) {
  const std::vector<absl::string_view> words = absl::StrSplit(choices, '|');
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

bool IsChoice(const PerfFlag& flag, absl::string_view text) {
  if (flag.choices.empty()) return true;
  if (flag.name == "--domain") return IsOneOf(absl::AsciiStrToLower(text), flag.choices);  // its type is lower_str
  if (flag.name != kScopes) return IsOneOf(text, flag.choices);
  const std::vector<absl::string_view> scopes = absl::StrSplit(text, ',');
  return std::all_of(scopes.begin(), scopes.end(),
                     [&](absl::string_view scope) { return IsOneOf(scope, flag.choices); });
}

std::string ChoiceNeeds(const PerfFlag& flag, absl::string_view text) {
  std::vector<std::string> meant;
  const bool several = flag.name == kScopes;
  const std::vector<std::string> words = absl::StrSplit(text, several ? ',' : '\n');
  for (const std::string& word : words) {
    if (IsOneOf(word, flag.choices)) {
      meant.push_back(word);
    } else if (const absl::string_view near = Meant(flag, absl::AsciiStrToLower(word)); !near.empty()) {
      meant.emplace_back(near);
    }
  }
  std::string needs = absl::StrCat(several ? "of " : "one of ", flag.choices);
  if (meant.size() == words.size()) absl::StrAppend(&needs, ": did you mean ", absl::StrJoin(meant, ","), "?");
  return needs;
}

std::string FlagNeeds(absl::string_view word, const std::vector<const PerfFlag*>& begin_so) {
  std::vector<absl::string_view> names;
  if (begin_so.size() > 1) {
    for (const PerfFlag* flag : begin_so) names.push_back(flag->name);
    return absl::StrCat("argparse takes the beginning of one flag alone for it: ", absl::StrJoin(names, ", "));
  }
  for (const PerfFlag& flag : PerfFlags()) names.push_back(flag.name);
  const absl::string_view nearest = NearestName(word.substr(0, word.find('=')), names);
  return nearest.empty() ? "run_script.py has no such flag" : absl::StrCat("did you mean ", nearest, "?");
}

}  // namespace flightplan
