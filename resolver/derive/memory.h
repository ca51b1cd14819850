// Memory of one GPU of each pipeline stage, by part, from closed formulas: what is counted exactly (parameters,
// gradients, optimizer state), what is modelled (activations by what each module keeps for its backward pass, what is
// live for a moment at the peak) and what is allowed for (context, communicators, graphs). Bytes are bytes. Nothing
// here allocates; the bands and the verdict are estimate/memory's.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/layer_bytes.h"
#include "resolver/derive/rank_parameters.h"
#include "resolver/derive/schedule.h"
#include "resolver/derive/shape.h"

namespace flightplan {

enum class MemoryPart : uint8_t {
  kParameters,
  kGradients,
  kOptimizerState,
  kAttention,      // kept for backward: norms and residual stream before it, projections, the attention itself
  kDenseMlp,       // kept: the norm before it and the MLP, shared experts too
  kExperts,        // kept: router, dispatched tokens, routed experts
  kLoss,           // logits, their gradient, the loss and the final norm
  kBackward,       // live while one layer runs backward: gradients, what recompute brings back, gathered inputs
  kOptimizerStep,  // live during the optimizer's step, where that is the peak
  kWeightScratch,  // weight gradients written elsewhere, quantized copies in gather buffers
  kWorkspaces,     // GEMM and attention workspaces
  kDispatch,       // a flex dispatcher's registered buffers
  kGraphs,         // CUDA graphs: pools and static buffers
  kCommunicators,  // NCCL
  kContext,        // CUDA context and loaded kernels
  kFragmentation,  // reserved by the allocator beyond what is allocated
};
inline constexpr size_t kMemoryParts = 16;

enum class Certainty : uint8_t { kExact, kModel, kMargin };

absl::string_view Name(MemoryPart part);  // "optimizer_state"
Certainty CertaintyOf(MemoryPart part);

struct StageBytes {
  std::array<double, kMemoryParts> parts{};
  double& operator[](MemoryPart part) { return parts[static_cast<size_t>(part)]; }
  double operator[](MemoryPart part) const { return parts[static_cast<size_t>(part)]; }
  // What PyTorch reports as its peak: max_memory_allocated.
  double Allocated() const;
  // What the device must have free for it.
  double Total() const;
  // Parameters, gradients and optimizer state.
  double Static() const;
};

// What of the GPU the formulas need.
struct MemoryDevice {
  int cc_major = 0;            // compute capability; 0: unknown, the larger number of weight copies is taken
  int nvlink_domain_gpus = 8;  // GPUs that share one NVLink domain
};

// The formulas of one candidate, with everything filled in that does not depend on the stage.
class MemoryModel {
 public:
  // Shape and candidate must outlive the model.
  MemoryModel(const ModelShape& shape, const Candidate& candidate, const MemoryDevice& device);

  StageBytes Stage(int rank) const;
  // The fullest of the stages that can be the fullest; `rank` says which.
  StageBytes Fullest(int* rank) const;
  // Parameters, gradients and optimizer state of the fullest stage: no forecast of this candidate is below it, whatever
  // its recompute, offload of activations, dispatcher or graphs.
  double StaticBytes() const;
  // Parameters whose optimizer state one GPU of the stage keeps on the host.
  double ParametersOnHost(int rank) const;
  const LayerBytes& layer(int kind) const { return layers_[static_cast<size_t>(kind)]; }

 private:
  // Parameters on one GPU of a stage.
  struct Parameters : RankParameters {
    double widest = 0;  // of the largest layer, whole: what FSDP gathers
    AdapterParameters adapters;
  };
  // Those that are trained: they alone have gradients and optimizer state.
  AdapterParameters TrainedOf(const Parameters& parameters) const;
  // Of them those whose optimizer state the rank keeps.
  AdapterParameters OwnedOf(const Parameters& parameters) const;
  AdapterParameters MomentsOf(const Parameters& parameters) const;  // those that the optimizer holds moments for
  double OwnedVocabulary(const Parameters& parameters) const;       // of OwnedOf, embedding and output matrix
  // What a rank keeps and needs beside its parameters.
  struct Activity {
    double attention = 0, mlp = 0, experts = 0;  // kept at the peak
    double loss = 0, backward = 0;
    double captured = 0;  // of the kept bytes, those that graphs hold on to between steps
    double in_flight_layers = 0;
  };
  Parameters ParametersOf(int rank) const;
  Activity ActivityOf(int rank) const;
  void AddStatic(const Parameters& parameters, StageBytes* bytes) const;
  void AddKept(const ChunkContents& chunk, LayerBytes* kept, double* offloaded) const;
  double StepBytes(const Parameters& parameters) const;
  void AddScratch();
  double WeightScratch(int rank) const;
  double LossBytes() const;
  double DeferredBytes() const;
  double DispatchBytes() const;
  int Communicators() const;

  const ModelShape& s_;
  const Candidate& c_;
  MemoryDevice device_;
  Schedule schedule_;
  double dense_group_ = 1, expert_group_ = 1;  // ranks of an instance of the optimizer
  double vocab_ = 0;                           // padded
  double layer_input_ = 0;                     // LayerInputBytes
  double stream_bytes_ = 0;                    // of the residual stream of a microbatch
  double dispatch_bytes_ = 0;
  double communicators_ = 0;
  std::array<LayerBytes, kMaxLayerKinds> layers_{};
  // Weights of distinct shapes, in scalars, each with the kinds of layers that have it, a bit for a kind.
  struct Shape {
    unsigned kinds = 0;
    double weights = 0;
  };
  std::array<Shape, 9> scratch_{};
  size_t scratch_count_ = 0;
  double head_scratch_ = 0;                                   // of the output layer's weight
  std::array<AdapterParameters, kMaxLayerKinds> adapters_{};  // on one GPU, of a layer of each kind
};

}  // namespace flightplan
