#include "tests/properties/questions.h"

#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/normalize/workload_message.h"
#include "resolver/plan/stack.h"

namespace flightplan::properties {
namespace {

using Question = v1::ResolveConfigRequest;
using Field = google::protobuf::FieldDescriptor;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t sides) { return random_() % sides; }
  bool OneIn(uint64_t sides) { return Below(sides) == 0; }
  template <class List>
  const auto& Any(const List& list) {
    return list[Below(std::size(list))];
  }
  int Power(int most) { return 1 << Below(static_cast<uint64_t>(most) + 1); }

 private:
  std::mt19937_64 random_;
};

// Jobs that are no power of two, or smaller than a node.
constexpr int kOddCounts[] = {1, 2, 4, 12, 24, 36, 40, 48, 72, 96, 144, 320, 576, 1000};
constexpr int kSequences[] = {4096, 4096, 4096, 2048, 8192, 16384, 32768, 131072};
constexpr const char* kTeVersions[] = {"1.13.0", "2.4.0", "2.8.0", "2.12.0", "2.18.0"};

// Words of a caller that have company of their own or exclude one another.
struct Word {
  const char* knob;
  const char* value;  // true, false, or text
};
constexpr Word kWords[] = {
    {"overlap_moe_expert_parallel_comm", "true"},
    {"overlap_moe_expert_parallel_comm", "false"},
    {"moe_shared_expert_overlap", "true"},
    {"delay_wgrad_compute", "true"},
    {"moe_token_dispatcher_type", "alltoall"},
    {"moe_token_dispatcher_type", "allgather"},
    {"moe_token_dispatcher_type", "flex"},
    {"recompute_granularity", "full"},
    {"recompute_granularity", "selective"},
    {"cuda_graph_impl", "transformer_engine"},
    {"cuda_graph_impl", "local"},
    {"cuda_graph_impl", "none"},
    {"tp_comm_overlap", "true"},
    {"sequence_parallel", "false"},
    {"fine_grained_activation_offloading", "true"},
    {"optimizer_cpu_offload", "true"},
    {"moe_permute_fusion", "false"},
    {"moe_grouped_gemm", "false"},
    {"use_distributed_optimizer", "false"},
    {"overlap_param_gather", "true"},
};

void AskHardware(const Catalog& catalog, Dice& dice, Question* q) {
  v1::Hardware& hardware = *q->mutable_hardware();
  hardware.set_gpu(dice.Any(catalog.gpus()).name);
  hardware.set_gpu_count(dice.OneIn(6) ? dice.Any(kOddCounts) : 8 * dice.Power(8));
}

void AskWorkload(Dice& dice, Question* q) {
  v1::Workload& workload = *q->mutable_workload();
  workload.set_seq_length(dice.Any(kSequences));
  const int gpus = q->hardware().gpu_count();
  workload.set_global_batch_size(dice.OneIn(12) ? 1 + static_cast<int64_t>(dice.Below(2000))
                                                : int64_t{gpus} * dice.Power(4));
  if (dice.OneIn(2)) workload.set_precision(std::string(dice.Any(PrecisionNames())));
  if (dice.OneIn(8)) workload.set_objective(v1::OBJECTIVE_BENCHMARK);
}

void AskTarget(Dice& dice, Question* q) {
  std::vector<const Stack*> stacks;
  for (const Stack* stack : AllStacks()) {
    if (stack->by_name) stacks.push_back(stack);
  }
  const Stack& stack = *dice.Any(stacks);
  q->mutable_target()->set_framework(std::string(stack.name));
  if (!stack.releases.empty() && dice.OneIn(3)) {
    q->mutable_target()->set_version(ReleaseText(dice.Any(stack.releases)));
  }
  q->set_stage(static_cast<v1::Stage>(1 + dice.Below(3)));
  if (dice.OneIn(2)) q->mutable_software()->set_te_version(dice.Any(kTeVersions));
  if (!dice.OneIn(2)) return;
  auto& dispatchers = *q->mutable_software()->mutable_dispatchers();
  if (dice.OneIn(2)) dispatchers.add_backends("deepep");
  if (dice.OneIn(2)) dispatchers.add_backends("hybridep");
}

// The sizes that people give; where some are open every size may be, and of one in sixteen all are.
void AskLayout(bool moe, Sizes sizes, Dice& dice, Question* q) {
  const uint64_t kind = dice.Below(128);
  const bool open = sizes == Sizes::kSomeOpen;
  if (kind < 8 && open) return;
  const auto said = [&] { return !open || dice.OneIn(2); };
  v1::Layout& layout = *q->mutable_layout();
  if (said()) layout.set_tensor_model_parallel_size(dice.Power(3));
  if (said()) layout.set_pipeline_model_parallel_size(dice.OneIn(8) ? 3 : dice.Power(4));
  if (moe && said()) layout.set_expert_model_parallel_size(dice.OneIn(12) ? 6 : dice.Power(6));
  if (dice.OneIn(3)) layout.set_virtual_pipeline_model_parallel_size(dice.OneIn(6) ? 3 : dice.Power(3));
  if (dice.OneIn(6)) layout.set_context_parallel_size(dice.Power(3));
  if (moe && dice.OneIn(8)) layout.set_expert_tensor_parallel_size(dice.Power(2));
  if (dice.OneIn(3)) layout.set_micro_batch_size(dice.Power(2));
  if (open && layout.has_tensor_model_parallel_size() && layout.has_pipeline_model_parallel_size() &&
      (!moe || layout.has_expert_model_parallel_size())) {
    layout.clear_pipeline_model_parallel_size();
  }
}

void AskWords(Dice& dice, Question* q) {
  for (uint64_t left = dice.OneIn(2) ? dice.Below(3) : 0; left > 0; --left) {
    const Word& word = dice.Any(kWords);
    bool twice = false;
    for (const v1::KnobSetting& pin : q->pinned_knobs()) twice = twice || pin.name() == word.knob;
    if (twice) continue;
    v1::KnobSetting& pin = *q->add_pinned_knobs();
    pin.set_name(word.knob);
    const absl::string_view value = word.value;
    if (value == "true" || value == "false") {
      pin.mutable_value()->set_bool_value(value == "true");
    } else {
      pin.mutable_value()->set_string_value(word.value);
    }
  }
}

// The flags of the layout's sizes.
struct SizeFlag {
  const char* field;
  const char* flag;
};
constexpr SizeFlag kSizeFlags[] = {{"tensor_model_parallel_size", "tp"},
                                   {"pipeline_model_parallel_size", "pp"},
                                   {"virtual_pipeline_model_parallel_size", "vpp"},
                                   {"context_parallel_size", "cp"},
                                   {"expert_model_parallel_size", "ep"},
                                   {"expert_tensor_parallel_size", "etp"},
                                   {"micro_batch_size", "mbs"}};

std::string ValueText(const v1::KnobValue& value) {
  if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
  if (value.has_int_value()) return absl::StrCat(value.int_value());
  if (value.has_double_value()) return absl::StrCat(value.double_value());
  if (value.has_string_value()) return value.string_value();
  return absl::StrJoin(value.list_value().values(), ",",
                       [](std::string* out, const v1::KnobValue& one) { absl::StrAppend(out, ValueText(one)); });
}

std::string SoftwareFlags(const v1::SoftwareStack& software) {
  std::string flags;
  if (software.has_te_version()) absl::StrAppend(&flags, " --te ", software.te_version());
  if (!software.has_dispatchers()) return flags;
  const auto& backends = software.dispatchers().backends();
  absl::StrAppend(&flags, " --capability ", backends.empty() ? "none" : absl::StrJoin(backends, ","));
  return flags;
}

}  // namespace

v1::ResolveConfigRequest AnyQuestion(const Catalog& catalog, uint64_t seed, Sizes sizes) {
  Dice dice(seed);
  Question question;
  const ModelSpec& model = dice.Any(catalog.models());
  question.mutable_model()->set_name(model.name);
  AskHardware(catalog, dice, &question);
  AskWorkload(dice, &question);
  AskTarget(dice, &question);
  AskLayout(model.is_moe(), sizes, dice, &question);
  AskWords(dice, &question);
  return question;
}

std::string CommandLine(const v1::ResolveConfigRequest& q) {
  std::string line = absl::StrCat("flightplan resolve --model ", q.model().name(), " --gpu ", q.hardware().gpu(),
                                  " --gpus ", q.hardware().gpu_count(), " --seq ", q.workload().seq_length(), " --gbs ",
                                  q.workload().global_batch_size(), " --target ", q.target().framework());
  if (!q.target().version().empty()) absl::StrAppend(&line, "@", q.target().version());
  if (!q.workload().precision().empty()) absl::StrAppend(&line, " --precision ", q.workload().precision());
  if (q.workload().objective() == v1::OBJECTIVE_BENCHMARK) absl::StrAppend(&line, " --objective benchmark");
  const v1::Layout& layout = q.layout();
  for (const SizeFlag& size : kSizeFlags) {
    const Field* const field = layout.GetDescriptor()->FindFieldByName(size.field);
    if (!layout.GetReflection()->HasField(layout, field)) continue;
    absl::StrAppend(&line, " --", size.flag, " ", layout.GetReflection()->GetInt32(layout, field));
  }
  if (layout.has_pipeline_model_parallel_layout()) {
    absl::StrAppend(&line, " --pipeline-layout '", layout.pipeline_model_parallel_layout(), "'");
  }
  if (q.stage() == v1::STAGE_BRING_UP) absl::StrAppend(&line, " --stage bring-up");
  if (q.stage() == v1::STAGE_TUNE) absl::StrAppend(&line, " --stage tune");
  absl::StrAppend(&line, SoftwareFlags(q.software()));
  for (const v1::KnobSetting& pin : q.pinned_knobs()) {
    if (pin.value().kind_case() == v1::KnobValue::KIND_NOT_SET) {
      absl::StrAppend(&line, " --unset ", pin.name());
    } else {
      absl::StrAppend(&line, " --set ", pin.name(), "=", ValueText(pin.value()));
    }
  }
  if (q.hardware().fabric().has_hbm_bytes()) {
    absl::StrAppend(&line, "  # hbm_bytes ", q.hardware().fabric().hbm_bytes());
  }
  return line;
}

std::vector<v1::ResolveConfigRequest> Simpler(const v1::ResolveConfigRequest& question) {
  std::vector<Question> simpler;
  const auto with = [&](auto change) {
    Question other = question;
    change(&other);
    if (other.SerializeAsString() != question.SerializeAsString()) simpler.push_back(std::move(other));
  };
  for (int i = 0; i < question.pinned_knobs_size(); ++i) {
    with([i](Question* q) { q->mutable_pinned_knobs()->DeleteSubrange(i, 1); });
  }
  with([](Question* q) { q->mutable_workload()->clear_objective(); });
  with([](Question* q) { q->mutable_workload()->clear_precision(); });
  with([](Question* q) { q->mutable_target()->clear_version(); });
  with([](Question* q) { q->mutable_target()->set_framework("megatron-lm"); });
  with([](Question* q) { q->mutable_software()->clear_te_version(); });
  with([](Question* q) { q->mutable_software()->clear_dispatchers(); });
  with([](Question* q) { q->set_stage(v1::STAGE_PRODUCTION); });
  with([](Question* q) { q->mutable_workload()->set_seq_length(4096); });
  for (const SizeFlag& size : kSizeFlags) {
    const Field* const field = v1::Layout::descriptor()->FindFieldByName(size.field);
    if (!question.layout().GetReflection()->HasField(question.layout(), field)) continue;
    with([field](Question* q) { q->layout().GetReflection()->SetInt32(q->mutable_layout(), field, 1); });
  }
  if (question.hardware().gpu_count() % 2 == 0 && question.workload().global_batch_size() % 2 == 0) {
    with([](Question* q) {
      q->mutable_hardware()->set_gpu_count(q->hardware().gpu_count() / 2);
      q->mutable_workload()->set_global_batch_size(q->workload().global_batch_size() / 2);
    });
  }
  return simpler;
}

}  // namespace flightplan::properties
