// Context parallelism: the communication type per layer.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Split(F f) { return f.num(K::context_parallel_size) > 1; }

// A list of the wrong length most often means one type for all layers.
std::vector<Patch> OneTypeForAll(F f) {
  const Value::List& types = f.value(K::cp_comm_type).list();
  if (types.empty()) return {{Assign(K::cp_comm_type, "p2p")}};
  return {{Assign(K::cp_comm_type, types.front())}};
}

const Rule kRules[] = {
    {.id = "cp.comm-type-list-length",
     .area = "context-parallel",
     TRANSFORMER_CONFIG(3105),
     .reads = {K::context_parallel_size, K::cp_comm_type, K::num_layers},
     .when =
         [](F f) {
           const Value& types = f.value(K::cp_comm_type);
           return Split(f) && types.is_list() && !f.fork() &&
                  static_cast<int64_t>(types.list().size()) != f.num(K::num_layers);
         },
     .needs = "a cp_comm_type list has one entry per layer",
     .fix = OneTypeForAll},
    {.id = "cp.comm-type-type",
     .area = "context-parallel",
     TRANSFORMER_CONFIG(3110),
     .reads = {K::context_parallel_size, K::cp_comm_type},
     .when =
         [](F f) {
           const Value& types = f.value(K::cp_comm_type);
           // Of LoongForge's Hydra, which makes its config classes, no list is a list of Python's.
           const bool list = types.is_list() && !f.fork();
           return Split(f) && !types.is_none() && !list && !types.is_text();
         },
     .needs = "cp_comm_type is a name or a list of names",
     .fixes = {{{K::cp_comm_type, "p2p"}}}},
    {.id = "build.hybridcp-no-mla",
     .area = "context-parallel",
     .at = {Phase::kBuild, 685},
     .source = "Megatron-LM:megatron/core/transformer/multi_latent_attention.py:685",
     .core = {.since = 16},
     .reads = {K::hybrid_context_parallel, K::multi_latent_attention},
     .when = [](F f) { return !f.fork() && f.on(K::hybrid_context_parallel) && f.on(K::multi_latent_attention); },
     .needs = "multi-latent attention has no hybrid context parallelism; the first step stops",
     .fixes = {{{K::hybrid_context_parallel, false}}}},
};

}  // namespace

RuleList CoreContextParallelRules() { return kRules; }

}  // namespace flightplan
