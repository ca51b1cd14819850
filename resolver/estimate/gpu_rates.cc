#include "resolver/estimate/gpu_rates.h"

#include <algorithm>

namespace flightplan {
namespace {

constexpr double kMicro = 1e6;
// Where the size coefficients were measured: the B200's bf16 units against its memory.
constexpr double kReferenceRidge = 2250e12 * 0.5 / 8e12;

enum class Generation { kAmpere, kHopper, kBlackwell };

Generation GenerationOf(const GpuSystem& gpu) {
  if (gpu.cc_major >= 10) return Generation::kBlackwell;
  return gpu.cc_major == 9 ? Generation::kHopper : Generation::kAmpere;
}

// A Hopper whose tensor cores are cut to a fraction, and neither its power nor what feeds them: the H20.
bool IsCut(const GpuSystem& gpu) {
  constexpr double kOfAnSm = 4e12;  // bf16 FLOP/s; an H100's are 7.5
  const double sms = static_cast<double>(gpu.sm_count.value_or(0));
  return gpu.cc_major == 9 && gpu.bf16_flops_per_second.value_or(0) < kOfAnSm * sms;
}

// The share of its peak that a precision reaches; 0 where the units are missing.
double Share(const GpuSystem& gpu, GemmPrecision precision, const StepCoefficients& k) {
  const Generation generation = GenerationOf(gpu);
  if (IsCut(gpu) && precision <= GemmPrecision::kFp8Blockwise) return k.gemm_cut;
  const bool blackwell = generation == Generation::kBlackwell;
  switch (precision) {
    case GemmPrecision::kBf16:
    case GemmPrecision::kFp16:
    case GemmPrecision::kFp32:
      if (generation == Generation::kAmpere) return k.gemm_ampere_bf16;
      return blackwell ? k.gemm_blackwell_bf16 : k.gemm_hopper_bf16;
    case GemmPrecision::kFp8Delayed:
    case GemmPrecision::kFp8Tensorwise:
      return blackwell ? k.gemm_blackwell_fp8 : k.gemm_hopper_fp8;
    case GemmPrecision::kFp8Blockwise:
      return blackwell ? k.gemm_blackwell_fp8 : k.gemm_hopper_fp8_block;
    case GemmPrecision::kMxfp8:
      return blackwell ? k.gemm_blackwell_mxfp8 : 0;
    case GemmPrecision::kNvfp4:
      return blackwell ? k.gemm_blackwell_nvfp4 : 0;
  }
  return 0;
}

// Sustained clock under load against the first board of the generation.
double PowerOf(const GpuSystem& gpu, const StepCoefficients& k) {
  const bool superchip = gpu.gpus_per_node == 4 && gpu.cc_major >= 10;
  if (gpu.cc_major == 10 && gpu.cc_minor >= 3) return superchip ? k.power_gb300 : k.power_b300;
  return superchip ? k.power_gb200 : 1.0;
}

double PeakOf(const GpuSystem& gpu, GemmPrecision precision) {
  switch (precision) {
    case GemmPrecision::kBf16:
    case GemmPrecision::kFp16:
      return gpu.bf16_flops_per_second.value_or(0);
    case GemmPrecision::kFp32:  // TF32 units
      return gpu.bf16_flops_per_second.value_or(0) / 2;
    case GemmPrecision::kFp8Delayed:
    case GemmPrecision::kFp8Tensorwise:
    case GemmPrecision::kFp8Blockwise:
    case GemmPrecision::kMxfp8:
      return gpu.fp8_flops_per_second.value_or(0);
    case GemmPrecision::kNvfp4:
      return gpu.fp4_flops_per_second.value_or(0);
  }
  return 0;
}

double ErrorOf(double StepCoefficients::*field) {
  for (const CoefficientRow& row : kCoefficientRows) {
    if (row.field == field) return row.error;
  }
  return 0;
}

RateErrors CatalogErrors(Generation generation) {
  using K = StepCoefficients;
  RateErrors error;
  const bool blackwell = generation == Generation::kBlackwell;
  error.gemm.fill(ErrorOf(generation == Generation::kAmpere ? &K::gemm_ampere_bf16
                          : blackwell                       ? &K::gemm_blackwell_bf16
                                                            : &K::gemm_hopper_bf16));
  const auto set = [&](GemmPrecision precision, double K::*hopper, double K::*on_blackwell) {
    error.gemm[static_cast<size_t>(precision)] = ErrorOf(blackwell ? on_blackwell : hopper);
  };
  set(GemmPrecision::kFp8Delayed, &K::gemm_hopper_fp8, &K::gemm_blackwell_fp8);
  set(GemmPrecision::kFp8Tensorwise, &K::gemm_hopper_fp8, &K::gemm_blackwell_fp8);
  set(GemmPrecision::kFp8Blockwise, &K::gemm_hopper_fp8_block, &K::gemm_blackwell_fp8);
  set(GemmPrecision::kMxfp8, &K::gemm_hopper_fp8_block, &K::gemm_blackwell_mxfp8);
  set(GemmPrecision::kNvfp4, &K::gemm_hopper_fp8_block, &K::gemm_blackwell_nvfp4);
  error.attention = ErrorOf(blackwell ? &K::attention_backward_blackwell : &K::attention_backward_hopper);
  error.memory = ErrorOf(&K::memory_share) + 0.2 * ErrorOf(&K::quantize_fp8);  // a fifth of it is quantisation
  error.exchange = ErrorOf(&K::alltoall_network);
  error.collective = ErrorOf(&K::collective_network);
  error.host = ErrorOf(&K::host_us_x86);
  error.optimizer = ErrorOf(&K::optimizer_share);
  return error;
}

// `more`: what this board reaches against the first of its generation.
void SetAttention(double bf16, Generation generation, double more, const StepCoefficients& k, GpuRates* rates) {
  const bool blackwell = generation == Generation::kBlackwell;
  const double peak = bf16 * more;
  rates->attention_forward_us =
      kMicro / (peak * (blackwell ? k.attention_forward_blackwell : k.attention_forward_hopper));
  rates->attention_backward_us =
      kMicro / (peak * (blackwell ? k.attention_backward_blackwell : k.attention_backward_hopper));
  if (generation == Generation::kHopper) {
    // Transformer Engine takes cuDNN's kernels there. Head sizes: probe/ROWS.md, 64 and 192 by 128 against 128.
    constexpr double kWide = 1.12;
    rates->attention_forward = {k.attention_forward_half_hopper, 0.5, kWide};
    rates->attention_backward = {k.attention_backward_half_hopper, 0.36, kWide};
    return;
  }
  // Small heads spend more exponentials on each product: the kernel waits for them. Tiles on the diagonal are computed
  // whole and the first ones have little to stream; less so in the backward pass. measured_rates.yaml: 192-wide heads
  // in the backward pass.
  constexpr double kSmall = 0.75, kSequenceBack = 0.6, kWideBack = 1.2;
  rates->attention_forward = {k.attention_half_sequence, kSmall, 1.0};
  rates->attention_backward = {kSequenceBack * k.attention_half_sequence, kSmall, kWideBack};
}

double PerByte(double bytes_per_second) { return bytes_per_second > 0 ? kMicro / bytes_per_second : 0; }

}  // namespace

GpuRates RatesOf(const GpuSystem& gpu, const StepCoefficients& k) {
  GpuRates rates;
  rates.k = k;
  const double bf16 = gpu.bf16_flops_per_second.value_or(0), hbm = gpu.hbm_bytes_per_second.value_or(0);
  rates.known = bf16 > 0 && hbm > 0;
  if (!rates.known) return rates;
  const Generation generation = GenerationOf(gpu);
  rates.error = CatalogErrors(generation);
  const double power = PowerOf(gpu, k);
  const bool ultra = gpu.cc_major == 10 && gpu.cc_minor >= 3;
  for (int i = 0; i < kGemmPrecisions; ++i) {
    const auto precision = static_cast<GemmPrecision>(i);
    const auto at = static_cast<size_t>(i);
    const double ultra_nvfp4 = ultra && precision == GemmPrecision::kNvfp4 ? k.nvfp4_ultra : 1.0;
    const double peak = PeakOf(gpu, precision), rate = peak * Share(gpu, precision, k) * power * ultra_nvfp4;
    if (rate <= 0) continue;
    rates.gemm_us[at] = kMicro / rate;
    rates.peak_us[at] = kMicro / peak;
    rates.ridge[at] = rate / hbm / kReferenceRidge;
  }
  rates.quantize_bytes = {
      0, 0, 0, k.quantize_fp8, k.quantize_fp8, k.quantize_fp8_block, k.quantize_mxfp8, k.quantize_nvfp4};
  SetAttention(bf16, generation, ultra ? k.attention_ultra : IsCut(gpu) ? k.attention_cut : 1, k, &rates);
  constexpr double kScanSms = 148;  // of the B200
  rates.scan_us = k.scan_element_ps / kMicro * kScanSms / static_cast<double>(gpu.sm_count.value_or(kScanSms));
  rates.memory_us = PerByte(hbm * k.memory_share);
  rates.experts_wait_for_buffer = generation == Generation::kHopper;
  rates.permute_us = PerByte(hbm * k.permute_share);
  rates.optimizer_us = PerByte(hbm * k.optimizer_share);
  const bool grace = gpu.host_link == "NVLink-C2C";
  rates.host_us = grace ? k.host_us_grace : k.host_us_x86;
  const double nvlink = gpu.nvlink_bytes_per_second.value_or(0);
  double nic = gpu.nic_bytes_per_second.value_or(0);
  // To a card beside it a GPU gets over its own link to the host; a superchip's card has a link of its own.
  if (!grace) nic = std::min(nic, gpu.host_link_bytes_per_second.value_or(nic));
  constexpr double kMeasuredNic = 50e9;  // the shares of network bandwidth were measured at 400 Gbit/s and below
  if (nic > kMeasuredNic) nic = kMeasuredNic + (nic - kMeasuredNic) * k.network_above_400g;
  // Without NVLink, peers in a node meet over the host link.
  const double inside = nvlink > 0 ? nvlink : gpu.host_link_bytes_per_second.value_or(0) / 2;
  const double outside = nic > 0 ? nic : inside;
  for (int i = 0; i < kDispatchers; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto dispatcher = static_cast<Dispatcher>(i);
    const bool flex = dispatcher >= Dispatcher::kDeepEp;
    const double network = dispatcher == Dispatcher::kDeepEp ? k.deepep_network : k.hybridep_network;
    rates.nvlink_us[at] = PerByte(inside * (flex ? k.flex_nvlink : k.alltoall_nvlink));
    rates.network_us[at] = PerByte(outside * (flex ? network : k.alltoall_network));
  }
  rates.collective_nvlink_us = PerByte(inside * k.collective_nvlink);
  rates.collective_network_us = PerByte(outside * k.collective_network);
  rates.host_link_us = PerByte(gpu.host_link_bytes_per_second.value_or(32e9) * (grace ? 0.4 : 0.8));
  rates.deepep_sm_us = PerByte(k.deepep_sm_gb * 1e9);
  rates.sm_count = static_cast<double>(gpu.sm_count.value_or(132));
  rates.domain_gpus = static_cast<double>(std::max<int64_t>(1, gpu.nvlink_domain_gpus));
  rates.gpus_per_node = static_cast<double>(std::max<int64_t>(1, gpu.gpus_per_node));
  return rates;
}

GpuRates WithProfile(GpuRates rates, absl::Span<const ProbeFigure> figures) {
  // A probe's copy kernel is at the roof; what a layer's kernels reach of it is in the catalogue's share.
  constexpr double kKernelsOfCopy = 0.75;
  for (const ProbeFigure& figure : figures) {
    if (!(figure.value > 0)) continue;
    if (figure.name == "mm.dense") {  // TFLOP/s, of bf16; clocks and power are the same for every precision
      const double by = 1 / figure.value / kMicro / rates.gemm_us[static_cast<size_t>(GemmPrecision::kBf16)];
      for (double& us : rates.gemm_us) us *= by;
      rates.error.gemm[static_cast<size_t>(GemmPrecision::kBf16)] = figure.error;
    } else if (figure.name == "hbm.copy") {  // GB/s
      rates.memory_us = PerByte(figure.value * 1e9 * kKernelsOfCopy);
      rates.error.memory = figure.error + 0.03;
    } else if (figure.name == "permute.fwd") {  // GB/s
      rates.permute_us = PerByte(figure.value * 1e9);
    } else if (figure.name == "offload.d2h") {  // GB/s
      rates.host_link_us = PerByte(figure.value * 1e9);
    }
  }
  return rates;
}

GpuRates WithAttention(GpuRates rates, const ProbedAttention& forward, const ProbedAttention& backward) {
  rates.attention_forward_us = forward.us_per_flop / (1 + rates.k.attention_half_work / forward.blocks);
  rates.attention_backward_us =
      backward.us_per_flop / (1 + kAttentionWorkBack * rates.k.attention_half_work / backward.blocks);
  rates.attention_forward.sequence = forward.half_sequence;
  rates.attention_backward.sequence = backward.half_sequence;
  rates.error.attention = std::max(forward.error, backward.error);
  return rates;
}

GpuRates WithSlowHost(GpuRates rates) {
  rates.host_us *= rates.k.host_slow;
  return rates;
}

GpuRates OverEfa(GpuRates rates) {
  rates.network_latency_us = rates.k.efa_latency_us;
  for (const Dispatcher flex : {Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kNcclEp})
    rates.network_us[static_cast<size_t>(flex)] /= rates.k.efa_flex;
  return rates;
}

}  // namespace flightplan
