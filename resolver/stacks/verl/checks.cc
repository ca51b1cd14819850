#include "resolver/stacks/verl/checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/nearest.h"
#include "resolver/base/saturating.h"
#include "resolver/stacks/verl/keys.h"

namespace flightplan {
namespace {

constexpr absl::string_view kActor = "actor_rollout_ref.actor.";

class Checks {
 public:
  Checks(const VerlWords& words, int64_t gpus, ParseResult* out) : words_(words), gpus_(gpus), out_(*out) {}

  void Run() {
    // Other programs of verl compose other files.
    const VerlOverride* const engine = words_.Find("model_engine");
    const bool megatron = absl::StartsWith(words_.config(), "ppo_megatron_trainer") ||
                          (words_.config().empty() && engine != nullptr && engine->text == "megatron");
    if (megatron && words_.module() == "verl.trainer.main_ppo") {
      for (const VerlOverride& written : words_.all()) Compose(written);
    }
    if (!words_.clear()) return;
    WhatIsMissing();
    MicroBatch();
    Batch();
    Replicas();
    Roles();
  }

 private:
  void Say(Severity severity, absl::string_view path, absl::string_view id, std::string seen, std::string needs,
           absl::string_view source) {
    const VerlOverride* written = words_.Find(path);
    KeepFinding(MakeParseFinding(written == nullptr ? SourcePosition() : written->at, id, severity, std::move(seen),
                                 std::move(needs), source),
                &out_.findings);
  }

  // Below a key whose value refers to another key, which may have it.
  static bool BelowReference(absl::string_view path) {
    for (size_t dot = path.rfind('.'); dot != absl::string_view::npos; dot = path.rfind('.')) {
      path = path.substr(0, dot);
      const VerlKey above = FindVerlKey(path);
      if (above != VerlKey::kNone) return above != VerlKey::kMap;
    }
    return false;
  }

  // Hydra changes what is there, and adds what is not with a '+'. A '+' before what is there is an error, too, unless
  // it has no value yet, or is a map.
  void Compose(const VerlOverride& written) {
    constexpr absl::string_view kHydra = "verl:verl/trainer/config/_generated_ppo_megatron_trainer.yaml";
    const bool group = absl::StrContains(written.path, "@") || !absl::StrContains(written.path, ".");
    if (group || absl::StartsWith(written.path, "hydra.") || absl::StartsWith(written.path, "~")) return;
    const VerlKey key = FindVerlKey(written.path);
    if (written.plus == 0 && key == VerlKey::kNone && !BelowReference(written.path)) {
      const absl::string_view near = NearestName(written.path, VerlPaths());
      Say(Severity::kError, written.path, "verl.override", absl::StrCat(Printable(written.path), "=..."),
          absl::StrCat("Hydra adds what its files lack with a '+' alone: +", Printable(written.path),
                       near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")),
          kHydra);
    } else if (written.plus == 1 && key == VerlKey::kValue && !words_.Has(absl::StrCat("~", written.path))) {
      const bool nested = !written.text.empty() && (written.text[0] == '[' || written.text[0] == '{');
      if (nested || written.unknown) return;
      Say(Severity::kError, written.path, "verl.override", absl::StrCat("+", Printable(written.path), "=..."),
          "Hydra's files have it: without the '+'", kHydra);
    }
  }

  void WhatIsMissing() {
    if (words_.module() != "verl.trainer.main_ppo" || words_.Has("actor_rollout_ref.rollout.name")) return;
    Say(Severity::kError, "", "verl.missing", "no actor_rollout_ref.rollout.name",
        "the engine that makes the rollouts: actor_rollout_ref.rollout.name=vllm",
        "verl:verl/trainer/config/rollout/rollout.yaml:5");
  }

  // ActorConfig.__post_init__.
  void MicroBatch() {
    const std::string each = absl::StrCat(kActor, "ppo_micro_batch_size_per_gpu"),
                      all = absl::StrCat(kActor, "ppo_micro_batch_size");
    if (words_.Bool(absl::StrCat(kActor, "use_dynamic_bsz"), false) != std::optional<bool>(false)) return;
    const auto said = [this](const std::string& path) {
      const std::optional<Value> value = words_.Get(path);
      return !value.has_value() || !value->is_none();
    };
    if (said(each) == said(all)) {
      Say(Severity::kError, said(all) ? all : "", "verl.micro-batch",
          said(all) ? absl::StrCat(all, " and ", each) : absl::StrCat("neither ", each, " nor use_dynamic_bsz"),
          absl::StrCat("the samples of a microbatch: ", each, "=N, or use_dynamic_bsz=True"),
          "verl:verl/workers/config/actor.py:209");
    }
  }

  // validate_config: the samples of a rollout are whole microbatches of every replica.
  void Batch() {
    const auto dynamic = words_.Bool(absl::StrCat(kActor, "use_dynamic_bsz"), false);
    const auto prompts = words_.Number("data.train_batch_size", 1024),
               answers = words_.Number("actor_rollout_ref.rollout.n", 1),
               mini = words_.Number(absl::StrCat(kActor, "ppo_mini_batch_size"), 256),
               micro = words_.Number(absl::StrCat(kActor, "ppo_micro_batch_size_per_gpu"), 0);
    if (dynamic != std::optional<bool>(false) || !prompts.has_value() || !answers.has_value() || !mini.has_value())
      return;
    // fully_async_rollouter.py:351: a rollout of none, since samples come as a stream; nobody compares it then.
    if (absl::StartsWith(words_.module(), "verl.experimental.fully_async_policy.")) return;
    if (*prompts < *mini) {
      Say(Severity::kError, "data.train_batch_size", "verl.mini-batch",
          absl::StrCat("data.train_batch_size=", *prompts),
          absl::StrCat("at least ", kActor, "ppo_mini_batch_size ", *mini), "verl:verl/workers/config/actor.py:227");
    }
    const auto size = [this](absl::string_view name) {
      return words_.Number(absl::StrCat(kActor, "megatron.", name), 1).value_or(0);
    };
    const int64_t model =
        SaturatingMul(SaturatingMul(size("tensor_model_parallel_size"), size("pipeline_model_parallel_size")),
                      size("context_parallel_size"));
    if (model < 1 || gpus_ < 1 || gpus_ % model != 0 || micro.value_or(0) < 1) return;
    const int64_t unit = SaturatingMul(gpus_ / model, *micro), samples = SaturatingMul(*prompts, *answers);
    if (samples % unit == 0) return;
    Say(Severity::kError, "data.train_batch_size", "verl.batch-divisible",
        absl::StrCat("data.train_batch_size ", *prompts, " x rollout.n ", *answers, " is ", samples),
        absl::StrCat("a multiple of ", unit, ": ppo_micro_batch_size_per_gpu ", *micro, " on ", gpus_ / model,
                     " replicas"),
        "verl:verl/utils/config.py:110");
  }

  // ActorRolloutRefWorker._build_rollout: every replica of the engine has whole GPUs of the actor's.
  void Replicas() {
    const std::string rollout = "actor_rollout_ref.rollout.", tensor = rollout + "tensor_model_parallel_size";
    if (words_.module() != "verl.trainer.main_ppo" || !words_.Has(tensor) || gpus_ < 1) return;
    if (words_.Bool("actor_rollout_ref.hybrid_engine", true) != std::optional<bool>(true)) return;
    const auto size = [&](absl::string_view name) { return words_.Number(absl::StrCat(rollout, name), 1).value_or(0); };
    const int64_t others = SaturatingMul(size("data_parallel_size"), size("pipeline_model_parallel_size"));
    const int64_t replica = SaturatingMul(size("tensor_model_parallel_size"), others);
    if (replica < 1 || gpus_ % replica == 0) return;
    int64_t fits = std::min(size("tensor_model_parallel_size"), gpus_);
    while (fits > 1 && gpus_ % SaturatingMul(fits, others) != 0) --fits;
    const bool helps = gpus_ % SaturatingMul(fits, others) == 0;
    Say(Severity::kError, tensor, "verl.rollout-divisible",
        absl::StrCat(gpus_, " GPUs, and a rollout engine of ", replica),
        absl::StrCat("GPUs are whole engines of rollout.tensor_model_parallel_size x data_parallel_size x "
                     "pipeline_model_parallel_size",
                     helps ? absl::StrCat(": ", tensor, "=", fits) : ""),
        "verl:verl/workers/engine_workers.py:660");
  }

  // Roles on the same GPUs share the process groups of the first, the actor (megatron_workers.py:284).
  void Roles() {
    for (const absl::string_view role : {"actor_rollout_ref.ref.", "critic."}) {
      for (const absl::string_view size : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                           "context_parallel_size", "expert_model_parallel_size"}) {
        const std::string path = absl::StrCat(role, "megatron.", size);
        if (!words_.Has(path)) continue;
        const auto its = words_.Number(path, 1), actors = words_.Number(absl::StrCat(kActor, "megatron.", size), 1);
        if (!its.has_value() || !actors.has_value() || *its == *actors) continue;
        Say(Severity::kWarning, path, "verl.one-mesh", absl::StrCat(path, "=", *its),
            absl::StrCat("roles on the same GPUs share the actor's process groups: ", size, " is ", *actors),
            "verl:verl/workers/engine/megatron/transformer_impl.py:245");
      }
    }
  }

  const VerlWords& words_;
  const int64_t gpus_;
  ParseResult& out_;
};

}  // namespace

void CheckVerl(const VerlWords& words, int64_t gpus, ParseResult* out) { Checks(words, gpus, out).Run(); }

}  // namespace flightplan
