// What a GPU system delivers, ready for the forecast: microseconds per floating point operation and per byte, from the
// catalogue's peaks and the coefficients of step_rates.yaml, or from a probe's profile where one was sent.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/catalog/step_rates.h"
#include "resolver/derive/candidate.h"
#include "resolver/plan/hardware.h"

namespace flightplan {

inline constexpr int kGemmPrecisions = 8;
inline constexpr int kDispatchers = 5;

// How far off each group of rates may be, relative. From the catalogue's coefficients, or from the measurement that
// replaced them.
struct RateErrors {
  std::array<double, kGemmPrecisions> gemm{};
  double attention = 0, memory = 0, exchange = 0, collective = 0, host = 0, optimizer = 0;
  double scan = 0.25;  // timed forward alone, unless a profile has both passes
};

// How a causal attention kernel's time per FLOP grows from that of a long sequence with heads of 128.
struct AttentionCurve {
  double sequence = 0;  // length at which it has doubled
  double small = 0;     // power of 128 over the size of a smaller head
  double wide = 1;      // factor of larger heads
};

struct GpuRates {
  bool known = false;  // false: the catalogue has no peak rates for this GPU, nothing can be forecast
  // Microseconds per FLOP of a large matrix product; 0: the GPU has no such units.
  std::array<double, kGemmPrecisions> gemm_us{};
  std::array<double, kGemmPrecisions> peak_us{};  // the same at the data sheet's peak: the floor of every bound
  // Sizes at which half of the rate is lost, relative to the coefficient's (the B200's bf16): faster units need larger
  // products.
  std::array<double, kGemmPrecisions> ridge{};
  std::array<double, kGemmPrecisions> quantize_bytes{};
  double attention_forward_us = 0, attention_backward_us = 0;
  AttentionCurve attention_forward, attention_backward;
  double memory_us = 0, permute_us = 0;  // per byte
  bool experts_wait_for_buffer = false;  // an expert's weight gradient for its buffer, as measured on Hopper
  double scan_us = 0;                    // forward, per token and element of the state
  bool scan_measured = false;            // by rows of a profile, both passes
  double indexer_us = 0;  // forward, per token, key and element of a sparse attention's indexer; 0: not measured
  double host_us = 0;     // per kernel launched eagerly
  // Per byte of one rank, inside the NVLink domain and over the network.
  std::array<double, kDispatchers> nvlink_us{}, network_us{};
  double collective_nvlink_us = 0, collective_network_us = 0;
  // False: GPUs meet over a network that no published step ran over; the shares of its bandwidth are those of RDMA.
  bool network_measured = true;
  double network_latency_us = 0;  // of one exchange that leaves the NVLink domain, on top of the backend's own
  double host_link_us = 0;
  double optimizer_us = 0;
  double deepep_sm_us = 0;  // per byte and SM
  double sm_count = 132;
  double domain_gpus = 8;
  double gpus_per_node = 8;
  RateErrors error;
  StepCoefficients k;
};

// One figure of a probe's profile: its name ("mm.dense", "hbm.copy"), value in its unit, and relative error.
struct ProbeFigure {
  absl::string_view name;
  double value = 0, error = 0;
};

// The evidence chain: what a probe measured on this GPU stands in place of the catalogue's rate, with its own error. A
// profile of the same GPU type from elsewhere is given with a larger error. Names that mean no rate are passed over.
GpuRates WithProfile(GpuRates rates, absl::Span<const ProbeFigure> figures);

inline constexpr double kAttentionBlockTokens = 4096;  // of one head: one block's work
inline constexpr double kAttentionWorkBack = 0.3;      // what a backward pass has of the forward's loss to few blocks

// Softmax attention by rows of a profile, of kernels that had `blocks` blocks' work.
struct ProbedAttention {
  double us_per_flop = 0, half_sequence = 0, error = 0, blocks = 0;
};
GpuRates WithAttention(GpuRates rates, const ProbedAttention& forward, const ProbedAttention& backward);

// The same GPUs beside an older x86 host.
GpuRates WithSlowHost(GpuRates rates);

// The same GPUs on AWS's Elastic Fabric Adapter instead of InfiniBand or RoCE.
GpuRates OverEfa(GpuRates rates);

GpuRates RatesOf(const GpuSystem& gpu, const StepCoefficients& coefficients = {});

}  // namespace flightplan
