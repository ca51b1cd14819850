#include "resolver/judge/read_script.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/path.h"
#include "resolver/judge/read_arguments.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/reader.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/shell/state.h"
#include "resolver/stacks/megatron_lm/program.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

ShellLaunch Taken(const OtherLaunch& other) {
  ShellLaunch taken;
  static_cast<LaunchCommand&>(taken) = other.script->others[other.index];
  taken.last_world_size = other.script->last_world_size;
  taken.findings = other.script->findings;
  taken.wanted_files = other.script->wanted_files;
  return taken;
}

// One launch is read; what is told of the others stands where the first of them does.
ParseFinding OthersLeft(const ShellLaunch& launch) {
  constexpr size_t kMostLines = 8;
  std::string lines;
  for (size_t i = 0; i < std::min(launch.others.size(), kMostLines); ++i) {
    absl::StrAppend(&lines, i == 0 ? "" : ", ", launch.others[i].at.line);
  }
  const size_t all = launch.others.size() + static_cast<size_t>(launch.others_left_out);
  if (all > kMostLines) absl::StrAppend(&lines, ", ...");
  return MakeParseFinding(
      launch.others.front().at, kOtherLaunches, Severity::kWarning,
      absl::StrCat(all, all == 1 ? " other launch" : " other launches", " of a training, line ", lines),
      absl::StrCat("one launch: the one on line ", launch.at.line, " is read, and nothing is said of ",
                   all == 1 ? "the other" : "the others"),
      kScriptSource);
}

// One process for each GPU is what a training wants; who starts others has mostly forgotten --nnodes or --gpus.
ParseFinding OtherSize(const ShellLaunch& launch, int64_t stated) {
  ParseFinding entry = MakeParseFinding(
      launch.at, kLaunchWorldSize, Severity::kWarning,
      absl::StrCat("the launcher starts ", *launch.world_size, " processes, the question says ", stated, " GPUs"),
      absl::StrCat("one process for each GPU (torchrun: --nnodes times --nproc-per-node); judged on ", stated, " GPUs"),
      kScriptSource);
  entry.finding.area = "environment";
  entry.finding.stage = "launch";
  return entry;
}

// A driver's launcher starts the driver alone; the ranks are on the GPUs of its job.
void DropDrivers(ShellLaunch* launch) {
  launch->world_size.reset();
  launch->last_world_size.reset();
  launch->world_size_assumed = false;
  launch->node_processes = 0;
}

bool SaysItsSize(const ParseResult& parsed) {
  return std::any_of(parsed.knobs.begin(), parsed.knobs.end(),
                     [](const ParsedKnob& knob) { return knob.knob == Knob::launch_num_gpus && knob.value.is_int(); });
}

bool Says(const Knowledge& knowledge, std::initializer_list<Knob> any) {
  return std::any_of(any.begin(), any.end(),
                     [&](Knob knob) { return knowledge.shown.contains(knob) || knowledge.hidden.contains(knob); });
}

// The scripts of hybrid models build the layers of a pattern, and none of --num-layers; that of GPT does the reverse.
void CheckProgram(const ShellLaunch& launch, const Environment& env, Reading* reading) {
  const absl::string_view file = FileName(launch.script);
  const Knowledge& knowledge = reading->knowledge;
  const bool hybrid = file == "pretrain_hybrid.py" || file == "pretrain_mamba.py";
  if (!RunsMegatronLm(StackOf(env))) return;
  // `written`: the words that it rests on; none: what is not there.
  const auto say = [&](absl::string_view id, Severity severity, std::string needs, absl::string_view source,
                       std::vector<Observed> written = {}) {
    ParseFinding found = MakeParseFinding(launch.at, id, severity, std::string(file), std::move(needs), source);
    found.finding.observed = std::move(written);
    KeepFinding(std::move(found), &reading->parsed.findings);
  };
  const MegatronProgram& program = MegatronProgramFor(/*pattern=*/true, env.core_release);
  const bool pattern = Says(knowledge, {Knob::hybrid_layer_pattern, Knob::hybrid_override_pattern});
  const WrittenKnobs words(&reading->parsed);
  if (file == "pretrain_gpt.py" && pattern) {
    const Knob name =
        words.Has(Knob::hybrid_layer_pattern) ? Knob::hybrid_layer_pattern : Knob::hybrid_override_pattern;
    say("mlm.gpt-script-pattern", Severity::kWarning,
        absl::StrCat("it builds one kind of layers, whatever pattern it is given: start ", program.script),
        "Megatron-LM:megatron/training/argument_utils.py:512", {{std::string(Name(name)), words.Of(name)}});
  }
  if (!knowledge.elsewhere.empty()) return;
  const bool inference = words.Of(Knob::transformer_impl) == Value("inference_optimized");
  if (hybrid && !program.layers_module.empty() && knowledge.clear && !inference && !Says(knowledge, {Knob::spec})) {
    say("mlm.hybrid-script-spec", Severity::kError,
        absl::StrCat("it has to be told what a pattern's layers are: --spec ", program.layers_module, " ",
                     program.layers_name),
        "Megatron-LM@core_v0.18.0 hybrid_builders.py:25");
  }
  if (!hybrid || env.core_release < 17 || pattern ||
      Says(knowledge, {Knob::hybrid_attention_ratio, Knob::hybrid_mlp_ratio})) {
    return;
  }
  reading->parsed.unknown.push_back(Knob::hybrid_layer_pattern);
  say("mlm.hybrid-script-pattern", Severity::kWarning,
      "its layers are those of --hybrid-layer-pattern, and without one it has none",
      "Megatron-LM:megatron/core/models/hybrid/hybrid_layer_allocation.py:233");
}

}  // namespace

void ReadScript(const ScriptQuestion& script, ReadConfig* read) {
  const absl::string_view text = script.question.input.text;
  Environment* const env = &read->env;
  Reading* const reading = &read->reading;
  const SlurmJob job = ReadSbatchLines(text);
  for (const auto& [name, value] : job.exports) env->vars.emplace(name, value);
  EnvVars known = env->vars;
  AddSlurmVariables(job, &known);
  ShellLaunch launch = script.other.script == nullptr
                           ? ReadShellLaunch(text, known, env->model_files, script.question.launch)
                           : Taken(script.other);
  const bool driver = StackOf(*env).own_workers;
  if (driver) DropDrivers(&launch);
  if (!launch.others.empty()) read->script = std::make_shared<const ShellLaunch>(launch);
  for (const auto& [name, value] : launch.vars) env->vars.insert_or_assign(name, value);
  for (const std::string& name : launch.unset_vars) env->vars.erase(name);
  for (const std::string& name : launch.unknown_vars) env->vars.erase(name);
  for (auto& [name, content] : launch.written_files) env->model_files.insert_or_assign(name, std::move(content));
  // What is stated is of one launch: another one that says another size of itself has its own.
  const bool stated_for_last = !launch.last_world_size.has_value() || launch.world_size == launch.last_world_size;
  if (launch.world_size.has_value() && !stated_for_last) env->world_size.reset();
  const bool counted = launch.world_size.has_value() && !launch.world_size_assumed && !launch.script.empty();
  if (counted && script.other.script == nullptr && env->world_size.value_or(*launch.world_size) != *launch.world_size) {
    KeepFinding(OtherSize(launch, *env->world_size), &launch.findings);
  }
  const bool own_size = !env->world_size.has_value() && launch.world_size.has_value();
  if (own_size) env->world_size = launch.world_size;
  const std::optional<int64_t> job_gpus = driver && launch.job_gpus.has_value() ? launch.job_gpus : job.GpuCount();
  const bool job_counts = !env->world_size.has_value() && job_gpus.value_or(kMaxGpus + 1) <= kMaxGpus;
  if (job_counts && !driver) env->world_size = job_gpus;
  // What finds the program by it runs where it is set, and model files refer to it, too.
  constexpr absl::string_view kCheckout = "LOONGFORGE_PATH";
  if (absl::StrContains(launch.script, kCheckout)) env->vars.try_emplace(std::string(kCheckout), "$LOONGFORGE_PATH");
  reading->no_launch = launch.script.empty();
  reading->cpu_binding = std::move(launch.cpu_binding);
  if (reading->no_launch && !launch.too_much_work) {
    reading->not_judged.push_back(
        launch.unread_module.empty()
            ? "the launch: no command in this script runs a Python file"
            : absl::StrCat("the launch: ", Printable(launch.unread_module), " is a program whose words are not read"));
  }
  DropAllArguments(&launch.args);
  const InputFormat& format = RecogniseArguments(launch.args, launch.script, env->target);
  ReadArguments(std::move(launch.args), launch.script, false, format, *env, reading);
  // A driver starts as many ranks as its words say, on a part of the job or on all of it.
  if (job_counts && driver && !SaysItsSize(reading->parsed)) env->world_size = job_gpus;
  CheckProgram(launch, *env, reading);
  reading->knowledge.surroundings = !launch.vars_elsewhere;
  reading->knowledge.vars_in_files =
      std::any_of(launch.wanted_files.begin(), launch.wanted_files.end(), MayHoldVariables);
  reading->knowledge.hidden_vars = std::move(launch.unknown_vars);
  reading->node_processes = launch.node_processes;
  if (!launch.others.empty()) {
    reading->launches_left = true;
    KeepFinding(OthersLeft(launch), &launch.findings);
  }
  reading->knowledge.size_assumed = own_size && launch.world_size_assumed;
  ParseResult& parsed = reading->parsed;
  KeepFindings(std::move(parsed.findings), &launch.findings);
  parsed.findings = std::move(launch.findings);
  parsed.wanted_files.insert(parsed.wanted_files.end(), launch.wanted_files.begin(), launch.wanted_files.end());
}

}  // namespace flightplan
