#include "service/handlers/answer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/layouts/open_layout.h"
#include "service/wire/raw_message.h"

namespace flightplan::service {
namespace {

absl::Status Send(const Answer& answer, Call* call, grpc::ByteBuffer* response) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  call->Describe(answer);
  call->LogDecision(answer);
  *response = BufferOf(answer.stored->bytes);
  return absl::OkStatus();
}

absl::Status WorkOut(AnswerRpc rpc, AnswerSource* answers, const grpc::ByteBuffer& request, Call* call,
                     grpc::ByteBuffer* response) {
  const RequestBytes bytes(request);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Answer answer, answers->FromBytes(rpc, bytes.view()));
  return Send(answer, call, response);
}

// What is ended on the way says who ended it.
absl::Status AnswerWithin(uint64_t units, const std::function<absl::Status(Call* call)>& answer, Call* call) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  const Work work(units, [call] { return !call->CheckTime().ok(); });
  absl::Status status = answer(call);
  if (absl::IsCancelled(status)) FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  return status;
}

// In the pool. The call may have ended, or its time to wait be over, before its turn came.
absl::Status TakeTurn(WaitGate* gate, const WaitGate::Ticket& ticket,
                      const std::function<absl::Status(Call* call)>& answer, Call* call) {
  const WaitGate::Time now = std::chrono::steady_clock::now();
  call->edge().metrics->stage_queue->Observe(std::chrono::duration<double>(now - ticket.joined).count());
  if (!gate->TakeTurn(ticket, now)) return call->RefuseQueue();
  return AnswerWithin(kMaxAnswerWork, answer, call);
}

void InTurn(AnswerWorkers* workers, UnaryCall* unary, std::function<absl::Status(Call* call)> answer,
            std::function<void(UnaryCall* unary, const absl::Status& status)> end) {
  Tenant* const payer = unary->call().payer();
  const std::optional<WaitGate::Ticket> ticket = workers->gate.Join(std::chrono::steady_clock::now(), payer);
  if (!ticket.has_value()) return unary->End(unary->call().RefuseQueue());
  workers->pool.Submit(payer, [unary, ticket = *ticket, gate = &workers->gate, answer = std::move(answer),
                               end = std::move(end)] { end(unary, TakeTurn(gate, ticket, answer, &unary->call())); });
}

// On a thread of the searches.
void SearchInTurn(const AnswerWorkers& workers, FairPool* searches, UnaryCall* unary,
                  std::function<absl::Status(Call* call)> answer) {
  const size_t max_queued = kMaxQueuedSearches * static_cast<size_t>(searches->share());
  // With those on the pool's threads.
  const size_t max_of_all =
      static_cast<size_t>(std::max(1, kHeldSearches * workers.pool.share() - 2 * searches->share()));
  const bool queued = searches->TrySubmit(
      unary->call().payer(),
      [unary, answer = std::move(answer)] { unary->End(AnswerWithin(kMaxSearchWork, answer, &unary->call())); },
      max_queued, max_of_all);
  if (!queued) unary->End(unary->call().RefuseQueue());
}

}  // namespace

bool NeedsSearch(const absl::Status& status) { return ReasonOf(status) == kSearchNeeded; }

void AnswerInTurn(AnswerWorkers* workers, UnaryCall* unary, std::function<absl::Status(Call* call)> answer) {
  InTurn(workers, unary, std::move(answer), [](UnaryCall* ended, const absl::Status& status) { ended->End(status); });
}

void AnswerOrSearchInTurn(AnswerWorkers* workers, FairPool* searches, UnaryCall* unary,
                          const std::function<absl::Status(Call* call)>& answer) {
  InTurn(workers, unary, answer, [=](UnaryCall* worked, const absl::Status& status) {
    if (!NeedsSearch(status)) return worked->End(status);
    SearchInTurn(*workers, searches, worked, answer);
  });
}

// What the cache holds is sent from where the call arrived; the rest is worked out in a pool, so that the threads that
// read the network go on reading and refuse in time what is too much.
grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, AnswerWorkers* workers, FairPool* searches,
                                       grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) {
  auto* unary = new UnaryCall(edge, method, context, response);
  grpc::ServerUnaryReactor* const reactor = unary->reactor();
  Call& call = unary->call();
  if (const absl::Status refused = call.Admit(Gated::kYes); !refused.ok()) {
    unary->End(refused);
    return reactor;
  }
  call.CountReceived();
  std::optional<Answer> known;
  {
    const RequestBytes bytes(*request);
    known = answers->Cached(rpc, bytes.view());
  }
  if (known.has_value()) {
    unary->End(Send(*known, &call, response));
    return reactor;
  }
  AnswerOrSearchInTurn(workers, searches, unary, [=](Call* c) { return WorkOut(rpc, answers, *request, c, response); });
  return reactor;
}

}  // namespace flightplan::service
