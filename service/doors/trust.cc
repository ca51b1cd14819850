#include "service/doors/trust.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"

namespace flightplan::doors {
namespace {

// Entry scripts of Megatron-LM and Megatron-Bridge. Others call their parsers with flags of their own.
constexpr absl::string_view kEntryScripts[] = {"pretrain_gpt.py",  "pretrain_mamba.py",  "pretrain_hybrid.py",
                                               "pretrain_bert.py", "pretrain_t5.py",     "run_recipe.py",
                                               "run_script.py",    "setup_experiment.py"};

// Flags of Megatron-LM and LoongForge that bring values from elsewhere.
constexpr absl::string_view kElsewhereFlags[] = {"--yaml-cfg",    "--use-checkpoint-args", "--model-name",
                                                 "--config-file", "--config_file",         "--model-config"};

constexpr absl::string_view kLayout[] = {"tensor_model_parallel_size",           "pipeline_model_parallel_size",
                                         "virtual_pipeline_model_parallel_size", "context_parallel_size",
                                         "expert_model_parallel_size",           "expert_tensor_parallel_size",
                                         "tensor_parallel_num_weight_shards"};

constexpr absl::string_view kGpuFacts[] = {"gpu", "cc_major", "cc_minor", "nvlink_domain_gpus", "gpus_per_node"};

bool In(absl::string_view word, absl::Span<const absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsFlag(absl::string_view text) { return absl::StartsWith(text, "--"); }

const internal::FlagRow* FlagNamed(absl::string_view flag) {
  for (const internal::FlagRow& row : Flags()) {
    if (flag == row.flag) return &row;
  }
  return nullptr;
}

bool TakesValues(FlagForm form) {
  return form != FlagForm::kSwitchOn && form != FlagForm::kSwitchOff && form != FlagForm::kSwitchPair;
}

// Of "model.field=value".
std::optional<Knob> KnobOfOverride(absl::string_view text) {
  text = text.substr(0, text.find('='));
  while (absl::ConsumePrefix(&text, "+")) {
  }
  for (int i = 0; i < kKnobCount; ++i) {
    if (text == Row(static_cast<Knob>(i)).bridge_override) return static_cast<Knob>(i);
  }
  return std::nullopt;
}

// A word that cannot be read, where a value belongs: of that knob nothing is known. Anywhere else it may hold any
// flags.
void ReadUnknownWords(absl::Span<const Argument> args, Knowledge* knowledge) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].unknown) continue;
    knowledge->clear = false;
    if (StackOf(knowledge->stack).container) {
      const std::optional<Knob> knob = KnobOfOverride(args[i].text);
      if (knob.has_value()) knowledge->hidden.insert(std::string(Name(*knob)));
    }
    absl::string_view flag = args[i].text;
    if (IsFlag(flag)) {
      flag = flag.substr(0, flag.find('='));
    } else if (i > 0 && IsFlag(args[i - 1].text) && !absl::StrContains(args[i - 1].text, '=')) {
      flag = args[i - 1].text;
    }
    const internal::FlagRow* row = FlagNamed(flag);
    if (row != nullptr && TakesValues(row->form)) {
      knowledge->hidden.insert(std::string(Name(row->knob)));
    } else if (knowledge->elsewhere.empty() && (!IsFlag(flag) || row != nullptr)) {
      knowledge->elsewhere = absl::StrCat("in ", Printable(args[i].text), ", which cannot be read here");
      knowledge->layout_elsewhere = true;
    }
  }
}

bool IsVariable(absl::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_';
         });
}

// What the reader itself says of a word, rather than a rule of values.
Trust TrustInReader(const v1::Finding& finding, const Knowledge& knowledge) {
  if (finding.rule_id() == "input.limit") return Trust::kNone;
  const Stack& stack = StackOf(knowledge.stack);
  if (stack.fork || !knowledge.own_parser) return Trust::kNone;  // a fork's own flags are not all in the knob table
  // A word that was read as a flag's value stands where it stands whatever the other words are.
  const bool stands = stack.command_line && !finding.observed().empty();
  return knowledge.clear || stands ? Trust::kFull : Trust::kNone;
}

}  // namespace

Knowledge KnowledgeOf(Target stack, absl::string_view script, absl::Span<const Argument> args, EnvVars vars) {
  Knowledge knowledge;
  knowledge.stack = stack;
  knowledge.vars = std::move(vars);
  knowledge.own_parser = In(script.substr(script.rfind('/') + 1), kEntryScripts);
  if (StackOf(stack).container) {
    knowledge.elsewhere = "in the recipe";
    knowledge.layout_elsewhere = true;
  }
  for (const Argument& arg : args) {
    const absl::string_view flag = absl::string_view(arg.text).substr(0, arg.text.find('='));
    if (!knowledge.elsewhere.empty() || !In(flag, kElsewhereFlags)) continue;
    knowledge.elsewhere = absl::StrCat("where ", flag, " says");
    knowledge.layout_elsewhere = !StackOf(stack).model_files;  // its model files hold the architecture
  }
  ReadUnknownWords(args, &knowledge);
  if (StackOf(stack).command_line && !StackOf(stack).fork && !knowledge.own_parser && knowledge.elsewhere.empty()) {
    knowledge.elsewhere = absl::StrCat("in ", Printable(script), " itself");  // defaults of its own
  }
  return knowledge;
}

Trust TrustIn(const v1::Finding& finding, const Knowledge& knowledge, const std::set<std::string>& written) {
  if (finding.stage() == "parse") return TrustInReader(finding, knowledge);
  Trust trust = Trust::kFull;
  for (const v1::KnobSetting& seen : finding.observed()) {
    if (knowledge.hidden.count(seen.name()) > 0) return Trust::kNone;
    if (!FindKnob(seen.name()).has_value()) {
      if (!knowledge.gpu_known && In(seen.name(), kGpuFacts)) return Trust::kNone;
      // A fact of the machine or the software that nobody stated.
      const bool stated = seen.value().kind_case() != v1::KnobValue::KIND_NOT_SET;
      if (!stated && !IsVariable(seen.name())) return Trust::kNone;
      if (seen.name() == "world_size" && knowledge.size_assumed) trust = Trust::kUnless;
      if (IsVariable(seen.name()) && knowledge.vars.count(seen.name()) == 0) trust = Trust::kUnless;
      continue;
    }
    const bool layout = In(seen.name(), kLayout) && !knowledge.layout_elsewhere;
    if (!knowledge.elsewhere.empty() && !layout && written.count(seen.name()) == 0) return Trust::kNone;
  }
  return trust;
}

}  // namespace flightplan::doors
