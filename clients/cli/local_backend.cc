#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/backend.h"
#include "clients/cli/command.h"
#include "flightplan/v1/probe_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/arena.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/resolver.h"
#include "service/local/catalog_folder.h"
#include "service/local/parallel_for.h"
#include "service/local/probe_worker.h"
#include "service/local/profile_store.h"

namespace flightplan::cli {
namespace {

class LocalBackend final : public Backend {
 public:
  // `folder`: why profiles are in memory alone; OK: they are not.
  LocalBackend(const std::shared_ptr<const Catalog>& catalog, std::shared_ptr<service::ProfileStore> profiles,
               absl::Status folder)
      : catalog_(catalog),
        profiles_(std::move(profiles)),
        folder_(std::move(folder)),
        resolver_(catalog, profiles_),
        answers_(catalog) {}

  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response) override {
    return resolver_.ResolveConfig(request, response);
  }
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, v1::ValidateConfigResponse* response) override {
    return resolver_.ValidateConfig(request, response);
  }
  absl::Status ValidateBatch(const std::vector<v1::ValidateConfigRequest>& requests, const BatchDone& done) override {
    std::mutex one_at_a_time;
    service::ParallelOn(static_cast<int>(std::thread::hardware_concurrency()))(
        requests.size(), [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            google::protobuf::Arena arena;  // an answer is thousands of small messages
            auto* response = google::protobuf::Arena::CreateMessage<v1::ValidateConfigResponse>(&arena);
            const absl::Status status = resolver_.ValidateConfig(requests[i], response);
            const std::lock_guard<std::mutex> lock(one_at_a_time);
            done(i, status, *response);
          }
        });
    return absl::OkStatus();
  }
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request, v1::ConvertConfigResponse* response) override {
    return resolver_.ConvertConfig(request, response);
  }
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request,
                                v1::DescribeTimelineResponse* response) override {
    return resolver_.DescribeTimeline(request, response);
  }
  absl::StatusOr<std::shared_ptr<const Catalog>> GetCatalog() override { return catalog_; }
  void CountReview(absl::string_view, absl::string_view, absl::string_view) override {}
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request,
                           const std::function<bool(const v1::PlanProgress&)>& progress,
                           v1::PlanResult* result) override {
    PlanHooks hooks;
    hooks.parallel = service::ParallelOn(static_cast<int>(std::thread::hardware_concurrency()));
    hooks.progress = [&](const PlanProgress& at) {
      v1::PlanProgress message;
      message.set_done_ratio(at.done_ratio);
      message.set_judged_count(at.judged);
      if (at.best_us > 0) message.set_best_step_time_us(at.best_us);
      return progress(message);
    };
    return resolver_.PlanLayouts(request, hooks, result);
  }
  absl::Status GetModel(const v1::GetModelRequest& request, v1::ModelSpec* response) override {
    return answers_.GetModel(request, response);
  }
  absl::Status ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) override {
    return answers_.ListModels(request, response);
  }
  absl::Status GetGpu(const v1::GetGpuRequest& request, v1::GpuSystem* response) override {
    return answers_.GetGpu(request, response);
  }
  absl::Status ListGpus(const v1::ListGpusRequest& request, v1::ListGpusResponse* response) override {
    return answers_.ListGpus(request, response);
  }
  absl::Status GetKnob(const v1::GetKnobRequest& request, v1::KnobInfo* response) override {
    return answers_.GetKnob(request, response);
  }
  absl::Status ListKnobs(const v1::ListKnobsRequest& request, v1::ListKnobsResponse* response) override {
    return answers_.ListKnobs(request, response);
  }
  absl::Status GetRule(const v1::GetRuleRequest& request, v1::RuleInfo* response) override {
    return answers_.GetRule(request, response);
  }
  absl::Status ListRules(const v1::ListRulesRequest& request, v1::ListRulesResponse* response) override {
    return answers_.ListRules(request, response);
  }
  absl::Status ImportModel(const v1::ImportModelRequest& request, v1::ModelSpec* response) override {
    return answers_.ImportModel(request, response);
  }
  absl::Status RunProbe(const v1::RunProbeRequest& request, const ProbeRun& run,
                        const std::function<bool(const v1::ProbeProgress&)>& progress,
                        v1::HardwareProfile* profile) override {
    service::ProbeJob job;
    FLIGHTPLAN_ASSIGN_OR_RETURN(job.catalog, GetCatalog());
    job.worker = run.worker;
    job.fake = run.fake;
    job.request = request;
    service::StopSwitch stop;
    service::ProbeEnd end = service::RunProbeWorker(job, stop, [&](const v1::ProbeProgress& at) {
      if (!progress(at)) stop.Stop();
    });
    FLIGHTPLAN_RETURN_IF_ERROR(end.status);
    *profile = std::move(end.profile);
    if (profile->kind() == "synthetic" || profile->rows_size() == 0) return absl::OkStatus();
    // What was measured is shown and written to --out, whatever the folder says.
    const absl::Status stored = ImportProfile(v1::HardwareProfile(*profile), profile);
    if (!stored.ok()) profile->add_notes(absl::StrCat("not stored: ", stored.message()));
    return absl::OkStatus();
  }
  absl::Status ImportProfile(const v1::HardwareProfile& profile, v1::HardwareProfile* stored) override {
    FLIGHTPLAN_RETURN_IF_ERROR(folder_);
    absl::StatusOr<v1::HardwareProfile> put = profiles_->Put(profile);
    // No server is away: the folder cannot be written.
    if (absl::IsUnavailable(put.status())) return absl::FailedPreconditionError(put.status().message());
    FLIGHTPLAN_RETURN_IF_ERROR(put.status());
    *stored = *std::move(put);
    return absl::OkStatus();
  }
  absl::Status ReportMeasurement(const v1::Measurement&) override {
    return absl::FailedPreconditionError("a report wants a server with an evidence store: --server ADDRESS");
  }
  absl::Status ListProfiles(std::vector<v1::HardwareProfile>* profiles) override {
    FLIGHTPLAN_RETURN_IF_ERROR(folder_);
    std::string token;
    do {
      FLIGHTPLAN_ASSIGN_OR_RETURN(service::ProfileStore::Page page, profiles_->List(0, token));
      std::move(page.profiles.begin(), page.profiles.end(), std::back_inserter(*profiles));
      token = page.next;
    } while (!token.empty());
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const Catalog> catalog_;
  const std::shared_ptr<service::ProfileStore> profiles_;
  const absl::Status folder_;
  Resolver resolver_;
  CatalogAnswers answers_;
};

// The folder's *.yaml files by name, so that the order in which they override each other is plain.
absl::StatusOr<std::vector<CatalogFile>> ReadCatalogDir(const std::string& folder) {
  absl::StatusOr<std::vector<CatalogFile>> files = service::ReadCatalogFolder(folder);
  if (!files.ok()) return absl::InvalidArgumentError(absl::StrCat("catalog-dir: ", files.status().message()));
  if (files->empty()) return absl::InvalidArgumentError(absl::StrCat("catalog-dir: no *.yaml file in ", folder));
  return files;
}

}  // namespace

std::string ProfileFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string folder = variable("FLIGHTPLAN_PROFILE_DIR"); !folder.empty()) return folder;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty())
    return absl::StrCat(data, "/flightplan/profiles");
  const std::string home = variable("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.local/share/flightplan/profiles");
}

absl::StatusOr<std::unique_ptr<Backend>> MakeLocalBackend(const std::string& catalog_dir) {
  std::vector<CatalogFile> files;
  if (!catalog_dir.empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(files, ReadCatalogDir(catalog_dir));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(Catalog catalog, Catalog::WithOverlay(files));
  const auto shared = std::make_shared<const Catalog>(std::move(catalog));
  // Files that are no profile are left alone: `resolve` must not fail over them.
  const auto ignore = [](const std::string&) {};
  const auto in_force = [shared] { return std::shared_ptr<const Catalog>(shared); };
  auto profiles = service::OpenProfileStore(ProfileFolder(), service::kDefaultProfileAge, in_force, ignore);
  // Nor over a folder that cannot be read: what asks for the profiles themselves is told.
  const absl::Status folder = profiles.status();
  if (!folder.ok()) profiles = service::OpenProfileStore("", service::kDefaultProfileAge, in_force, ignore);
  FLIGHTPLAN_RETURN_IF_ERROR(profiles.status());
  return std::make_unique<LocalBackend>(shared, *std::move(profiles), folder);
}

}  // namespace flightplan::cli
