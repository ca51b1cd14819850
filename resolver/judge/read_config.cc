#include "resolver/judge/read_config.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/judge/loongforge_parts.h"
#include "resolver/judge/named_model.h"
#include "resolver/judge/read_arguments.h"
#include "resolver/judge/read_script.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/violations.h"
#include "resolver/pipeline/choose_profile.h"
#include "resolver/plan/knob_value.h"
#include "resolver/plan/network.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/reader.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/loongforge/model.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

std::vector<Argument> Words(const std::vector<std::string>& values) {
  std::vector<Argument> words;
  words.reserve(values.size());
  for (const std::string& value : values) words.push_back({value, {static_cast<int>(words.size()), 0, 0}});
  return words;
}

void UseGpu(const GpuSystem& gpu, ReadConfig* read) {
  read->gpu = gpu;
  read->env.gpu_name = gpu.device_name;
  read->env.cc_major = gpu.cc_major;
  read->env.cc_minor = gpu.cc_minor;
  read->env.nvlink_domain_gpus = static_cast<int>(gpu.nvlink_domain_gpus);
  read->env.gpus_per_node = static_cast<int>(gpu.gpus_per_node);
}

// What the caller says of others' memory stands over what the launch says.
void ReserveForOthers(const MemoryOfOthers& others, std::optional<GpuSystem>* gpu) {
  if (!gpu->has_value() || (*gpu)->reserved_bytes.has_value() || !(*gpu)->hbm_bytes.has_value()) return;
  const double share = others.gpu_share.value_or(0);
  if (share > 0 && share < 1) Reserve(std::llround(share * static_cast<double>(*(*gpu)->hbm_bytes)), &**gpu);
}

// What the catalogue says of the model that a launch names stands before the launch's own words.
void UseNamedModel(const Catalog& catalog, const Environment& env, Reading* reading) {
  ParseResult& parsed = reading->parsed;
  const NamedModel named = FindNamedModel(catalog, parsed.hf_model);
  // A recipe of Bridge's names its model itself.
  if (named.model == nullptr || (!named.exact && !StackOf(env).hf_models)) return;
  Environment of_model = env;
  of_model.mla = named.model->is_mla();
  std::vector<ParsedKnob> knobs;
  const auto know = [&](Knob knob, Value value) {
    knobs.push_back({knob, std::move(value), {}, Origin::kModel});
    reading->knowledge.shown.insert(knob);
  };
  for (auto& [knob, value] : ModelKnobs(*named.model, of_model)) know(knob, std::move(value));
  if (StackOf(env).hf_models) {  // whose tokenizer stands in the same folder
    know(Knob::vocab_size, Value(named.model->vocab_size));
    know(Knob::share_embeddings_and_output_weights, Value(named.model->tie_embeddings.value_or(false)));
  }
  const bool providers = StackOf(env).container || StackOf(env).hf_models;
  // The classes have no field for the stack of Mamba and its kin: the provider is given it beside them.
  if (const auto& pattern = named.model->hybrid_layer_pattern; pattern.has_value() && providers) {
    know(Knob::hybrid_layer_pattern, Value(*pattern));
    if (const auto& mtp = named.model->mtp_hybrid_override_pattern; mtp.has_value()) {
      knobs.push_back({Knob::mtp_hybrid_override_pattern, Value(*mtp), {}, Origin::kModel});
    }
  }
  parsed.knobs.insert(parsed.knobs.begin(), knobs.begin(), knobs.end());
  reading->knowledge.model_named = true;
  reading->named_model = named.model;
  if (named.exact) return;
  reading->not_judged.push_back(
      absl::StrCat("the model's own config.json: ", Printable(parsed.hf_model), " is taken for ", named.model->name));
}

// Values in files that are not here, and those of a model that the catalogue does not have, whose folder is all that
// its stack wants to be told.
void NoteWhatStandsElsewhere(const Environment& env, Reading* reading) {
  Knowledge& knowledge = reading->knowledge;
  if (!reading->parsed.elsewhere.empty() && knowledge.elsewhere.empty()) {
    knowledge.elsewhere = reading->parsed.elsewhere;
    knowledge.layout_elsewhere = true;
  }
  if (!StackOf(env).hf_models || knowledge.model_named || reading->format == "knobs") return;
  if (!knowledge.elsewhere.empty()) return;
  const std::string& model = reading->parsed.hf_model;
  knowledge.elsewhere = absl::StrCat("in the config.json of ", model.empty() ? "the model" : Printable(model));
}

// What a launch that names a recipe says by it: the model, the GPUs.
void UseWhatIsNamed(const JudgeQuestion& question, ReadConfig* read) {
  ParseResult& parsed = read->reading.parsed;
  Environment& env = read->env;
  const WrittenKnobs written(&parsed);
  if (const Value gpus = written.Of(Knob::launch_num_gpus); !env.world_size.has_value() && gpus.is_int()) {
    if (gpus.integer() >= 1 && gpus.integer() <= kMaxGpus) env.world_size = gpus.integer();
  }
  if (question.catalog == nullptr) return;
  if (const Value gpu = written.Of(Knob::launch_hardware_target); !read->gpu.has_value() && gpu.is_text()) {
    const auto found = question.catalog->FindGpu(gpu.text());
    if (found.ok()) UseGpu(**found, read);
  }
  if (parsed.gpus_per_node >= 1 && parsed.gpus_per_node <= kMaxGpusPerNode && question.env.gpus_per_node == 0) {
    env.gpus_per_node = static_cast<int>(parsed.gpus_per_node);
  }
  UseNamedModel(*question.catalog, env, &read->reading);
}

absl::Status Unsuitable(absl::string_view name, bool file, Target target) {
  Violations violations;
  violations.Add("input_format", absl::StrCat("'", Printable(name), "' is no form of ", file ? "a file" : "arguments",
                                              " for ", OwnDialect(target), "; use ", InputFormatNames(target, file)));
  return violations.ToStatus();
}

absl::Status ReadFile(const ScriptQuestion& script, ReadConfig* read) {
  const ConfigInput& input = script.question.input;
  Environment* const env = &read->env;
  Reading* const reading = &read->reading;
  Violations violations;
  if (input.text.size() > kMaxScriptBytes) violations.Add("file.text", "is longer than 1 MiB");
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  reading->input = input.file_name.empty() ? "file" : input.file_name;
  reading->format =
      input.format.empty() ? std::string(RecogniseFile(input.file_name, input.text, env->target)) : input.format;
  if (reading->format == kShellFormat) {
    ReadScript(script, read);
    return absl::OkStatus();
  }
  if (std::string why = reading->format == kPythonFormat ? WhyNoRecipe(input.text) : ""; !why.empty()) {
    reading->no_launch = true;
    reading->not_judged.push_back(absl::StrCat("the launch: ", why));
    return absl::OkStatus();
  }
  const InputFormat* format = FindInputFormat(reading->format, env->target);
  if (format == nullptr) return Unsuitable(reading->format, /*file=*/true, env->target);
  if (std::string why = WhyNoTraining(env->target, input.text); format->no_training != nullptr && !why.empty()) {
    reading->no_launch = true;
    reading->not_judged.push_back(std::move(why));
    return absl::OkStatus();
  }
  if (format->file != nullptr) {
    reading->parsed = format->file(input.text, *env);
    // Of these a file shows what a launch shows: its values may be unknown, its samples shorter than what is counted.
    if (format->part || StackOf(*env).hf_models || StackOf(*env).container) {
      LaunchWords words;
      words.over_defaults = !format->part && reading->parsed.elsewhere.empty();
      reading->knowledge = KnowledgeOf(env->target, words, reading->parsed);
    }
    if (format->part) {
      reading->knowledge.keyed = true;
      NoteWhatIsElsewhere({}, format->name, *env, reading);
    } else if (StackOf(*env).container && !reading->parsed.elsewhere.empty()) {
      reading->not_judged.push_back(BesideTheRecipe(reading->parsed.base));
    }
    return absl::OkStatus();
  }
  std::vector<Argument> args = ArgumentsOfLines(input.text);
  if (args.size() > kMaxWords) {
    violations.Add("file.text", absl::StrCat("has more than ", kMaxWords, " words, of which ", kMaxArguments,
                                             " would be read: send the launch alone"));
    return violations.ToStatus();
  }
  if (input.format.empty()) format = &RecogniseArguments(args, "", env->target);
  reading->format = std::string(format->name);
  ReadArguments(std::move(args), "", false, *format, *env, reading);
  return absl::OkStatus();
}

absl::Status ReadWords(const ConfigInput& input, const Environment& env, Reading* reading) {
  std::vector<Argument> args = Words(input.arguments);
  const InputFormat* format =
      input.format.empty() ? &RecogniseArguments(args, "", env.target) : FindInputFormat(input.format, env.target);
  if (format == nullptr || format->arguments == nullptr) return Unsuitable(input.format, /*file=*/false, env.target);
  reading->input = "argv";
  reading->format = std::string(format->name);
  // Overrides alone are judged over the classes' defaults; a file of them, and a harness's words, name a recipe.
  ReadArguments(std::move(args), "", format->name == "bridge-overrides", *format, env, reading);
  return absl::OkStatus();
}

void ReadKnobs(const ConfigInput& input, const Environment& env, Reading* reading) {
  reading->input = reading->format = "knobs";
  for (const auto& [knob, value] : input.knobs) reading->parsed.knobs.push_back({knob, value, {}});
  if (StackOf(env).model_files) ReadLoongForgeModel({}, env, &reading->parsed);
}

absl::Status ReadInput(const ScriptQuestion& script, ReadConfig* read) {
  const ConfigInput& input = script.question.input;
  switch (input.form) {
    case ConfigInput::Form::kArguments:
      return ReadWords(input, read->env, &read->reading);
    case ConfigInput::Form::kFile:
      return ReadFile(script, read);
    case ConfigInput::Form::kKnobs:
      ReadKnobs(input, read->env, &read->reading);
  }
  return absl::OkStatus();
}

// What the caller states holds over what is written, and is known where the text is not.
void AddStated(const std::vector<std::pair<Knob, Value>>& stated, Reading* reading) {
  ParseResult& parsed = reading->parsed;
  for (const auto& [knob, value] : stated) {
    for (ParsedKnob& said : parsed.knobs) {  // a model's file is read twice, the second time over everything
      if (said.knob == knob && said.origin == Origin::kModel) said.value = value;
    }
    parsed.knobs.push_back({knob, value, {}});
    parsed.unknown.erase(std::remove(parsed.unknown.begin(), parsed.unknown.end(), knob), parsed.unknown.end());
    reading->knowledge.hidden.erase(knob);
    reading->knowledge.shown.insert(knob);
    reading->stated.push_back(knob);
  }
}

// The MLA config class is the one that this configuration builds.
bool IsMla(const std::vector<ParsedKnob>& knobs) {
  return std::any_of(knobs.begin(), knobs.end(), [](const ParsedKnob& parsed) {
    return (parsed.knob == Knob::multi_latent_attention && parsed.value.truthy()) ||
           (parsed.knob == Knob::kv_lora_rank && !parsed.value.is_none());
  });
}

absl::Status CheckSizes(const std::vector<ParsedKnob>& knobs) {
  Violations violations;
  for (const ParsedKnob& parsed : knobs) {
    if (absl::Status status = CheckKnobSize(parsed.knob, parsed.value); !status.ok()) violations.Add("config", status);
  }
  return violations.ToStatus();
}

// The profile that the step's rates are of. One that was sent is held to the GPU in every view.
absl::Status AddProfile(const JudgeQuestion& question, ReadConfig* read) {
  ForecastBasis& basis = read->basis;
  if (!read->gpu.has_value()) {
    if (question.sent_profile != nullptr) basis.findings.push_back(SentWithoutGpu());
    return absl::OkStatus();
  }
  const bool timed = question.view > View::kVerdict || question.repair;
  const KnownProfiles none;
  const KnownProfiles& known = timed && question.profiles != nullptr ? *question.profiles : none;
  FLIGHTPLAN_ASSIGN_OR_RETURN(basis.probe,
                              ProfileFor(question.sent_profile, known, *read->gpu, read->env, &basis.findings));
  return absl::OkStatus();
}

}  // namespace

Config ConfigOf(const std::vector<ParsedKnob>& knobs, const Environment& env) {
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(knobs, &config);
  return config;
}

absl::StatusOr<ReadConfig> Read(const JudgeQuestion& question, const OtherLaunch& other) {
  ReadConfig read;
  const uint64_t before = Work::Used();
  read.env = question.env;
  read.gpu = question.gpu;
  read.gpu_fault = question.gpu_fault;
  Environment& env = read.env;
  FLIGHTPLAN_RETURN_IF_ERROR(ReadInput({question, other}, &read));
  // What was read when the caller had gone is not whole, and nobody waits for it.
  if (Work::Abandoned()) return absl::CancelledError("the caller went away");
  if (Work::Spent()) {
    Violations violations;
    violations.Add("config", "takes too much work to read; give it without its unknown names and repetitions");
    return violations.ToStatus();
  }
  FLIGHTPLAN_RETURN_IF_ERROR(CheckSizes(read.reading.parsed.knobs));
  UseWhatIsNamed(question, &read);
  NoteWhatStandsElsewhere(env, &read.reading);
  read.basis.transport = question.transport;
  if (!HasVerbs(question.transport)) env.capabilities.emplace(kNoVerbs);
  read.basis.host_cpu = question.host_cpu;
  read.basis.evidence = question.evidence;
  FLIGHTPLAN_RETURN_IF_ERROR(AddProfile(question, &read));
  ReserveForOthers(read.reading.parsed.others, &read.gpu);
  AddStated(question.stated, &read.reading);
  const ParseResult& parsed = read.reading.parsed;
  const bool knobs = question.input.form == ConfigInput::Form::kKnobs;
  env.written = !knobs;
  env.engine_apart = parsed.engine_apart;
  if (const auto size = env.vars.find("WORLD_SIZE"); !env.world_size.has_value() && size != env.vars.end()) {
    int64_t count = 0;
    if (absl::SimpleAtoi(size->second, &count) && count >= 1 && count <= kMaxGpus) env.world_size = count;
  }
  // Bridge applies them later, and says so by rules of its own; a launcher exports them before the trainer starts.
  for (const auto& [name, value] : parsed.recipe_vars) {
    if (StackOf(env).container) {
      env.recipe_vars.insert_or_assign(name, value);
    } else {
      env.vars.insert({name, value});
    }
  }
  const bool file = question.input.form == ConfigInput::Form::kFile;
  Knowledge& knowledge = read.reading.knowledge;
  const bool stated = question.software_stated && !knowledge.part && knowledge.surroundings;
  knowledge.surroundings = !file || stated;
  read.reading.knowledge.gpu_known = !file || read.gpu.has_value();
  env.mla = IsMla(parsed.knobs);
  if (const ModelSpec* const named = read.reading.named_model; named != nullptr && !parsed.other_converter) {
    NameModel(*named, &env);
  }
  env.model_file = ModelFileOf(parsed);
  read.config = ConfigOf(parsed.knobs, env);
  ApplyKnobs(parsed.paths, &read.config);
  if (knobs) UseTargetNames(env.target, &read.config);
  read.work = Work::Used() - before;
  return read;
}

}  // namespace flightplan
