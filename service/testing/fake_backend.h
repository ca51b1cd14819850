// A stand-in for the resolver in tests: quick answers of a chosen size, errors and waits on demand.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/normalize/measurement_message.h"
#include "service/backend/resolver_backend.h"

namespace flightplan::service {

// The status of an answer: a function that a test replaces between calls, which other threads answer.
class StatusSource {
 public:
  using Function = std::function<absl::Status(const v1::ResolveConfigRequest&)>;
  StatusSource& operator=(Function function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    function_ = std::move(function);
    return *this;
  }
  absl::Status operator()(const v1::ResolveConfigRequest& request) const {
    std::unique_lock<std::mutex> lock(mutex_);
    const Function function = function_;
    lock.unlock();
    return function ? function(request) : absl::OkStatus();
  }

 private:
  mutable std::mutex mutex_;
  Function function_;
};

class FakeBackend final : public ResolverBackend {
 public:
  // What it answers; shared, so that a test keeps a hand on a backend that the server owns.
  struct Control {
    std::atomic<int> calls{0};
    StatusSource status;                   // unset: OK
    std::atomic<size_t> padding_bytes{0};  // of the answer
    // Closed: calls wait inside the backend.
    void Close() { Set(false); }
    void Open() { Set(true); }
    void Pass() {
      std::unique_lock<std::mutex> lock(mutex_);
      waiting.fetch_add(1);
      changed_.wait(lock, [this] { return open_; });
      waiting.fetch_sub(1);
    }
    std::atomic<int> waiting{0};

   private:
    void Set(bool value) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = value;
      }
      changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = true;
  };

  explicit FakeBackend(std::shared_ptr<Control> control) : control_(std::move(control)) {}

  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             v1::ResolveConfigResponse* response) const override {
    ++control_->calls;
    control_->Pass();
    if (absl::Status status = control_->status(request); !status.ok()) return status;
    response->set_outcome(v1::OUTCOME_RESOLVED);
    response->set_digest("fp1-" + request.model().name());
    response->set_catalog_revision("cat-1");
    response->set_evidence_revision(evidence.revision());
    response->set_target(request.target().framework() + " main");
    response->mutable_launches()->Add()->set_text(std::string(control_->padding_bytes, 'x'));
    v1::Finding* finding = response->add_findings();
    finding->set_rule_id("fake.rule");
    finding->set_severity(v1::SEVERITY_WARNING);
    return absl::OkStatus();
  }

  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, const EvidenceSnapshot&,
                              v1::ValidateConfigResponse* response) const override {
    ++control_->calls;
    control_->Pass();
    response->set_accepted_by_stack(true);
    response->set_will_run(request.has_arguments());
    response->set_digest("fp1-validate");
    return absl::OkStatus();
  }

  // Reports progress until it is stopped, where the question asks for a hundred plans; else answers at once.
  absl::Status ConvertConfig(const v1::ConvertConfigRequest&, v1::ConvertConfigResponse*) const override {
    return absl::OkStatus();
  }
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const EvidenceSnapshot&, const PlanHooks& hooks,
                           v1::PlanResult* result) const override {
    ++control_->calls;
    if (request.plan_count() == 100) {
      ++control_->waiting;
      while (hooks.progress({0.5, 1, 2.0})) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --control_->waiting;
    }
    result->set_space_count(42);
    return absl::OkStatus();
  }
  // Takes every report but those of a model called "nonsense".
  absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement& message, std::optional<int64_t>) const override {
    if (message.model() == "nonsense") return absl::InvalidArgumentError("nonsense");
    Measurement read;
    FillReport(message, &read);
    MeasuredRun run;
    run.model = message.model();
    run.gpu = message.gpu();
    read.run = std::make_shared<const MeasuredRun>(std::move(run));
    return read;
  }

 private:
  const std::shared_ptr<Control> control_;
};

}  // namespace flightplan::service
