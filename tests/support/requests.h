// What the tests of the resolver's methods share: one resolver, the README's request, and what an answer says.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"

namespace flightplan::testing {

// Over the built-in catalogue, one for the whole program.
inline const Resolver& TestResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

// DeepSeek-V3 on 1,024 H100, TP2 PP8 VPP4 EP64: the README's example.
inline v1::ResolveConfigRequest DeepSeekOnH100() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v3");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(1024);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(8192);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-lm");
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(2);
  layout->set_pipeline_model_parallel_size(8);
  layout->set_virtual_pipeline_model_parallel_size(4);
  layout->set_expert_model_parallel_size(64);
  return request;
}

// A training by Megatron-LM whose layout is left open.
inline v1::ResolveConfigRequest Training(const char* model, const char* gpu, int gpu_count, int seq_length,
                                         int global_batch_size) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(model);
  request.mutable_hardware()->set_gpu(gpu);
  request.mutable_hardware()->set_gpu_count(gpu_count);
  request.mutable_workload()->set_seq_length(seq_length);
  request.mutable_workload()->set_global_batch_size(global_batch_size);
  request.mutable_target()->set_framework("megatron-lm");
  return request;
}

inline v1::ResolveConfigRequest QwenOnSixteen() { return Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128); }

// Parallel sizes; 0: left open.
struct Sizes {
  int tp = 0;
  int pp = 0;
  int vpp = 0;
  int ep = 0;
};
inline void SetSizes(const Sizes& sizes, v1::ResolveConfigRequest* request) {
  v1::Layout& layout = *request->mutable_layout();
  if (sizes.tp > 0) layout.set_tensor_model_parallel_size(sizes.tp);
  if (sizes.pp > 0) layout.set_pipeline_model_parallel_size(sizes.pp);
  if (sizes.vpp > 0) layout.set_virtual_pipeline_model_parallel_size(sizes.vpp);
  if (sizes.ep > 0) layout.set_expert_model_parallel_size(sizes.ep);
}

inline void SetValue(const char* text, v1::KnobValue* value) { value->set_string_value(text); }
inline void SetValue(const std::string& text, v1::KnobValue* value) { value->set_string_value(text); }
inline void SetValue(bool on, v1::KnobValue* value) { value->set_bool_value(on); }
inline void SetValue(int number, v1::KnobValue* value) { value->set_int_value(number); }
inline void SetValue(double number, v1::KnobValue* value) { value->set_double_value(number); }
inline void SetValue(const v1::KnobValue& from, v1::KnobValue* value) { *value = from; }

// Sets a knob to text, a truth value, a number or a message's value.
template <typename T>
void Set(absl::string_view knob, const T& value, v1::KnobSetting* setting) {
  setting->set_name(std::string(knob));
  SetValue(value, setting->mutable_value());
}
template <typename T>
void Pin(absl::string_view knob, const T& value, v1::ResolveConfigRequest* request) {
  Set(knob, value, request->add_pinned_knobs());
}

// A launch or a file of that text.
inline v1::ValidateConfigRequest FileOf(const char* framework, const char* name, const std::string& text) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework(framework);
  request.mutable_file()->set_name(name);
  request.mutable_file()->set_text(text);
  return request;
}

// A launch as its arguments, divided by spaces.
inline v1::ValidateConfigRequest WordsOf(const char* framework, absl::string_view words) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework(framework);
  for (absl::string_view word : absl::StrSplit(words, ' ')) request.mutable_arguments()->add_values(std::string(word));
  return request;
}

// A model of half a billion parameters without its vocabulary, on a node of H100.
inline v1::ValidateConfigRequest SmallWithoutVocabulary() {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 8 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 "
              "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 8 --bf16");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  return request;
}

// States a knob beside the text that is judged.
template <typename T>
void State(absl::string_view knob, const T& value, v1::ValidateConfigRequest* request) {
  Set(knob, value, request->add_stated_knobs());
}

// The script of an answer, to be judged for the machines and the stack that the question was of.
inline v1::ValidateConfigRequest ScriptOf(const v1::ResolveConfigRequest& question,
                                          const v1::ResolveConfigResponse& plan) {
  v1::ValidateConfigRequest script;
  *script.mutable_target() = question.target();
  *script.mutable_hardware() = question.hardware();
  *script.mutable_software() = question.software();
  script.mutable_file()->set_name("launch.sh");
  script.mutable_file()->set_text(plan.launches(0).text());
  return script;
}

// Asks for what a fix sets.
inline void Apply(const v1::Fix& fix, v1::ResolveConfigRequest* request) {
  request->mutable_pinned_knobs()->MergeFrom(fix.knobs());
  for (const auto& [name, value] : fix.env()) (*request->mutable_env())[name] = value;
}

// Rule ids of the findings of level error.
inline std::set<std::string> Errors(const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) ids.insert(finding.rule_id());
  }
  return ids;
}

// Fields that a refusal names; none when it names none.
inline std::set<std::string> ViolatedFields(const absl::Status& status) {
  google::rpc::BadRequest details;
  std::set<std::string> fields;
  auto payload = status.GetPayload(kBadRequestPayload);
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  return fields;
}

}  // namespace flightplan::testing
