#include "tests/drills/random_requests.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "flightplan/v1/probe_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/plan/knob.h"

namespace flightplan::drills {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;

constexpr int kMaxDepth = 6;        // of messages that are made where there were none
constexpr int kMaxRepeated = 64;    // entries of a repeated field
constexpr size_t kLongText = 5000;  // bytes of a text that is too long for most fields

const char kScript[] =
    "#!/bin/bash\nGPUS=8\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nBATCH=$((GPUS * 16))\nARGS=(--num-layers 24 "
    "--hidden-size 1024 --num-attention-heads 16 --seq-length 4096)\nif [ \"$GPUS\" -gt 4 ]; then ARGS+=(--bf16); fi\n"
    "for i in 1 2 3; do BATCH=$((BATCH + i)); done\ntorchrun --nproc_per_node $GPUS pretrain_gpt.py \"${ARGS[@]}\" "
    "--tensor-model-parallel-size 2 --global-batch-size $BATCH --lr ${LR:-1e-4}\n";
const char kYaml[] =
    "model:\n  num_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 16\n  tensor_model_parallel_size: 2\n"
    "  init_method_std: 1.0e-2\ntrain: &t\n  train_iters: 1000\n  global_batch_size: 128\nother: *t\n";
const char kHfConfig[] =
    R"({"architectures":["Qwen3MoeForCausalLM"],"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,)"
    R"("num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"vocab_size":151936,)"
    R"("num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,"rope_theta":1000000.0,)"
    R"("max_position_embeddings":40960,"rms_norm_eps":1e-06,"norm_topk_prob":true,"tie_word_embeddings":false})";

bool OneIn(int n, Random* random) { return (*random)() % static_cast<uint64_t>(n) == 0; }
size_t Below(size_t n, Random* random) { return (*random)() % n; }

// ---- samples

using Messages = std::vector<std::unique_ptr<Message>>;

template <class M>
M* AddTo(Messages* list) {
  auto message = std::make_unique<M>();
  M* const raw = message.get();
  list->push_back(std::move(message));
  return raw;
}

template <class M>
const M& The(const Message& message) {
  return static_cast<const M&>(message);
}

Messages OfType(const std::vector<properties::Sample>& samples, const Descriptor* type) {
  Messages found;
  for (const properties::Sample& sample : samples) {
    if (sample.message->GetDescriptor() != type) continue;
    found.emplace_back(sample.message->New());
    found.back()->CopyFrom(*sample.message);
  }
  return found;
}

Messages Validations(Messages list) {
  const v1::ValidateConfigRequest base = The<v1::ValidateConfigRequest>(*list.front());
  const auto with_file = [&](const char* name, const char* text, const char* framework) {
    auto* request = AddTo<v1::ValidateConfigRequest>(&list);
    *request = base;
    request->mutable_file()->set_name(name);
    request->mutable_file()->set_text(text);
    request->mutable_target()->set_framework(framework);
  };
  with_file("launch.sh", kScript, "megatron-lm");
  with_file("recipe.yaml", kYaml, "megatron-bridge");
  with_file("recipe.yaml", kYaml, "loongforge");
  auto* arguments = AddTo<v1::ValidateConfigRequest>(&list);
  *arguments = base;
  for (const absl::string_view word : absl::StrSplit(
           "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --bf16 --lr 1e-4 --moe-router-topk 8", ' ')) {
    arguments->mutable_arguments()->add_values(std::string(word));
  }
  return list;
}

Messages Conversions(const Messages& validations) {
  Messages list;
  for (const auto& validation : validations) {
    for (const char* framework : {"megatron-lm", "megatron-bridge", "loongforge"}) {
      auto* request = AddTo<v1::ConvertConfigRequest>(&list);
      *request->mutable_source() = The<v1::ValidateConfigRequest>(*validation);
      request->mutable_target()->set_framework(framework);
    }
  }
  return list;
}

Messages Batches(const Messages& resolves, const Messages& validations) {
  Messages list;
  for (const auto& resolve : resolves) {
    *AddTo<v1::BatchResolveRequest>(&list)->mutable_resolve() = The<v1::ResolveConfigRequest>(*resolve);
  }
  for (const auto& validation : validations) {
    *AddTo<v1::BatchResolveRequest>(&list)->mutable_validate() = The<v1::ValidateConfigRequest>(*validation);
  }
  return list;
}

Messages Empty(const MethodDescriptor& method) {
  Messages list;
  list.emplace_back(google::protobuf::MessageFactory::generated_factory()->GetPrototype(method.input_type())->New());
  return list;
}

// Of what has that name.
Messages LookUp(const MethodDescriptor& method, const char* name) {
  Messages list = Empty(method);
  Message* const request = list.front().get();
  request->GetReflection()->SetString(request, method.input_type()->field(0), name);
  return list;
}

const google::protobuf::ServiceDescriptor* const* Services() {
  static const google::protobuf::ServiceDescriptor* const kServices[] = {
      v1::ResolveConfigRequest::descriptor()->file()->service(0), v1::GetModelRequest::descriptor()->file()->service(0),
      v1::GetMeasurementRequest::descriptor()->file()->service(0),
      v1::RunProbeRequest::descriptor()->file()->service(0), nullptr};
  return kServices;
}

const MethodDescriptor* FindMethod(absl::string_view name) {
  for (auto service = Services(); *service != nullptr; ++service) {
    const MethodDescriptor* method = (*service)->FindMethodByName(std::string(name));
    if (method != nullptr) return method;
  }
  std::fprintf(stderr, "random_calls: no rpc %s\n", std::string(name).c_str());
  std::exit(2);
}

Words WordsOf(const Catalog& catalog) {
  Words words = {
      {"",
       {"",
        "0.15",
        "0.17",
        "main",
        "shell",
        "argv",
        "roce",
        "infiniband",
        "matched",
        "2.12.0",
        "12.9",
        "-1",
        "1e308",
        "nan",
        "1e-400",
        "0",
        "9223372036854775808",
        "bridge-yaml",
        "loongforge-yaml",
        "megatron-lm-yaml",
        "bridge-perf",
        "deepep",
        "hybridep",
        "speedup",
        "WORLD_SIZE",
        "NVTE_FLASH_ATTN",
        "Et|tt|L"}},
      {"framework", {"megatron-lm", "megatron-bridge", "loongforge"}},
      {"version", {"0.15", "0.16", "0.17", "0.18", "0.4", "0.6", "main", "1.0"}},
      {"precision", {"bf16", "fp16", "fp8", "fp8_mx", "fp4", "fp32"}},
      {"dialects", {"megatron-lm", "megatron-bridge", "megatron-bridge-perf", "loongforge", "yaml", "json"}},
      {"metric", {"step_time_us", "speedup"}},
      {"pipeline_model_parallel_layout",
       {"E|(t|)*2m|L", "Et*24|t*24L", "E(t|)*47tL", "Et*4|(t*4|)*10tL", "E|L", "(t|)*99999999L"}},
  };
  for (const ModelSpec& model : catalog.models()) words["name"].push_back(model.name);
  for (const GpuSystem& gpu : catalog.gpus()) words["gpu"].push_back(gpu.name);
  words["model"] = words["name"];
  for (int knob = 0; knob < kKnobCount; ++knob) words["name"].emplace_back(Name(static_cast<Knob>(knob)));
  return words;
}

// ---- changes

// A number in a text becomes another one.
void ChangeNumberIn(Random* random, std::string* text) {
  static constexpr absl::string_view kNumbers[] = {"0",
                                                   "-1",
                                                   "1e-300",
                                                   "1e308",
                                                   "1e999",
                                                   "nan",
                                                   "-inf",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "99999999999999999999",
                                                   "0x10",
                                                   "1_0",
                                                   ".5"};
  if (text->empty()) return;
  size_t at = Below(text->size(), random);
  while (at < text->size() && !absl::ascii_isdigit(static_cast<unsigned char>((*text)[at]))) ++at;
  size_t end = at;
  while (end < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[end]))) ++end;
  text->replace(at, end - at, kNumbers[Below(std::size(kNumbers), random)].data());
}

std::string NewText(const Words& words, const FieldDescriptor& field, std::string old, Random* random) {
  switch (Below(8, random)) {
    case 0:
      return std::string(OneIn(4, random) ? kLongText : 0, 'x');
    case 1:
    case 2:
      ChangeNumberIn(random, &old);
      return old;
    case 3:
      Damage(random, &old);
      for (char& c : old) c = static_cast<char>(c & 0x7f);  // still text: what is none is Damage's on the wire
      return old;
    default:
      break;
  }
  auto fitting = words.find(std::string(field.name()));
  if (fitting == words.end() || OneIn(8, random)) fitting = words.find("");
  return fitting->second[Below(fitting->second.size(), random)];
}

class Changer {
 public:
  Changer(const Words& words, Random* random) : words_(words), random_(random) {}

  // Something about some field, or about a field of its message: there, gone, another value, one entry more.
  void Change(Message* message, int depth) {
    const Descriptor& type = *message->GetDescriptor();
    if (type.field_count() == 0) return;
    const FieldDescriptor* field = PickField(*message);
    if (OneIn(8, random_)) return message->GetReflection()->ClearField(message, field);
    if (field->is_repeated()) return ChangeRepeated(message, field, depth);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (depth < kMaxDepth) Change(message->GetReflection()->MutableMessage(message, field), depth + 1);
      return;
    }
    SetScalar(message, field);
  }

 private:
  // What is there already is more telling than what is not.
  const FieldDescriptor* PickField(const Message& message) {
    std::vector<const FieldDescriptor*> present;
    message.GetReflection()->ListFields(message, &present);
    if (!present.empty() && !OneIn(3, random_)) return present[Below(present.size(), random_)];
    const Descriptor& type = *message.GetDescriptor();
    return type.field(static_cast<int>(Below(static_cast<size_t>(type.field_count()), random_)));
  }

  void ChangeRepeated(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection& of = *message->GetReflection();
    const int count = of.FieldSize(*message, field);
    const bool add = count == 0 || (count < kMaxRepeated && OneIn(3, random_));
    if (count > 0 && OneIn(4, random_)) return of.RemoveLast(message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (depth >= kMaxDepth) return;
      Message* const entry =
          add ? of.AddMessage(message, field)
              : of.MutableRepeatedMessage(message, field, static_cast<int>(Below(static_cast<size_t>(count), random_)));
      Change(entry, depth + 1);
      if (add) Change(entry, depth + 1);
      return;
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (add) return of.AddString(message, field, NewText(words_, *field, "", random_));
      const int at = static_cast<int>(Below(static_cast<size_t>(count), random_));
      of.SetRepeatedString(message, field, at,
                           NewText(words_, *field, of.GetRepeatedString(*message, field, at), random_));
    }
  }

  void SetScalar(Message* message, const FieldDescriptor* field) {
    const Reflection& of = *message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      of.SetString(message, field, NewText(words_, *field, of.GetString(*message, field), random_));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      of.SetBool(message, field, OneIn(2, random_));
    } else {
      properties::SetExtreme(*field, (*random_)() % 1024, message);
    }
  }

  const Words& words_;
  Random* const random_;
};

}  // namespace

void Damage(Random* random, std::string* bytes) {
  for (size_t left = 1 + Below(4, random); left > 0; --left) {
    const size_t at = bytes->empty() ? 0 : Below(bytes->size(), random);
    switch (Below(6, random)) {
      case 0:
        if (!bytes->empty()) (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(8, random)));
        break;
      case 1:
        if (!bytes->empty()) (*bytes)[at] = static_cast<char>((*random)());
        break;
      case 2:
        bytes->erase(at, 1 + Below(16, random));
        break;
      case 3:
        bytes->insert(at, bytes->substr(at, 1 + Below(64, random)));
        break;
      case 4:
        bytes->insert(at, std::string(1 + Below(12, random), '\x80'));  // a varint that goes on
        break;
      case 5:
        if (OneIn(4, random)) bytes->resize(at);
        break;
    }
  }
}

void RandomRequests::Add(const char* method, int share, Messages samples) {
  Kind kind = {FindMethod(method), share, {}};
  for (auto& message : samples) {
    std::vector<properties::Way> numbers = properties::NumbersOf(*message);
    kind.samples.push_back({std::move(message), std::move(numbers)});
  }
  shares_ += share;
  kinds_.push_back(std::move(kind));
}

RandomRequests::RandomRequests(const Catalog& catalog, uint64_t seed) : words_(WordsOf(catalog)), seed_(seed) {
  const std::vector<properties::Sample> samples = properties::Samples(catalog);
  Messages resolves = OfType(samples, v1::ResolveConfigRequest::descriptor());
  Messages validations = Validations(OfType(samples, v1::ValidateConfigRequest::descriptor()));
  Messages imports, reports, profiles, probes;
  AddTo<v1::ImportModelRequest>(&imports)->set_hf_config_json(kHfConfig);
  for (const auto& measurement : OfType(samples, v1::Measurement::descriptor())) {
    *AddTo<v1::ReportMeasurementRequest>(&reports)->mutable_measurement() = The<v1::Measurement>(*measurement);
  }
  for (const auto& profile : OfType(samples, v1::HardwareProfile::descriptor())) {
    *AddTo<v1::ImportProfileRequest>(&profiles)->mutable_profile() = The<v1::HardwareProfile>(*profile);
  }
  AddTo<v1::RunProbeRequest>(&probes);
  v1::RunProbeRequest& probe = *AddTo<v1::RunProbeRequest>(&probes);
  probe.mutable_model()->set_name("deepseek-v3");
  probe.mutable_layout()->set_expert_model_parallel_size(64);
  probe.mutable_layout()->set_micro_batch_size(2);
  probe.set_seq_length(8192);
  probe.set_memory_limit_bytes(int64_t{8} << 30);
  probe.mutable_budget()->set_seconds(1);
  // Shares of all calls, by what there is to go wrong and what it costs.
  Add("BatchResolve", 60, Batches(resolves, validations));
  Add("ConvertConfig", 90, Conversions(validations));
  Add("ResolveConfig", 340, std::move(resolves));
  Add("ValidateConfig", 200, std::move(validations));
  Add("PlanLayouts", 4, OfType(samples, v1::PlanLayoutsRequest::descriptor()));
  Add("ImportModel", 60, std::move(imports));
  Add("ReportMeasurement", 60, std::move(reports));
  Add("ImportProfile", 50, std::move(profiles));
  for (const char* name : {"ListModels", "ListGpus", "ListKnobs", "ListRules", "ListMeasurements", "ListProfiles"}) {
    Add(name, 10, Empty(*FindMethod(name)));
  }
  Add("GetModel", 10, LookUp(*FindMethod("GetModel"), "deepseek-v3"));
  Add("GetGpu", 10, LookUp(*FindMethod("GetGpu"), "h100-sxm"));
  Add("GetKnob", 10, LookUp(*FindMethod("GetKnob"), "num_layers"));
  Add("GetRule", 10, LookUp(*FindMethod("GetRule"), "mlm.min-lr"));
  Add("GetMeasurement", 10, LookUp(*FindMethod("GetMeasurement"), "run"));
  Add("GetProfile", 10, LookUp(*FindMethod("GetProfile"), "run"));
  Add("RunProbe", 1, std::move(probes));
  for (auto service = Services(); *service != nullptr; ++service) {
    for (int i = 0; i < (*service)->method_count(); ++i) {
      const MethodDescriptor* const method = (*service)->method(i);
      if (std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) { return kind.method == method; })) continue;
      std::fprintf(stderr, "random_calls: %s has no share of the calls\n", std::string(method->full_name()).c_str());
      std::exit(2);
    }
  }
}

const RandomRequests::Kind& RandomRequests::Draw(Random* random) const {
  int left = static_cast<int>(Below(static_cast<size_t>(shares_), random));
  for (const Kind& kind : kinds_) {
    left -= kind.share;
    if (left < 0) return kind;
  }
  return kinds_.back();
}

RandomCall RandomRequests::At(int64_t number) const {
  std::seed_seq seeds = {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32),
                         static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)};
  Random random(seeds);
  const Kind& kind = Draw(&random);
  RandomCall call = {kind.method, {}, "", false};
  for (size_t left = kind.method->client_streaming() ? 1 + Below(4, &random) : 1; left > 0; --left) {
    const Sample& sample = kind.samples[Below(kind.samples.size(), &random)];
    const std::unique_ptr<Message> message(sample.message->New());
    message->CopyFrom(*sample.message);
    // Many wrong numbers at once are refused for the first: few are more telling.
    for (size_t sets = Below(3, &random); sets > 0 && !sample.numbers.empty(); --sets) {
      properties::SetExtreme(sample.numbers[Below(sample.numbers.size(), &random)], random() % 1024, message.get());
    }
    Changer changer(words_, &random);
    for (size_t changes = Below(4, &random); changes > 0; --changes) changer.Change(message.get(), 0);
    std::string bytes = message->SerializeAsString();
    absl::StrAppend(&call.text, message->ShortDebugString(), "\n");
    if (OneIn(6, &random)) {
      Damage(&random, &bytes);
      call.damaged = true;
    }
    call.messages.push_back(std::move(bytes));
  }
  return call;
}

}  // namespace flightplan::drills
