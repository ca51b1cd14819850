// Who answers: the library in this process, or a server. Both take and give the same messages, so that what is printed
// does not depend on it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan {

class Catalog;

namespace v1 {  // generated from proto/flightplan/v1
class ConvertConfigRequest;
class ConvertConfigResponse;
class DescribeTimelineRequest;
class DescribeTimelineResponse;
class GetGpuRequest;
class GetKnobRequest;
class GetModelRequest;
class GetRuleRequest;
class HardwareProfile;
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
class Measurement;
class ModelSpec;
class PlanLayoutsRequest;
class PlanProgress;
class PlanResult;
class ProbeProgress;
class ResolveConfigRequest;
class ResolveConfigResponse;
class RuleInfo;
class RunProbeRequest;
class ValidateConfigRequest;
class ValidateConfigResponse;
}  // namespace v1

namespace cli {

// How the worker is started here; a server has its own settings.
struct ProbeRun {
  std::string worker;  // path; empty: the usual places
  std::string fake;    // replayed instead of a GPU; empty: a GPU
};

// Errors are those of the rpcs (resolver.h, catalog_answers.h). From a server also UNAVAILABLE and DEADLINE_EXCEEDED.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response) = 0;
  virtual absl::Status ValidateConfig(const v1::ValidateConfigRequest& request,
                                      v1::ValidateConfigResponse* response) = 0;
  // Many at once. `done` gets each answer, or the error that the same call alone would have returned; in any order, but
  // never two at a time. An error of this call itself: what was not handed to `done` has no answer.
  using BatchDone = std::function<void(size_t index, const absl::Status& status, const v1::ValidateConfigResponse&)>;
  virtual absl::Status ValidateBatch(const std::vector<v1::ValidateConfigRequest>& requests, const BatchDone& done) = 0;
  virtual absl::Status ConvertConfig(const v1::ConvertConfigRequest& request, v1::ConvertConfigResponse* response) = 0;
  virtual absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request,
                                        v1::DescribeTimelineResponse* response) = 0;
  // What names in a job script mean: this process's catalogue; beside a server the built-in one.
  virtual absl::StatusOr<std::shared_ptr<const Catalog>> GetCatalog() = 0;
  // Tells a server what a door made of an answer (flightplan_door_reviews_total). Nothing depends on it: no error.
  virtual void CountReview(absl::string_view door, absl::string_view mode, absl::string_view verdict) = 0;
  // `progress` is called now and then; false ends the search, which then answers with the best so far (in process) or
  // CANCELLED (from a server).
  virtual absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request,
                                   const std::function<bool(const v1::PlanProgress&)>& progress,
                                   v1::PlanResult* result) = 0;
  virtual absl::Status GetModel(const v1::GetModelRequest& request, v1::ModelSpec* response) = 0;
  virtual absl::Status ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) = 0;
  virtual absl::Status GetGpu(const v1::GetGpuRequest& request, v1::GpuSystem* response) = 0;
  virtual absl::Status ListGpus(const v1::ListGpusRequest& request, v1::ListGpusResponse* response) = 0;
  virtual absl::Status GetKnob(const v1::GetKnobRequest& request, v1::KnobInfo* response) = 0;
  virtual absl::Status ListKnobs(const v1::ListKnobsRequest& request, v1::ListKnobsResponse* response) = 0;
  virtual absl::Status GetRule(const v1::GetRuleRequest& request, v1::RuleInfo* response) = 0;
  virtual absl::Status ListRules(const v1::ListRulesRequest& request, v1::ListRulesResponse* response) = 0;
  virtual absl::Status ImportModel(const v1::ImportModelRequest& request, v1::ModelSpec* response) = 0;
  // `progress` is called now and then; false stops the worker (CANCELLED). The profile is stored, unless synthetic.
  virtual absl::Status RunProbe(const v1::RunProbeRequest& request, const ProbeRun& run,
                                const std::function<bool(const v1::ProbeProgress&)>& progress,
                                v1::HardwareProfile* profile) = 0;
  virtual absl::Status ImportProfile(const v1::HardwareProfile& profile, v1::HardwareProfile* stored) = 0;
  // To the server's evidence store. FAILED_PRECONDITION in process: there is none.
  virtual absl::Status ReportMeasurement(const v1::Measurement& measurement) = 0;
  // All of them, newest first.
  virtual absl::Status ListProfiles(std::vector<v1::HardwareProfile>* profiles) = 0;
};

// Where this user's profiles are kept: FLIGHTPLAN_PROFILE_DIR, or flightplan/profiles in XDG_DATA_HOME or
// ~/.local/share; empty: nowhere.
std::string ProfileFolder();

// In this process. `catalog_dir`: a folder with a site's *.yaml files, or empty.
absl::StatusOr<std::unique_ptr<Backend>> MakeLocalBackend(const std::string& catalog_dir);

// At `address`: HOST:PORT or unix:PATH. Every call has kServerDeadlineSeconds, or those below; nothing is sent before
// the first. INVALID_ARGUMENT: see MakeChannel in remote_channel.h.
inline constexpr int kServerDeadlineSeconds = 10;
inline constexpr int kServerPlanSeconds = 120;  // of what may search, on a machine that others use too
absl::StatusOr<std::unique_ptr<Backend>> MakeRemoteBackend(const std::string& address);

}  // namespace cli
}  // namespace flightplan
