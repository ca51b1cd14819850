#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/roll/dialect.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kRole = "sft_train.";

// What other keys say; the model stands in its folder.
constexpr K kElsewhere[] = {K::bf16,
                            K::fp16,
                            K::optimizer_bf16,
                            K::optimizer_fp16,
                            K::grad_reduce_in_fp32,
                            K::seq_length,
                            K::global_batch_size,
                            K::launch_num_gpus,
                            K::peft_scheme,
                            K::peft_share_expert_adapters,
                            K::peft_normalize_moe_lora};

bool Chosen(Origin origin) { return Config::Given(origin) && origin != Origin::kModel; }

struct Key {
  std::string path, value;
};

class Writer {
 public:
  Writer(const RenderInput& input, Launch* launch) : config_(input.config), env_(input.env), launch_(*launch) {}

  std::vector<Key> Keys() {
    Add("pretrain", "");
    Add("num_gpus_per_node", absl::StrCat(NodesOf(env_).gpus > 0 ? NodesOf(env_).gpus : 8));
    Say(K::seq_length, "sequence_length");
    Add(Of("data_args.file_name"), "");
    Add(Of("data_args.template"), "");
    Add(Of("model_args.dtype"), config_.Get(K::fp16).truthy()   ? "fp16"
                                : config_.Get(K::bf16).truthy() ? "bf16"
                                                                : "fp32");
    Add(Of("strategy_args.strategy_name"), "megatron_train");
    const int64_t gpus = env_.world_size.value_or(0);
    if (gpus > 0) Add(Of("device_mapping"), WriteHydraValue(Value(absl::StrCat("list(range(0,", gpus, "))"))));
    const int64_t steps = Microbatches(gpus);
    if (steps > 0) Add(Of("training_args.gradient_accumulation_steps"), absl::StrCat(steps));
    const Value& mtp = config_.Get(K::mtp_num_layers);  // those of the model are dropped without a word
    if (mtp.is_int() && mtp.integer() > 0) Say(K::mtp_num_layers, Of(RollKeyOf(K::mtp_num_layers)));
    for (int i = 0; i < kKnobCount; ++i) Knobs(static_cast<K>(i));
    return std::move(keys_);
  }

 private:
  static std::string Of(absl::string_view key) { return absl::StrCat(kRole, key); }
  void Add(std::string path, std::string value) { keys_.push_back({std::move(path), std::move(value)}); }

  void Say(K knob, std::string path) {
    if (!config_.Get(knob).is_none()) Add(std::move(path), WriteHydraValue(config_.Get(knob)));
  }

  // An argument of several words is one text (training_args.py:285, model_args.py:124).
  void SayWords(K knob, std::string path) {
    const Value& value = config_.Get(knob);
    if (Row(knob).type != ValueType::kStringList || !value.is_list()) return Say(knob, std::move(path));
    Add(std::move(path),
        WriteHydraValue(Value(absl::StrJoin(
            value.list(), ",", [](std::string* out, const Value& item) { absl::StrAppend(out, item.ToText()); }))));
  }

  // Of each replica in a step; 0: not known.
  int64_t Microbatches(int64_t gpus) const {
    const auto size = [this](K knob) { return std::max<int64_t>(1, config_.Get(knob).integer()); };
    const double model = static_cast<double>(size(K::tensor_model_parallel_size)) *
                         static_cast<double>(size(K::pipeline_model_parallel_size)) *
                         static_cast<double>(size(K::context_parallel_size));
    if (gpus <= 0 || model > static_cast<double>(gpus) || !config_.Get(K::global_batch_size).is_int()) return 0;
    const int64_t replicas = gpus / static_cast<int64_t>(model);
    return config_.Get(K::global_batch_size).integer() / replicas / size(K::micro_batch_size);
  }

  void Knobs(K knob) {
    const Origin origin = config_.origin(knob);
    if ((!Chosen(origin) && !SaysOfAdapters(knob, config_)) || knob == K::mtp_num_layers) return;
    if (std::find(std::begin(kElsewhere), std::end(kElsewhere), knob) != std::end(kElsewhere)) return;
    if (Row(knob).section == Section::kPeft && !AdaptersConfigured(config_)) return;
    const std::string key = RollKeyOf(knob);
    if (!key.empty()) return SayWords(knob, Of(key));
    if (!Config::Given(origin) || config_.Get(knob).is_none()) return;
    if (Row(knob).section == Section::kModel) {
      return Say(knob, Of(absl::StrCat("strategy_args.strategy_config.additional_configs.", Name(knob))));
    }
    launch_.unspelled.push_back(knob);
  }

  const Config& config_;
  const Environment& env_;
  Launch& launch_;
  std::vector<Key> keys_;
};

// The keys as nested maps. Keys of one map stand together from where the first of them stands.
void WriteMap(absl::string_view indent, const std::vector<Key>& keys, std::string* out) {
  std::vector<std::pair<std::string, std::vector<Key>>> maps;
  for (const Key& key : keys) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(key.path, absl::MaxSplits('.', 1));
    const auto same = std::find_if(maps.begin(), maps.end(), [&](const auto& map) { return map.first == parts.first; });
    auto& map = same != maps.end() ? *same : maps.emplace_back(std::string(parts.first), std::vector<Key>());
    map.second.push_back({std::string(parts.second), key.value});
  }
  for (const auto& [name, inside] : maps) {
    absl::StrAppend(out, indent, name, ":");
    if (inside.size() == 1 && inside.front().path.empty()) {
      absl::StrAppend(out, " ", inside.front().value, "\n");
      continue;
    }
    *out += '\n';
    WriteMap(absl::StrCat(indent, "  "), inside, out);
  }
}

}  // namespace

Launch RenderRoll(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  if (!IsWhole(input.config)) {  // a launch's words are never its knobs
    for (int i = 0; i < kKnobCount; ++i) {
      if (Config::Given(input.config.origin(static_cast<K>(i)))) launch.unspelled.push_back(static_cast<K>(i));
    }
    return launch;
  }
  std::vector<Key> keys = Writer(input, &launch).Keys();
  std::string asked;
  const auto ask = [&](absl::string_view path, absl::string_view name, absl::string_view what,
                       absl::string_view example) {
    const std::string variable = absl::AsciiStrToUpper(name);
    for (Key& key : keys) {
      if (key.path == path) key.value = absl::StrCat("${", variable, "}");
    }
    absl::StrAppend(&asked, ": \"${", variable, ":?", what, "}\"\n");
    launch.required_inputs.push_back(
        {name, what, absl::StrCat(path, ": ", variable), absl::StrCat(path, ": ", example), ""});
  };
  for (const Key& key : keys) {
    if (!key.value.empty()) launch.argv.push_back(absl::StrCat(key.path, "=", key.value));
  }
  ask("pretrain", "model_name", "the model, by its name on the hub or its folder", "Qwen/Qwen3-30B-A3B");
  ask("sft_train.data_args.file_name", "data_file", "a file of samples, with a prompt and a response each",
      "data/code_alpaca_20k.json");
  ask("sft_train.data_args.template", "template", "how a prompt is written for the model, a name of chat_template.py",
      "qwen2_5");
  // Asked for in front: a shell goes on where it cannot complete the text of another command.
  launch.text = ShellText(input.vars, absl::StrCat(asked, "cat > examples/flightplan.yaml <<YAML"), {});
  WriteMap("", keys, &launch.text);
  launch.text += "YAML\npython examples/start_sft_pipeline.py --config_path . --config_name flightplan\n";
  return launch;
}

}  // namespace flightplan
