#include "resolver/stacks/number_fault.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

using K = Knob;

// The least of these that the configuration code stops at. It stops at what stands before that, too.
enum class Stops { kNever, kText, kFraction, kFloat };

struct Stop {
  K knob;
  Stops bridge, loongforge;
};

// Read with the code itself: each field with text, a whole float and 7.5, in models of every kind
// (NVIDIA-NeMo/Megatron-Bridge@067f987df, baidu-baige/LoongForge@c6275661).
constexpr Stop kStops[] = {
    {K::tensor_model_parallel_size, Stops::kFraction, Stops::kFloat},
    {K::pipeline_model_parallel_size, Stops::kFraction, Stops::kFloat},
    {K::context_parallel_size, Stops::kFloat, Stops::kFloat},
    {K::expert_model_parallel_size, Stops::kText, Stops::kFloat},
    {K::expert_tensor_parallel_size, Stops::kNever, Stops::kFloat},
    {K::num_layers_in_first_pipeline_stage, Stops::kFraction, Stops::kFraction},
    {K::num_layers_in_last_pipeline_stage, Stops::kFraction, Stops::kFraction},
    {K::tensor_parallel_num_weight_shards, Stops::kFraction, Stops::kNever},
    {K::expert_tensor_parallel_num_weight_shards, Stops::kFraction, Stops::kNever},
    {K::virtual_pipeline_model_parallel_size, Stops::kText, Stops::kNever},
    {K::hierarchical_context_parallel_sizes, Stops::kText, Stops::kNever},
    {K::no_rope_freq, Stops::kText, Stops::kNever},
    {K::micro_batch_size, Stops::kFraction, Stops::kFraction},
    {K::global_batch_size, Stops::kFraction, Stops::kFraction},
    {K::train_iters, Stops::kText, Stops::kText},
    {K::train_samples, Stops::kText, Stops::kText},
    {K::seq_length, Stops::kNever, Stops::kText},
    {K::num_layers, Stops::kText, Stops::kFraction},
    {K::num_attention_heads, Stops::kFraction, Stops::kFraction},
    {K::num_query_groups, Stops::kFraction, Stops::kFraction},
    {K::init_method_std, Stops::kText, Stops::kText},
    {K::num_moe_experts, Stops::kText, Stops::kText},
    {K::moe_shared_expert_intermediate_size, Stops::kText, Stops::kText},
    {K::moe_router_group_topk, Stops::kText, Stops::kText},
    {K::moe_expert_capacity_factor, Stops::kText, Stops::kText},
    {K::moe_expert_rank_capacity_factor, Stops::kText, Stops::kNever},
    {K::activation_func_clamp_value, Stops::kText, Stops::kNever},
    {K::glu_linear_offset, Stops::kText, Stops::kText},
    {K::flash_attention_version, Stops::kFraction, Stops::kNever},
    {K::gdp_num_householder, Stops::kText, Stops::kNever},
    {K::dsa_indexer_topk_freq, Stops::kNever, Stops::kFraction},
    {K::num_buckets, Stops::kText, Stops::kNever},
    {K::megatron_fsdp_version, Stops::kFraction, Stops::kNever},
    {K::eval_context_parallel_size, Stops::kFloat, Stops::kNever},
};

Stops StopOf(K knob, NumberReader reader) {
  for (const Stop& row : kStops) {
    if (row.knob == knob) return reader == NumberReader::kBridge ? row.bridge : row.loongforge;
  }
  return Stops::kNever;
}

// Sizes that count something, which Python uses as such: 4.0 is none.
bool IsSize(K knob) {
  constexpr K kSizes[] = {K::tensor_model_parallel_size,
                          K::pipeline_model_parallel_size,
                          K::context_parallel_size,
                          K::expert_model_parallel_size,
                          K::expert_tensor_parallel_size,
                          K::virtual_pipeline_model_parallel_size,
                          K::num_layers,
                          K::hidden_size,
                          K::ffn_hidden_size,
                          K::moe_ffn_hidden_size,
                          K::moe_shared_expert_intermediate_size,
                          K::num_attention_heads,
                          K::num_query_groups,
                          K::kv_channels,
                          K::num_moe_experts,
                          K::moe_router_topk,
                          K::mtp_num_layers,
                          K::seq_length,
                          K::dataset_seq_length,
                          K::micro_batch_size,
                          K::global_batch_size};
  return std::find(std::begin(kSizes), std::end(kSizes), knob) != std::end(kSizes);
}

// Of text that YAML or a quote makes of a number. PyYAML reads 1e-4 as text, OmegaConf as a number.
std::optional<Value> NumberIn(const Value& text) {
  int64_t integer = 0;
  double real = 0;
  if (absl::SimpleAtoi(text.text(), &integer)) return Value(integer);
  if (absl::SimpleAtod(text.text(), &real)) return Value(real);
  return std::nullopt;
}

std::string NotANumber(const Value& value, const std::optional<Value>& meant) {
  if (value.is_list()) return "a list";
  if (value.is_float()) return "a float";
  if (value == Value("None")) return "text: None is text here, null means unset";
  return meant.has_value() ? absl::StrCat("text: ", meant->ToText(), " without quotes") : "text";
}

}  // namespace

bool HoldsNumbers(Knob knob) {
  switch (Row(knob).type) {
    case ValueType::kInt:
    case ValueType::kFloat:
    case ValueType::kIntList:
    case ValueType::kFloatList:
    case ValueType::kFreq:
      return true;
    case ValueType::kBool:
    case ValueType::kString:
    case ValueType::kStringList:
    case ValueType::kTuple:
    case ValueType::kAny:
      break;
  }
  return false;
}

std::optional<NumberFault> FindNumberFault(Knob knob, NumberReader reader, Value* value) {
  const ValueType type = Row(knob).type;
  const bool integer = type == ValueType::kInt;
  const bool one = integer || type == ValueType::kFloat;
  if (!one && !(HoldsNumbers(knob) && *value == Value("None"))) return std::nullopt;
  const std::optional<Value> number = value->is_text() ? NumberIn(*value) : std::nullopt;
  if (number.has_value() && number->is_float()) *value = *number;
  if (value->is_none() || value->is_int() || value->is_bool()) return std::nullopt;
  if (value->is_float() && !integer) return std::nullopt;
  const bool whole = value->is_float() && value->real() == static_cast<double>(value->integer());
  if (whole && !IsSize(knob)) {
    *value = Value(value->integer());
    return std::nullopt;
  }
  const Stops stops = StopOf(knob, reader);
  NumberFault fault;
  fault.written = *value;
  if (whole) fault.meant = Value(value->integer());
  if (value->is_text() && number.has_value()) fault.meant = *number;
  if (*value == Value("None") && absl::string_view(Row(knob).default_json) == "null") fault.meant = Value();
  // Bridge uses a context-parallel size of 1.0 as none at all.
  const bool none_at_all = whole && value->integer() == 1 && reader == NumberReader::kBridge;
  fault.refused = whole               ? stops == Stops::kFloat && !none_at_all
                  : value->is_float() ? stops >= Stops::kFraction
                                      : stops != Stops::kNever;
  fault.needs = absl::StrCat(integer ? "an integer"
                             : one   ? "a number"
                                     : "numbers",
                             ", not ", NotANumber(*value, fault.meant));
  *value = whole ? Value(value->integer()) : Value();
  return fault;
}

ParseFinding NumberFinding(const NumberFault& fault, Knob knob, const SourcePosition& at, absl::string_view refused_id,
                           absl::string_view source, std::string seen, absl::string_view subject) {
  ParseFinding found = MakeParseFinding(at, fault.refused ? refused_id : "build.value-type", Severity::kError,
                                        std::move(seen), absl::StrCat(subject, " must be ", fault.needs), source);
  if (!fault.refused) found.finding.verdict = Verdict::kWillRun;
  found.finding.observed = {{std::string(Name(knob)), fault.written}};
  if (fault.meant.has_value()) found.finding.fixes = {{Assignment{knob, "", *fault.meant}}};
  return found;
}

}  // namespace flightplan
