// SwiGLU and RMS norm: bound by memory, and recomputed where memory is short.
#pragma once

#include "probe/kernels/gpu.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {

enum class Elementwise { kSwiglu, kSwigluGrad, kNorm };

// A row `id` in bytes per second, or in microseconds where the table of rows says so.
std::unique_ptr<Experiment> MakeElementwise(Gpu& gpu, Elementwise kind, const std::string& id, const MoeShape& shape);

// out[row, f] = silu(in[row, f]) * in[row, F + f] * probs[row].
Status LaunchSwiglu(cudaStream_t stream, const Bf16* in, const float* probs, int64_t rows, int ffn, Bf16* out);
// Its gradient: of the input into out [rows][2 ffn], of the probabilities into probs_grad.
Status LaunchSwigluGrad(cudaStream_t stream, const Bf16* grad, const Bf16* in, const float* probs, int64_t rows,
                        int ffn, Bf16* out, float* probs_grad);
// out = in / rms(in) * weight, over rows of `hidden`, a multiple of 8 and at most 8192.
Status LaunchNorm(cudaStream_t stream, const Bf16* in, const float* weight, int64_t rows, int hidden, Bf16* out);

}  // namespace flightplan::probe
