#include "resolver/explain/records.h"

#include <algorithm>
#include <iterator>

#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

constexpr absl::string_view kMoeGuide = "NVIDIA Megatron-Core MoE guide";
constexpr absl::string_view kRecipes = "published recipes of Megatron-Bridge";
constexpr absl::string_view kHydra = "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py";
constexpr absl::string_view kForecast = "Flightplan's forecast of memory and step time";

// By id.
constexpr Record kRecords[] = {
    {"bridge-override.no-switch", "cli", "warning", "parse", Verdict::kAdvice, "",
     "a switch is true or false; other text counts as true, and empty text as false", kHydra},
    {"bridge-override.none-is-text", "cli", "warning", "parse", Verdict::kAdvice, "",
     "None is text in an override; null means unset", kHydra},
    {"bridge-override.unknown", "cli", "error", "parse", Verdict::kAccepted, "",
     "an override names a section and a field that this release of Megatron-Bridge has", kHydra},
    {"bridge-override.unreadable", "cli", "error", "parse", Verdict::kAccepted, "",
     "an override is section.field=value in Hydra's grammar; a file of a ConfigContainer is a map of its sections",
     kHydra},
    {"bridge-perf.required", "cli", "error", "parse", Verdict::kAccepted, "",
     "a launch of the performance harness names the model's family and recipe, the number of GPUs and their type",
     "Megatron-Bridge:scripts/performance/argument_parser.py:223"},
    {"bridge-perf.variant-label", "cli", "info", "parse", Verdict::kAdvice, "",
     "v1 and v2 were labels of the harness's recipes, which are removed: --config_variant with one chooses the recipe "
     "without a variant",
     "Megatron-Bridge:scripts/performance/utils/utils.py:_recipe_variant_suffix"},
    {"bridge-recipe.dataset-length", "data", "warning", "parse", Verdict::kAdvice, "seq_length dataset.seq_length",
     "run_recipe.py trains at the dataset's sequence length: one said in the model's section alone is not used",
     "Megatron-Bridge:scripts/training/recipe_runner.py:486"},
    {"bridge-recipe.name", "cli", "error", "parse", Verdict::kAccepted, "",
     "run_recipe.py starts from a function of Megatron-Bridge's library by its name",
     "Megatron-Bridge:scripts/training/recipe_runner.py:256"},
    {"decide.activation-offload", "act-offload", "decision", "decide", Verdict::kAdvice,
     "cpu_offloading cpu_offloading_num_layers fine_grained_activation_offloading offload_tensors "
     "recompute_granularity",
     "activations go to the host where recompute cannot make the plan fit: with FSDP on one pipeline stage, where "
     "recompute would gather weights again, the fewest layers that fit; on LoongForge what recompute inside the "
     "overlap "
     "schedule starts from",
     kForecast},
    {"decide.backend-unsupported", "dispatcher", "error", "decide", Verdict::kWillRun,
     "moe_flex_dispatcher_backend expert_model_parallel_size",
     "deepep needs NVLink nodes with compute capability 8 or 9, or B200/B300; hybridep needs EP inside the NVLink "
     "domain "
     "of a rack-scale system; between nodes both need RDMA verbs, which tcp and slingshot have not",
     "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py"},
    {"decide.backend-without-flex", "dispatcher", "warning", "decide", Verdict::kAdvice,
     "moe_flex_dispatcher_backend moe_token_dispatcher_type",
     "a backend alone does nothing: moe_token_dispatcher_type must be flex",
     "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py"},
    {"decide.batch", "batch", "decision", "decide", Verdict::kAdvice, "micro_batch_size manual_gc manual_gc_interval",
     "one sequence a microbatch where that is left open, because it needs the least memory; garbage is collected by "
     "all "
     "ranks at the same step, but for a bring-up",
     kMoeGuide},
    {"decide.cp-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "cp_comm_type hierarchical_context_parallel_sizes context_parallel_size seq_length window_size softmax_type",
     "with CP a ring (p2p) whose transfers hide behind attention; for windowed attention an all-to-all or an "
     "all-gather, "
     "because a window needs the whole sequence; for attention sinks the all-to-all alone; a2a+p2p where CP leaves the "
     "NVLink domain with too few tokens a rank",
     "Megatron-Core's communication-overlap guide, and its long-context recipes"},
    {"decide.cuda-graphs", "cuda-graph", "decision", "decide", Verdict::kAdvice,
     "cuda_graph_impl cuda_graph_modules cuda_graph_scope te_rng_tracker use_te_rng_tracker moe_paged_stash "
     "moe_expert_rank_capacity_factor use_transformer_engine_op_fuser high_priority_a2a_comm_stream "
     "recompute_granularity cpu_offloading moe_token_dispatcher_type",
     "scoped graphs over the static parts of an MoE layer where the host bounds the step and memory allows; the full "
     "iteration for MXFP8 on Blackwell with fixed expert buffers; none in a bring-up, with FSDP, full recompute or "
     "activation offloading, or where the network bounds the step",
     "measured runs, and published recipes of Megatron-Bridge"},
    {"decide.delay-wgrad", "overlap", "decision", "decide", Verdict::kAdvice,
     "delay_wgrad_compute overlap_moe_expert_parallel_comm cuda_graph_impl",
     "the weight gradient is delayed only together with EP overlap, where EP leaves the node or the whole iteration is "
     "captured; measured between -0.35 % and +4.8 % otherwise, so an A/B is suggested",
     "measured runs"},
    {"decide.dispatcher", "dispatcher", "decision", "decide", Verdict::kAdvice,
     "moe_token_dispatcher_type moe_flex_dispatcher_backend moe_enable_deepep expert_model_parallel_size "
     "moe_router_topk num_moe_experts",
     "how tokens reach their experts: alltoall at EP 1, in a bring-up, on EFA, across nodes without RDMA verbs, where "
     "few copies a token leave nothing "
     "to "
     "save or no flex backend is installed; hybridep inside the NVLink domain; across it hybridep or deepep by the "
     "size "
     "of the routing map",
     "Megatron-Core's dispatcher guide, published recipes, measured runs"},
    {"decide.dispatcher-sms", "dispatcher", "decision", "decide", Verdict::kAdvice,
     "moe_flex_dispatcher_num_sms moe_hybridep_num_sms moe_deepep_num_sms moe_flex_dispatcher_backend",
     "the SMs of the flex dispatcher's kernels: what a profile of this GPU shows, else 32 for hybridep (16 "
     "between nodes) and 20 for deepep",
     "Megatron-Bridge's performance harness; DeepEP's default and measurements"},
    {"decide.does-not-fit", "fit", "warning", "decide", Verdict::kAdvice, "recompute_granularity optimizer_cpu_offload",
     "after recompute and offload the plan must fit the GPU's memory by the closed formulas; else a layout that splits "
     "the model further, or fewer tokens in a microbatch",
     kForecast},
    {"decide.dp-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "overlap_grad_reduce overlap_param_gather use_distributed_optimizer use_megatron_fsdp",
     "gradients are reduced while layers compute wherever more than one rank has them, and parameters gathered where "
     "optimizer state is sharded, but for a bring-up; in a container both need the distributed optimizer",
     "Megatron-Core's communication-overlap guide"},
    {"decide.env.allocator", "environment", "decision", "decide", Verdict::kAdvice,
     "PYTORCH_CUDA_ALLOC_CONF NCCL_GRAPH_REGISTER TORCH_NCCL_AVOID_RECORD_STREAMS NCCL_NVLS_ENABLE NCCL_CTA_POLICY "
     "nccl_ub",
     "expandable segments, because variable token counts fragment fixed ones, and what goes with them; NCCL user "
     "buffers "
     "where nccl_ub asks for them, which excludes them",
     "measured fragmentation; published recipes of Megatron-Bridge"},
    {"decide.env.connections", "environment", "decision", "decide", Verdict::kAdvice,
     "CUDA_DEVICE_MAX_CONNECTIONS tensor_model_parallel_size context_parallel_size overlap_moe_expert_parallel_comm "
     "moe_token_dispatcher_type use_megatron_fsdp",
     "1 where TP or CP on Hopper and before rely on one queue, 32 on Blackwell and with EP overlap or a flex "
     "dispatcher, "
     "else 8",
     "Megatron-LM:megatron/training/arguments.py, and measured runs"},
    {"decide.env.cpu-binding", "environment", "decision", "decide", Verdict::kAdvice, "launcher.numa-binding",
     "where torchrun starts several ranks on a node, each is kept on the CPUs of its GPU's NUMA node (--numa-binding "
     "node, from PyTorch 2.9 on, with numactl installed)",
     "Megatron-Bridge:scripts/performance/utils/executors.py"},
    {"decide.env.deterministic", "environment", "decision", "decide", Verdict::kAdvice,
     "NCCL_ALGO NVTE_ALLOW_NONDETERMINISTIC_ALGO CUBLAS_WORKSPACE_CONFIG deterministic_mode",
     "deterministic mode needs a ring, deterministic kernels and a fixed cuBLAS workspace",
     "Megatron-Bridge:src/megatron/bridge/recipes/utils/determinism_utils.py"},
    {"decide.env.fast-math", "environment", "decision", "decide", Verdict::kAdvice, "NVTE_USE_FAST_MATH fp4",
     "NVFP4 benchmarks only: it changes rounding", kRecipes},
    {"decide.env.grouped-mlp", "environment", "decision", "decide", Verdict::kAdvice,
     "NVTE_CUTEDSL_FUSED_GROUPED_MLP CUDNNFE_CLUSTER_OVERLAP_MARGIN cuda_graph_impl",
     "the op fuser's grouped MLP for MXFP8, where the whole iteration is captured", kRecipes},
    {"decide.env.hybridep", "environment", "decision", "decide", Verdict::kAdvice,
     "NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN NVLINK_DOMAIN_SIZE USE_MNNVL NUM_OF_TOKENS_PER_CHUNK_COMBINE_API "
     "moe_flex_dispatcher_backend expert_model_parallel_size",
     "hybridep is told the NVLink domain and the EP ranks in it: a wrong size costs speed and can hang",
     "deepseek-ai/DeepEP#596"},
    {"decide.env.loongforge-path", "environment", "decision", "decide", Verdict::kAdvice, "LOONGFORGE_PATH",
     "LoongForge's model files refer to its checkout by LOONGFORGE_PATH; without your own word the place that its "
     "images and example scripts use",
     "LoongForge:docker/Dockerfile:22"},
    {"decide.env.nccl", "environment", "decision", "decide", Verdict::kAdvice, "TORCH_NCCL_HIGH_PRIORITY",
     "collectives are not queued behind compute kernels", kRecipes},
    {"decide.env.nic", "environment", "decision", "decide", Verdict::kAdvice, "NCCL_NET_GDR_LEVEL NCCL_NET_GDR_C2C",
     "on rack-scale Grace hosts the NIC reaches GPU memory over NVLink-C2C",
     "Megatron-Bridge:scripts/performance/utils/executors.py"},
    {"decide.env.norm-margin", "environment", "decision", "decide", Verdict::kAdvice,
     "NVTE_FWD_LAYERNORM_SM_MARGIN NVTE_BWD_LAYERNORM_SM_MARGIN expert_model_parallel_size moe_token_dispatcher_type",
     "with EP norm kernels leave 16 SMs to the exchange beside them, 20 to a flex dispatcher", kRecipes},
    {"decide.env.offload", "environment", "decision", "decide", Verdict::kAdvice,
     "NVTE_CPU_OFFLOAD_V1 fine_grained_activation_offloading",
     "fine-grained activation offloading requires it from Transformer Engine 2.10 on",
     "Megatron-LM:megatron/training/arguments.py"},
    {"decide.ep-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "overlap_moe_expert_parallel_comm expert_model_parallel_size virtual_pipeline_model_parallel_size "
     "moe_token_dispatcher_type recompute_granularity recompute_modules moe_shared_expert_overlap mtp_num_layers "
     "cuda_graph_impl cuda_graph_modules",
     "the 1F1B schedule that hides the experts' exchange: on where EP leaves the NVLink domain with microbatches "
     "enough, "
     "or where a profile shows the exchange exposed; off where it stays inside, where measured runs lose by it; an A/B "
     "where evidence does not settle it",
     "measured runs, published recipes, this GPU's profile"},
    {"decide.expert-tp", "parallelism", "decision", "decide", Verdict::kAdvice, "expert_tensor_parallel_size",
     "1: experts are spread over EP, not cut by TP, so that their GEMMs stay whole", kMoeGuide},
    {"decide.fallback", "engine", "decision", "decide", Verdict::kAdvice, "",
     "a decision that a rule of the stack refused takes the rule's own fix; its reason names the rule",
     "Flightplan: what the caller or the model gave is never changed"},
    {"decide.fsdp-sharding", "ddp", "decision", "decide", Verdict::kAdvice,
     "data_parallel_sharding_strategy ckpt_format gradient_accumulation_fusion use_megatron_fsdp use_torch_fsdp2",
     "with FSDP weights, gradients and optimizer state are sharded; the config class alone would shard nothing; and "
     "the "
     "checkpoints have the format that it takes",
     "Megatron-Bridge:scripts/performance/utils/overrides.py"},
    {"decide.fusions", "fusion", "decision", "decide", Verdict::kAdvice,
     "moe_grouped_gemm moe_permute_fusion moe_router_fusion bias_dropout_fusion apply_rope_fusion "
     "cross_entropy_loss_fusion cross_entropy_fusion_impl add_bias_linear deterministic_mode attention_backend "
     "softmax_type",
     "fused kernels wherever the stated Transformer Engine has them and nothing else of the plan excludes them; for "
     "attention sinks any backend where a stack's default is flash attention, which has none",
     "Megatron-LM:megatron/core/transformer/transformer_config.py, NVIDIA/TransformerEngine#2579"},
    {"decide.model-import", "model", "info", "decide", Verdict::kAdvice, "",
     "what a model description here cannot hold is counted with the nearest that it can; the finding says how far off",
     "Flightplan's reading of Hugging Face's config.json"},
    {"decide.model-unverified", "model", "warning", "decide", Verdict::kAdvice, "",
     "what no source states of a model of the catalogue is left to upstream's default, which may build another model",
     "Flightplan's catalogue of models"},
    {"decide.next-step", "next-step", "info", "decide", Verdict::kAdvice, "",
     "the one change with the best forecast among those that the walls of the step suggest, that fits and that the "
     "stack "
     "accepts; both runs of its A/B",
     kForecast},
    {"decide.next-step-none", "next-step", "info", "decide", Verdict::kAdvice, "",
     "the profile tells of a wall, and no change of a knob that goes at it is forecast to gain and fits", kForecast},
    {"decide.next-step-pipeline", "next-step", "info", "decide", Verdict::kAdvice,
     "virtual_pipeline_model_parallel_size pipeline_model_parallel_layout",
     "where the caller's own stages leave a bubble: the virtual stages and layout with the best forecast that fit and "
     "that the stack accepts",
     kForecast},
    {"decide.next-step-precision", "next-step", "info", "decide", Verdict::kAdvice, "fp8 fp8_recipe",
     "FP8 by the recipe that suits the GPU, where the forecast gains a twentieth, it fits and the stack accepts it; it "
     "changes the numerics, so that it is never chosen, stands last and no repair takes it",
     kForecast},
    {"decide.offload", "offload", "decision", "decide", Verdict::kAdvice,
     "optimizer_cpu_offload optimizer_offload_fraction use_precision_aware_optimizer overlap_cpu_optimizer_d2h_h2d",
     "part of the optimizer's state on the host, in the smallest quarter that fits, where recompute is not enough",
     kForecast},
    {"decide.optimizer", "opt", "decision", "decide", Verdict::kAdvice, "use_distributed_optimizer use_megatron_fsdp",
     "optimizer state is sharded over the data-parallel ranks, but with FSDP, which does it itself", kMoeGuide},
    {"decide.parameter-gather", "precision", "decision", "decide", Verdict::kAdvice,
     "fp8 fp8_recipe fp8_param_gather reuse_grad_buf_for_mxfp8_param_ag overlap_grad_reduce overlap_param_gather "
     "optimizer_cpu_offload",
     "MXFP8 parameters without a second copy in 16 bits, where they are gathered beside the compute and the "
     "optimizer's "
     "state stays on the GPU",
     kRecipes},
    {"decide.pipeline-layout", "pipeline-layout", "decision", "decide", Verdict::kAdvice,
     "pipeline_model_parallel_layout num_layers mtp_num_layers pipeline_model_parallel_size "
     "virtual_pipeline_model_parallel_size",
     "where layers do not divide by the stages, a layout that counts embedding, loss and MTP as a layer each",
     kRecipes},
    {"decide.positions-raised", "model", "info", "decide", Verdict::kAdvice, "max_position_embeddings seq_length",
     "a sequence beyond the model's positions: the launch raises them, and the model has not seen such ones",
     "Megatron-LM:megatron/training/arguments.py"},
    {"decide.pp-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "overlap_p2p_comm batch_p2p_comm virtual_pipeline_model_parallel_size pipeline_model_parallel_size",
     "transfers between stages are hidden where virtual stages leave another chunk to compute meanwhile",
     "Megatron-Core's communication-overlap guide"},
    {"decide.precision", "precision", "decision", "decide", Verdict::kAdvice, "bf16 fp16 fp8 fp8_recipe fp4 fp4_recipe",
     "the knobs that spell the precision that was asked for, which is never changed; the GPU's native recipe is "
     "suggested "
     "as an A/B",
     "the request"},
    {"decide.recompute", "recompute", "decision", "decide", Verdict::kAdvice,
     "recompute_granularity recompute_modules recompute_method recompute_num_layers overlap_moe_expert_parallel_comm",
     "as little as makes the plan fit: none, else the modules that free most for the work of computing them again, one "
     "after the other, else full recompute of one layer at a time",
     kForecast},
    {"decide.router", "router", "decision", "decide", Verdict::kAdvice,
     "moe_router_dtype moe_router_force_load_balancing",
     "routing in FP32, which the flex dispatchers require; forced balance in benchmarks only", kMoeGuide},
    {"decide.sequence-parallel", "parallelism", "decision", "decide", Verdict::kAdvice,
     "sequence_parallel tensor_model_parallel_size",
     "on with TP: experts with TP require it, and it splits the norms' activations at no extra traffic", kMoeGuide},
    {"decide.shared-expert-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "moe_shared_expert_overlap overlap_moe_expert_parallel_comm moe_token_dispatcher_type recompute_modules",
     "the shared expert hides part of the all-to-all where EP overlap does not, its work covers the exchange and it is "
     "not recomputed",
     kRecipes},
    {"decide.software-from-image", "version-gate", "info", "decide", Verdict::kAdvice, "",
     "what a question does not say of its software is taken from the image that the stack's own Dockerfile makes of "
     "the release: say --te and --capability where yours has others",
     "resolver/catalog/images.yaml"},
    {"decide.tp-overlap", "overlap", "decision", "decide", Verdict::kAdvice,
     "tp_comm_overlap tensor_model_parallel_size sequence_parallel moe_token_dispatcher_type deterministic_mode",
     "all-gather and reduce-scatter of TP run beside the GEMMs; off without sequence parallelism, with a flex "
     "dispatcher, "
     "NVFP4, blockwise FP8 or deterministic mode",
     "Megatron-Core's communication-overlap guide, published recipes"},
    {"evidence.memory-calibrated", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "the memory forecast is moved by peaks that runs on this GPU system reported; they are named", "reported runs"},
    {"evidence.memory-measured", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "a run whose profile shows its GPU full has memory as its first wall, whatever is forecast",
     "the profile that was sent with the question"},
    {"evidence.probed-operators", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "scans and a sparse attention's indexer take the times that a profile of the GPU has of the stacks' own kernels "
     "(probe/operators.py), instead of published forward passes or nothing",
     "probe profiles"},
    {"evidence.profile-of-other-sizes", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "where sizes are left to a search, a profile's step and peak are of a run of other sizes: they are left out, and "
     "its shares still say what bounds the run",
     "the profile that was sent with the question"},
    {"evidence.recorded-profile", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "without a profile of these GPUs the rates are those of a profile that was recorded on another GPU of the type, "
     "each with a wider error: flightplan probe measures yours",
     "resolver/catalog/profiles"},
    {"evidence.step-beyond-peak", "evidence", "warning", "estimate", Verdict::kAdvice, "",
     "a measured step takes at least as long as its matrix multiplications at the peak of all GPUs; one below it is in "
     "another unit or of another run, and is left out",
     "the profile that was sent with the question"},
    {"evidence.step-calibrated", "evidence", "info", "estimate", Verdict::kAdvice, "",
     "the step time is moved by what runs on this GPU system reported; they are named", "reported runs"},
    {"evidence.store-down", "evidence", "warning", "estimate", Verdict::kAdvice, "",
     "the evidence store must answer for newer reports; nothing else of the answer depends on it", "the server"},
    {"launch.numa-binding", "environment", "error", "launch", Verdict::kWillRun, "launcher.numa-binding",
     "torchrun knows --numa-binding from PyTorch 2.9 on, with node, socket, exclusive or core-complex",
     "pytorch/pytorch torch/distributed/run.py (#149334)"},
    {"launch.numactl-around-torchrun", "environment", "warning", "launch", Verdict::kAdvice, "",
     "numactl before torchrun keeps all ranks of a node on one NUMA node, the GPUs of the others on other sockets",
     "pytorch/pytorch torch/distributed/run.py (#149334)"},
    {"launch.numactl-one-node", "environment", "warning", "launch", Verdict::kAdvice, "",
     "numactl around each rank divides SLURM_LOCALID by the GPUs of a NUMA node, 2 on Grace and 4 elsewhere; by as "
     "many as a node has, every rank lands on the first",
     "Megatron-Bridge:scripts/performance/utils/executors.py:182"},
    {"launch.partial-nodes", "environment", "warning", "decide", Verdict::kAdvice, "",
     "a launch starts as many ranks on every node: GPUs that are no whole nodes leave some part empty, which the "
     "forecast counts where the GPUs of a node are given",
     "torchrun"},
    {"launch.pin-not-written", "cli", "error", "launch", Verdict::kWillRun, "",
     "a knob that the caller gives stands in the launch, or the stack runs its value anyway; else an error where that "
     "changes the model, its optimizer or the memory that is forecast, and a warning elsewhere",
     "flightplan's reading of its own launch"},
    {"launch.world-size", "environment", "warning", "launch", Verdict::kAdvice, "",
     "the launcher starts one process for each GPU that the job asks for or the question states; a job is judged as "
     "its launcher says, a question on the GPUs that it states",
     "flightplan's reading of launch scripts", "slurm.world-size"},
    {"layout.none-found", "plan", "warning", "", Verdict::kAdvice,
     "tensor_model_parallel_size pipeline_model_parallel_size "
     "expert_model_parallel_size context_parallel_size",
     "some sizes of the open layout must divide the GPUs and the global batch, fit, and be accepted by the stack",
     "Flightplan's search"},
    {"layout.not-searched", "plan", "warning", "", Verdict::kAdvice, "",
     "an open layout is searched by a forecast: the model's parameters and the GPU's rates must be known",
     "Flightplan's search"},
    {"layout.searched", "plan", "info", "plan", Verdict::kAdvice,
     "tensor_model_parallel_size pipeline_model_parallel_size "
     "expert_model_parallel_size context_parallel_size",
     "the sizes that were left open are the best found by forecast; what was searched, and the next best",
     "Flightplan's search"},
    {"plan.answer-cut", "plan", "warning", "plan", Verdict::kWillRun, "",
     "the answer has as many of the plans, best first, as its largest size and the call's time let it: ask for fewer",
     "Flightplan's search"},
    {"plan.execution", "plan", "decision", "plan", Verdict::kAdvice,
     "moe_token_dispatcher_type moe_flex_dispatcher_backend overlap_moe_expert_parallel_comm cuda_graph_impl "
     "cuda_graph_modules recompute_granularity recompute_modules",
     "dispatcher, EP overlap, recompute and CUDA graphs of a layout hang on each other: this combination is accepted, "
     "fits, and is the fastest by the forecast",
     "Flightplan's search", "plan.recompute"},
    {"plan.layer-split", "plan", "decision", "plan", Verdict::kAdvice, "pipeline_model_parallel_layout",
     "the search took this split of the layers over the stages", "Flightplan's search"},
    {"plan.layout", "plan", "decision", "plan", Verdict::kAdvice,
     "tensor_model_parallel_size pipeline_model_parallel_size virtual_pipeline_model_parallel_size "
     "expert_model_parallel_size expert_tensor_parallel_size context_parallel_size micro_batch_size",
     "the search took this size: of those that fit and that the stack accepts, the best by the objective",
     "Flightplan's search"},
    {"plan.no-legal-layout", "plan", "error", "plan", Verdict::kWillRun, "global_batch_size",
     "some sizes must divide the GPUs and the global batch: other counts with common divisors, or fewer given sizes",
     "Flightplan's search"},
    {"plan.no-rates", "plan", "error", "plan", Verdict::kWillRun, "",
     "a search needs a GPU whose peak rates are published, or given in an overlay of the catalogue",
     "Flightplan's search"},
    {"plan.nothing-fits", "plan", "error", "plan", Verdict::kWillRun, "",
     "of the legal layouts at least one must fit and be accepted: more GPUs, GPUs with more memory, a shorter "
     "sequence, or fewer given sizes",
     "Flightplan's search"},
    {"plan.outside-evidence", "plan", "info", "plan", Verdict::kAdvice, "",
     "a layout that next to nobody published is ranked as if its step were longer, by what the forecast is off by "
     "where it knows least; so is one that fills 94 % of the memory or more, since some of these do not start; the "
     "forecast that is shown stays as it is",
     "published recipes of Megatron-Bridge; resolver/planner/caution.cc"},
    {"plan.search-stopped", "plan", "warning", "plan", Verdict::kWillRun, "",
     "the search was stopped before its end: with more time, or some sizes given, better plans may be found",
     "Flightplan's search"},
    {"plan.space-cut", "plan", "warning", "plan", Verdict::kWillRun, "",
     "more promising layouts than the search judges: give some sizes of the layout", "Flightplan's search"},
    {"probe.profile-not-used", "probe", "warning", "decide", Verdict::kAdvice, "",
     "a profile stands for the GPU and driver that it was measured on, and for as long as it is fresh",
     "Flightplan's probe"},
    {"start.data", "data", "warning", "build", Verdict::kAdvice, "data_path mock_data data_args_path train_data_path",
     "a whole launch of Megatron-LM names its data or mock data: without either the dataset's builder opens a file "
     "that is "
     "none",
     "Megatron-LM:megatron/core/datasets/blended_megatron_dataset_builder.py:468"},
    {"start.learning-rate", "schedule", "error", "build", Verdict::kWillRun, "lr",
     "a whole launch of Megatron-LM says a learning rate: the schedule is built from it after the model",
     "Megatron-LM:megatron/core/optimizer_param_scheduler.py:148"},
    {"start.tokenizer", "data", "warning", "build", Verdict::kAdvice, "tokenizer_type vocab_file",
     "a whole launch of Megatron-LM names a tokenizer: its entry scripts take GPT-2's otherwise, and download it",
     "Megatron-LM:pretrain_gpt.py:527"},
    {"start.tokenizer-model", "data", "error", "build", Verdict::kWillRun, "tokenizer_model tokenizer_type",
     "a tokenizer that is no NullTokenizer and no word list of Megatron's is read from --tokenizer-model",
     "Megatron-LM:megatron/core/tokenizers/megatron_tokenizer.py:73"},
    {"start.train-length", "schedule", "error", "build", Verdict::kWillRun, "train_iters train_samples",
     "a whole launch of Megatron-LM says how long to train, in iterations or in samples",
     "Megatron-LM:megatron/training/training.py:2586"},
};

}  // namespace

absl::Span<const Record> Records() { return kRecords; }

const Record* FindRecord(absl::string_view id) {
  const auto* const found =
      std::lower_bound(std::begin(kRecords), std::end(kRecords), id,
                       [](const Record& record, absl::string_view wanted) { return record.id < wanted; });
  return found != std::end(kRecords) && found->id == id ? found : nullptr;
}

absl::string_view PresentId(absl::string_view id) {
  if (id.empty()) return id;
  for (const Record& record : kRecords) {
    if (record.formerly == id) return record.id;
  }
  for (const Rule* rule : AllRules()) {
    if (rule->formerly == id) return rule->id;
  }
  return id;
}

}  // namespace flightplan
