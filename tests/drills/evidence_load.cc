// Load for the evidence drills (kill_evidence.sh, store_outage.sh).
//   evidence_load report ADDRESS PREFIX THREADS   reports runs until the server is gone; prints each acknowledged id
//   evidence_load keep ADDRESS PREFIX THREADS SECONDS   the same for so long, whatever is refused with UNAVAILABLE
//   evidence_load outage ADDRESS SECONDS [any]    resolves, validates and reports; prints what became of each. Fails
//                                                 unless reports were refused and then taken again; any: or never
//                                                 refused
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace flightplan {
namespace {

using Clock = std::chrono::steady_clock;

v1::ResolveConfigRequest Question() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  return request;
}

v1::ReportMeasurementRequest Report(const std::string& id, double value) {
  const v1::ResolveConfigRequest question = Question();
  v1::ReportMeasurementRequest request;
  v1::Measurement& m = *request.mutable_measurement();
  m.set_id(id);
  m.set_metric("step_time_us");
  m.set_value(value);
  m.set_model(question.model().name());
  m.set_gpu(question.hardware().gpu());
  m.set_gpu_count(question.hardware().gpu_count());
  *m.mutable_layout() = question.layout();
  *m.mutable_workload() = question.workload();
  *m.mutable_target() = question.target();
  m.set_quality("matched");
  return request;
}

// Of an id, so that a report that is repeated has the same content.
double ValueOf(const std::string& id) { return 3e7 + static_cast<double>(std::hash<std::string>{}(id) % 1000000); }

// `seconds`: 0: until the server is gone.
int ReportRuns(const std::string& address, const std::string& prefix, int threads, double seconds) {
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  std::mutex mutex;
  std::atomic<bool> bad{false};
  std::vector<std::thread> all;
  all.reserve(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      const auto stub = v1::EvidenceService::NewStub(channel);
      for (int i = 0; seconds == 0 || Clock::now() < until; ++i) {
        const std::string id = absl::StrCat(prefix, "-", t, "-", i);
        for (int again = 0; again < 2; ++again) {  // each twice: the same content is fine
          grpc::ClientContext context;
          context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
          v1::ReportMeasurementResponse response;
          const grpc::Status status = stub->ReportMeasurement(&context, Report(id, ValueOf(id)), &response);
          if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
              status.error_code() == grpc::StatusCode::CANCELLED) {
            if (seconds == 0) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            break;
          }
          const std::lock_guard<std::mutex> lock(mutex);
          if (status.ok()) {
            if (again == 0) std::printf("%s\n", id.c_str());
            std::fflush(stdout);
          } else {
            std::fprintf(stderr, "%s: %d %s\n", id.c_str(), status.error_code(), status.error_message().c_str());
            bad = true;
            return;
          }
        }
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  return bad ? 2 : 0;
}

struct Tally {
  std::mutex mutex;
  std::vector<double> milliseconds;
  int ok = 0, refused = 0, other = 0;  // refused: UNAVAILABLE with RetryInfo
  double last_refused_s = 0, first_ok_after_s = 0;

  void Add(const grpc::Status& status, double ms, double at_s) {
    const std::lock_guard<std::mutex> lock(mutex);
    milliseconds.push_back(ms);
    bool retry = false;
    google::rpc::Status details;
    if (details.ParseFromString(status.error_details())) {
      for (const auto& detail : details.details()) retry |= detail.Is<google::rpc::RetryInfo>();
    }
    if (status.ok()) {
      ++ok;
      if (last_refused_s > 0 && first_ok_after_s == 0) first_ok_after_s = at_s;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE && retry) {
      ++refused;
      last_refused_s = at_s;
      first_ok_after_s = 0;
    } else {
      ++other;
      std::fprintf(stderr, "unexpected: %d %s\n", status.error_code(), status.error_message().c_str());
    }
  }
  double Percentile(double p) {
    std::sort(milliseconds.begin(), milliseconds.end());
    return milliseconds.empty() ? 0
                                : milliseconds[static_cast<size_t>(p * static_cast<double>(milliseconds.size() - 1))];
  }
};

int Outage(const std::string& address, double seconds, bool refusals) {
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  const Clock::time_point start = Clock::now();
  const auto at = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Tally resolves, validates, reports;
  const auto loop = [&](Tally* tally, int pause_ms, auto call) {
    return std::thread([&, tally, pause_ms, call] {
      for (int i = 0; at() < seconds; ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
        const double before = at();
        const grpc::Status status = call(&context, i);
        tally->Add(status, (at() - before) * 1e3, at());
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      }
    });
  };
  const auto resolver = v1::ResolverService::NewStub(channel);
  const auto evidence = v1::EvidenceService::NewStub(channel);
  std::vector<std::thread> all;
  all.push_back(loop(&resolves, 2, [&](grpc::ClientContext* context, int i) {
    v1::ResolveConfigRequest request = Question();
    request.mutable_workload()->set_global_batch_size(1024 + 16 * (i % 64));
    v1::ResolveConfigResponse response;
    return resolver->ResolveConfig(context, request, &response);
  }));
  all.push_back(loop(&validates, 2, [&](grpc::ClientContext* context, int i) {
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework("megatron-lm");
    request.mutable_arguments()->add_values("--num-layers");
    request.mutable_arguments()->add_values(absl::StrCat(1 + i % 64));
    v1::ValidateConfigResponse response;
    return resolver->ValidateConfig(context, request, &response);
  }));
  all.push_back(loop(&reports, 50, [&](grpc::ClientContext* context, int i) {
    const std::string id = absl::StrCat("outage-", ::getpid(), "-", i);
    v1::ReportMeasurementResponse response;
    return evidence->ReportMeasurement(context, Report(id, ValueOf(id)), &response);
  }));
  for (std::thread& thread : all) thread.join();
  std::printf(
      "resolve: %d ok, %d refused, %d failed, p99 %.1f ms; validate: %d ok, %d refused, %d failed, p99 %.1f ms; "
      "report: %d ok, %d refused with UNAVAILABLE and RetryInfo, %d failed, slowest %.0f ms, last refusal at "
      "%.1f s, first OK after it at %.1f s\n",
      resolves.ok, resolves.refused, resolves.other, resolves.Percentile(0.99), validates.ok, validates.refused,
      validates.other, validates.Percentile(0.99), reports.ok, reports.refused, reports.other, reports.Percentile(1),
      reports.last_refused_s, reports.first_ok_after_s);
  const bool fine = resolves.refused + resolves.other + validates.refused + validates.other + reports.other == 0 &&
                    resolves.ok > 0 && validates.ok > 0 && reports.ok > 0 && (reports.refused > 0 || !refusals) &&
                    (reports.refused == 0 || reports.first_ok_after_s > 0);
  return fine ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 4 && args[0] == "report") return flightplan::ReportRuns(args[1], args[2], std::atoi(argv[4]), 0);
  if (args.size() == 5 && args[0] == "keep") {
    return flightplan::ReportRuns(args[1], args[2], std::atoi(argv[4]), std::atof(argv[5]));
  }
  if (args.size() == 3 && args[0] == "outage") return flightplan::Outage(args[1], std::atof(argv[3]), true);
  if (args.size() == 4 && args[0] == "outage") return flightplan::Outage(args[1], std::atof(argv[3]), args[3] != "any");
  std::fprintf(stderr,
               "usage: evidence_load report ADDRESS PREFIX THREADS | keep ADDRESS PREFIX THREADS SECONDS | "
               "outage ADDRESS SECONDS [any]\n");
  return 2;
}
