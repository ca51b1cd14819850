#include "resolver/normalize/workload_message.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/normalize/request_bounds.h"

namespace flightplan {
namespace {

constexpr std::pair<v1::Objective, Objective> kObjectives[] = {{v1::OBJECTIVE_UNSPECIFIED, Objective::kTraining},
                                                               {v1::OBJECTIVE_TRAINING, Objective::kTraining},
                                                               {v1::OBJECTIVE_BENCHMARK, Objective::kBenchmark}};

struct PrecisionName {
  const char* name;
  Precision precision;
};
constexpr PrecisionName kPrecisions[] = {{"bf16", Precision::kBf16},
                                         {"fp16", Precision::kFp16},
                                         {"fp8_cs", Precision::kFp8Tensorwise},
                                         {"fp8_tensorwise", Precision::kFp8Tensorwise},
                                         {"fp8_block", Precision::kFp8Blockwise},
                                         {"fp8_sc", Precision::kFp8Blockwise},
                                         {"fp8_blockwise", Precision::kFp8Blockwise},
                                         {"fp8_ds", Precision::kFp8Delayed},
                                         {"fp8_delayed", Precision::kFp8Delayed},
                                         {"mxfp8", Precision::kMxfp8},
                                         {"fp8_mx", Precision::kMxfp8},
                                         {"nvfp4", Precision::kNvfp4}};

Precision ReadPrecision(const std::string& name, Precision unsaid, Violations* violations) {
  if (name.empty()) return unsaid;
  for (const PrecisionName& entry : kPrecisions) {
    if (name == entry.name) return entry.precision;
  }
  violations->Add("workload.precision",
                  absl::StrCat("'", Utf8Prefix(name, kMaxNameBytes),
                               "' is not known; use bf16, fp16, fp8_cs, fp8_block, fp8_ds, mxfp8 or nvfp4"));
  return unsaid;
}

}  // namespace

Workload WorkloadFromMessage(const v1::Workload& message, Violations* violations) {
  Workload workload;
  workload.seq_length = message.seq_length();
  workload.global_batch_size = message.global_batch_size();
  CheckRange("workload.seq_length", workload.seq_length, kMaxSeqLength, violations);
  CheckRange("workload.global_batch_size", workload.global_batch_size, kMaxBatchSize, violations);
  if (message.has_train_iters()) {
    workload.train_iters = message.train_iters();
    CheckRange("workload.train_iters", *workload.train_iters, int64_t{1} << 40, violations);
  }
  workload.precision = ReadPrecision(message.precision(), workload.precision, violations);
  workload.objective =
      ReadEnum(message.objective(), kObjectives, Objective::kTraining, "workload.objective", violations);
  return workload;
}

std::vector<absl::string_view> PrecisionNames() {
  std::vector<absl::string_view> names;
  for (const PrecisionName& row : kPrecisions) names.emplace_back(row.name);
  return names;
}

}  // namespace flightplan
