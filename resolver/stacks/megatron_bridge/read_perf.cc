// Reads the command of scripts/performance/run_script.py of Megatron-Bridge: its own flags, then overrides. Flags are
// applied after the overrides, so they win. Read from NVIDIA-NeMo/Megatron-Bridge@067f987df
// scripts/performance/{argument_parser,utils/overrides}.py.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/perf_recipes.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/perf_flags.h"
#include "resolver/stacks/megatron_bridge/perf_words.h"
#include "resolver/stacks/megatron_bridge/start.h"

namespace flightplan {
namespace {

using K = Knob;
using Takes = PerfFlag::Takes;

// What a flag sets beside or instead of the field of its name, in this order.
struct AlsoSet {
  absl::string_view flag;
  K knob;
  absl::string_view value;  // "true" and "false": a truth value
};
constexpr absl::string_view kOwnValue = "*";  // that of the flag
constexpr AlsoSet kAlsoSet[] = {
    {"--seq_length", K::dataset_seq_length, kOwnValue},
    {"--recompute_num_layers", K::recompute_granularity, "full"},
    {"--recompute_num_layers", K::recompute_method, "block"},
    {"--recompute_num_layers", K::recompute_num_layers, kOwnValue},
    {"--recompute_modules", K::recompute_granularity, "selective"},
    {"--activation_offload_layers", K::cpu_offloading, "true"},
    {"--activation_offload_layers", K::cpu_offloading_weights, "false"},
    {"--activation_offload_layers", K::cpu_offloading_num_layers, kOwnValue},
    {"--moe_a2a_overlap", K::comm_overlap_overlap_moe_expert_parallel_comm, "true"},
    {"--moe_a2a_overlap", K::comm_overlap_delay_wgrad_compute, "true"},
    {"--moe_a2a_overlap", K::moe_shared_expert_overlap, "false"},
    {"--use_megatron_fsdp", K::use_megatron_fsdp, "true"},
    {"--use_megatron_fsdp", K::data_parallel_sharding_strategy, "optim_grads_params"},
    {"--use_megatron_fsdp", K::keep_fp8_transpose_cache, "false"},
    {"--use_megatron_fsdp", K::average_in_collective, "false"},
    {"--use_megatron_fsdp", K::gradient_accumulation_fusion, "true"},
    {"--nccl_ub", K::nccl_ub, "true"},
    {"--nccl_ub", K::average_in_collective, "false"},
    {"--deterministic", K::deterministic_mode, "true"},
    {"--deterministic", K::cross_entropy_loss_fusion, "false"},
    {"--deterministic", K::comm_overlap_tp_comm_overlap, "false"},
};

Value ValueOf(absl::string_view text) {
  return text == "true" || text == "false" ? Value(text == "true") : Value(text);
}

// A flag whose value says that it sets nothing.
bool IsOff(const PerfFlag& flag, const Value& value) {
  if (flag.name == "--activation_offload_layers") return value.integer() <= 0;
  return flag.takes == Takes::kBool && !value.truthy();
}

bool IsFlag(absl::string_view word) {
  double number = 0;
  return word.size() > 1 && word[0] == '-' && !absl::SimpleAtod(word, &number);
}

bool OneOf(absl::string_view text, absl::string_view choices) {
  for (absl::string_view choice : absl::StrSplit(choices, '|')) {
    if (choice == text) return true;
  }
  return choices.empty();
}

std::optional<bool> ReadBool(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (OneOf(lower, "true|1|t|yes|y")) return true;
  if (OneOf(lower, "false|0|f|no|n")) return false;
  return std::nullopt;
}

Value Words(absl::string_view text) {
  Value::List words;
  for (absl::string_view word : absl::StrSplit(text, ',')) words.emplace_back(word);
  return Value(std::move(words));
}

class PerfReader {
 public:
  PerfReader(absl::Span<const Argument> args, int release, ParseResult* out)
      : args_(args), release_(release), flags_(release, &from_flags_), overrides_(release, out), out_(out) {}

  void Read() {
    while (at_ < args_.size()) Next();
    AskForRequired();
    Graphs();
    if (!precision_.has_value()) Precision({}, "bf16");
    if (*precision_ == "bf16" && AdamStays()) Keep({}, K::use_precision_aware_optimizer, true);
    RememberRecipe();
    if (task_ == "peft") SetAdapters();
    Start();
    // Flags are applied after the overrides, wherever they stand on the line.
    PutOver(std::move(from_flags_), out_);
  }

 private:
  void Next() {
    const Argument& word = args_[at_++];
    if (!IsFlag(word.text)) return overrides_.Read(word);
    const std::vector<const PerfFlag*> found = FindPerfFlags(word.text);
    if (found.size() != 1) {
      const bool value = at_ < args_.size() && !IsFlag(args_[at_].text) && !absl::StrContains(args_[at_].text, "=");
      if (!found.empty() && value && !absl::StrContains(word.text, "=")) ++at_;
      return flags_.Refuse(word, OverrideReader::kUnknown, Printable(word.text), FlagNeeds(word.text, found));
    }
    const PerfFlag* const flag = found.front();
    given_.insert(flag->name);
    std::string value;
    const size_t equals = word.text.find('=');
    if (equals != std::string::npos) {
      value = word.text.substr(equals + 1);
    } else if (!TakeValue(word, *flag, &value)) {
      return;
    }
    if (word.unknown || args_[at_ - 1].unknown) return Hide(*flag);
    if (!IsChoice(*flag, value)) return BadValue(word, *flag, value, ChoiceNeeds(*flag, value));
    Apply(word, *flag, value);
  }

  // What argparse does not start without. Said of a launch: words that come alone are a part of one.
  void AskForRequired() {
    if (args_.empty() || args_.front().at.line == 0) return;
    constexpr absl::string_view kRequired[] = {"--model_family_name", "--model_recipe_name", "--num_gpus", "--gpu"};
    std::vector<std::string> missing;
    for (const absl::string_view name : kRequired) {
      if (given_.count(name) == 0) missing.push_back(absl::StrCat(FindPerfFlags(name).front()->short_name, "/", name));
    }
    if (missing.empty()) return;
    KeepFinding(MakeParseFinding(args_.front().at, "bridge-perf.required", Severity::kError,
                                 absl::StrCat("no ", absl::StrJoin(missing, ", ")),
                                 "the harness's parser asks for the model's family and recipe, the GPUs and their type",
                                 "Megatron-Bridge:scripts/performance/argument_parser.py:223"),
                &out_->findings);
  }

  // Its value only a run would know, and so what it sets.
  void Hide(const PerfFlag& flag) {
    if (flag.knob.has_value()) flags_.MarkUnknown(*flag.knob);
    for (const AlsoSet& also : kAlsoSet) {
      if (also.flag == flag.name) flags_.MarkUnknown(also.knob);
    }
    const std::pair<absl::string_view, K> others[] = {{"--recompute_modules", K::recompute_modules},
                                                      {"--tensor_model_parallel_size", K::sequence_parallel},
                                                      {"--cuda_graph_impl", K::cuda_graph_impl},
                                                      {"--cuda_graph_impl", K::cuda_graph_modules},
                                                      {"--cuda_graph_scope", K::cuda_graph_modules},
                                                      {"--compute_dtype", K::mixed_precision_recipe},
                                                      {"--moe_flex_dispatcher_backend", K::moe_flex_dispatcher_backend},
                                                      {"--moe_flex_dispatcher_backend", K::moe_token_dispatcher_type}};
    for (const auto& [name, knob] : others) {
      if (name == flag.name) flags_.MarkUnknown(knob);
    }
    if (flag.name == "--compute_dtype") precision_ = "";
  }

  // False: the flag is dealt with, because its value is missing or may be.
  bool TakeValue(const Argument& word, const PerfFlag& flag, std::string* value) {
    if (flag.takes == Takes::kNothing) return true;
    if (flag.takes == Takes::kMany) {
      while (at_ < args_.size() && !IsFlag(args_[at_].text)) ++at_;
      return false;
    }
    if (at_ < args_.size() && !IsFlag(args_[at_].text)) {
      *value = args_[at_++].text;
      return true;
    }
    if (flag.takes != Takes::kOptionalInt) {
      flags_.Refuse(word, OverrideReader::kUnreadable, Printable(word.text), "this flag takes a value");
    }
    return false;
  }

  void Apply(const Argument& word, const PerfFlag& flag, const std::string& text) {
    if (flag.name == "--virtual_pipeline_model_parallel_size") return VirtualStages(word, flag, text);
    Value value(text);
    if (flag.takes == Takes::kInt || flag.takes == Takes::kOptionalInt) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(text, &number)) return BadValue(word, flag, text, "an integer");
      value = Value(number);
    } else if (flag.takes == Takes::kBool) {
      const std::optional<bool> on = ReadBool(text);
      if (!on.has_value()) return BadValue(word, flag, text, "true or false");
      value = Value(*on);
    }
    if (flag.knob.has_value()) Keep(word, *flag.knob, value);
    Companions(word, flag, text, value);
  }

  void VirtualStages(const Argument& word, const PerfFlag& flag, const std::string& text) {
    if (text == "None") return Keep(word, *flag.knob, Value());
    int64_t stages = 0;
    if (!absl::SimpleAtoi(text, &stages)) return BadValue(word, flag, text, "an integer or None");
    if (stages != -1) Keep(word, *flag.knob, stages);  // -1 keeps the recipe's
  }

  void BadValue(const Argument& word, const PerfFlag& flag, absl::string_view text, absl::string_view needs) {
    flags_.Refuse(word, OverrideReader::kUnreadable, absl::StrCat(flag.name, " ", Printable(text)), std::string(needs));
  }
  void Keep(const Argument& word, K knob, Value value) { flags_.Keep(knob, std::move(value), word.at); }

  // What a flag does beside or instead of setting the field of its name.
  void Companions(const Argument& word, const PerfFlag& flag, const std::string& text, const Value& value) {
    Remember(word, flag.name, text, value);
    if (flag.name == "--config_variant") Variant(word, text);
    if (flag.name == "--compute_dtype") Precision(word, text);
    if (flag.name == "--moe_flex_dispatcher_backend") FlexBackend(word, text);
    if (flag.name == "--recompute_modules") Keep(word, K::recompute_modules, Words(text));
    if (flag.name == "--tensor_model_parallel_size") Keep(word, K::sequence_parallel, value.integer() > 1);
    if (IsOff(flag, value)) return;
    for (const AlsoSet& also : kAlsoSet) {
      if (also.flag == flag.name) Keep(word, also.knob, also.value == kOwnValue ? value : ValueOf(also.value));
    }
  }

  // What counts when the whole line has been read.
  void Remember(const Argument& word, absl::string_view flag, const std::string& text, const Value& value) {
    if (flag == "--model_family_name") family_ = absl::AsciiStrToLower(text);
    if (flag == "--model_recipe_name") recipe_ = word, recipe_.text = absl::AsciiStrToLower(text);
    if (flag == "--task") task_ = text;
    if (flag == "--gpu") gpu_ = text;
    if (flag == "--num_gpus") gpus_ = value.integer();
    if (flag == "--gpus_per_node") out_->gpus_per_node = value.integer();
    if (flag == "--cuda_graph_impl") graph_impl_ = word, graph_impl_.text = text;
    if (flag == "--cuda_graph_scope") graph_scope_ = word, graph_scope_.text = text;
  }

  void FlexBackend(const Argument& word, const std::string& text) {
    if (text != "None") return Keep(word, K::launch_flex_backend, text);
    Keep(word, K::moe_flex_dispatcher_backend, Value());
    Keep(word, K::moe_token_dispatcher_type, "alltoall");
  }

  // With -c bf16 the harness turns the precision-aware optimizer on, whatever the overrides say.
  bool AdamStays() const {
    return std::none_of(out_->knobs.begin(), out_->knobs.end(), [](const ParsedKnob& parsed) {
      return parsed.knob == K::optimizer && parsed.value != Value("adam");
    });
  }

  void Precision(const Argument& word, absl::string_view text) {
    precision_ = std::string(text);
    for (const ComputeDtype& dtype : ComputeDtypes()) {
      if (dtype.name != text) continue;
      // The recipe is chosen before the overrides are applied to it.
      out_->knobs.insert(out_->knobs.begin(), {K::mixed_precision_recipe, Value(dtype.recipe), word.at});
      if (text == "fp8_cs") {
        out_->knobs.insert(out_->knobs.begin(), {K::mixed_precision_first_last_layers_bf16, Value(false), word.at});
      }
    }
  }
  // utils/overrides.py, _set_cuda_graph_overrides: the implementation first, wherever the two stand; with none of them
  // the scope is passed over.
  void Graphs() {
    if (!graph_impl_.text.empty()) GraphImpl(graph_impl_, graph_impl_.text);
    if (graph_impl_.text == "none") return Keep(graph_impl_, K::cuda_graph_modules, Value::List{});
    if (!graph_scope_.text.empty()) GraphScope(graph_scope_, graph_scope_.text);
  }
  void GraphImpl(const Argument& word, absl::string_view text) {
    const bool on = text != "none";
    Keep(word, K::cuda_graph_impl, text);
    Keep(word, K::te_rng_tracker, on);
    Keep(word, K::use_te_rng_tracker, on);
  }
  void GraphScope(const Argument& word, absl::string_view text) {
    if (text != "full_iteration") return Keep(word, K::cuda_graph_modules, Words(text));
    Keep(word, K::cuda_graph_impl, "full_iteration");
    Keep(word, K::cuda_graph_modules, Value::List{});
    Keep(word, K::check_for_nan_in_loss, false);
  }

  void RememberRecipe() {
    if (recipe_.text.empty()) return;
    Keep(recipe_, K::launch_recipe, absl::StrCat(family_, "/", recipe_.text, variant_.empty() ? "" : "@", variant_));
  }

  // All recipes with adapters are Llama-3 70B's, rank 16 beside one layer (perf_recipes/llama/h100/llama3.py:413,
  // recipes/llama/h100/llama3.py:2609). Overrides are applied after them.
  void SetAdapters() {
    const ParsedKnob set[] = {{K::peft_scheme, Value("lora"), {}, Origin::kModel},
                              {K::peft_dim, Value(16), {}, Origin::kModel},
                              {K::peft_target_modules, Value(Value::List{Value("linear_qkv")}), {}, Origin::kModel}};
    out_->knobs.insert(out_->knobs.begin(), std::begin(set), std::end(set));
  }

  void Variant(const Argument& word, const std::string& text) {
    variant_ = text;
    const std::string lower = absl::AsciiStrToLower(text);
    if (lower != "v1" && lower != "v2") return;
    KeepFinding(
        MakeParseFinding(
            word.at, "bridge-perf.variant-label", Severity::kInfo, absl::StrCat("--config_variant ", Printable(text)),
            "v1 and v2 are labels that were removed: they choose the recipe without a variant; leave the flag out",
            "Megatron-Bridge:scripts/performance/utils/utils.py:_recipe_variant_suffix"),
        &out_->findings);
  }

  // Read of the newest code alone.
  void Start() {
    const PerfRecipe* const recipe =
        release_ == kMain ? ChoosePerfRecipe({recipe_.text, task_, gpu_, *precision_, variant_, gpus_}) : nullptr;
    if (recipe == nullptr) return;
    const bool scaled = gpus_ != 0 && gpus_ != recipe->gpus;
    StartFromRecipe({recipe->function, recipe->hf_model, recipe->overrides}, !scaled, release_, out_);
  }

  absl::Span<const Argument> args_;
  const int release_;
  ParseResult from_flags_;
  OverrideReader flags_;      // reports and keeps what flags say
  OverrideReader overrides_;  // reads the words between them
  ParseResult* out_;
  size_t at_ = 0;
  std::set<absl::string_view> given_;  // flags, by their long names
  std::string family_;
  std::string task_ = "pretrain", gpu_;  // as the harness takes them where they are not said
  int64_t gpus_ = 0;
  std::string variant_;
  std::optional<std::string> precision_;
  Argument recipe_, graph_impl_, graph_scope_;
};

}  // namespace

ParseResult ParseBridgePerf(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  const int release = NearestRelease(kBridgeReleases, env.bridge_release);
  if (args.size() > kMaxArguments) {
    OverrideReader(release, &result)
        .Refuse(args[kMaxArguments], "input.limit", absl::StrCat(args.size(), " arguments"),
                absl::StrCat("at most ", kMaxArguments));
    return result;
  }
  PerfReader(args, release, &result).Read();
  return result;
}

ParseResult ParseBridgePerf(absl::Span<const std::string> argv, const Environment& env) {
  return ParseBridgePerf(absl::Span<const Argument>(Arguments(argv)), env);
}

}  // namespace flightplan
