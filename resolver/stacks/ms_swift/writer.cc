#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/render/flag_words.h"
#include "resolver/stacks/ms_swift/arguments.h"
#include "resolver/stacks/ms_swift/dialect.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

std::string WordOf(const Value& value) {
  if (value.is_bool()) return value.truthy() ? "true" : "false";
  return value.ToText();
}

// ms-swift has a word for nothing where its default is something.
const Value& ValueToWrite(const Config& config, const SwiftArgument& argument, const Value& none) {
  const Value& value = config.Get(*argument.knob);
  const bool word_for_none = *argument.knob == K::recompute_granularity || *argument.knob == K::moe_router_dtype;
  return value.is_none() && word_for_none ? none : value;
}

// Knobs that a launch always has otherwise than its class, whatever it says; and the ones of the model, which stands in
// its folder.
bool SaidElsewhere(Knob knob) {
  static constexpr K kSet[] = {K::variable_seq_lengths,  K::persist_layer_norm,  K::deallocate_pipeline_outputs,
                               K::check_for_nan_in_grad, K::grad_reduce_in_fp32, K::launch_num_gpus};
  return std::find(std::begin(kSet), std::end(kSet), knob) != std::end(kSet);
}

std::string Program(const Environment& env) {
  const Nodes nodes = NodesOf(env);
  if (nodes.count == 0) return "megatron";
  std::string program = absl::StrCat("NPROC_PER_NODE=", nodes.gpus, " ");
  if (nodes.count > 1) {
    absl::StrAppend(&program, "NNODES=", nodes.count,
                    " NODE_RANK=${NODE_RANK:?the number of this node, from 0}"
                    " MASTER_ADDR=${MASTER_ADDR:?the address of node 0} ");
  }
  return program + "megatron";
}

// What is no knob of its own dataclass's usual training. It has adapters of one kind.
void WriteAdapters(const Config& config, LaunchWriter* words, Launch* launch) {
  if (!TrainsLora(config)) return;
  launch->words.push_back(words->At(K::peft_scheme));
  words->Word("--tuner_type");
  words->Word("lora");
  for (const SwiftAdapterArgument& argument : kSwiftAdapterArguments) {
    const Value& value = config.Get(argument.knob);
    const absl::StatusOr<Value> usual = ValueFromJson(argument.default_json);
    if (value.is_none() || (usual.ok() && SameWords(*usual, value))) continue;
    launch->words.push_back(words->At(argument.knob));
    words->Word(absl::StrCat("--", argument.name));
    if (!value.is_list()) words->Word(WordOf(value));
    for (const Value& item : value.list()) words->Word(WordOf(item));
  }
}

bool IsAdapterArgument(Knob knob) {
  return knob == K::peft_scheme || knob == K::peft_share_expert_adapters ||
         std::any_of(std::begin(kSwiftAdapterArguments), std::end(kSwiftAdapterArguments),
                     [knob](const SwiftAdapterArgument& argument) { return argument.knob == knob; });
}

}  // namespace

Launch RenderMsSwift(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words(Program(input.env), &launch);
  const bool whole = IsWhole(input.config);
  if (whole) words.Word("sft");
  const Value none("none");
  for (const SwiftArgument& argument : SwiftKnobs()) {
    const Knob knob = *argument.knob;
    const Origin origin = input.config.origin(knob);
    if (!Config::Given(origin)) continue;
    const Value& value = ValueToWrite(input.config, argument, none);
    const absl::StatusOr<Value> usual = ValueFromJson(argument.default_json);
    if (value.is_none() || (usual.ok() && SameWords(*usual, value))) continue;
    launch.words.push_back(words.At(knob));
    if (knob == K::fp16 && value.truthy()) {  // one word for both switches, of which the other is on by itself
      words.Word("--torch_dtype");
      words.Word("float16");
      // Beside it gradients would be added up in 16 bits.
      if (!input.config.Given(K::grad_reduce_in_fp32) && !input.config.Given(K::accumulate_allreduce_grads_in_fp32)) {
        words.Word("--accumulate_allreduce_grads_in_fp32");
        words.Word("true");
      }
      continue;
    }
    words.Word(absl::StrCat("--", argument.name));
    if (!value.is_list()) {
      words.Word(WordOf(value));
      continue;
    }
    for (const Value& item : value.list()) words.Word(WordOf(item));
  }
  WriteAdapters(input.config, &words, &launch);
  std::vector<std::string> extras;
  input.config.ForEachNotDefault([&](Knob knob) {
    const Origin origin = input.config.origin(knob);
    if (!Config::Given(origin) || origin == Origin::kModel || SaidElsewhere(knob)) return;
    if (IsAdapterArgument(knob) || !WordFor(knob, "ms_swift.argument").empty()) return;
    if (input.config.Get(knob).is_none()) return;
    if (!whole || Row(knob).section != Section::kModel) return launch.unspelled.push_back(knob);
    extras.push_back(absl::StrCat("\"", Name(knob), "\": ", input.config.Get(knob).ToJson()));
  });
  if (!extras.empty()) {
    words.Word("--megatron_extra_kwargs");
    words.Word(absl::StrCat("{", absl::StrJoin(extras, ", "), "}"));
  }
  words.Finish();
  AskForWord("model", "the model, by its name on the hub or its folder", "--model ", "NAME", "Qwen/Qwen3-30B-A3B",
             &launch);
  AskForWord("dataset", "what to train on", "--dataset ", "NAME", "swift/self-cognition", &launch);
  return launch;
}

}  // namespace flightplan
