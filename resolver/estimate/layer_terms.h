// What every module of a layer is made of: matrix products, memory traffic and the collectives of tensor and context
// parallelism, of one microbatch of a candidate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "resolver/estimate/layer_modules.h"

namespace flightplan {

class LayerTerms {
 public:
  LayerTerms(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

  // What a product loses at its edges: operands are read once for all output columns, and each output is written after
  // `in` products have been added to it, which the next tile does not hide. A weight gradient adds the rows of one
  // weight, `summed`, to the gradient buffer, which it reads and writes. `few`: lost besides, by an expert's few rows.
  Products ProductsOf(double rows, double in, double out, size_t precision, double summed, double few = 0) const {
    const double columns = k_.gemm_half_out * rates_.ridge[precision],
                 depth = k_.gemm_half_in * rates_.ridge[precision];
    const double us = 2 * rows * in * out * rates_.gemm_us[precision], by_in = 1 / in, by_out = 1 / out;
    return {us * (1 + few + columns * by_out + depth * by_in), us * (1 + few + columns * by_in + depth * by_out),
            us * (1 + columns * by_out + depth * written_ / summed) * weight_gradient_};
  }

  // Of experts. Where the products wait for the gradient buffer, it is read and written for each expert, however few
  // its rows are, and many rows hide most of that. Nothing is fitted: the buffer goes at the rate of elementwise
  // kernels. gemm.wgrad in the recorded profiles of H100 and H200, 40 rows with 16 to 8192 rows an expert: off by 21 %
  // in the middle, by 54 without. On the B200 (measured_rates.yaml grouped) the general form is nearer.
  Products ExpertProductsOf(double rows, double in, double out, size_t precision, double per_expert) const {
    const double few = k_.gemm_half_rows_grouped * rates_.ridge[precision] / per_expert;
    const double grouped = plan_.grouped_gemm ? 1 / k_.gemm_grouped : 1;
    Products us = ProductsOf(rows, in, out, precision, per_expert, few);
    us = {us.fwd * grouped, us.bwd * grouped, us.wgrad * grouped};
    if (!rates_.experts_wait_for_buffer) return us;
    const double alone = 2 * rows * in * out * rates_.gemm_us[precision] * weight_gradient_ * grouped *
                         (1 + k_.gemm_half_out * rates_.ridge[precision] / out);
    const double buffer = rows / per_expert * in * out * 2 * kBf16Bytes * written_ * rates_.memory_us;
    const double sum = alone * std::sqrt(alone) + buffer * std::sqrt(buffer);
    us.wgrad = std::cbrt(sum * sum);
    return us;
  }

  // One linear layer: forward, input gradient, weight gradient, and the casts in front of them.
  void AddLinear(const Linear& linear, size_t precision, Module* module) const;

  // The adapters beside the layers of `targets`.
  void AddAdapters(const AdapterSites& sites, unsigned targets, Module* module) const;
  // One that runs over so many rows. The widths are a GPU's own: of its input, of its output, and of what lies between
  // its two products on either side. `per_expert`: rows of one of several adapters; 0: there is one.
  void AddAdapter(double rows, double in, double out, double first_inner, double second_inner, double per_expert,
                  Module* module) const;
  // What DoRA adds to one.
  void AddMagnitude(const AdapterSite& site, Module* module) const;
  bool Frozen() const { return plan_.adapters.any(); }

  // Gather before the column-parallel layer and reduction after the row-parallel one (or two all-reduces).
  void AddTensorParallel(Module* module) const;

  // Attention's own kernels, between its linear layers, with the exchanges of context parallelism.
  void AddSoftmax(const AttentionWork& work, Module* module) const;
  // The same of sparse attention, and its indexer.
  void AddSparse(const AttentionWork& work, Module* module) const;
  void AddScan(const AttentionWork& work, Module* module) const;
  // A scan's state runs along the whole sequence, so its ranks exchange the sequence for heads, and back.
  void AddScanExchange(const AttentionWork& work, Module* module) const;

  void AddMemory(double fwd_bytes, double bwd_bytes, Module* module) const {
    module->fwd.memory += fwd_bytes * rates_.memory_us;
    module->bwd.memory += bwd_bytes * rates_.memory_us;
  }

 protected:
  const ModelWork& work_;
  const Candidate& plan_;
  const GpuRates& rates_;
  const StepCoefficients& k_;
  const double t_, h_;
  const Microbatch batch_;
  const double tokens_, local_;   // of `batch_`
  const double quantize_us_;      // of a value that is cast
  const double written_;          // of a weight gradient, in 16-bit values
  const double weight_gradient_;  // its time, in that of another product

 private:
  void AddIndexer(const AttentionWork& work, bool fused, double target_us, Module* module) const;
  double OperandBytes() const;
  // Attention whose scores are a tensor, in place of a kernel that has them tile by tile.
  void AddScores(const AttentionWork& work, Module* module) const;
  void AddCasts(const AttentionWork& work, Module* module) const;
  // Ring (p2p): keys and values pass every rank beside the blocks' attention. All-to-all: heads are spread instead,
  // once there and once back, before and after the kernel. Both: all-to-all inside the NVLink domain, the ring between
  // domains.
  void AddContextParallel(const AttentionWork& work, Module* module) const;
  // Ranks that keys and values pass one by one, each with kernels of its own; 1: none.
  double RingRanks() const;
  // Of one all-to-all, as far as heads and groups divide by them; not said: those of the NVLink domain.
  double RanksInside() const {
    const double most = plan_.cp_inside > 0 ? plan_.cp_inside : std::floor(rates_.domain_gpus / t_);
    return std::clamp(most, 1.0, static_cast<double>(plan_.cp));
  }
  double LinkUs(double span) const {
    return span <= rates_.domain_gpus ? rates_.collective_nvlink_us : rates_.collective_network_us;
  }
};

}  // namespace flightplan
