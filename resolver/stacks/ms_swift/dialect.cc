#include "resolver/stacks/ms_swift/dialect.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "resolver/base/integers.h"
#include "resolver/base/json.h"
#include "resolver/base/saturating.h"
#include "resolver/read/argparse.h"
#include "resolver/stacks/ms_swift/checks.h"
#include "resolver/stacks/ms_swift/words.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kArguments = "ms-swift:swift/megatron/arguments/megatron_args.py:480";

ValueType ItemOf(ValueType type) {
  if (type == ValueType::kIntList) return ValueType::kInt;
  if (type == ValueType::kFloatList) return ValueType::kFloat;
  return type == ValueType::kAny || type == ValueType::kStringList ? ValueType::kString : type;
}
bool IsList(ValueType type) {
  return type == ValueType::kIntList || type == ValueType::kFloatList || type == ValueType::kStringList;
}

absl::StatusOr<Value> ReadOne(absl::string_view text, ValueType type) {
  if (type != ValueType::kBool) return ReadFlagValue(text, type);
  const std::optional<bool> value = SwiftBool(text);
  if (!value.has_value()) return absl::InvalidArgumentError("expected true or false");
  return Value(*value);
}

absl::StatusOr<Value> ReadValue(const SwiftWritten& written, ValueType type) {
  if (written.values.empty()) {
    if (type == ValueType::kBool) return Value(!written.negative);
    return absl::InvalidArgumentError("expected a value");
  }
  if (!IsList(type) || written.values.size() == 1) return ReadOne(written.values[0], ItemOf(type));
  if (written.values.size() > kMaxListItems) return absl::InvalidArgumentError("expected fewer values");
  Value::List items;
  for (const std::string& word : written.values) {
    absl::StatusOr<Value> item = ReadOne(word, ItemOf(type));
    if (!item.ok()) return item;
    items.push_back(*std::move(item));
  }
  return Value(std::move(items));
}

// Of a number, a word, a switch or a list of them; other values of --megatron_extra_kwargs are passed over.
std::optional<Value> FieldOf(const rapidjson::Value& json) {
  if (json.IsBool()) return Value(json.GetBool());
  if (json.IsInt64()) return Value(json.GetInt64());
  if (json.IsDouble()) return Value(json.GetDouble());
  if (json.IsString()) return Value(json.GetString());
  if (!json.IsArray() || json.Size() > kMaxListItems) return std::nullopt;
  Value::List items;
  for (const rapidjson::Value& one : json.GetArray()) {
    std::optional<Value> item = one.IsArray() ? std::nullopt : FieldOf(one);
    if (!item.has_value()) return std::nullopt;
    items.push_back(*std::move(item));
  }
  return Value(std::move(items));
}

class Reader {
 public:
  Reader(absl::Span<const Argument> args, const Environment& env, ParseResult* out)
      : words_(args, env, out), env_(env), out_(*out), knobs_(out) {}

  void Read() {
    for (const SwiftWritten& written : words_.all()) Take(written);
    SetDefaults();
    TakeExtras();
    TakeWorld();
    TakeModel();
    TakeMemoryOfOthers();
    SetDerived();
    SetLength();
    CheckMsSwift(words_, &out_);
  }

 private:
  void Take(const SwiftWritten& written) {
    if (written.argument == nullptr || !written.argument->knob.has_value()) return;
    const Knob knob = *written.argument->knob;
    if (written.unknown) return knobs_.Lose(knob);
    absl::StatusOr<Value> value = ReadValue(written, Row(knob).type);
    if (!value.ok()) {
      KeepFinding(MakeParseFinding(
                      written.at, "ms-swift.argument", Severity::kError,
                      absl::StrCat("--", written.name, " ", written.values.empty() ? "" : Printable(written.values[0])),
                      std::string(value.status().message()), kArguments),
                  &out_.findings);
      return;
    }
    knobs_.Take(knob, *std::move(value), written.at);
  }

  void SetDefaults() {
    std::vector<DefaultKnob> defaults;
    for (const SwiftArgument& argument : SwiftKnobs()) {
      const absl::StatusOr<Value> value = ValueFromJson(argument.default_json);
      if (value.ok()) defaults.push_back({*argument.knob, *value});
    }
    knobs_.SetBefore(defaults);
  }

  // swift/megatron/model/utils.py:73: fields of the config class by their names.
  void TakeExtras() {
    const std::optional<absl::string_view> text = words_.Text("megatron_extra_kwargs");
    rapidjson::Document json;
    if (!text.has_value() || ReadJson(*text, JsonNumbers::kFinite, &json).has_value() || !json.IsObject()) return;
    for (const auto& member : json.GetObject()) {
      const std::optional<Knob> knob = FindKnob(member.name.GetString());
      const std::optional<Value> value = FieldOf(member.value);
      if (knob.has_value() && value.has_value()) out_.knobs.push_back({*knob, *value, {}});
    }
  }

  // swift/cli/main.py:72 starts torchrun with these; without them there is one process.
  void TakeWorld() {
    const bool ray = words_.Bool("use_ray").value_or(false);
    const auto number = [this](absl::string_view name) -> std::optional<int64_t> {
      const auto found = env_.vars.find(name);
      int64_t value = 0;
      if (found == env_.vars.end()) return 1;
      if (!absl::SimpleAtoi(found->second, &value)) return std::nullopt;
      return value;
    };
    const std::optional<int64_t> gpus = number("NPROC_PER_NODE"), nodes = number("NNODES");
    if (!ray && env_.vars.count("NPROC_PER_NODE") != 0) knobs_.SetWorld(nodes, gpus);
  }

  void TakeModel() {
    out_.other_converter = words_.Has("bridge_backend") && words_.Text("bridge_backend") != "mcore-bridge";
    if (const auto model = words_.Text("model"); model.has_value()) out_.hf_model = std::string(*model);
  }

  bool Rlhf(absl::string_view type) const { return words_.rlhf() && words_.Text("rlhf_type").value_or("dpo") == type; }

  // megatron_args.py:880.
  absl::string_view Tuner() const {
    const absl::string_view tuner = words_.Text("tuner_type").value_or(words_.Has("tuner_type") ? "lora_llm" : "full");
    for (const absl::string_view name : {"adapters", "ref_adapters", "mcore_adapter", "mcore_ref_adapter"}) {
      if (tuner == "full" && words_.Has(name)) return "lora";
    }
    return tuner;
  }

  // Of mcore-bridge's layer: one for each expert (megatron_args.py:460-470). Beside a vision model's own training, or
  // with weights that are trained whole, memory is not forecast.
  void TakeAdapters() {
    if (Tuner() != "lora" || words_.Has("modules_to_save")) {
      out_.others.not_modelled = "LoRA adapters beside trained weights";
    }
    if (words_.Has("target_regex")) out_.others.not_modelled = "adapters of single layers";
    knobs_.Set(K::peft_scheme, "mcore_lora");
    knobs_.Set(K::peft_share_expert_adapters, false);
    for (const SwiftAdapterArgument& argument : kSwiftAdapterArguments) {
      const SwiftWritten* const written = words_.Find(argument.name);
      const absl::StatusOr<Value> usual = ValueFromJson(argument.default_json);
      if (written == nullptr && usual.ok()) {
        knobs_.Set(argument.knob, *usual);
        continue;
      }
      absl::StatusOr<Value> value = written == nullptr ? usual : ReadValue(*written, Row(argument.knob).type);
      if (written == nullptr || written->unknown || !value.ok()) {
        out_.others.not_modelled = "LoRA adapters of unknown size";
        continue;
      }
      if (value->is_text()) value = Value(Value::List{*value});  // one name of several
      knobs_.Take(argument.knob, *std::move(value), written->at);
    }
  }

  // What a microbatch counts are pairs, two sequences each; packed, both are within the length
  // (swift/dataset/packing.py). A whole model learns beside a copy of what it was (megatron/trainers/rlhf_mixin.py:31).
  void TakePairs(bool adapters) {
    MemoryOfOthers& others = out_.others;
    if (!Packs()) others.sequences_a_sample = 2;
    if (Rlhf("dpo") && !adapters) others.weight_copies = 1;
  }

  // Forward passes alone are beside that of each sample: a reference model's, and of another prompt's completion both
  // models' (swift/megatron/trainers/kto_trainer.py:117). What they need is gone before the one that is trained.
  void TakeCompletions(bool adapters) {
    if (!adapters) out_.others.weight_copies = 1;
    if (words_.Text("loss_type") == "apo_zero_unpaired") return;
    out_.not_judged.emplace_back(
        "step time: two forward passes more a microbatch, of the completions of other prompts");
  }

  bool Packs() const { return words_.Has("packing") && words_.Bool("packing") == std::optional<bool>(true); }

  // Their output layer has a few outputs for the vocabulary's many.
  bool ScoresSequences() const { return Rlhf("rm") || words_.Text("task_type").value_or("causal_lm") != "causal_lm"; }

  // Rollouts' engine on the same GPUs (swift/megatron/trainers/rollout_mixin.py:489), a second model as reference
  // (rlhf_mixin.py:31).
  void TakeMemoryOfOthers() {
    MemoryOfOthers& others = out_.others;
    const bool adapters = Tuner() != "full";
    if (adapters) TakeAdapters();
    for (const absl::string_view name :
         {"freeze_llm", "freeze_parameters", "freeze_parameters_regex", "freeze_parameters_ratio"}) {
      if (words_.Has(name) && words_.Bool(name) != std::optional<bool>(false))
        others.not_modelled = "frozen parameters";
    }
    if (Rlhf("kto")) TakeCompletions(adapters);
    if (Rlhf("dpo") || Rlhf("rm")) TakePairs(adapters);
    if (ScoresSequences()) others.counted_too = "logits, which a model that scores sequences does not have";
    // Of adapters the model without them (megatron/trainers/dpo_trainer.py:88).
    others.reference_forward = Rlhf("dpo") || Rlhf("kto");
    if (Rlhf("gkd") && words_.Has("teacher_model")) others.holder = "the teacher model";
    if (Rlhf("grpo") && !adapters) others.weight_copies = 1;
    const bool beside = words_.Text("vllm_mode") == "colocate" && (Rlhf("grpo") || Rlhf("gkd"));
    const bool asleep = words_.Number("sleep_level").value_or(0) > 0;
    if (!beside || asleep || !others.holder.empty()) return;
    others.holder = "the rollout engine";
    others.gpu_share = 0.9;
    double share = 0;
    const std::optional<absl::string_view> said = words_.Text("vllm_gpu_memory_utilization");
    if (said.has_value() && absl::SimpleAtod(*said, &share)) others.gpu_share = share;
    if (words_.Has("vllm_gpu_memory_utilization") && !said.has_value()) others.gpu_share.reset();
  }

  // What __post_init__ sets (megatron_args.py:785-902), and swift/megatron/model/utils.py:40.
  void SetDerived() {
    if (knobs_.Of(K::recompute_granularity) == Value("none")) knobs_.Set(K::recompute_granularity, Value());
    if (knobs_.Of(K::moe_router_dtype) == Value("none")) knobs_.Set(K::moe_router_dtype, Value());
    SetPrecision();
    SetStages();
    if (knobs_.Size(K::tensor_model_parallel_size) == 1 && !knobs_.Unknown(K::tensor_model_parallel_size)) {
      knobs_.Set(K::sequence_parallel, false);
    }
    if (!knobs_.Has(K::calculate_per_token_loss)) {
      const absl::string_view task = words_.Text("task_type").value_or("causal_lm");
      knobs_.Set(K::calculate_per_token_loss, !words_.rlhf() && task == "causal_lm");
    }
    if (absl::StrContains(knobs_.Of(K::optimizer).ToText(), "muon")) knobs_.Set(K::use_distributed_optimizer, false);
    if (knobs_.Of(K::use_megatron_fsdp).truthy()) knobs_.Set(K::use_distributed_optimizer, true);
    if (absl::StartsWith(knobs_.Of(K::attention_backend).ToText(), "flash_")) knobs_.Set(K::attention_backend, "flash");
    if (!knobs_.Has(K::lr)) knobs_.Set(K::lr, words_.Text("tuner_type").value_or("full") == "full" ? 1e-5 : 1e-4);
    for (const K knob :
         {K::variable_seq_lengths, K::persist_layer_norm, K::deallocate_pipeline_outputs, K::check_for_nan_in_grad}) {
      knobs_.Set(knob, true);
    }
  }

  // swift/arguments/base_args/model_args.py:130: bfloat16 where the model's file says it, as nearly all do.
  void SetPrecision() {
    const absl::string_view type = words_.Text("torch_dtype").value_or("bfloat16");
    const bool half = type == "float16" || type == "float32";
    if (!knobs_.Has(K::fp16)) knobs_.Set(K::fp16, half);
    if (!knobs_.Has(K::bf16)) knobs_.Set(K::bf16, !half);
    const bool in_fp32 = knobs_.Of(K::bf16).truthy() && knobs_.Of(K::main_grads_dtype) == Value("fp32");
    if (in_fp32) knobs_.Set(K::accumulate_allreduce_grads_in_fp32, true);
    knobs_.Set(K::grad_reduce_in_fp32, knobs_.Of(K::accumulate_allreduce_grads_in_fp32).truthy());
  }

  // _init_vpp_size, megatron_args.py:1004.
  void SetStages() {
    if (knobs_.Unknown(K::pipeline_model_parallel_layout) || knobs_.Unknown(K::virtual_pipeline_model_parallel_size))
      return;
    if (knobs_.Of(K::virtual_pipeline_model_parallel_size) == Value(1))
      knobs_.Set(K::virtual_pipeline_model_parallel_size, Value());
    const bool layout = knobs_.Has(K::pipeline_model_parallel_layout);
    if (!layout && knobs_.Of(K::virtual_pipeline_model_parallel_size).is_none()) {
      knobs_.Set(K::overlap_p2p_comm, false);
      knobs_.Set(K::align_param_gather, false);
    }
    if (!knobs_.Has(K::batch_p2p_comm)) knobs_.Set(K::batch_p2p_comm, !knobs_.Of(K::overlap_p2p_comm).truthy());
  }

  // swift/megatron/arguments/megatron_base_args.py:37; of GRPO the prompt and its answer; padded as
  // swift/megatron/utils/utils.py:209 pads.
  void SetLength() {
    std::optional<int64_t> length = words_.Number("packing_length");
    if (!length.has_value() && knobs_.Of(K::seq_length).is_int()) length = knobs_.Of(K::seq_length).integer();
    if (words_.rlhf() && length.has_value() && Rlhf("grpo")) {
      const int64_t answer = words_.Number("max_completion_length").value_or(512);
      if (*length <= kMostTokens && answer >= 0 && answer <= kMostTokens) *length += answer;
    }
    if (!length.has_value() || *length < 1 || *length > kMostTokens) {
      if (!knobs_.Has(K::seq_length)) knobs_.Lose(K::seq_length);  // the model's own longest
      return;
    }
    if (!Packs()) {
      out_.not_judged.push_back(absl::StrCat("memory and time: samples of fewer than ", *length,
                                             " tokens, which nothing fills up without --packing"));
    }
    const int64_t tp = knobs_.Of(K::sequence_parallel).truthy() ? knobs_.Size(K::tensor_model_parallel_size) : 1;
    const int64_t cp = knobs_.Size(K::context_parallel_size);
    const int64_t unit = SaturatingMul(tp, cp > 1 ? SaturatingMul(2, cp) : 1);
    const int64_t padded = NextMultiple(*length, unit).value_or(std::numeric_limits<int64_t>::max());
    if (knobs_.Of(K::seq_length) != Value(padded)) knobs_.Set(K::seq_length, padded);
  }

  static constexpr int64_t kMostTokens = int64_t{1} << 40;

  const SwiftWords words_;
  const Environment& env_;
  ParseResult& out_;
  WrittenKnobs knobs_;
};

}  // namespace

ParseResult ParseMsSwift(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  args = AsManyAsAreRead(args, kArguments, &result);
  Reader(args, env, &result).Read();
  return result;
}

}  // namespace flightplan
