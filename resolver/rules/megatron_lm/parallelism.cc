// World size and the parallel grid, as validate_args sees it.
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/te_attention_util.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

std::vector<Patch> SmallerSizes(F f) {
  std::vector<Patch> fixes;
  const std::optional<int64_t> world = WorldSize(f);
  if (!world.has_value()) return fixes;
  for (K knob : {K::context_parallel_size, K::pipeline_model_parallel_size, K::tensor_model_parallel_size}) {
    const std::optional<int64_t> others = DenseSizeWithout(f, knob);
    if (!others.has_value()) continue;
    const std::optional<int64_t> size = NextSmallerFit(*world, *others, f.num(knob));
    if (size.has_value()) fixes.push_back({Assign(knob, *size)});
  }
  const bool any = !fixes.empty();
  if (!any) {
    fixes.push_back({Assign(K::tensor_model_parallel_size, 1), Assign(K::pipeline_model_parallel_size, 1),
                     Assign(K::context_parallel_size, 1)});
  }
  return fixes;
}

std::string DenseGrid(F f) {
  const std::optional<int64_t> size = DenseSize(f);
  return absl::StrCat("tp*pp*cp", HasWeightShards(f) ? "*gtp" : "", " = ",
                      size.has_value() ? absl::StrCat(*size) : "more than 64 bits");
}

std::vector<Patch> OneLevelExchange(F f) {
  std::vector<Patch> fixes;
  for (const absl::string_view type : {"p2p", "a2a"}) {
    if (ServesAllLayers(f, type)) fixes.push_back({Assign(K::cp_comm_type, Value(Value::List{type}))});
  }
  if (fixes.empty()) fixes.push_back({Assign(K::cp_comm_type, Value(Value::List{"all_gather"}))});
  return fixes;
}

const Rule kRules[] = {
    {.id = "mlm.gtp-derived",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 426},
     .source = "Megatron-LM:megatron/training/arguments.py:426",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::tensor_model_parallel_size},
     .change =
         [](Editor& e) {
           DeriveWeightShards(e, K::tensor_parallel_num_weight_shards, K::gtp_weight_remat_size,
                              K::tensor_model_parallel_size);
         }},
    {.id = "mlm.world-divisible",
     .area = "parallelism",
     .at = {Phase::kCliValidate, 432},
     .source = "Megatron-LM:megatron/training/arguments.py:432",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size,
               K::tensor_parallel_num_weight_shards},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           const std::optional<int64_t> world = WorldSize(f);
           const std::optional<int64_t> size = DenseSize(f);
           return world.has_value() && (!size.has_value() || !Divisible(*world, *size));
         },
     .needs = "the world size must be a multiple of tp*pp*cp",
     .fix = SmallerSizes,
     .detail = DenseGrid},
    {.id = "mlm.attn-local-needs-local-spec",
     .area = "attention",
     .at = {Phase::kCliValidate, 437},
     .source = "Megatron-LM:megatron/training/arguments.py:437",
     .reads = {K::attention_backend, K::spec},
     .when =
         [](F f) {
           return f.is(K::attention_backend, "local") &&
                  (f.value(K::spec).list().empty() || f.value(K::spec).list()[0] != Value("local"));
         },
     .needs = "attention_backend local needs --spec local",
     .fixes = {{{K::attention_backend, "auto"}}, {{K::spec, Literal::List("local")}}}},
    {.id = "mlm.dp-derived",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 448},
     .source = "Megatron-LM:megatron/training/arguments.py:448",
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const std::optional<int64_t> world = WorldSize(f);
           const std::optional<int64_t> size = DenseSize(f);
           // Where it does not come out even, mlm.world-divisible has stopped the launch: no batch is held against it.
           if (world.has_value() && size.has_value() && *size != 0 && Divisible(*world, *size))
             e.env().data_parallel_size = FloorDiv(*world, *size);
         }},
    {.id = "mlm.hier-cp-product",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 582},
     .source = "Megatron-LM:megatron/training/arguments.py:582",
     .reads = {K::hierarchical_context_parallel_sizes, K::context_parallel_size},
     .when = [](F f) { return f.on(K::hierarchical_context_parallel_sizes) && !HierarchyFits(f); },
     .needs = "the product of hierarchical_context_parallel_sizes must be context_parallel_size",
     .fixes = {{{K::hierarchical_context_parallel_sizes, kUnset}}}},
    {.id = "mlm.a2ap2p-needs-hier-cp",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 584},
     .source = "Megatron-LM:megatron/training/arguments.py:584",
     .reads = {K::cp_comm_type, K::hierarchical_context_parallel_sizes},
     .when = [](F f) { return f.has(K::cp_comm_type, "a2a+p2p") && f.none(K::hierarchical_context_parallel_sizes); },
     .needs = "cp_comm_type a2a+p2p needs hierarchical_context_parallel_sizes",
     .fix = OneLevelExchange},
    {.id = "mlm.etp-default-tp",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 587},
     .source = "Megatron-LM:megatron/training/arguments.py:587",
     .reads = {K::expert_tensor_parallel_size, K::tensor_model_parallel_size},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::expert_tensor_parallel_size))
             e.Set(K::expert_tensor_parallel_size, e.facts().value(K::tensor_model_parallel_size));
         }},
    {.id = "mlm.sp-off-at-tp1",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1439},
     .source = "Megatron-LM:megatron/training/arguments.py:1439",
     .reads = {K::tensor_model_parallel_size, K::sequence_parallel},
     .change = DropSequenceParallelAtTp1},
    {.id = "mlm.tp-overlap-needs-sp",
     .area = "tp-overlap",
     .at = {Phase::kCliValidate, 1442},
     .source = "Megatron-LM:megatron/training/arguments.py:1442",
     .reads = {K::tp_comm_overlap, K::sequence_parallel, K::tensor_model_parallel_size},
     .when = [](F f) { return f.on(K::tp_comm_overlap) && !f.on(K::sequence_parallel); },
     .needs = "tp_comm_overlap needs sequence_parallel and tensor_model_parallel_size above 1",
     .fix = [](F f) -> std::vector<Patch> {
       std::vector<Patch> fixes;
       if (f.num(K::tensor_model_parallel_size) > 1) fixes.push_back({Assign(K::sequence_parallel, true)});
       fixes.push_back({Assign(K::tp_comm_overlap, false)});
       return fixes;
     }},
    {.id = "mlm.hybridcp-no-pp",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1445},
     .source = "Megatron-LM:megatron/training/arguments.py:1445",
     .reads = {K::hybrid_context_parallel, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.on(K::hybrid_context_parallel) && f.num(K::pipeline_model_parallel_size) > 1; },
     .needs = "hybrid_context_parallel needs pipeline_model_parallel_size 1",
     .fixes = {{{K::hybrid_context_parallel, false}}, {{K::pipeline_model_parallel_size, 1}}}},
    {.id = "mlm.hybridcp-no-cg",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1446},
     .source = "Megatron-LM:megatron/training/arguments.py:1446",
     .reads = {K::hybrid_context_parallel, K::enable_cuda_graph},
     .when = [](F f) { return f.on(K::hybrid_context_parallel) && f.on(K::enable_cuda_graph); },
     .needs = "hybrid_context_parallel excludes CUDA graphs",
     .fixes = {{{K::enable_cuda_graph, false}}, {{K::hybrid_context_parallel, false}}}},
    {.id = "mlm.hybridcp-no-fsdp",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1447},
     .source = "Megatron-LM:megatron/training/arguments.py:1447",
     .reads = {K::hybrid_context_parallel, K::use_megatron_fsdp},
     .when = [](F f) { return f.on(K::hybrid_context_parallel) && f.on(K::use_megatron_fsdp); },
     .needs = "hybrid_context_parallel excludes Megatron-FSDP",
     .fixes = {{{K::hybrid_context_parallel, false}}, {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.hybridcp-single-loader",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1448},
     .source = "Megatron-LM:megatron/training/arguments.py:1448",
     .reads = {K::hybrid_context_parallel, K::dataloader_type},
     .when = [](F f) { return f.on(K::hybrid_context_parallel) && !f.is(K::dataloader_type, "single"); },
     .needs = "hybrid_context_parallel needs dataloader_type single",
     .fixes = {{{K::dataloader_type, "single"}}, {{K::hybrid_context_parallel, false}}}},
    {.id = "mlm.hybridcp-per-token-loss",
     .area = "context-parallel",
     .at = {Phase::kCliValidate, 1449},
     .source = "Megatron-LM:megatron/training/arguments.py:1449",
     .reads = {K::hybrid_context_parallel, K::calculate_per_token_loss},
     .when = [](F f) { return f.on(K::hybrid_context_parallel) && !f.on(K::calculate_per_token_loss); },
     .needs = "hybrid_context_parallel needs calculate_per_token_loss",
     .fixes = {{{K::hybrid_context_parallel, false}}, {{K::calculate_per_token_loss, true}}}},
};

}  // namespace

RuleList MegatronLmParallelismRules() { return kRules; }

}  // namespace flightplan
