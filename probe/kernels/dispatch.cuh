// Kernels of the dispatch group that the micro-step of a layer pair uses too. Rows are `hidden` bf16 numbers, a
// multiple of 8; the map holds the row of every (token, k), k < topk.
#pragma once

#include "probe/kernels/gpu.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {

struct RowBuffers {
  uint4* tokens = nullptr;    // [token][hidden]
  uint4* rows = nullptr;      // [token * k][hidden]
  uint4* rows_out = nullptr;  // as rows
  const int* map = nullptr;
  const float* probs = nullptr;
  float* probs_out = nullptr;
  int token_count = 0, hidden = 0;
  int topk = 8;  // of kTopks
};

Status LaunchPermute(cudaStream_t stream, const RowBuffers& b);                   // tokens to rows
Status LaunchCombine(cudaStream_t stream, const RowBuffers& b, bool with_probs);  // rows to tokens
Status LaunchCombineGrad(cudaStream_t stream, const RowBuffers& b);               // tokens and rows to rows_out

}  // namespace flightplan::probe
