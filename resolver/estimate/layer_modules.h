// What the modules of one layer do with one microbatch, whatever is computed again: attention, MLP or experts, router
// and exchange, each with its forward, its backward and its weight gradients.
#pragma once

#include <cstddef>

#include "resolver/estimate/exchange.h"
#include "resolver/estimate/gpu_rates.h"
#include "resolver/estimate/work.h"

namespace flightplan {

// One direction of one module for one microbatch: microseconds by kind of work, and kernels the host launches.
struct Load {
  double matmul = 0, attention = 0, memory = 0, transfer = 0, kernels = 0;
  double context = 0;                            // of transfer: context parallelism; the rest is tensor parallelism
  double hidden_tensor = 0, hidden_context = 0;  // transfers beside compute, in none of the above

  double gpu() const { return matmul + attention + memory; }
  Load& operator+=(const Load& other) {
    matmul += other.matmul;
    attention += other.attention;
    memory += other.memory;
    transfer += other.transfer;
    kernels += other.kernels;
    context += other.context;
    hidden_tensor += other.hidden_tensor;
    hidden_context += other.hidden_context;
    return *this;
  }
};

void AddScaled(const Load& load, double by, Load* to);

// A module: its forward, its backward without and with the weight gradients' part.
struct Module {
  Load fwd, bwd, wgrad;
};

// Matrix products of one linear layer, microseconds: forward, input gradient, weight gradient.
struct Products {
  double fwd = 0, bwd = 0, wgrad = 0;
  double all() const { return fwd + bwd + wgrad; }
};

// Tokens of one microbatch on a rank, and the precision of its products.
struct Microbatch {
  Microbatch(const Candidate& plan, const GpuRates& rates);
  double tokens = 0;     // of a TP group's ranks
  double local = 0;      // where sequence parallelism splits them
  size_t precision = 0;  // bf16's where the GPU has no units for the one that is asked for
};

struct LayerModules {
  Module attention;
  Load mla_up;          // the up projection of latent attention alone, forward; of others nothing
  Load norms;           // the layer's norms alone, forward
  Load streams;         // what hyper-connections do to its residual streams, forward
  bool routed = false;  // experts, else a dense MLP or none
  Module mlp;           // dense, with its norm
  Module experts, shared;
  Load pre, pre_bwd, pre_wgrad;  // router and permutation in front of the experts
  // Memory traffic beside the experts, beside what is in front of them, and on the exchange's own stream.
  double beside_experts_us = 0, on_exchange_us = 0;
  double permute_us = 0;  // of `pre` and `pre_bwd`: the permutation
  double permute_kernels = 0;
  double activation_us = 0;  // of the experts, forward
  ExchangeWork exchange;
  double shared_hidden_us = 0;  // of the exchange, beside the shared experts
  // All of the above.
  Load fwd, bwd;
  double captured_fwd = 0, captured_bwd = 0;  // kernels of them inside CUDA graphs
};

// `precision`: of its products, an index of GpuRates::gemm_us.
LayerModules ModulesOf(const LayerWork& layer, size_t precision, const ModelWork& work, const Candidate& plan,
                       const GpuRates& rates);

// Times the exchange of a layer's modules anew: nothing else of them hangs on the rates of exchanges and on its SMs.
void TimeExchange(const LayerWork& layer, const ModelWork& work, const Candidate& plan, const GpuRates& rates,
                  LayerModules* modules);

// Output layer and loss, for the main head and each MTP depth.
Module HeadOf(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

// The projection of two hidden states to one, of an MTP depth.
Products JoinOf(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

// A graph's nodes follow each other without a launch between them. Microseconds: ramp, tail and gap of a kernel.
double KernelUs(const Candidate& plan, const GpuRates& rates);

}  // namespace flightplan
