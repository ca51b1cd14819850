// What Flightplan knows (models, GPU systems, knobs, rules) as messages. One implementation for the server's
// CatalogService and for the flightplan binary in process, so that both give the same answer.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/model.h"
#include "resolver/rules/rule.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class GetGpuRequest;
class GetKnobRequest;
class GetModelRequest;
class GetRuleRequest;
class GpuSystem;
class ImportModelRequest;
class KnobInfo;
class ListGpusRequest;
class ListGpusResponse;
class ListKnobsRequest;
class ListKnobsResponse;
class ListModelsRequest;
class ListModelsResponse;
class ListRulesRequest;
class ListRulesResponse;
class ModelSpec;
class RuleInfo;
}  // namespace v1

class Catalog;
struct Record;

inline constexpr int kDefaultPageSize = 100;
inline constexpr int kMaxPageSize = 1000;

// Immutable; every method may be called from many threads. One method per rpc of CatalogService.
//
// Errors: NOT_FOUND with a reason (base/reason.h: MODEL_UNKNOWN, GPU_UNKNOWN, KNOB_UNKNOWN, RULE_UNKNOWN) and the
// nearest known name; INVALID_ARGUMENT with a google.rpc.BadRequest payload.
class CatalogAnswers {
 public:
  explicit CatalogAnswers(std::shared_ptr<const Catalog> catalog);

  absl::Status GetModel(const v1::GetModelRequest& request, v1::ModelSpec* response) const;
  absl::Status ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) const;
  absl::Status GetGpu(const v1::GetGpuRequest& request, v1::GpuSystem* response) const;
  absl::Status ListGpus(const v1::ListGpusRequest& request, v1::ListGpusResponse* response) const;
  absl::Status GetKnob(const v1::GetKnobRequest& request, v1::KnobInfo* response) const;
  absl::Status ListKnobs(const v1::ListKnobsRequest& request, v1::ListKnobsResponse* response) const;
  absl::Status GetRule(const v1::GetRuleRequest& request, v1::RuleInfo* response) const;
  absl::Status ListRules(const v1::ListRulesRequest& request, v1::ListRulesResponse* response) const;
  absl::Status ImportModel(const v1::ImportModelRequest& request, v1::ModelSpec* response) const;

 private:
  std::shared_ptr<const Catalog> catalog_;
  // A rule of a stack, or a record of what Flightplan itself says (records.h): one of the two.
  struct Entry {
    absl::string_view id, area;
    const Rule* rule = nullptr;
    const Record* record = nullptr;
  };
  static void ToMessage(const Entry& entry, v1::RuleInfo* message);
  std::vector<Entry> entries_;  // by id
};

// One entry as a message. The message must be empty.
void ModelToMessage(const ModelSpec& model, v1::ModelSpec* message);
void GpuToMessage(const GpuSystem& gpu, v1::GpuSystem* message);
void KnobToMessage(Knob knob, v1::KnobInfo* message);
void RuleToMessage(const Rule& rule, v1::RuleInfo* message);
void RecordToMessage(const Record& record, v1::RuleInfo* message);

}  // namespace flightplan
