// The flags of a question.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/request.h"
#include "clients/cli/request_words.h"
#include "clients/cli/text.h"
#include "clients/cli/versions_page.h"
#include "resolver/base/bytes.h"
#include "resolver/normalize/hardware_message.h"
#include "resolver/normalize/workload_message.h"
#include "resolver/stacks/input_format.h"

namespace flightplan::cli {
namespace {

constexpr double kAnyShare = 1.0;
constexpr double kMostGib = 1e15 / kGib;  // Hardware.reserved_bytes and the like
constexpr absl::string_view kCapabilities[] = {"deepep", "hybridep", "ncclep", "paged_stash", "none"};
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A flag that says what --set can say too: the last of both is the word, as of two --set.
Flag::Setter SaysKnob(ResolveOptions* o, Knob knob, Flag::Setter setter) {
  setter.take = [o, knob, take = std::move(setter.take)](absl::string_view text) {
    o->pins_before[knob] = o->stack.pins.size();
    return take(text);
  };
  return setter;
}

Flag::Setter ToPin(std::vector<std::string>* pins, bool set) {
  return {[pins, set](absl::string_view text) {
            if (absl::StrContains(text, '=') != set || text.empty() || text[0] == '=') {
              return absl::InvalidArgumentError(
                  absl::StrCat("wants ", set ? "KNOB=VALUE" : "a knob's name alone", ", not ", Quoted(text)));
            }
            pins->emplace_back(text);
            return absl::OkStatus();
          },
          {.list = set ? kKnobSettings : kKnobNames},
          ValueType::kList};
}

// Trainers call fine-tuning a stage, too.
Flag::Setter StageSetter(ResolveOptions* o) {
  Flag::Setter setter = ToChoice(&o->stage, WordsOf(kStages));
  setter.take = [take = std::move(setter.take)](absl::string_view text) {
    absl::Status status = take(text);
    const std::string word = absl::AsciiStrToLower(text);
    absl::string_view said;
    if (absl::StrContains(word, "tun") || word == "sft") said = "--set sft=true";
    if (word == "peft" || absl::StrContains(word, "lora")) said = "--target megatron-bridge --set peft.scheme=lora";
    if (status.ok() || said.empty()) return status;
    return absl::InvalidArgumentError(absl::StrCat(status.message(), "; did you mean ", said, "?"));
  };
  return setter;
}

FlagGroup LayoutFlags(ResolveOptions* o) {
  FlagGroup group{"layout", {}};
  for (const SizeFlag& row : kSizeFlags) {
    group.flags.push_back({row.flag, "N", "", SaysKnob(o, row.knob, ToInteger(&(o->*row.size)))});
  }
  Flag& layout = group.flags.emplace_back(Flag{
      "--pipeline-layout", "STR", "", SaysKnob(o, Knob::pipeline_model_parallel_layout, ToText(&o->pipeline_layout))});
  layout.set.takes_empty = true;  // none, behind the layout of a question
  return group;
}

Flag ProfileFlag(StackOptions* o) {
  return {"--profile", "FILE", "what flightplan probe --out wrote about this GPU type", ToText(&o->probe_profile)};
}

}  // namespace

Values InputFormatValues() {
  Values values = {.words = {std::string(kShellFormat)}};
  for (const auto& [target, format] : InputFormats()) {
    std::string name(format->name);  // of one name, a format for each target
    if (std::find(values.words.begin(), values.words.end(), name) == values.words.end()) values.words.push_back(name);
  }
  return values;
}

std::vector<FlagGroup> StackFlags(StackOptions* o) {
  return {
      {"target",
       {{"--target", "NAME[@VERSION]",
         "megatron-lm (default), megatron-bridge, loongforge, slime, ms-swift, verl, nemo-rl, miles, vime, primus, "
         "flagscale, roll; @0.19",
         ToText(&o->target, KnownWords(TargetNames()))}}},
      {"machine",
       {{"--gpu", "NAME", "h100-sxm, gb200-nvl72 ...; flightplan gpus lists them",
         ToText(&o->gpu, {.list = kGpuNames})},
        {"--gpus", "N", "GPUs of the job, all nodes together", ToInteger(&o->gpus)},
        {"--nvlink-domain", "N", "", ToInteger(&o->nvlink_domain)},
        {"--gpus-per-node", "N", "", ToInteger(&o->gpus_per_node)},
        {"--transport", "infiniband|roce|efa|...", "", ToText(&o->transport, KnownWords(TransportNames()))},
        {"--reserved-memory-gib", "X", "memory of each GPU that others hold, as a rollout engine",
         ToReal(&o->reserved_memory_gib, 0, kMostGib)},
        {"--host-memory-gib", "X", "main memory of a node: what is offloaded is held against it",
         ToReal(&o->host_memory_gib, 0, kMostGib)},
        {"--host-cpu", "x86-fast|x86-slow|arm", "", ToChoice(&o->host_cpu, WordsOf(kHostCpus))}}},
      {"software",
       {{"--capability", "NAME,...", "installed: deepep, hybridep, ncclep, paged_stash; or none",
         ToCommaList(&o->capabilities, KnownWords(kCapabilities))},
        {"--te", "V", "", ToText(&o->te)},
        {"--torch", "V", "", ToText(&o->torch)},
        {"--cuda", "V", "", ToText(&o->cuda)},
        {"--nccl", "V", "", ToText(&o->nccl)},
        {"--driver", "V", "", ToText(&o->driver)},
        {"--package", "NAME=V", "", ToList(&o->packages)},
        {"--dispatcher-transport", "nvlink|ibgda|...", "", ToText(&o->dispatcher_transport)}}},
      {"knobs",
       {{"--set", "KNOB=VALUE", "your word, never changed; repeat it for more", ToPin(&o->pins, true)},
        {"--unset", "KNOB", "take back a --set, or pin the knob to None", ToPin(&o->pins, false)},
        {"--env", "NAME=VALUE", "a variable your launch already sets", ToList(&o->env)}}},
  };
}

std::vector<FlagGroup> LaunchFlags(StackOptions* o) {
  std::vector<FlagGroup> groups = StackFlags(o);
  groups.push_back({"profile", {ProfileFlag(o)}});
  return groups;
}

std::vector<FlagGroup> ResolveFlags(ResolveOptions* o) {
  std::vector<FlagGroup> groups = {
      {"model",
       {{"--model", "NAME|FILE", "catalogue name, or a Hugging Face config.json",
         ToText(&o->model, {.list = kModelNames})}}},
      LayoutFlags(o),
      {"work",
       {{"--seq", "N", "tokens per sample (default 4096)", SaysKnob(o, Knob::seq_length, ToInteger(&o->seq))},
        {"--gbs", "N", "samples per step (default 8 a GPU)", SaysKnob(o, Knob::global_batch_size, ToInteger(&o->gbs))},
        {"--precision", "P", "bf16 (default), fp16, fp8_cs, fp8_block, fp8_ds, mxfp8, nvfp4",
         ToText(&o->precision, KnownWords(PrecisionNames()))},
        {"--stage", "S", "bring-up, tune, production (default)", StageSetter(o)},
        {"--objective", "O", "training (default), benchmark", ToChoice(&o->objective, WordsOf(kObjectives))},
        {"--iterations", "N", "", SaysKnob(o, Knob::train_iters, ToInteger(&o->iterations))}}},
  };
  for (FlagGroup& group : StackFlags(&o->stack)) groups.push_back(std::move(group));
  groups.push_back(
      {"profile",
       {ProfileFlag(&o->stack),
        {"--profile-step-ms", "X", "", ToReal(&o->profile_step_ms, 0, kUnbounded)},
        {"--profile-exposed", "SHARE", "", ToReal(&o->profile_exposed, 0, kAnyShare)},
        {"--profile-a2a", "SHARE", "", ToReal(&o->profile_a2a, 0, kAnyShare)},
        {"--profile-host", "SHARE", "", ToReal(&o->profile_host, 0, kAnyShare)},
        {"--profile-bubble", "SHARE", "", ToReal(&o->profile_bubble, 0, kAnyShare)},
        {"--profile-memory-gib", "X", "", ToReal(&o->profile_memory_gib, 0, kMostGib)},
        {"--profile-wall", "memory|communication|host|compute", "", ToChoice(&o->profile_wall, WordsOf(kWalls))}}});
  return groups;
}

}  // namespace flightplan::cli
