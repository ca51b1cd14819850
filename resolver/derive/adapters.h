// Low-rank adapters (LoRA) beside frozen weights: which linear layers have one, and how large they are. Facts of
// Megatron-Bridge@067f987df: peft/lora.py:195 (which class of adapter), peft/module_matcher.py:128 (which layers),
// peft/utils.py:996 (both matrices are split over the tensor-parallel ranks).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "resolver/derive/shape.h"
#include "resolver/plan/config.h"

namespace flightplan {

// The layers that have an adapter, by their names in Megatron-Core.
enum AdapterTarget : uint16_t {
  kAdaptQkv = 1u << 0,       // linear_qkv
  kAdaptProj = 1u << 1,      // linear_proj
  kAdaptFc1 = 1u << 2,       // linear_fc1 of a dense MLP and of shared experts
  kAdaptFc2 = 1u << 3,       // linear_fc2 of these
  kAdaptExperts = 1u << 4,   // linear_fc1 and linear_fc2 of routed experts, as far as those two are named
  kAdaptQ = 1u << 5,         // linear_q_proj, of latent attention without a query rank
  kAdaptQDown = 1u << 6,     // linear_q_down_proj
  kAdaptQUp = 1u << 7,       // linear_q_up_proj
  kAdaptKvDown = 1u << 8,    // linear_kv_down_proj
  kAdaptKvUp = 1u << 9,      // linear_kv_up_proj
  kAdaptInProj = 1u << 10,   // in_proj, of Mamba and linear attention
  kAdaptOutProj = 1u << 11,  // out_proj of these
  kAdaptOutput = 1u << 12,   // output_layer
};

struct Adapters {
  int32_t rank = 0;               // 0: there are none, and all weights are trained
  int32_t expert_rank = 0;        // of the routed experts
  uint16_t targets = 0;           // AdapterTarget bits
  bool magnitudes = false;        // DoRA: a trained scale of each output (peft/dora_layers.py:36)
  bool split = false;             // canonical: q, k and v have one each, gate and up too (peft/canonical_lora.py:334)
  bool shared_by_experts = true;  // one for all experts of a rank
  bool inner_whole = false;       // the matrix at the unsplit side of a layer is whole on every rank (mcore-bridge)
  bool regather = false;          // the input of a column-parallel layer is kept split and gathered again
  bool dropout = false;           // in front of it: a copy of its input, and a mask
  bool any() const { return rank > 0; }
  bool at(unsigned target) const { return rank > 0 && (targets & target) != 0; }
};

// The adapters that a configuration trains instead of its weights.
Adapters AdaptersOf(const Config& config);

// What of them no formula has, a phrase: "adapters of single layers". Empty: nothing.
std::string AdaptersNotModelled(const Config& config);

// A linear layer that may have one, as a single GPU would have it.
struct AdapterSite {
  uint16_t target = 0;
  double in = 0, out = 0;
  bool row = false;  // split along `in`
};

// Those of one kind of layers.
struct AdapterSites {
  std::array<AdapterSite, 9> all{};
  int count = 0;
  double experts = 0;                     // routed experts of the layer
  double expert_fc1 = 0, expert_fc2 = 0;  // of one of them: input and output of the layer together
};
AdapterSites AdapterSitesOf(const ModelShape& shape, const LayerKind& kind);
// How many adapters stand at a layer, each with its part of the outputs.
int PartsOf(unsigned target, const Adapters& adapters);

// Parameters on one GPU.
struct AdapterParameters {
  double dense = 0, expert = 0;
};
AdapterParameters AdapterParametersOf(const AdapterSites& sites, const Adapters& adapters, double tp, double ep,
                                      double etp);
// Of the adapter beside the output layer.
double OutputAdapterParameters(const Adapters& adapters, double hidden, double vocabulary, double tp);

}  // namespace flightplan
