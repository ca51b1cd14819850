// ResolveConfig and ValidateConfig: one question, one answer.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "resolver/layouts/open_layout.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/call/fair_pool.h"
#include "service/call/wait_gate.h"

namespace flightplan::service {

// Of one answer, in units of base/work.h: at most a quarter of a second.
inline constexpr uint64_t kMaxAnswerWork = uint64_t{1} << 27;
// Of one that is searched for: the search, and the answer around it.
inline constexpr uint64_t kMaxSearchWork = 2 * kOpenLayoutWork;
// Searches of one tenant that wait for their turn, per thread that searches; more are refused.
inline constexpr size_t kMaxQueuedSearches = 2;
// Calls that leave the layout open and are under way or wait, of all tenants, per core. A balancer gives each core four
// calls at a time (WaitLimits::kept), and cannot tell these from others: one in four stays free for answers.
inline constexpr int kHeldSearches = 3;

// Where answers are computed, and which calls may wait for them. Waiting calls count as calls in flight; that limit
// bounds their number and memory.
struct AnswerWorkers {
  explicit AnswerWorkers(int share) : gate(share), pool(share) {}
  WaitGate gate;
  FairPool pool;  // ends first: what it runs asks the gate
};

// An admitted call's turn: `answer` runs on a thread of the workers, within the work of one answer, and is told to end
// when its caller goes (base/work.h). The call is ended with its status.
void AnswerInTurn(AnswerWorkers* workers, UnaryCall* unary, std::function<absl::Status(Call* call)> answer);

// The same where an answer may need a search: it then runs again, on a thread of the searches.
void AnswerOrSearchInTurn(AnswerWorkers* workers, FairPool* searches, UnaryCall* unary,
                          const std::function<absl::Status(Call* call)>& answer);

// Whether an answer needs a search (an open layout): that takes seconds, and is done by `searches`, not by the workers
// of answers.
bool NeedsSearch(const absl::Status& status);

grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, AnswerWorkers* workers, FairPool* searches,
                                       grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response);

}  // namespace flightplan::service
