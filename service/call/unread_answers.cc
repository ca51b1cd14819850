#include "service/call/unread_answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "grpc/grpc.h"
#include "grpcpp/server_context.h"

namespace flightplan::service {

namespace {

constexpr char kGivenUp[] = "the answer waited longest for its reader when others had no room: ask again, and read";

void Keep(grpc_call* call) { grpc_call_ref(call); }
void End(grpc_call* call) {
  grpc_call_cancel_with_status(call, GRPC_STATUS_RESOURCE_EXHAUSTED, kGivenUp, nullptr);
  grpc_call_unref(call);
}

}  // namespace

UnreadAnswers::UnreadAnswers(size_t most) : UnreadAnswers(most, {Keep, End}) {}

bool UnreadAnswers::HasRoom(Tenant* tenant, size_t bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_ + bytes + kUnreadCallBytes <= 2 * most_) return true;
  const auto held = of_.find(tenant);
  return held == of_.end() || held->second.all_bytes < most_ / kUnreadShare;
}

UnreadAnswers::Place UnreadAnswers::Add(const Answer& answer) {
  std::vector<grpc_call*> given_up;
  Place place;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (bytes_ - given_up_bytes_ + answer.bytes > most_) {
      grpc_call* const call = GiveUpOne();
      if (call == nullptr) break;
      given_up.push_back(call);
    }
    Held& held = of_[answer.tenant];
    place = held.answers.insert(held.answers.end(), answer);
    held.bytes += answer.bytes;
    held.all_bytes += answer.bytes;
    bytes_ += answer.bytes;
  }
  // Not under the lock: what gRPC runs when a call ends comes to Remove.
  for (grpc_call* const call : given_up) ending_.end(call);
  return place;
}

grpc_call* UnreadAnswers::GiveUpOne() {
  const auto most = std::max_element(of_.begin(), of_.end(),
                                     [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  if (most == of_.end()) return nullptr;
  Held& held = most->second;
  if (held.answers.empty()) return nullptr;
  const Place oldest = held.answers.begin();
  held.ending.splice(held.ending.end(), held.answers, oldest);
  grpc_call* const call = std::exchange(oldest->call, nullptr);
  ending_.keep(call);  // it may end of itself before
  held.bytes -= oldest->bytes;
  given_up_bytes_ += oldest->bytes;
  ++given_up_;
  return call;
}

void UnreadAnswers::Remove(Place place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto of = of_.find(place->tenant);
  Held& held = of->second;
  const bool given_up = place->call == nullptr;
  bytes_ -= place->bytes;
  held.all_bytes -= place->bytes;
  (given_up ? given_up_bytes_ : held.bytes) -= place->bytes;
  (given_up ? held.ending : held.answers).erase(place);
  if (held.answers.empty() && held.ending.empty()) of_.erase(of);
}

size_t UnreadAnswers::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

uint64_t UnreadAnswers::TakeGivenUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t taken = given_up_;
  given_up_ = 0;
  return taken;
}

void AnswerReactor::Send(const grpc::Status& status, Tenant* tenant, size_t bytes) {
  place_ = unread_.Add({context_.c_call(), tenant, bytes + kUnreadCallBytes});
  Finish(status);  // this may be gone when it returns
}

void AnswerReactor::OnDone() {
  unread_.Remove(place_);
  delete this;
}

}  // namespace flightplan::service
