#include "resolver/stacks/roll/checks.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int64_t kUsualRollout = 128;  // base_config.py:153

class Checks {
 public:
  Checks(const LayeredSettings& settings, std::string role, const WrittenKnobs& knobs, ParseResult* out)
      : s_(settings), role_(std::move(role)), knobs_(knobs), out_(*out) {}

  void Run() {
    Keys();
    OptimizerOffload();
    Replay();
    if (!s_.whole()) return;
    Length();
    RolloutBatch();
  }

 private:
  std::string At(absl::string_view key) const { return absl::StrCat(role_, ".", key); }
  std::string Config(absl::string_view key) const { return At(absl::StrCat("strategy_args.strategy_config.", key)); }

  void Say(const std::string& path, absl::string_view id, std::string seen, std::string needs, absl::string_view source,
           Severity severity = Severity::kError) {
    const std::optional<LayeredSettings::Found> found = s_.Find(path);
    KeepFinding(MakeParseFinding(found.has_value() ? found->at : SourcePosition(), id, severity, std::move(seen),
                                 std::move(needs), source),
                &out_.findings);
  }

  // All keys are arguments of one dataclass. It lacks most fields of Megatron-Core's model configuration; what
  // Transformers' own arguments are called no such field is.
  void Keys() {
    const std::string prefix = Config("");
    const auto check = [this](absl::string_view key) {
      const std::optional<Knob> knob = FindKnob(key);
      if (!knob.has_value() || Row(*knob).section != Section::kModel || *knob == K::bf16 || *knob == K::fp16) return;
      if (!WordFor(*knob, "roll.path").empty()) return;
      Say(Config(key), "roll.argument", absl::StrCat("strategy_config.", Printable(key)),
          absl::StrCat("TrainingArguments has no such argument; strategy_config.additional_configs.", Printable(key),
                       " sets the model's field"),
          "ROLL:roll/distributed/strategy/megatron_strategy.py:113");
    };
    if (const YamlNode* map = s_.Map(absl::StripSuffix(prefix, ".")); map != nullptr) {
      for (const auto& [key, node] : map->keys) check(key);
    }
    for (const auto& [path, found] : s_.overrides()) {
      absl::string_view key = path;
      if (absl::ConsumePrefix(&key, prefix) && !absl::StrContains(key, ".")) check(key);
    }
  }

  // An argument of mcore_adapter's own trainer; ROLL's strategy does not pass it on.
  void OptimizerOffload() {
    const std::string path = Config("optimizer_cpu_offload");
    if (!s_.Bool(path, false).value_or(false)) return;
    Say(path, "roll.optimizer-offload", "strategy_config.optimizer_cpu_offload=true",
        "it has no effect: the optimizer's states stay on the GPU; is_offload_optimizer_states_in_train_step: true "
        "keeps "
        "them on the host while layers run",
        "ROLL:roll/distributed/strategy/megatron_strategy.py:1182", Severity::kWarning);
  }

  void Replay() {
    if (s_.Text(At("router_replay.mode")) != "R2") return;
    Say(At("router_replay.mode"), "roll.router-replay", "router_replay.mode=R2", "disable or R3",
        "ROLL:roll/configs/worker_config.py:295");
  }

  void Length() {
    if (s_.Has("response_length") || s_.Has("sequence_length")) return;
    Say("sequence_length", "roll.length", "no response_length and no sequence_length", "one of them",
        "ROLL:roll/configs/base_config.py:272");
  }

  // Of the actor of a pipeline alone, whatever it rolls out.
  void RolloutBatch() {
    if (role_ != "actor_train" || knobs_.Unknown(K::launch_num_gpus)) return;
    const std::optional<int64_t> world = knobs_.Number(K::launch_num_gpus), model = knobs_.GpusOfReplica();
    const std::optional<int64_t> samples = s_.Number("rollout_batch_size", kUsualRollout);
    if (!world.has_value() || !samples.has_value() || !model.has_value()) return;
    if (*world % *model != 0) return;  // Megatron's own check says so
    const int64_t replicas = *world / *model;
    if (replicas <= 1 || *samples % replicas == 0) return;
    Say("rollout_batch_size", "roll.rollout-batch",
        absl::StrCat("rollout_batch_size=", *samples, " on ", replicas, " replicas"),
        "a multiple of the data-parallel size", "ROLL:roll/utils/config_utils.py:87");
  }

  const LayeredSettings& s_;
  const std::string role_;
  const WrittenKnobs& knobs_;
  ParseResult& out_;
};

}  // namespace

void CheckRoll(const LayeredSettings& settings, const std::string& role, const WrittenKnobs& knobs, ParseResult* out) {
  Checks(settings, role, knobs, out).Run();
}

}  // namespace flightplan
