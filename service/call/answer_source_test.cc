#include "service/call/answer_source.h"

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "service/backend/reloadable_backend.h"
#include "service/local/worker_pool.h"
#include "service/testing/fake_backend.h"

namespace flightplan::service {
namespace {

std::string Bytes(const grpc::Slice& slice) {
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

v1::ResolveConfigRequest Named(const std::string& name) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(name);
  return request;
}

class AnswerSourceTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeBackend::Control> control_ = std::make_shared<FakeBackend::Control>();
  FakeBackend backend_{control_};
  Metrics metrics_{"test", "cat-1"};
};

TEST_F(AnswerSourceTest, MapEntriesInAnotherOrderAreTheSameQuestion) {
  AnswerSource source(&backend_, &metrics_, 1 << 20);
  v1::ResolveConfigRequest a, b;
  (*a.mutable_env())["A"] = "1";
  (*b.mutable_env())["B"] = "2";
  const std::string ab = a.SerializeAsString() + b.SerializeAsString();
  const std::string ba = b.SerializeAsString() + a.SerializeAsString();
  ASSERT_NE(ab, ba);
  ASSERT_TRUE(source.FromBytes(AnswerRpc::kResolve, ab).ok());
  const auto second = source.FromBytes(AnswerRpc::kResolve, ba);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->cache, CacheUse::kHit);
  EXPECT_EQ(control_->calls, 1);
}

// What was worked out with the backend in between may have been kept under the name of either.
TEST_F(AnswerSourceTest, NothingIsKeptOverAReplacedBackend) {
  const auto make = [this] { return std::make_unique<FakeBackend>(control_); };
  ReloadableBackend backend(make());
  AnswerSource source(&backend, &metrics_, 1 << 20);
  const std::string request = Named("m").SerializeAsString();
  for (int i = 0; i < 3; ++i) {
    const auto first = source.FromBytes(AnswerRpc::kResolve, request);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->cache, CacheUse::kMiss);
    EXPECT_EQ(source.FromBytes(AnswerRpc::kResolve, request)->cache, CacheUse::kHit);
    backend.Replace(make());
  }
  EXPECT_EQ(control_->calls, 3);
}

TEST_F(AnswerSourceTest, AMessageAndItsBytesShareOneEntry) {
  AnswerSource source(&backend_, &metrics_, 1 << 20);
  const auto first = source.FromBytes(AnswerRpc::kResolve, Named("m").SerializeAsString());
  const auto second = source.Resolve(Named("m"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->cache, CacheUse::kHit);
  EXPECT_EQ(first->stored, second->stored);
}

TEST_F(AnswerSourceTest, AnswersOfBothPathsHaveTheSameBytes) {
  AnswerSource cached(&backend_, &metrics_, 1 << 20);
  AnswerSource uncached(&backend_, &metrics_, 0);
  const std::string request = Named("m").SerializeAsString();
  const auto a = cached.FromBytes(AnswerRpc::kResolve, request);
  const auto b = uncached.FromBytes(AnswerRpc::kResolve, request);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(Bytes(a->stored->bytes), Bytes(b->stored->bytes));
  EXPECT_EQ(b->cache, CacheUse::kBypass);
}

TEST_F(AnswerSourceTest, MayBeAskedFromManyThreads) {
  AnswerSource source(&backend_, &metrics_, 32 << 10);  // small: entries come and go
  {
    WorkerPool pool(4);
    for (int i = 0; i < 2000; ++i) {
      pool.Submit([&source, i] {
        const std::string name = absl::StrCat("m", i % 61);
        const auto answer = i % 2 == 0 ? source.Resolve(Named(name))
                                       : source.FromBytes(AnswerRpc::kResolve, Named(name).SerializeAsString());
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->stored->decision_id, "fp1-" + name);
      });
    }
  }
  EXPECT_LE(source.cache_bytes(), size_t{32} << 10);
}

TEST(WorkerPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs{0};
  {
    WorkerPool pool(3);
    for (int i = 0; i < 1000; ++i) pool.Submit([&runs] { ++runs; });
  }
  EXPECT_EQ(runs, 1000);
}

}  // namespace
}  // namespace flightplan::service
