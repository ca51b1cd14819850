// What the caller wants, complete and checked for meaning, in our own types: the first phase of the pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/hardware_profile.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/model.h"

namespace flightplan {

class ProbeEvidence;      // resolver/evidence
struct FittedProfile;     // resolver/evidence
struct ModelShape;        // resolver/derive
struct StageLayout;       // resolver/derive
struct StepCoefficients;  // resolver/catalog

// How much of an answer is worked out, from little to all.
enum class View { kVerdict, kBasic, kFull };
enum class Stage { kBringUp, kTune, kProduction };
enum class Objective { kTraining, kBenchmark };
enum class HostCpuClass { kUnknown, kX86Fast, kX86Slow, kArm };
enum class Wall { kUnknown, kMemory, kCommunication, kHost, kCompute };
enum class Precision { kBf16, kFp16, kFp8Tensorwise, kFp8Blockwise, kFp8Delayed, kMxfp8, kNvfp4 };

// Unset: open.
struct LayoutWish {
  std::optional<int64_t> tensor_model_parallel_size;
  std::optional<int64_t> pipeline_model_parallel_size;
  std::optional<int64_t> virtual_pipeline_model_parallel_size;  // 1: no interleaving
  std::optional<int64_t> context_parallel_size;
  std::optional<int64_t> expert_model_parallel_size;
  std::optional<int64_t> expert_tensor_parallel_size;
  std::optional<int64_t> micro_batch_size;
  std::optional<std::string> pipeline_model_parallel_layout;
  std::optional<bool> sequence_parallel;
};

// The sizes of a layout: each knob beside the wish for it.
struct SizeWish {
  Knob knob;
  std::optional<int64_t> LayoutWish::*wish;
};
inline constexpr SizeWish kSizeWishes[] = {
    {Knob::tensor_model_parallel_size, &LayoutWish::tensor_model_parallel_size},
    {Knob::pipeline_model_parallel_size, &LayoutWish::pipeline_model_parallel_size},
    {Knob::virtual_pipeline_model_parallel_size, &LayoutWish::virtual_pipeline_model_parallel_size},
    {Knob::context_parallel_size, &LayoutWish::context_parallel_size},
    {Knob::expert_model_parallel_size, &LayoutWish::expert_model_parallel_size},
    {Knob::expert_tensor_parallel_size, &LayoutWish::expert_tensor_parallel_size},
    {Knob::micro_batch_size, &LayoutWish::micro_batch_size},
};

struct Workload {
  int64_t seq_length = 0;
  int64_t global_batch_size = 0;
  Precision precision = Precision::kBf16;
  Objective objective = Objective::kTraining;
  std::optional<int64_t> train_iters;
};

// What of it a pin may say: each knob beside its place here.
struct WorkloadSize {
  Knob knob;
  int64_t Workload::*size;
};
inline constexpr WorkloadSize kWorkloadSizes[] = {{Knob::seq_length, &Workload::seq_length},
                                                  {Knob::global_batch_size, &Workload::global_batch_size}};

// Shares of the step time, 0..1.
struct MeasuredProfile {
  std::optional<double> step_time_us;
  std::optional<double> exposed_communication_ratio;
  std::optional<double> exposed_all_to_all_ratio;
  std::optional<double> host_gap_ratio;
  std::optional<double> pipeline_bubble_ratio;
  std::optional<int64_t> memory_high_water_bytes;
  Wall wall = Wall::kUnknown;
};

struct NormalizedIntent {
  ModelSpec model;
  std::shared_ptr<const ModelShape> shape;  // of the model as it is, where that was made before; null: not yet
  // Of the plan that a fix is tried on, taken over where the fix leaves the stages alone; null: there is none.
  std::shared_ptr<const StageLayout> known_stages;
  GpuSystem gpu;          // the catalogue's system with the site's overrides applied
  std::string transport;  // between nodes; empty: unknown
  HostCpuClass host_cpu = HostCpuClass::kUnknown;
  int64_t gpu_count = 0;
  Workload workload;
  Environment env;  // target, releases, libraries, capabilities, variables, GPU facts, world size
  Stage stage = Stage::kProduction;
  LayoutWish layout;
  std::vector<std::pair<Knob, Value>> pins;              // the caller's word: never changed; sorted by knob
  std::optional<MeasuredProfile> profile;                // of a real run
  std::shared_ptr<const FittedProfile> sent_profile;     // a probe's, sent with the question; null: none
  std::shared_ptr<const ProbeEvidence> probe;            // of the GPU; null: the catalogue's rates
  std::shared_ptr<const StepCoefficients> coefficients;  // of step forecasts; null: the catalogue's
  std::vector<std::string> dialects;
  View view = View::kFull;
  std::vector<Finding> findings;  // about the request itself, such as an unknown framework version
};

}  // namespace flightplan
