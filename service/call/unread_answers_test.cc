#include "service/call/unread_answers.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "absl/time/clock.h"
#include "service/call/idle_streams.h"

namespace flightplan::service {
namespace {

// Places that are told apart by where they are; nothing is read there.
char* Place(size_t i) {
  static std::array<char, 64> places;
  return &places.at(i);
}
grpc_call* CallAt(size_t i) { return reinterpret_cast<grpc_call*>(Place(i)); }
Tenant* TenantAt(size_t i) { return reinterpret_cast<Tenant*>(Place(32 + i)); }

class UnreadAnswersTest : public testing::Test {
 protected:
  UnreadAnswersTest() { ended().clear(); }
  static std::set<grpc_call*>& ended() {
    static auto* const kEnded = new std::set<grpc_call*>;
    return *kEnded;
  }
  UnreadAnswers answers_{100'000, {[](grpc_call*) {}, [](grpc_call* call) { ended().insert(call); }}};
};

TEST_F(UnreadAnswersTest, BeyondTheLimitTheOldestOfWhoHoldsMostIsEnded) {
  answers_.Add({CallAt(0), TenantAt(0), 30'000});  // older, and less
  for (size_t i = 1; i <= 2; ++i) answers_.Add({CallAt(i), TenantAt(1), 35'000});
  EXPECT_TRUE(ended().empty());
  const auto last = answers_.Add({CallAt(3), TenantAt(2), 10'000});
  EXPECT_EQ(ended(), (std::set<grpc_call*>{CallAt(1)}));
  EXPECT_EQ(answers_.TakeGivenUp(), 1U);
  EXPECT_EQ(answers_.TakeGivenUp(), 0U);
  EXPECT_EQ(answers_.bytes(), 110'000U) << "what is given up is there until gRPC lets it go";
  answers_.Remove(last);
  EXPECT_EQ(answers_.bytes(), 100'000U);
}

TEST_F(UnreadAnswersTest, AnAnswerIsNotEndedForItself) {
  answers_.Add({CallAt(0), TenantAt(0), 500'000});
  EXPECT_TRUE(ended().empty());
}

TEST_F(UnreadAnswersTest, WhileWhatIsGivenUpIsThereNoMoreIsSentToWhoHoldsMuch) {
  std::vector<UnreadAnswers::Place> all;
  for (size_t i = 0; i < 20; ++i) all.push_back(answers_.Add({CallAt(i), TenantAt(0), 10'000}));
  EXPECT_EQ(ended().size(), 10U);
  EXPECT_FALSE(answers_.HasRoom(TenantAt(0), 10'000));
  EXPECT_TRUE(answers_.HasRoom(TenantAt(1), 10'000));
  for (const UnreadAnswers::Place& place : all) answers_.Remove(place);
  EXPECT_EQ(answers_.bytes(), 0U);
  EXPECT_TRUE(answers_.HasRoom(TenantAt(0), 10'000));
}

TEST(IdleStreams, TheOldestOfTheTenantWithTheMostGoes) {
  IdleStreams streams;
  std::vector<uint64_t> gone;
  const auto add = [&](size_t tenant, bool idle) {
    return streams.Add(TenantAt(tenant), [&gone, idle](uint64_t id) {
      if (idle) gone.push_back(id);
      return idle;
    });
  };
  add(0, true);
  const uint64_t busy = add(1, false), first = add(1, true);
  const uint64_t removed = add(1, true);
  add(1, true);
  EXPECT_FALSE(streams.GiveUpOne()) << "they think";
  absl::SleepFor(IdleStreams::kPatience + absl::Milliseconds(50));
  streams.Remove(removed);
  EXPECT_TRUE(streams.GiveUpOne());
  EXPECT_EQ(gone, std::vector<uint64_t>{first}) << "not " << busy << ", which has begun to work";
}

}  // namespace
}  // namespace flightplan::service
