// ProbeService over a real port, with the real worker replaying a made-up device.
#include "service/probe/probe_service.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "resolver/catalog/catalog.h"
#include "service/server.h"
#include "service/testing/fake_backend.h"
#include "service/testing/http_get.h"
#include "tests/support/sample_profile.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

std::string ReasonIn(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details())) return "";
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "";
}

class ProbeServiceTest : public ::testing::Test {
 protected:
  void Start(const std::string& worker = FLIGHTPLAN_PROBE_WORKER, bool enabled = true) {
    Settings settings;
    settings.listen = {"127.0.0.1:0"};
    settings.http_listen = "127.0.0.1:0";
    settings.log_level = LogLevel::kError;
    settings.probe = enabled;
    settings.probe_worker = worker;
    settings.probe_fake = FLIGHTPLAN_PROBE_FAKE;
    auto server = Server::Start(settings, std::make_shared<const Catalog>(*Catalog::Builtin()),
                                std::make_unique<FakeBackend>(control_));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::ProbeService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->ports()[0]), grpc::InsecureChannelCredentials()));
  }

  // A worker that never ends, and says so.
  std::string Hanging() {
    char name[] = "/tmp/flightplan_worker_XXXXXX";
    const int fd = mkstemp(name);
    const std::string script =
        "#!/bin/sh\ntrap '' TERM\necho '{\"progress\": {\"done_ratio\": 0.5}}'\nwhile :; do sleep 1; done\n";
    EXPECT_EQ(write(fd, script.data(), script.size()), static_cast<ssize_t>(script.size()));
    fchmod(fd, 0755);
    close(fd);
    return script_ = name;
  }
  ~ProbeServiceTest() override {
    if (!script_.empty()) unlink(script_.c_str());
  }

  grpc::Status Run(const v1::RunProbeRequest& request, v1::HardwareProfile* profile, int* progress = nullptr) {
    ClientContext context;
    context.set_wait_for_ready(true);
    const auto stream = stub_->RunProbe(&context, request);
    v1::RunProbeResponse event;
    while (stream->Read(&event)) {
      if (event.has_progress() && progress != nullptr) ++*progress;
      if (event.has_profile()) *profile = event.profile();
    }
    return stream->Finish();
  }

  std::string Metrics() { return HttpGet(server_->http_port(), "/metrics").body; }
  bool Counts(const std::string& result, int count) {
    return absl::StrContains(Metrics(),
                             absl::StrCat("flightplan_probe_runs_total{result=\"", result, "\"} ", count, "\n"));
  }

  std::shared_ptr<FakeBackend::Control> control_ = std::make_shared<FakeBackend::Control>();
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::ProbeService::Stub> stub_;
  std::string script_;
};

TEST_F(ProbeServiceTest, StreamsProgressThenOneProfile) {
  Start();
  v1::HardwareProfile profile;
  int progress = 0;
  const grpc::Status status = Run({}, &profile, &progress);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(progress, 0);
  EXPECT_EQ(profile.kind(), "synthetic");
  EXPECT_GT(profile.rows_size(), 50);
  EXPECT_TRUE(Counts("ok", 1)) << Metrics();
  // What a fake device replayed is not kept.
  ClientContext context;
  v1::ListProfilesResponse list;
  ASSERT_TRUE(stub_->ListProfiles(&context, {}, &list).ok());
  EXPECT_EQ(list.profiles_size(), 0);
}

TEST_F(ProbeServiceTest, IsOffUnlessAsked) {
  Start(FLIGHTPLAN_PROBE_WORKER, /*enabled=*/false);
  v1::HardwareProfile profile;
  const grpc::Status status = Run({}, &profile);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonIn(status), "PROBE_DISABLED");
  EXPECT_TRUE(absl::StrContains(status.error_message(), "--probe")) << status.error_message();
}

TEST_F(ProbeServiceTest, AMissingWorkerAndABadRequestAreSaid) {
  Start("/nowhere/flightplan-probe");
  v1::HardwareProfile profile;
  EXPECT_EQ(ReasonIn(Run({}, &profile)), "PROBE_NOT_INSTALLED");
  EXPECT_TRUE(Counts("missing", 1));
  v1::RunProbeRequest request;
  request.add_groups("everything");
  EXPECT_EQ(Run(request, &profile).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ProbeServiceTest, TakesTheCallersModelAndLayout) {
  Start();
  v1::RunProbeRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_layout()->set_expert_model_parallel_size(16);
  request.set_memory_limit_bytes(int64_t{1} << 30);
  request.add_groups("memory");
  v1::HardwareProfile profile;
  const grpc::Status status = Run(request, &profile);
  EXPECT_TRUE(status.ok()) << status.error_message();
  request.mutable_layout()->set_expert_model_parallel_size(7);
  const grpc::Status refused = Run(request, &profile);
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(refused.error_message(), "layout.expert_model_parallel_size"))
      << refused.error_message();
  EXPECT_TRUE(Counts("refused", 1)) << Metrics();
}

// A fake device has no peers, which is the worker's own sentence: so the devices reached it.
TEST_F(ProbeServiceTest, SeveralDevicesReachTheWorker) {
  Start();
  v1::HardwareProfile profile;
  for (const bool all : {false, true}) {
    v1::RunProbeRequest request;
    request.set_all_devices(all);
    for (int i = 0; !all && i < 2; ++i) request.add_device_indices(i);
    const grpc::Status status = Run(request, &profile);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(absl::StrContains(status.error_message(), "a fake device has no peers")) << status.error_message();
  }
  v1::RunProbeRequest one;
  one.add_device_indices(0);
  EXPECT_TRUE(absl::StrContains(Run(one, &profile).error_message(), "must be 2 to 16 different indices"));
  EXPECT_TRUE(Counts("refused", 3)) << Metrics();
}

TEST_F(ProbeServiceTest, OneAtATimeAndCancellingFreesThePlace) {
  Start(Hanging());
  ClientContext first;
  first.set_wait_for_ready(true);
  const auto stream = stub_->RunProbe(&first, {});
  v1::RunProbeResponse event;
  ASSERT_TRUE(stream->Read(&event));  // it runs
  v1::HardwareProfile profile;
  const grpc::Status second = Run({}, &profile);
  EXPECT_EQ(second.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonIn(second), "PROBE_BUSY");
  EXPECT_TRUE(Counts("busy", 1));
  first.TryCancel();
  while (stream->Read(&event)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  // Without a client the worker is killed and counted, and the next probe may run.
  for (int i = 0; i < 1000 && !Counts("cancelled", 1); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(Counts("cancelled", 1)) << Metrics();
  ClientContext third;
  const auto again = stub_->RunProbe(&third, {});
  EXPECT_TRUE(again->Read(&event));
  third.TryCancel();
  EXPECT_EQ(again->Finish().error_code(), StatusCode::CANCELLED);
}

TEST_F(ProbeServiceTest, StoppingTheServerStopsTheWorker) {
  Start(Hanging());
  ClientContext context;
  context.set_wait_for_ready(true);
  const auto stream = stub_->RunProbe(&context, {});
  v1::RunProbeResponse event;
  ASSERT_TRUE(stream->Read(&event));
  server_.reset();  // would wait for the pool's thread, and it for the worker, for half a minute
  while (stream->Read(&event)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(ProbeServiceTest, ImportsListsAndGetsProfiles) {
  Start();
  v1::ImportProfileRequest request;
  *request.mutable_profile() = sample::SampleProfile();
  v1::HardwareProfile stored;
  {
    ClientContext context;
    ASSERT_TRUE(stub_->ImportProfile(&context, request, &stored).ok());
  }
  EXPECT_EQ(stored.name(), "h200-test");
  {
    ClientContext context;
    v1::GetProfileRequest get;
    get.set_name("h200-test");
    v1::HardwareProfile profile;
    ASSERT_TRUE(stub_->GetProfile(&context, get, &profile).ok());
    EXPECT_EQ(profile.rows_size(), request.profile().rows_size());
  }
  {
    ClientContext context;
    v1::ListProfilesResponse list;
    ASSERT_TRUE(stub_->ListProfiles(&context, {}, &list).ok());
    EXPECT_EQ(list.profiles_size(), 1);
  }
  {
    ClientContext context;
    v1::GetProfileRequest get;
    get.set_name("h200-tset");
    v1::HardwareProfile profile;
    const grpc::Status status = stub_->GetProfile(&context, get, &profile);
    EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
    EXPECT_TRUE(absl::StrContains(status.error_message(), "h200-test")) << status.error_message();
  }
  request.mutable_profile()->set_kind("synthetic");
  ClientContext context;
  EXPECT_EQ(stub_->ImportProfile(&context, request, &stored).error_code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace flightplan::service
