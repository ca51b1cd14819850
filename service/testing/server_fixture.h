// A server in process, over a real port, with a stand-in for the resolver: the fixture of its tests.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "service/server.h"
#include "service/testing/fake_backend.h"
#include "service/testing/http_get.h"

namespace flightplan::service {

inline std::shared_ptr<const Catalog> TestCatalog() {
  static const auto* const kCatalog =
      new std::shared_ptr<const Catalog>(std::make_shared<Catalog>(*Catalog::Builtin()));
  return *kCatalog;
}

inline v1::ResolveConfigRequest RequestNamed(const std::string& name) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(name);
  request.mutable_target()->set_framework("megatron-lm");
  return request;
}

// The status that the error details hold; it repeats code and message.
inline google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  return details;
}

template <class Detail>
std::optional<Detail> Find(const google::rpc::Status& status) {
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

// "": it gives none.
inline std::string ReasonIn(const google::rpc::Status& status) {
  const auto info = Find<google::rpc::ErrorInfo>(status);
  if (!info.has_value()) return "";
  EXPECT_EQ(info->domain(), "flightplan");
  return info->reason();
}

// "": there is no metadata of that key.
inline std::string Trailing(const grpc::ClientContext& context, const std::string& key) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

inline std::string Initial(const grpc::ClientContext& context, const std::string& key) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

// "/flightplan.v1.ResolverService/ResolveConfig" and so on: every method of the contract.
inline std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::ResolveConfigRequest::descriptor()->file(), v1::GetModelRequest::descriptor()->file(),
        v1::GetMeasurementRequest::descriptor()->file(), v1::RunProbeRequest::descriptor()->file(),
        v1::DescribeTimelineRequest::descriptor()->file()}) {
    const auto* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat("/", service->full_name(), "/", service->method(i)->name()));
    }
  }
  return methods;
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    channel_.reset();
    server_.reset();
    settings_.listen = {"127.0.0.1:0"};
    settings_.http_listen = "127.0.0.1:0";
    auto server = Server::Start(settings_, TestCatalog(), std::make_unique<FakeBackend>(control_));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = NewChannel();
    resolver_ = v1::ResolverService::NewStub(channel_);
    catalog_ = v1::CatalogService::NewStub(channel_);
  }

  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->ports()[0]),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::Status Resolve(const v1::ResolveConfigRequest& request, grpc::ClientContext* context,
                       v1::ResolveConfigResponse* response) {
    context->set_wait_for_ready(true);
    return resolver_->ResolveConfig(context, request, response);
  }
  grpc::Status Resolve(const v1::ResolveConfigRequest& request) {
    grpc::ClientContext context;
    v1::ResolveConfigResponse response;
    return Resolve(request, &context, &response);
  }

  // Any method with any bytes.
  grpc::Status Raw(const std::string& method, const std::string& bytes, std::string* answer = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    grpc::Slice out;
    if (answer != nullptr && response.Valid() && response.DumpToSingleSlice(&out).ok()) {
      answer->assign(reinterpret_cast<const char*>(out.begin()), out.size());
    }
    return status;
  }

  std::string Metrics() { return HttpGet(server_->http_port(), "/metrics").body; }
  // The value of one series; -1: not there.
  double Metric(const std::string& series) {
    const std::string text = Metrics();
    const size_t at = text.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 1 + series.size());
  }

  // A call's end is counted after its answer has left, so the figure may come a moment later.
  void ExpectMetricBecomes(const std::string& series, double value) {
    for (int i = 0; i < 2000 && Metric(series) != value; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(Metric(series), value) << series;
  }

  void ExpectHealthy() {
    std::string answer;
    EXPECT_TRUE(Raw("/grpc.health.v1.Health/Check", "", &answer).ok());
    EXPECT_EQ(answer, std::string("\x08\x01", 2)) << "SERVING";
    EXPECT_TRUE(Resolve(RequestNamed("healthy")).ok());
  }

  std::shared_ptr<FakeBackend::Control> control_ = std::make_shared<FakeBackend::Control>();
  Settings settings_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ResolverService::Stub> resolver_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_;
};

}  // namespace flightplan::service
