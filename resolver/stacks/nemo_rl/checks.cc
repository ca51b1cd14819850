#include "resolver/stacks/nemo_rl/checks.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

// Keys that the policy's workers read without a default of their own.
constexpr absl::string_view kNeeded[] = {"tensor_model_parallel_size",
                                         "pipeline_model_parallel_size",
                                         "context_parallel_size",
                                         "sequence_parallel",
                                         "expert_tensor_parallel_size",
                                         "expert_model_parallel_size",
                                         "pipeline_dtype",
                                         "activation_checkpointing",
                                         "apply_rope_fusion"};

class Checks {
 public:
  Checks(const LayeredSettings& settings, ParseResult* out) : s_(settings), out_(*out) {}

  void Run() {
    if (!s_.whole()) return;
    if (!Backend()) return;
    for (const absl::string_view key : kNeeded) {
      const std::string path = absl::StrCat("policy.megatron_cfg.", key);
      if (s_.Find(path).has_value()) continue;
      Say(path, "nemo-rl.missing", absl::StrCat("no ", path), "the policy's workers read it, and have no default",
          "NeMo-RL:nemo_rl/models/megatron/setup.py:858");
    }
    Packing();
    Offload();
    Recompute();
    Adapters();
    Logprobs();
  }

 private:
  bool On(absl::string_view path) const { return s_.Bool(path, false).value_or(false); }
  bool Off(absl::string_view path) const { return !s_.Bool(path, false).value_or(true); }

  void Say(absl::string_view path, absl::string_view id, std::string seen, std::string needs,
           absl::string_view source) {
    const std::optional<LayeredSettings::Found> found = s_.Find(path);
    KeepFinding(MakeParseFinding(found.has_value() ? found->at : SourcePosition(), id, Severity::kError,
                                 std::move(seen), std::move(needs), source),
                &out_.findings);
  }

  // lm_policy.py:121. False: Megatron does not train here.
  bool Backend() {
    const bool megatron = On("policy.megatron_cfg.enabled"), other = On("policy.dtensor_cfg.enabled");
    if (megatron && other) {
      Say("policy.dtensor_cfg.enabled", "nemo-rl.backend", "megatron_cfg.enabled and dtensor_cfg.enabled",
          "one of them trains the policy", "NeMo-RL:nemo_rl/models/policy/lm_policy.py:121");
    }
    if (megatron) return true;
    KeepFinding(MakeParseFinding({}, "input.not-judged", Severity::kInfo, "policy.megatron_cfg.enabled is not true",
                                 "Megatron does not train here, so that nothing is judged",
                                 "NeMo-RL:nemo_rl/models/policy/lm_policy.py:118"),
                &out_.findings);
    out_.elsewhere = "in a backend that is not Megatron";
    return false;
  }

  // setup.py:875.
  void Packing() {
    const auto cp = s_.Number("policy.megatron_cfg.context_parallel_size");
    if (cp.value_or(1) <= 1 || !Off("policy.sequence_packing.enabled")) return;
    Say("policy.megatron_cfg.context_parallel_size", "nemo-rl.context-packing",
        absl::StrCat("policy.megatron_cfg.context_parallel_size=", *cp), "policy.sequence_packing.enabled=true",
        "NeMo-RL:nemo_rl/models/megatron/setup.py:880");
  }

  // setup.py:1185, 1217.
  void Offload() {
    const std::string optimizer = "policy.megatron_cfg.optimizer.";
    if (On(absl::StrCat(optimizer, "optimizer_cpu_offload")) &&
        Off(absl::StrCat(optimizer, "use_distributed_optimizer"))) {
      Say(absl::StrCat(optimizer, "optimizer_cpu_offload"), "nemo-rl.optimizer-offload", "optimizer_cpu_offload=true",
          "use_distributed_optimizer=true", "NeMo-RL:nemo_rl/models/megatron/setup.py:1223");
    }
    if (!On("policy.megatron_cfg.fine_grained_activation_offloading")) return;
    const auto modules = s_.Find("policy.megatron_cfg.offload_modules");
    const bool unknown = modules.has_value() && !modules->value.has_value();
    const bool named = modules.has_value() && modules->value.has_value() && !modules->value->list().empty();
    if (unknown || named) return;
    Say("policy.megatron_cfg.fine_grained_activation_offloading", "nemo-rl.offload-modules",
        "fine_grained_activation_offloading=true without offload_modules", "a list of modules that is not empty",
        "NeMo-RL:nemo_rl/models/megatron/setup.py:1193");
  }

  // setup.py:1071.
  void Recompute() {
    if (!On("policy.megatron_cfg.activation_checkpointing")) return;
    const std::string granularity = s_.Text("policy.megatron_cfg.recompute_granularity");
    if (granularity.empty() || granularity == "full" || granularity == "selective") return;
    Say("policy.megatron_cfg.recompute_granularity", "nemo-rl.recompute",
        absl::StrCat("recompute_granularity=", Printable(granularity)), "full or selective",
        "NeMo-RL:nemo_rl/models/megatron/setup.py:1088");
  }

  // setup.py:1774.
  void Adapters() {
    if (!On("policy.megatron_cfg.peft.enabled")) return;
    for (const absl::string_view key : {"dim", "alpha"}) {
      const std::string path = absl::StrCat("policy.megatron_cfg.peft.", key);
      const auto found = s_.Find(path);
      if (found.has_value() && (!found->value.has_value() || !found->value->is_none())) continue;
      Say(path, "nemo-rl.adapters", absl::StrCat("no ", path), "adapters have a dim and an alpha",
          "NeMo-RL:nemo_rl/models/megatron/setup.py:1774");
    }
  }

  // setup.py:1243, 1391.
  void Logprobs() {
    const auto chunk = s_.Number("policy.logprob_chunk_size", 0);
    if (chunk.value_or(0) > 0 && Off("policy.megatron_cfg.defer_fp32_logits")) {
      Say("policy.logprob_chunk_size", "nemo-rl.logprob-chunks", absl::StrCat("policy.logprob_chunk_size=", *chunk),
          "policy.megatron_cfg.defer_fp32_logits=true", "NeMo-RL:nemo_rl/models/megatron/setup.py:1245");
    }
    const std::string gather = "policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather";
    if (On("policy.megatron_cfg.use_fused_linear_logprobs") && On(gather)) {
      Say("policy.megatron_cfg.use_fused_linear_logprobs", "nemo-rl.fused-logprobs", "use_fused_linear_logprobs=true",
          absl::StrCat(gather, "=false"), "NeMo-RL:nemo_rl/models/megatron/setup.py:1397");
    }
  }

  const LayeredSettings& s_;
  ParseResult& out_;
};

}  // namespace

void CheckNemoRl(const LayeredSettings& settings, ParseResult* out) { Checks(settings, out).Run(); }

}  // namespace flightplan
