// Writes the command of scripts/performance/run_script.py of Megatron-Bridge: flags where they say what is meant,
// overrides for the rest. Read from NVIDIA-NeMo/Megatron-Bridge@067f987df
// scripts/performance/{argument_parser,utils/overrides}.py.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override_writer.h"
#include "resolver/stacks/megatron_bridge/perf_flags.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

// Its name in the harness; empty: there are no recipes for it.
absl::string_view HarnessGpu(absl::string_view device) {
  const std::string name = absl::AsciiStrToLower(device);
  absl::string_view found;
  for (absl::string_view choice : {"h100", "b200", "b300", "gb200", "gb300", "vr200", "r100"}) {
    if (absl::StrContains(name, choice) && choice.size() > found.size()) found = choice;
  }
  return found;
}

class PerfWriter {
 public:
  explicit PerfWriter(const RenderInput& input) : input_(input) {}

  Launch Write() {
    launch_.dialect = "bridge-perf";
    launch_.env = input_.vars;
    knobs_ = KnobsToWrite(input_, &launch_.unspelled);
    Selection();
    Parallelism();
    Graphs();
    Dispatcher();
    for (std::string& word : WriteOverrides(knobs_)) launch_.argv.push_back(std::move(word));
    launch_.argv.insert(launch_.argv.end(), precision_.begin(), precision_.end());
    launch_.text = LaunchText(launch_.env, "uv run python scripts/performance/run_script.py", launch_.argv);
    AskForSelection();
    return std::move(launch_);
  }

 private:
  const Config& config() const { return input_.config; }
  void Add(absl::string_view flag, std::string value) {
    launch_.argv.emplace_back(flag);
    launch_.argv.push_back(std::move(value));
  }
  // The value to write for a knob, taken off the list of overrides.
  std::optional<Value> Take(K knob) {
    auto it = std::find_if(knobs_.begin(), knobs_.end(), [knob](const auto& entry) { return entry.first == knob; });
    if (it == knobs_.end()) return std::nullopt;
    Value value = std::move(it->second);
    knobs_.erase(it);
    return value;
  }
  bool Writes(K knob) const {
    return std::any_of(knobs_.begin(), knobs_.end(), [knob](const auto& entry) { return entry.first == knob; });
  }
  void TakeAsFlag(K knob) {
    if (config().Get(knob).is_int() && Writes(knob)) Add(PerfFlagOf(knob), Take(knob)->ToText());
  }

  // The words that choose the base recipe; what is not known stays for a person to fill in.
  void Selection() {
    const std::pair<absl::string_view, absl::string_view> recipe_variant =
        absl::StrSplit(config().Get(K::launch_recipe).text(), absl::MaxSplits('@', 1));
    const std::pair<absl::string_view, absl::string_view> family_recipe =
        absl::StrSplit(recipe_variant.first, absl::MaxSplits('/', 1));
    if (!family_recipe.second.empty()) {
      Add("-m", std::string(family_recipe.first));
      Add("-mr", std::string(family_recipe.second));
    }
    if (!recipe_variant.second.empty()) Add("-cv", std::string(recipe_variant.second));
    Add("--task", AdaptersConfigured(input_.config) ? "peft" : "pretrain");
    const absl::string_view gpu = config().Get(K::launch_hardware_target).text();
    if (!gpu.empty()) {
      Add("-g", absl::AsciiStrToLower(gpu));
    } else if (const absl::string_view known = HarnessGpu(input_.env.gpu_name); !known.empty()) {
      Add("-g", std::string(known));
    }
    Precision();
    const std::optional<int64_t> gpus =
        config().Get(K::launch_num_gpus).is_int() ? config().Get(K::launch_num_gpus).integer() : input_.env.world_size;
    if (gpus.has_value()) Add("-ng", absl::StrCat(*gpus));
    // It starts whole nodes of so many (scripts/performance/setup_experiment.py:662).
    const Nodes nodes = NodesOf(gpus, input_.env.gpus_per_node);
    const int64_t of_node = nodes.count > 0 ? nodes.gpus : input_.env.gpus_per_node;
    if (of_node > 0) Add("-gn", absl::StrCat(of_node));
    if (Writes(K::train_iters)) Add("--max_steps", Take(K::train_iters)->ToText());
  }

  bool Says(absl::string_view flag) const {
    return std::find(launch_.argv.begin(), launch_.argv.end(), flag) != launch_.argv.end();
  }
  // scripts/performance/argument_parser.py requires all of them.
  void AskForSelection() {
    if (!Says("-m")) {
      Ask({"model_family_name", "the family of the recipe", "-m NAME", "-m qwen", ""},
          "-m \"${MODEL_FAMILY:?family of the recipe, such as qwen}\"", &launch_);
      Ask({"model_recipe_name", "the model of the recipe", "-mr NAME", "-mr qwen3_30b_a3b", ""},
          "-mr \"${MODEL_RECIPE:?model of the recipe, such as qwen3_30b_a3b}\"", &launch_);
    }
    if (!Says("-g")) {
      Ask({"gpu", "the GPU that the recipe is for", "-g h100|b200|b300|gb200|gb300|vr200|r100", "-g h100", ""},
          "-g \"${GPU:?h100, b200, b300, gb200, gb300, vr200 or r100}\"", &launch_);
    }
    if (!Says("-ng")) {
      Ask({"num_gpus", "how many GPUs", "-ng N", "-ng 16", ""}, "-ng \"${NUM_GPUS:?how many GPUs}\"", &launch_);
    }
  }

  void Precision() {
    const absl::string_view recipe = config().Get(K::mixed_precision_recipe).text();
    for (const ComputeDtype& dtype : ComputeDtypes()) {
      if (recipe != dtype.recipe) continue;
      // fp8_cs switches the BF16 layers at the ends off by itself; a plan that wants them says so.
      if (dtype.name == "fp8_cs" && !Writes(K::mixed_precision_first_last_layers_bf16)) {
        knobs_.emplace_back(K::mixed_precision_first_last_layers_bf16, Value(true));
      }
      return Add("-c", std::string(dtype.name));
    }
    // Another recipe: the harness starts from BF16 and every field is overridden.
    Add("-c", "bf16");
    precision_ = WritePrecision(config(), &knobs_);
    if (!MixedPrecisionConfigured(config())) precision_ = {"mixed_precision=null"};
  }

  void Parallelism() {
    // -tp also decides sequence parallelism.
    const Value& tp = config().Get(K::tensor_model_parallel_size);
    const bool sp_follows = config().Get(K::sequence_parallel).truthy() == (tp.integer() > 1);
    if (Writes(K::tensor_model_parallel_size) && sp_follows) {
      Add("-tp", Take(K::tensor_model_parallel_size)->ToText());
      Take(K::sequence_parallel);
    }
    TakeAsFlag(K::pipeline_model_parallel_size);
    if (Writes(K::virtual_pipeline_model_parallel_size)) {
      const Value vpp = *Take(K::virtual_pipeline_model_parallel_size);
      Add("-vp", vpp.is_none() ? "None" : vpp.ToText());
    }
    TakeAsFlag(K::context_parallel_size);
    TakeAsFlag(K::expert_model_parallel_size);
    TakeAsFlag(K::expert_tensor_parallel_size);
    TakeAsFlag(K::micro_batch_size);
    TakeAsFlag(K::global_batch_size);
    // -pp and -vp let some recipes compute a layout of their own, unless one is given the same way.
    if (Writes(K::pipeline_model_parallel_layout) && config().Get(K::pipeline_model_parallel_layout).is_text()) {
      Add("--pipeline_model_parallel_layout", Take(K::pipeline_model_parallel_layout)->ToText());
    }
    // The harness rebuilds its mock dataset from the model's length.
    const Value& length = config().Get(K::seq_length);
    const bool dataset_follows = !Writes(K::dataset_seq_length) || config().Get(K::dataset_seq_length) == length;
    if (Writes(K::seq_length) && dataset_follows) {
      Take(K::dataset_seq_length);
      Add("-sl", Take(K::seq_length)->ToText());
    }
  }

  void Graphs() {
    // The flag also decides both RNG trackers.
    const Value& impl = config().Get(K::cuda_graph_impl);
    const bool on = impl.text() == "transformer_engine";
    if (!Writes(K::cuda_graph_impl) || (!on && impl.text() != "none")) return;
    for (K tracker : {K::te_rng_tracker, K::use_te_rng_tracker}) {
      if (Writes(tracker) && config().Get(tracker).truthy() != on) return;
    }
    Add("--cuda_graph_impl", Take(K::cuda_graph_impl)->ToText());
    Take(K::te_rng_tracker);
    Take(K::use_te_rng_tracker);
    const bool named = on && !config().Get(K::cuda_graph_modules).list().empty();
    if (Writes(K::cuda_graph_modules) && named) Add("--cuda_graph_scope", Take(K::cuda_graph_modules)->ToText());
  }

  void Dispatcher() {
    // "None" takes the recipe's flex backend away; a backend by flag would also switch shared-expert overlap off, so it
    // is left to the overrides. The A2A switch would delay weight gradients too, so it is off and the overrides decide.
    const bool flex = config().Get(K::moe_token_dispatcher_type).text() == "flex";
    const Value& backend = config().Get(K::moe_flex_dispatcher_backend);
    const bool no_backend = backend.is_none() || !config().Given(K::moe_flex_dispatcher_backend);
    if (Writes(K::moe_token_dispatcher_type) && !flex && no_backend) {
      Take(K::moe_token_dispatcher_type);
      Take(K::moe_flex_dispatcher_backend);
      Add("--moe_flex_dispatcher_backend", "None");
    } else if (config().Given(K::launch_flex_backend)) {
      Add("--moe_flex_dispatcher_backend", config().Get(K::launch_flex_backend).ToText());
    }
    if (Writes(K::comm_overlap_overlap_moe_expert_parallel_comm)) Add("--moe_a2a_overlap", "false");
  }

  const RenderInput& input_;
  Launch launch_;
  std::vector<std::pair<Knob, Value>> knobs_;
  std::vector<std::string> precision_;
};

}  // namespace

Launch RenderBridgePerf(const RenderInput& input) { return PerfWriter(input).Write(); }

}  // namespace flightplan
