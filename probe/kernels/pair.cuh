// The micro-step of one layer pair: forward of one microbatch, backward of another, as Megatron's combined 1F1B
// schedule queues them (NVIDIA/Megatron-LM@d98e8a64dd models/common/model_chunk_schedule_plan.py:261-301).
#pragma once

#include <memory>

#include "probe/fit/pair.h"
#include "probe/kernels/dispatch.cuh"
#include "probe/kernels/exchange.cuh"
#include "probe/kernels/gemm.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {

inline constexpr int kPairTokens = 2048;  // of one microbatch, so that all that both need fits the cap on memory

// Everything that the nodes of both microbatches work on. The core of attention is stood in for by a GEMM of its FLOPs;
// exchanges are paced to the link's rate on `sms` SMs.
class LayerPair {
 public:
  Status Allocate(Gpu& gpu, int sms);

  // One node, without synchronisation. `with_wgrad`: the node's weight gradients are part of it.
  Status Node(fit::PairNode node, cudaStream_t stream, bool with_wgrad);
  Status Sequential(cudaStream_t stream);
  // The experts' backward with every weight gradient right behind the input gradient of its layer, as it is without
  // delayed weight gradients; or with both at the end.
  Status ExpertsBackward(cudaStream_t stream, bool apart);
  // Compute on `compute`, exchanges on `exchange`; both are joined on `compute` at the end.
  Status Overlapped(cudaStream_t compute, cudaStream_t exchange, const fit::PairSchedule& schedule);

 private:
  Status Queue(fit::PairNode node, cudaStream_t stream, bool with_wgrad);
  Status PreForward(cudaStream_t stream);
  Status PreBackward(cudaStream_t stream);
  Status MlpForward(cudaStream_t stream);
  Status MlpBackward(cudaStream_t stream);

  Gpu* gpu_ = nullptr;
  MoeShape shape_;
  Exchange exchange_;
  RowBuffers rows_;
  Bf16* wide_ = nullptr;  // [rows][2 ffn]
  Bf16* narrow_ = nullptr;
  float *probs_ = nullptr, *weight_ = nullptr;
  Gemms qkv_, core_, project_, qkv_grad_, project_grad_, qkv_weights_, project_weights_;
  Gemms fc1_, fc2_, fc1_grad_, fc2_grad_, fc1_weights_, fc2_weights_;
  cudaEvent_t forward_chain_ = nullptr, backward_chain_ = nullptr, end_ = nullptr;
};

// Every node alone and every schedule, with exchanges on `sms` SMs: pair.*, corun.queues.
std::unique_ptr<Experiment> MakePairSteps(Gpu& gpu, int sms);
std::unique_ptr<Experiment> MakeWgradSplit(Gpu& gpu);  // wgrad.split

}  // namespace flightplan::probe
