// scripts/performance/run_script.py of Megatron-Bridge: its own flags, then overrides. Flags are applied after the
// overrides, so they win. Read from NVIDIA-NeMo/Megatron-Bridge@067f987df scripts/performance/{argument_parser,
// utils/overrides}.py.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/perf_recipes.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

enum class Takes { kInt, kText, kBool, kNothing, kOptionalInt, kMany };

// One flag. Where `knob` is set the value goes there; what else a flag does stands in ApplyFlag.
struct PerfFlag {
  absl::string_view name;
  absl::string_view short_name;
  Takes takes = Takes::kText;
  std::optional<K> knob = std::nullopt;
  absl::string_view choices = "";  // '|' separated
};

const PerfFlag kFlags[] = {
    {"--model_family_name", "-m"},
    {"--model_recipe_name", "-mr"},
    {"--config_variant", "-cv"},
    {"--task", "", Takes::kText, {}, "pretrain|sft|peft"},
    {"--gpu", "-g", Takes::kText, K::launch_hardware_target, "h100|b200|b300|gb200|gb300|vr200|r100"},
    {"--num_gpus", "-ng", Takes::kInt, K::launch_num_gpus},
    {"--gpus_per_node", "-gn", Takes::kInt},
    {"--compute_dtype", "-c", Takes::kText, {}, "bf16|fp8_cs|fp8_mx|fp8_sc|nvfp4"},
    {"--max_steps", "-ms", Takes::kInt, K::train_iters},
    {"--global_batch_size", "-gb", Takes::kInt, K::global_batch_size},
    {"--micro_batch_size", "-mb", Takes::kInt, K::micro_batch_size},
    {"--seq_length", "-sl", Takes::kInt, K::seq_length},
    {"--distributed_timeout_minutes", "", Takes::kInt, K::distributed_timeout_minutes},
    {"--hidden_size", "", Takes::kInt, K::hidden_size},
    {"--num_layers", "", Takes::kInt, K::num_layers},
    {"--num_moe_experts", "", Takes::kInt, K::num_moe_experts},
    {"--pipeline_model_parallel_layout", "", Takes::kText, K::pipeline_model_parallel_layout},
    {"--tensor_model_parallel_size", "-tp", Takes::kInt, K::tensor_model_parallel_size},
    {"--pipeline_model_parallel_size", "-pp", Takes::kInt, K::pipeline_model_parallel_size},
    {"--context_parallel_size", "-cp", Takes::kInt, K::context_parallel_size},
    {"--virtual_pipeline_model_parallel_size", "-vp", Takes::kText, K::virtual_pipeline_model_parallel_size},
    {"--expert_model_parallel_size", "-ep", Takes::kInt, K::expert_model_parallel_size},
    {"--expert_tensor_parallel_size", "-et", Takes::kOptionalInt, K::expert_tensor_parallel_size},
    {"--use_megatron_fsdp", "", Takes::kBool},
    {"--nccl_ub", "", Takes::kBool},
    {"--cuda_graph_impl", "", Takes::kText, {}, "none|local|transformer_engine"},
    {"--cuda_graph_scope", ""},
    {"--moe_a2a_overlap", "", Takes::kBool},
    {"--recompute_num_layers", "-rl", Takes::kInt},
    {"--recompute_modules", ""},
    {"--activation_offload_layers", "-ol", Takes::kInt},
    {"--moe_flex_dispatcher_backend", "", Takes::kText, {}, "deepep|hybridep|None"},
    {"--deterministic", "", Takes::kNothing},
    // Known to the parser, without meaning for a rule.
    {"--domain"},
    {"--use_recipes", "", Takes::kNothing},
    {"--nemo_home", "-nh"},
    {"--detach"},
    {"--max_retries"},
    {"--first_k_dense_replace"},
    {"--dryrun", "-d", Takes::kNothing},
    {"--lr"},
    {"--min_lr"},
    {"--warmup_iters"},
    {"--pretrained_checkpoint"},
    {"--save_dir"},
    {"--load_dir"},
    {"--save_interval"},
    {"--most_recent_k"},
    {"--data"},
    {"--c4_root"},
    {"--c4_train_shards", "", Takes::kMany},
    {"--dataset_paths", "", Takes::kMany},
    {"--dataset_root"},
    {"--index_mapping_dir"},
    {"--dataset_name"},
    {"--packed_sequence", "", Takes::kNothing},
    {"--head_only", "", Takes::kNothing},
    {"--diffusion_dataset_path"},
    {"--tokenizer_type"},
    {"--tokenizer_model"},
    {"--vocab_size"},
    {"--hf_token", "-hf"},
    {"--offline", "", Takes::kNothing},
    {"--account", "-a"},
    {"--partition", "-p"},
    {"--time_limit", "-t"},
    {"--preempt_time"},
    {"--container_image", "-i"},
    {"--custom_mounts", "-cm"},
    {"--custom_env_vars", "-ce"},
    {"--env", "-E"},
    {"--custom_srun_args", "-cs"},
    {"--custom_bash_cmds", "-cb", Takes::kMany},
    {"--gres"},
    {"--additional_slurm_params"},
    {"--packager"},
    {"--enable_pct_binding"},
    {"--kubeflow_namespace"},
    {"--csp"},
    {"--kubeflow_workdir_pvc"},
    {"--kubeflow_workdir_pvc_path"},
    {"--kubeflow_workdir_local_path"},
    {"--kubeflow_image_pull_secrets"},
    {"--kubeflow_volumes_json"},
    {"--kubeflow_volume_mounts_json"},
    {"--kubeflow_tolerations_json"},
    {"--kubeflow_affinity_json"},
    {"--kubeflow_env_list_json"},
    {"--kubeflow_extra_resource_requests_json"},
    {"--kubeflow_extra_resource_limits_json"},
    {"--kubeflow_pod_spec_overrides_json"},
    {"--kubeflow_pod_annotations_json"},
    {"--kubeflow_container_kwargs_json"},
    {"--kubeflow_labels_json"},
    {"--optimizer_type"},
    {"--enable_vboost", "-vb"},
    {"--lock_gpu_freq", "-lgc"},
    {"--peak_mem_clk", "-lmc"},
    {"--enable_nsys", "-en", Takes::kNothing},
    {"--export_nsys_sqlite", "", Takes::kNothing},
    {"--pytorch_profiler", "-pyp"},
    {"--profiling_start_step"},
    {"--profiling_stop_step"},
    {"--record_memory_history", "-mh"},
    {"--profiling_gpu_metrics", "", Takes::kNothing},
    {"--profiling_ranks"},
    {"--nsys_trace"},
    {"--nsys_extra_args"},
    {"--use_tokendrop"},
    {"--wandb_key", "-wdk"},
    {"--wandb_project_name", "-wdp"},
    {"--wandb_entity_name", "-wde"},
    {"--wandb_experiment_name", "-wdj"},
    {"--wandb_save_dir", "-wds"},
    {"--log_dir", "-l"},
    {"--save_config_filepath"},
    {"--dump_env", "", Takes::kNothing},
    {"--list_config_variants", "", Takes::kNothing},
    {"--is_long_convergence_run", "", Takes::kNothing},
    {"--retry_on_testing_failure", "", Takes::kNothing},
    {"--golden_values_path"},
    {"--timing_threshold"},
};

// The precision of -c and the recipe it stands for. fp8_cs keeps no BF16 layers at the ends, unlike its recipe.
struct ComputeDtype {
  absl::string_view name;
  absl::string_view recipe;
};
constexpr ComputeDtype kComputeDtypes[] = {{"bf16", "bf16_mixed"},
                                           {"fp8_cs", "bf16_with_fp8_current_scaling_mixed"},
                                           {"fp8_mx", "bf16_with_mxfp8_mixed"},
                                           {"fp8_sc", "bf16_with_fp8_subchannel_scaling_mixed"},
                                           {"nvfp4", "bf16_with_nvfp4_mixed"}};

const PerfFlag* FindFlag(absl::string_view word) {
  const absl::string_view name = word.substr(0, word.find('='));
  for (const PerfFlag& flag : kFlags) {
    if (name == flag.name || (!flag.short_name.empty() && name == flag.short_name)) return &flag;
  }
  return nullptr;
}

bool IsFlag(absl::string_view word) {
  double number = 0;
  return word.size() > 1 && word[0] == '-' && !absl::SimpleAtod(word, &number);
}

bool OneOf(absl::string_view text, absl::string_view choices) {
  for (absl::string_view choice : absl::StrSplit(choices, '|')) {
    if (choice == text) return true;
  }
  return choices.empty();
}

std::optional<bool> ReadBool(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (OneOf(lower, "true|1|t|yes|y")) return true;
  if (OneOf(lower, "false|0|f|no|n")) return false;
  return std::nullopt;
}

Value Words(absl::string_view text) {
  Value::List words;
  for (absl::string_view word : absl::StrSplit(text, ',')) words.emplace_back(word);
  return Value(std::move(words));
}

// ---- reading

class PerfReader {
 public:
  PerfReader(absl::Span<const Argument> args, int release, ParseResult* out)
      : args_(args), release_(release), flags_(release, &from_flags_), overrides_(release, out), out_(out) {}

  void Read() {
    while (at_ < args_.size()) Next();
    Graphs();
    if (!precision_.has_value()) Precision({}, "bf16");
    if (*precision_ == "bf16" && AdamStays()) Keep({}, K::use_precision_aware_optimizer, true);
    RememberRecipe();
    if (task_ == "peft") SetAdapters();
    Start();
    // Flags are applied after the overrides, wherever they stand on the line.
    out_->knobs.insert(out_->knobs.end(), from_flags_.knobs.begin(), from_flags_.knobs.end());
    out_->findings.insert(out_->findings.end(), from_flags_.findings.begin(), from_flags_.findings.end());
  }

 private:
  void Next() {
    const Argument& word = args_[at_++];
    if (!IsFlag(word.text)) return overrides_.Read(word);
    const PerfFlag* flag = FindFlag(word.text);
    if (flag == nullptr) return UnknownFlag(word);
    std::string value;
    const size_t equals = word.text.find('=');
    if (equals != std::string::npos) {
      value = word.text.substr(equals + 1);
    } else if (!TakeValue(word, *flag, &value)) {
      return;
    }
    if (!OneOf(value, flag->choices)) {
      return flags_.Refuse(word, OverrideReader::kUnreadable, absl::StrCat(flag->name, " ", Printable(value)),
                           absl::StrCat("one of ", flag->choices));
    }
    Apply(word, *flag, value);
  }

  // False: the flag is dealt with, because its value is missing or may be.
  bool TakeValue(const Argument& word, const PerfFlag& flag, std::string* value) {
    if (flag.takes == Takes::kNothing) return true;
    if (flag.takes == Takes::kMany) {
      while (at_ < args_.size() && !IsFlag(args_[at_].text)) ++at_;
      return false;
    }
    if (at_ < args_.size() && !IsFlag(args_[at_].text)) {
      *value = args_[at_++].text;
      return true;
    }
    if (flag.takes != Takes::kOptionalInt) {
      flags_.Refuse(word, OverrideReader::kUnreadable, Printable(word.text), "this flag takes a value");
    }
    return false;
  }

  void UnknownFlag(const Argument& word) {
    std::vector<absl::string_view> names;
    for (const PerfFlag& flag : kFlags) names.push_back(flag.name);
    const absl::string_view nearest = NearestName(word.text.substr(0, word.text.find('=')), names);
    flags_.Refuse(word, OverrideReader::kUnknown, Printable(word.text),
                  nearest.empty() ? "run_script.py has no such flag" : absl::StrCat("did you mean ", nearest, "?"));
  }

  void Apply(const Argument& word, const PerfFlag& flag, const std::string& text) {
    Value value(text);
    if (flag.takes == Takes::kInt || flag.takes == Takes::kOptionalInt) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(text, &number)) return BadValue(word, flag, text, "an integer");
      value = Value(number);
    } else if (flag.takes == Takes::kBool) {
      const std::optional<bool> on = ReadBool(text);
      if (!on.has_value()) return BadValue(word, flag, text, "true or false");
      value = Value(*on);
    }
    if (flag.name == "--virtual_pipeline_model_parallel_size") {
      int64_t stages = 0;
      if (text != "None" && !absl::SimpleAtoi(text, &stages)) return BadValue(word, flag, text, "an integer or None");
      if (text != "None" && stages == -1) return;  // keeps the recipe's
      return Keep(word, *flag.knob, text == "None" ? Value() : Value(stages));
    }
    if (flag.knob.has_value()) Keep(word, *flag.knob, value);
    Companions(word, flag.name, text, value);
  }

  void BadValue(const Argument& word, const PerfFlag& flag, absl::string_view text, absl::string_view needs) {
    flags_.Refuse(word, OverrideReader::kUnreadable, absl::StrCat(flag.name, " ", Printable(text)), std::string(needs));
  }
  void Keep(const Argument& word, K knob, Value value) { flags_.Keep(knob, std::move(value), word.at); }

  // What a flag sets beside or instead of one field of its name.
  void Companions(const Argument& word, absl::string_view flag, const std::string& text, const Value& value) {
    if (flag == "--model_family_name") family_ = text;
    if (flag == "--model_recipe_name") recipe_ = word, recipe_.text = text;
    if (flag == "--config_variant") Variant(word, text);
    if (flag == "--task") task_ = text;
    if (flag == "--gpu") gpu_ = text;
    if (flag == "--num_gpus") gpus_ = value.integer();
    if (flag == "--gpus_per_node") out_->gpus_per_node = value.integer();
    if (flag == "--tensor_model_parallel_size") Keep(word, K::sequence_parallel, value.integer() > 1);
    if (flag == "--seq_length") Keep(word, K::dataset_seq_length, value);
    if (flag == "--compute_dtype") Precision(word, text);
    if (flag == "--cuda_graph_impl") graph_impl_ = word, graph_impl_.text = text;
    if (flag == "--cuda_graph_scope") graph_scope_ = word, graph_scope_.text = text;
    if (flag == "--recompute_num_layers") {
      Keep(word, K::recompute_granularity, "full");
      Keep(word, K::recompute_method, "block");
      Keep(word, K::recompute_num_layers, value);
    }
    if (flag == "--recompute_modules") {
      Keep(word, K::recompute_modules, Words(text));
      Keep(word, K::recompute_granularity, "selective");
    }
    if (flag == "--activation_offload_layers" && value.integer() > 0) {
      Keep(word, K::cpu_offloading, true);
      Keep(word, K::cpu_offloading_weights, false);
      Keep(word, K::cpu_offloading_num_layers, value);
    }
    if (flag == "--moe_a2a_overlap" && value.truthy()) {
      Keep(word, K::comm_overlap_overlap_moe_expert_parallel_comm, true);
      Keep(word, K::comm_overlap_delay_wgrad_compute, true);
      Keep(word, K::moe_shared_expert_overlap, false);
    }
    if (flag == "--use_megatron_fsdp" && value.truthy()) {
      Keep(word, K::use_megatron_fsdp, true);
      Keep(word, K::data_parallel_sharding_strategy, "optim_grads_params");
      Keep(word, K::keep_fp8_transpose_cache, false);
      Keep(word, K::average_in_collective, false);
      Keep(word, K::gradient_accumulation_fusion, true);
    }
    if (flag == "--nccl_ub" && value.truthy()) {
      Keep(word, K::nccl_ub, true);
      Keep(word, K::average_in_collective, false);
    }
    if (flag == "--moe_flex_dispatcher_backend") {
      if (text != "None") return Keep(word, K::launch_flex_backend, value);
      Keep(word, K::moe_flex_dispatcher_backend, Value());
      Keep(word, K::moe_token_dispatcher_type, "alltoall");
    }
    if (flag == "--deterministic") {
      Keep(word, K::deterministic_mode, true);
      Keep(word, K::cross_entropy_loss_fusion, false);
      Keep(word, K::comm_overlap_tp_comm_overlap, false);
    }
  }

  // With -c bf16 the harness turns the precision-aware optimizer on, whatever the overrides say.
  bool AdamStays() const {
    return std::none_of(out_->knobs.begin(), out_->knobs.end(), [](const ParsedKnob& parsed) {
      return parsed.knob == K::optimizer && parsed.value != Value("adam");
    });
  }

  void Precision(const Argument& word, absl::string_view text) {
    precision_ = std::string(text);
    for (const ComputeDtype& dtype : kComputeDtypes) {
      if (dtype.name != text) continue;
      // The recipe is chosen before the overrides are applied to it.
      out_->knobs.insert(out_->knobs.begin(), {K::mixed_precision_recipe, Value(dtype.recipe), word.at});
      if (text == "fp8_cs") {
        out_->knobs.insert(out_->knobs.begin(), {K::mixed_precision_first_last_layers_bf16, Value(false), word.at});
      }
    }
  }
  // utils/overrides.py, _set_cuda_graph_overrides: the implementation first, wherever the two stand; with none of them
  // the scope is passed over.
  void Graphs() {
    if (!graph_impl_.text.empty()) GraphImpl(graph_impl_, graph_impl_.text);
    if (graph_impl_.text == "none") return Keep(graph_impl_, K::cuda_graph_modules, Value::List{});
    if (!graph_scope_.text.empty()) GraphScope(graph_scope_, graph_scope_.text);
  }
  void GraphImpl(const Argument& word, absl::string_view text) {
    const bool on = text != "none";
    Keep(word, K::cuda_graph_impl, text);
    Keep(word, K::te_rng_tracker, on);
    Keep(word, K::use_te_rng_tracker, on);
  }
  void GraphScope(const Argument& word, absl::string_view text) {
    if (text != "full_iteration") return Keep(word, K::cuda_graph_modules, Words(text));
    Keep(word, K::cuda_graph_impl, "full_iteration");
    Keep(word, K::cuda_graph_modules, Value::List{});
    Keep(word, K::check_for_nan_in_loss, false);
  }

  void RememberRecipe() {
    if (recipe_.text.empty()) return;
    Keep(recipe_, K::launch_recipe, absl::StrCat(family_, "/", recipe_.text, variant_.empty() ? "" : "@", variant_));
  }

  // All recipes with adapters are Llama-3 70B's, rank 16 beside one layer (perf_recipes/llama/h100/llama3.py:413,
  // recipes/llama/h100/llama3.py:2609). Overrides are applied after them.
  void SetAdapters() {
    const ParsedKnob set[] = {{K::peft_scheme, Value("lora"), {}, Origin::kModel},
                              {K::peft_dim, Value(16), {}, Origin::kModel},
                              {K::peft_target_modules, Value(Value::List{Value("linear_qkv")}), {}, Origin::kModel}};
    out_->knobs.insert(out_->knobs.begin(), std::begin(set), std::end(set));
  }

  void Variant(const Argument& word, const std::string& text) {
    variant_ = text;
    const std::string lower = absl::AsciiStrToLower(text);
    if (lower != "v1" && lower != "v2") return;
    out_->findings.push_back(MakeParseFinding(
        word.at, "bridge-perf.variant-label", Severity::kInfo, absl::StrCat("--config_variant ", Printable(text)),
        "v1 and v2 are labels that were removed: they choose the recipe without a variant; leave the flag out",
        "Megatron-Bridge:scripts/performance/utils/utils.py:_recipe_variant_suffix"));
  }

  // Read of the newest code alone.
  void Start() {
    const PerfRecipe* const recipe =
        release_ == kMain ? ChoosePerfRecipe({recipe_.text, task_, gpu_, *precision_, variant_, gpus_}) : nullptr;
    if (recipe == nullptr) return;
    const bool scaled = gpus_ != 0 && gpus_ != recipe->gpus;
    StartFromRecipe({recipe->function, recipe->hf_model, recipe->overrides}, !scaled, release_, out_);
  }

  absl::Span<const Argument> args_;
  const int release_;
  ParseResult from_flags_;
  OverrideReader flags_;      // reports and keeps what flags say
  OverrideReader overrides_;  // reads the words between them
  ParseResult* out_;
  size_t at_ = 0;
  std::string family_;
  std::string task_ = "pretrain", gpu_;  // as the harness takes them where they are not said
  int64_t gpus_ = 0;
  std::string variant_;
  std::optional<std::string> precision_;
  Argument recipe_, graph_impl_, graph_scope_;
};

// ---- writing

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
  static absl::string_view FlagOf(K knob) {
    for (const PerfFlag& flag : kFlags) {
      if (flag.knob == knob) return flag.short_name.empty() ? flag.name : flag.short_name;
    }
    return "";
  }
  void TakeAsFlag(K knob) {
    if (config().Get(knob).is_int() && Writes(knob)) Add(FlagOf(knob), Take(knob)->ToText());
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
    if (input_.env.gpus_per_node > 0) Add("-gn", absl::StrCat(input_.env.gpus_per_node));
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
      Ask({"model_recipe_name", "the recipe's model", "-mr NAME", "-mr qwen3_30b_a3b", ""},
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
    for (const ComputeDtype& dtype : kComputeDtypes) {
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
    if (!Writes(K::cuda_graph_impl) || !OneOf(impl.text(), "none|transformer_engine")) return;
    const bool on = impl.text() != "none";
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

ParseResult ParseBridgePerf(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  const int release = NearestRelease(kBridgeReleases, env.bridge_release);
  if (args.size() > kMaxArguments) {
    OverrideReader(release, &result)
        .Refuse(args[kMaxArguments], "input.limit", absl::StrCat(args.size(), " arguments"),
                absl::StrCat("at most ", kMaxArguments));
    return result;
  }
  PerfReader(args, release, &result).Read();
  return result;
}

ParseResult ParseBridgePerf(absl::Span<const std::string> argv, const Environment& env) {
  return ParseBridgePerf(absl::Span<const Argument>(Arguments(argv)), env);
}

Launch RenderBridgePerf(const RenderInput& input) { return PerfWriter(input).Write(); }

}  // namespace flightplan
