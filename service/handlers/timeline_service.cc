#include "service/handlers/timeline_service.h"

#include "absl/strings/str_cat.h"
#include "flightplan/v1/timeline.grpc.pb.h"
#include "resolver/base/status_macros.h"
#include "service/call/answer_source.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::TimelineService;
using Context = grpc::CallbackServerContext;

absl::Status Describe(const ResolverBackend& backend, const ByteBuffer& request, Call* call, ByteBuffer* response) {
  const RequestBytes bytes(request);
  v1::DescribeTimelineRequest question;
  if (!question.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
    return MalformedRequest(question.GetTypeName());
  }
  const EvidenceSource* const source = call->edge().evidence;
  const auto evidence = source == nullptr ? std::make_shared<const EvidenceSnapshot>() : source->Current();
  v1::DescribeTimelineResponse answer;
  FLIGHTPLAN_RETURN_IF_ERROR(backend.DescribeTimeline(question, *evidence, &answer));
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  if (answer.ByteSizeLong() > kMaxAnswerBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the answer has ", answer.ByteSizeLong(), " bytes, at most ",
                                                     kMaxAnswerBytes, ": ask for fewer events"));
  }
  *response = BufferOf(answer);
  return absl::OkStatus();
}

class TimelineServiceImpl final
    : public TimelineService::WithRawCallbackMethod_DescribeTimeline<TimelineService::Service> {
 public:
  TimelineServiceImpl(const Edge* edge, const ResolverBackend* backend, AnswerWorkers* workers, FairPool* searches)
      : edge_(*edge), backend_(backend), workers_(workers), searches_(searches) {}

  grpc::ServerUnaryReactor* DescribeTimeline(Context* context, const ByteBuffer* request,
                                             ByteBuffer* response) override {
    auto* unary = new UnaryCall(edge_, describe_, context, response);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    if (const absl::Status refused = unary->call().Admit(Gated::kYes); !refused.ok()) {
      unary->End(refused);
      return reactor;
    }
    unary->call().CountReceived();
    AnswerOrSearchInTurn(workers_, searches_, unary, [backend = backend_, request, response](Call* call) {
      return Describe(*backend, *request, call, response);
    });
    return reactor;
  }

 private:
  const Edge& edge_;
  const ResolverBackend* const backend_;
  AnswerWorkers* const workers_;
  FairPool* const searches_;
  const Metrics::Method& describe_ =
      *edge_.metrics->ForMethod(TimelineService::service_full_name(), "DescribeTimeline");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTimelineService(const Edge* edge, const ResolverBackend* backend,
                                                   AnswerWorkers* workers, FairPool* searches) {
  return std::make_unique<TimelineServiceImpl>(edge, backend, workers, searches);
}

}  // namespace flightplan::service
