#include "service/handlers/answer.h"

#include <optional>
#include <utility>

#include "resolver/base/status_macros.h"
#include "service/raw_message.h"

namespace flightplan::service {
namespace {

absl::Status Send(const Answer& answer, Call* call, grpc::ByteBuffer* response) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  call->Describe(answer);
  call->LogDecision(answer);
  *response = BufferOf(answer.stored->bytes);
  return absl::OkStatus();
}

// In the pool. The call may have ended while it waited for its turn.
absl::Status WorkOut(AnswerRpc rpc, AnswerSource* answers, const grpc::ByteBuffer& request, Call* call,
                     grpc::ByteBuffer* response) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  const RequestBytes bytes(request);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Answer answer, answers->FromBytes(rpc, bytes.view()));
  return Send(answer, call, response);
}

}  // namespace

// What the cache holds is sent from where the call arrived; the rest is worked out in a pool, so that the threads that
// read the network go on reading and refuse in time what is too much.
grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, WorkerPool* pool, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* reactor = new UnaryCall(edge, method, context);
  Call& call = reactor->call();
  if (const absl::Status refused = call.Admit(Gated::kYes); !refused.ok()) {
    reactor->End(refused);
    return reactor;
  }
  call.CountReceived();
  std::optional<Answer> known;
  {
    const RequestBytes bytes(*request);
    known = answers->Cached(rpc, bytes.view());
  }
  if (known.has_value()) {
    reactor->End(Send(*known, &call, response));
    return reactor;
  }
  auto work = [=, held = *request] { reactor->End(WorkOut(rpc, answers, held, &reactor->call(), response)); };
  if (!pool->TrySubmit(std::move(work), kMaxQueuedAnswers, kMaxAnswerWait)) reactor->End(call.RefuseQueue());
  return reactor;
}

}  // namespace flightplan::service
