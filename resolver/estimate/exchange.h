// The exchange of tokens between expert-parallel ranks: bytes each backend moves inside an NVLink domain and over the
// network, and how long that takes.
#pragma once

#include "resolver/estimate/gpu_rates.h"
#include "resolver/estimate/work.h"

namespace flightplan {

struct ExchangeWork {
  double dispatch_us = 0, combine_us = 0;
  double inside_share =
      1;  // of the time, what the NVLink domain takes: that part competes with compute for SMs and HBM
  double permute_bytes = 0, unpermute_bytes = 0;  // memory-bound work around the exchange, of one direction
  bool permutes_before = false;                   // in front of the exchange (alltoall), else behind it
  double kernels = 0;                             // of permutation, exchange and back, of one direction
  double preprocess_kernels = 0;                  // of them, what the preprocess graph scope captures
};

// Expected number of distinct groups among `groups` that hold one of a token's `topk` experts, with balanced routing.
// As DeepEP sizes its kernels: deepseek-ai/DeepEP@dd758caf45 deep_ep/buffers/elastic.py:770-778.
double DistinctGroups(double groups, double experts, double topk);

// SMs that a running exchange keeps from the compute beside it: the plan's, or its library's default; of HybridEP no
// fewer than were published with it, where the plan says them.
double ExchangeSms(const Candidate& plan, bool crosses_domain);

// `tokens` of this rank, rows of `width` values; `rows` arrive.
ExchangeWork ExchangeOf(const Candidate& plan, const GpuRates& rates, double tokens, const MlpWork& mlp, double width,
                        double rows);

}  // namespace flightplan
