#include "resolver/read_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/request.h"
#include "resolver/normalize/violations.h"
#include "resolver/render/dialects.h"
#include "resolver/render/input_format.h"
#include "resolver/render/loongforge_model.h"
#include "resolver/render/shell_reader.h"
#include "resolver/render/slurm_job.h"

namespace flightplan {
namespace {

std::vector<Argument> Words(const google::protobuf::RepeatedPtrField<std::string>& values) {
  std::vector<Argument> words;
  words.reserve(static_cast<size_t>(values.size()));
  for (const std::string& value : values) words.push_back({value, {static_cast<int>(words.size()), 0, 0}});
  return words;
}

// What arguments alone do not say.
void NoteWhatIsElsewhere(absl::Span<const Argument> args, absl::string_view format, const Environment& env,
                         Reading* reading) {
  if (format == "bridge-overrides" || format == "bridge-recipe" || format == "bridge-perf") {
    reading->not_judged.push_back(
        "the recipe's own values: what is written here is judged over the class defaults; dump the whole configuration "
        "(ConfigContainer.to_yaml) and validate that file");
  }
  for (const Argument& arg : args) {
    const bool yaml = arg.text == "--yaml-cfg" || absl::StartsWith(arg.text, "--yaml-cfg=");
    const bool file = arg.text == "--config-file" || absl::StartsWith(arg.text, "--config-file=");
    if (!yaml && !file) continue;
    if (file && env.target == Target::kLoongForge && reading->parsed.model_file_read) continue;
    reading->not_judged.push_back(
        absl::StrCat("the YAML file of ", arg.text.substr(0, arg.text.find('=')), ": its values win over these; ",
                     file ? "validate it with --stack-root, or that file" : "validate that file"));
  }
}

void ReadArguments(std::vector<Argument> args, const InputFormat& format, const Environment& env, Reading* reading) {
  reading->args = std::move(args);
  reading->parsed = format.arguments(reading->args, env);
  NoteWhatIsElsewhere(reading->args, format.name, env, reading);
}

// A launch script: its exports go into `env`, and the world size that its launcher, else its #SBATCH lines, ask for.
// Nothing of it is executed.
void ReadScript(absl::string_view text, Environment* env, Reading* reading) {
  const SlurmJob job = ReadSbatchLines(text);
  EnvVars known = env->vars;
  AddSlurmVariables(job, &known);
  ShellLaunch launch = ReadShellLaunch(text, known);
  for (const auto& [name, value] : launch.vars) env->vars.insert_or_assign(name, value);
  if (!env->world_size.has_value()) env->world_size = launch.world_size;
  if (!env->world_size.has_value() && job.GpuCount().value_or(kMaxGpus + 1) <= kMaxGpus) {
    env->world_size = job.GpuCount();
  }
  // What finds the program by it runs where it is set, and model files refer to it, too.
  constexpr absl::string_view kCheckout = "LOONGFORGE_PATH";
  if (absl::StrContains(launch.script, kCheckout)) env->vars.try_emplace(std::string(kCheckout), "$LOONGFORGE_PATH");
  reading->no_launch = launch.script.empty();
  const InputFormat& format = RecogniseArguments(launch.args, launch.script, env->target);
  ReadArguments(std::move(launch.args), format, *env, reading);
  reading->parsed.findings.insert(reading->parsed.findings.begin(), launch.findings.begin(), launch.findings.end());
}

absl::Status Unsuitable(absl::string_view name, absl::string_view given, Target target) {
  Violations violations;
  violations.Add("input_format", absl::StrCat("'", Printable(name), "' is no form of ", given, " for ",
                                              OwnDialect(target), "; use ", InputFormatNames(target)));
  return violations.ToStatus();
}

absl::Status ReadFile(const v1::TextFile& file, const std::string& wanted, Environment* env, Reading* reading) {
  Violations violations;
  if (file.text().size() > kMaxScriptBytes) violations.Add("file.text", "is longer than 1 MiB");
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  reading->input = file.name().empty() ? "file" : file.name();
  reading->format = wanted.empty() ? std::string(RecogniseFile(file.name(), file.text(), env->target)) : wanted;
  if (reading->format == kShellFormat) {
    ReadScript(file.text(), env, reading);
    return absl::OkStatus();
  }
  const InputFormat* format = FindInputFormat(reading->format, env->target);
  if (format == nullptr) return Unsuitable(reading->format, "a file", env->target);
  if (format->file != nullptr) {
    reading->parsed = format->file(file.text(), *env);
    return absl::OkStatus();
  }
  std::vector<Argument> args = ArgumentsOfLines(file.text());
  if (wanted.empty()) format = &RecogniseArguments(args, "", env->target);
  reading->format = std::string(format->name);
  ReadArguments(std::move(args), *format, *env, reading);
  return absl::OkStatus();
}

absl::Status ReadWords(const v1::ArgumentList& list, const std::string& wanted, const Environment& env,
                       Reading* reading) {
  std::vector<Argument> args = Words(list.values());
  const InputFormat* format =
      wanted.empty() ? &RecogniseArguments(args, "", env.target) : FindInputFormat(wanted, env.target);
  if (format == nullptr || format->arguments == nullptr) return Unsuitable(wanted, "arguments", env.target);
  reading->input = "argv";
  reading->format = std::string(format->name);
  ReadArguments(std::move(args), *format, env, reading);
  return absl::OkStatus();
}

}  // namespace

bool IsMla(const std::vector<ParsedKnob>& knobs) {
  return std::any_of(knobs.begin(), knobs.end(), [](const ParsedKnob& parsed) {
    return (parsed.knob == Knob::multi_latent_attention && parsed.value.truthy()) ||
           (parsed.knob == Knob::kv_lora_rank && !parsed.value.is_none());
  });
}

absl::StatusOr<Reading> ReadConfig(const v1::ValidateConfigRequest& request, Environment* env) {
  Violations violations;
  Reading reading;
  const std::string& wanted = request.input_format();
  switch (request.config_case()) {
    case v1::ValidateConfigRequest::kArguments:
      FLIGHTPLAN_RETURN_IF_ERROR(ReadWords(request.arguments(), wanted, *env, &reading));
      break;
    case v1::ValidateConfigRequest::kFile:
      FLIGHTPLAN_RETURN_IF_ERROR(ReadFile(request.file(), wanted, env, &reading));
      break;
    case v1::ValidateConfigRequest::kKnobs:
      reading.input = reading.format = "knobs";
      for (const auto& [knob, value] : PinsFromMessages(request.knobs().knobs(), request.knobs().settings(),
                                                        "knobs.knobs", "knobs.settings", &violations)) {
        reading.parsed.knobs.push_back({knob, value, {}});
      }
      if (env->target == Target::kLoongForge) ReadLoongForgeModel({}, *env, &reading.parsed);
      break;
    case v1::ValidateConfigRequest::CONFIG_NOT_SET:
      violations.Add("config", "is required: arguments, a file or knobs");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  // What was read when the caller had gone is not whole, and nobody waits for it.
  if (Work::Abandoned()) return absl::CancelledError("the caller went away");
  if (Work::Spent()) {
    violations.Add("config", "takes too much work to read; give it without its unknown names and repetitions");
    return violations.ToStatus();
  }
  env->written = request.config_case() != v1::ValidateConfigRequest::kKnobs;
  if (const auto size = env->vars.find("WORLD_SIZE"); !env->world_size.has_value() && size != env->vars.end()) {
    int64_t count = 0;
    if (absl::SimpleAtoi(size->second, &count) && count >= 1 && count <= kMaxGpus) env->world_size = count;
  }
  for (const auto& [name, value] : reading.parsed.recipe_vars) env->recipe_vars.insert_or_assign(name, value);
  return reading;
}

}  // namespace flightplan
