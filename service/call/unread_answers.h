// Limits the memory of unary answers that their callers do not read: a call is over when its answer has left, and one
// without a deadline may let it wait for good. Beyond the limit answers are given up, of the tenant that holds the most
// and there the one that has waited longest. An answer that is given up is gone only when gRPC gets to it: where more
// come than go, no more are sent to those who hold much. Where nobody is asked who they are, all share one part, and a
// slow reader may lose an answer to others who read nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>

#include "grpcpp/support/server_callback.h"

struct grpc_call;

namespace flightplan::service {

class Tenant;

inline constexpr size_t kMaxUnreadBytes = size_t{256} << 20;
// What a call holds beside its answer (51,200 calls that waited with 130 bytes each held 895 MiB).
inline constexpr size_t kUnreadCallBytes = size_t{16} << 10;
// Once those given up hold as much as the others may: the part of kMaxUnreadBytes that a tenant may have.
inline constexpr size_t kUnreadShare = 10;

class UnreadAnswers {
 public:
  struct Answer {
    grpc_call* call;  // null: it is given up, and not yet gone
    Tenant* tenant;   // null: callers are not asked who they are
    size_t bytes;
  };
  using Place = std::list<Answer>::iterator;

  // What is done to the call of an answer that is given up: it is kept while it is ended. A test has its own.
  struct Ending {
    void (*keep)(grpc_call*);
    void (*end)(grpc_call*);
  };

  explicit UnreadAnswers(size_t most = kMaxUnreadBytes);
  UnreadAnswers(size_t most, Ending ending) : most_(most), ending_(ending) {}

  // Whether an answer may be sent at all. Asked before its call is counted as answered.
  bool HasRoom(Tenant* tenant, size_t bytes) const;
  // An answer is about to be sent. Ends the calls of others where all of them are too much.
  Place Add(const Answer& answer);
  // It has left, or its call has ended.
  void Remove(Place place);

  size_t bytes() const;
  // How many were given up since this was asked last.
  uint64_t TakeGivenUp();

 private:
  struct Held {
    size_t bytes = 0;                   // of the answers
    size_t all_bytes = 0;               // with those that are given up
    std::list<Answer> answers, ending;  // the oldest first
  };
  grpc_call* GiveUpOne();  // null: none is left but the newest

  const size_t most_;
  const Ending ending_;
  mutable std::mutex mutex_;
  std::map<Tenant*, Held> of_;  // guarded by mutex_, as what follows; of those for whom something waits
  size_t bytes_ = 0;            // of all
  size_t given_up_bytes_ = 0;   // of those of them that are not yet gone
  uint64_t given_up_ = 0;
};

// Sends one answer, and counts it until it has left. Lives until then.
class AnswerReactor final : public grpc::ServerUnaryReactor {
 public:
  // `unread` outlives the server.
  AnswerReactor(UnreadAnswers* unread, grpc::CallbackServerContext* context) : unread_(*unread), context_(*context) {}

  // `bytes`: of the answer, 0 without one.
  void Send(const grpc::Status& status, Tenant* tenant, size_t bytes);
  void OnDone() override;

 private:
  // Reacting is as short as gRPC's own reactor's; another thread would cost more than an answer from the cache does.
  bool InternalInlineable() override { return true; }

  UnreadAnswers& unread_;
  grpc::CallbackServerContext& context_;
  UnreadAnswers::Place place_;
};

}  // namespace flightplan::service
