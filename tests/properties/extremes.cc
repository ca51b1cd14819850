#include "tests/properties/extremes.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/profile.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/text_format.h"
#include "resolver/explain/records.h"
#include "resolver/normalize/model_message.h"
#include "resolver/rules/registry.h"

namespace flightplan::properties {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxDepth = 4;  // of messages in messages; no request is deeper

const double kReals[] = {0,
                         -0.0,
                         std::numeric_limits<double>::denorm_min(),
                         1e-300,
                         1e-9,
                         0.5,
                         1,
                         999'999,
                         1e6,
                         1e9,
                         1e12,
                         1e15,
                         1.1e15,
                         1e18,
                         1e300,
                         std::numeric_limits<double>::max(),
                         -1,
                         -1e300,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()};
const int64_t kIntegers[] = {std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int32_t>::min(),
                             -1,
                             0,
                             1,
                             2,
                             3,
                             7,
                             64,
                             1000,
                             (1 << 16) - 1,
                             1 << 20,
                             (1 << 24) + 1,
                             1 << 30,
                             std::numeric_limits<int32_t>::max(),
                             int64_t{1} << 40,
                             int64_t{1} << 53,
                             std::numeric_limits<int64_t>::max()};

bool IsNumber(const FieldDescriptor& field) {
  if (field.is_repeated()) return false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_ENUM:
      return true;
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
  }
  return false;
}

bool IsTextOrList(const FieldDescriptor& field) {
  return field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

bool IsMessage(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

void Find(const Message& message, bool (*wanted)(const FieldDescriptor&), Way* way, std::vector<Way>* found) {
  const google::protobuf::Reflection& from = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const bool held = !field->is_repeated() || (IsMessage(*field) && from.FieldSize(message, field) > 0);
    way->push_back(field);
    if (wanted(*field) && (held || IsTextOrList(*field))) found->push_back(*way);
    if (held && IsMessage(*field) && static_cast<int>(way->size()) < kMaxDepth) {
      Find(field->is_repeated() ? from.GetRepeatedMessage(message, field, 0) : from.GetMessage(message, field), wanted,
           way, found);
    }
    way->pop_back();
  }
}

std::vector<Way> FieldsOf(const Message& message, bool (*wanted)(const FieldDescriptor&)) {
  Way way;
  std::vector<Way> found;
  Find(message, wanted, &way, &found);
  return found;
}

// The message that holds the last field of the way.
Message* HolderOf(const Way& way, Message* message) {
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    // Another number of the same oneof may have taken the entry away.
    if (way[i]->is_repeated() && message->GetReflection()->FieldSize(*message, way[i]) == 0) {
      message->GetReflection()->AddMessage(message, way[i]);
    }
    message = way[i]->is_repeated() ? message->GetReflection()->MutableRepeatedMessage(message, way[i], 0)
                                    : message->GetReflection()->MutableMessage(message, way[i]);
  }
  return message;
}

// One more entry of a list or a map; `text` where it holds text.
void AddEntry(const FieldDescriptor& field, const std::string& text, Message* message) {
  const google::protobuf::Reflection& to = *message->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return to.AddInt32(message, &field, 1);
    case FieldDescriptor::CPPTYPE_INT64:
      return to.AddInt64(message, &field, 1);
    case FieldDescriptor::CPPTYPE_UINT32:
      return to.AddUInt32(message, &field, 1);
    case FieldDescriptor::CPPTYPE_UINT64:
      return to.AddUInt64(message, &field, 1);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return to.AddFloat(message, &field, 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return to.AddDouble(message, &field, 1);
    case FieldDescriptor::CPPTYPE_ENUM:
      return to.AddEnumValue(message, &field, 1);
    case FieldDescriptor::CPPTYPE_BOOL:
      return to.AddBool(message, &field, true);
    case FieldDescriptor::CPPTYPE_STRING:
      return to.AddString(message, &field, text);
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message* entry = to.AddMessage(message, &field);
      if (!field.is_map()) return;
      return entry->GetReflection()->SetString(entry, field.message_type()->map_key(), text);
    }
  }
}

template <class Request>
Sample Make(const char* name, const std::string& text) {
  auto message = std::make_unique<Request>();
  if (!google::protobuf::TextFormat::ParseFromString(text, message.get())) std::abort();
  return {name, std::move(message)};
}

std::string ProfileText() {
  std::string text = "device_name: 'NVIDIA H100 80GB HBM3' gpu: 'h100-sxm' kind: 'measured' sm_count: 132 ";
  const auto row = [&](absl::string_view id, absl::string_view unit, absl::string_view parameter, double at,
                       double value, absl::string_view labels = "") {
    absl::StrAppend(&text, "rows { id: '", id, "' unit: '", unit, "' kind: 'measured' value: ", value,
                    " low: ", 0.9 * value, " high: ", 1.1 * value, " sample_count: 9 parameters { key: '", parameter,
                    "' value: ", at, " } ", labels, " } ");
  };
  for (const double at : {1.0, 8.0, 32.0, 132.0}) {
    row("hbm.sm_curve", "bytes_per_second", "sms", at, 2e10 * at);
    row("a2a.p2p.push", "bytes_per_second", "sms", at, 1e10 * at);
    row("a2a.nccl", "bytes_per_second", "bytes", 65536 * at, 1e9 * at);
    row("gemm.fc1", "flops_per_second", "rows", 128 * at, 5e12 * at);
    row("gemm.fc2", "flops_per_second", "rows", 128 * at, 5e12 * at);
    row("gemm.wgrad", "flops_per_second", "rows", 128 * at, 5e12 * at);
    for (const char* side : {"compute", "communication"}) {
      row("corun.matrix", "ratio", "sms", at, 1.2, absl::StrCat("labels { key: 'side' value: '", side, "' }"));
    }
  }
  row("mm.dense", "flops_per_second", "rows", 8192, 6e14);
  row("hbm.copy", "bytes_per_second", "bytes", 1 << 28, 2.6e12);
  row("offload.d2h", "bytes_per_second", "bytes", 1 << 28, 5e10);
  return text;
}

}  // namespace

absl::Span<const double> Reals() { return kReals; }
absl::Span<const int64_t> Integers() { return kIntegers; }

std::vector<Way> NumbersOf(const Message& message) { return FieldsOf(message, IsNumber); }
std::vector<Way> ListsOf(const Message& message) { return FieldsOf(message, IsTextOrList); }

void SetLong(const Way& way, size_t choice, Message* message) {
  message = HolderOf(way, message);
  const FieldDescriptor& field = *way.back();
  const std::string text(size_t{768} * 1024, 'x');
  if (!field.is_repeated()) return message->GetReflection()->SetString(message, &field, text);
  const FieldDescriptor* value = field.is_map() ? field.message_type()->map_value() : nullptr;
  if (value != nullptr && value->cpp_type() == FieldDescriptor::CPPTYPE_STRING && choice == 0) {
    AddEntry(field, "x", message);
    const int last = message->GetReflection()->FieldSize(*message, &field) - 1;
    Message* entry = message->GetReflection()->MutableRepeatedMessage(message, &field, last);
    return entry->GetReflection()->SetString(entry, value, text);
  }
  const bool named = field.is_map() || field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (named && choice == 1) return AddEntry(field, text, message);
  for (int i = 0; i < 50'000; ++i) AddEntry(field, absl::StrCat("x", i), message);
}

void SetExtreme(const FieldDescriptor& field, size_t choice, Message* message) {
  const google::protobuf::Reflection& to = *message->GetReflection();
  const double real = kReals[choice % std::size(kReals)];
  const int64_t integer = kIntegers[choice % std::size(kIntegers)];
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return to.SetInt32(message, &field, static_cast<int32_t>(integer));
    case FieldDescriptor::CPPTYPE_INT64:
      return to.SetInt64(message, &field, integer);
    case FieldDescriptor::CPPTYPE_UINT32:
      return to.SetUInt32(message, &field, static_cast<uint32_t>(integer));
    case FieldDescriptor::CPPTYPE_UINT64:
      return to.SetUInt64(message, &field, static_cast<uint64_t>(integer));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return to.SetFloat(message, &field, static_cast<float>(real));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return to.SetDouble(message, &field, real);
    case FieldDescriptor::CPPTYPE_ENUM:
      return to.SetEnumValue(message, &field, static_cast<int>(integer));
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return;
  }
}

void SetExtreme(const Way& way, size_t choice, Message* message) {
  SetExtreme(*way.back(), choice, HolderOf(way, message));
}

std::string Named(const Way& way, size_t choice) {
  std::vector<std::string> names;
  for (const FieldDescriptor* field : way) names.emplace_back(field->name());
  return absl::StrCat(absl::StrJoin(names, "."), " at extreme ", choice);
}

std::string NotANumber(const Message& message, const google::protobuf::Descriptor* echoed) {
  if (message.GetDescriptor() == echoed) return "";
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const google::protobuf::Reflection& from = *message.GetReflection();
    const int count = field->is_repeated() ? from.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        const double value =
            field->is_repeated() ? from.GetRepeatedDouble(message, field, i) : from.GetDouble(message, field);
        if (!std::isfinite(value)) return std::string(field->full_name());
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        std::string inner = NotANumber(
            field->is_repeated() ? from.GetRepeatedMessage(message, field, i) : from.GetMessage(message, field),
            echoed);
        if (!inner.empty()) return inner;
      }
    }
  }
  return "";
}

std::string UnexplainedId(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& from = *message.GetReflection();
  from.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == "rule_id") {
      std::string id = from.GetString(message, field);
      if (FindRule(id) == nullptr && FindRecord(id) == nullptr) return id;
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field->is_repeated() ? from.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        const Message& part =
            field->is_repeated() ? from.GetRepeatedMessage(message, field, i) : from.GetMessage(message, field);
        if (std::string id = UnexplainedId(part); !id.empty()) return id;
      }
    }
  }
  return "";
}

std::vector<Sample> Samples(const Catalog& catalog) {
  const std::string resolve =
      "model { name: 'qwen3-30b-a3b' } hardware { gpu: 'h100-sxm' gpu_count: 16 fabric { gpus_per_node_count: 8 } } "
      "workload { seq_length: 4096 global_batch_size: 128 } target { framework: 'megatron-lm' } layout { "
      "tensor_model_parallel_size: 1 pipeline_model_parallel_size: 2 expert_model_parallel_size: 8 }";
  v1::ModelSpec spec;
  ModelToMessage(**catalog.FindModel("deepseek-v3"), &spec);
  std::string spec_text;
  google::protobuf::TextFormat::PrintToString(spec, &spec_text);

  std::vector<Sample> samples;
  samples.push_back(Make<v1::ResolveConfigRequest>("resolve", resolve));
  samples.push_back(Make<v1::ResolveConfigRequest>(
      "resolve, own model",
      absl::StrCat("model { spec { ", spec_text,
                   " } } hardware { gpu: 'gb200-nvl72' gpu_count: 256 } workload { seq_length: 4096 global_batch_size: "
                   "2048 } target { framework: 'megatron-bridge' } layout { tensor_model_parallel_size: 1 "
                   "pipeline_model_parallel_size: 4 expert_model_parallel_size: 64 } pinned_knobs { name: "
                   "'moe_expert_capacity_factor' value { double_value: 1 } }")));
  samples.push_back(Make<v1::ResolveConfigRequest>("resolve, after a run",
                                                   resolve + " profile { step_time_us: 1e6 host_gap_ratio: 0.2 }"));
  samples.push_back(Make<v1::ResolveConfigRequest>("resolve, probe's profile",
                                                   absl::StrCat(resolve, " probe_profile { ", ProfileText(), " }")));
  samples.push_back(Make<v1::ValidateConfigRequest>(
      "validate",
      "target { framework: 'megatron-lm' } hardware { gpu: 'h100-sxm' gpu_count: 16 } repair: true knobs { settings { "
      "name: 'num_layers' value { int_value: 24 } } settings { name: 'hidden_size' value { int_value: 1024 } } "
      "settings { name: 'num_attention_heads' value { int_value: 16 } } }"));
  samples.push_back(Make<v1::ValidateConfigRequest>(
      "validate, probe's profile",
      absl::StrCat("target { framework: 'megatron-lm' } hardware { gpu: 'h100-sxm' gpu_count: 8 } arguments { values: "
                   "'--num-layers' values: '4' values: '--hidden-size' values: '1024' values: "
                   "'--num-attention-heads' values: '16' values: '--seq-length' values: '1024' values: "
                   "'--micro-batch-size' values: '1' values: '--vocab-size' values: '32000' } probe_profile { ",
                   ProfileText(), " }")));
  samples.push_back(Make<v1::Measurement>(
      "measurement",
      "id: 'run' metric: 'step_time_us' value: 2e6 quality: 'matched' model: 'qwen3-30b-a3b' gpu: 'h100-sxm' "
      "gpu_count: "
      "16 workload { seq_length: 4096 global_batch_size: 128 } target { framework: 'megatron-lm' } layout { "
      "expert_model_parallel_size: 8 }"));
  samples.push_back(Make<v1::HardwareProfile>("profile", ProfileText()));
  samples.push_back(Make<v1::PlanLayoutsRequest>("plan layouts", "plan_count: 2 base { " + resolve + " }"));
  return samples;
}

}  // namespace flightplan::properties
