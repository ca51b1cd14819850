#include "service/call/result_cache.h"

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "service/call/answer_source.h"

namespace flightplan::service {
namespace {

std::shared_ptr<const StoredAnswer> Stored(const std::string& id) {
  auto answer = std::make_shared<StoredAnswer>();
  answer->decision_id = id;
  return answer;
}

// Room for one entry of this key and size in its shard.
size_t RoomFor(size_t key_bytes, size_t answer_bytes) {
  return (key_bytes + answer_bytes + ResultCache::kEntryOverhead) * ResultCache::kShards;
}

TEST(ResultCache, FindsWhatWasInserted) {
  ResultCache cache(1 << 20);
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Insert("a", Stored("one"), 100);
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("a")->decision_id, "one");
  EXPECT_EQ(cache.Find("b"), nullptr);
}

TEST(ResultCache, ReplacesAnEntryOfTheSameKey) {
  ResultCache cache(1 << 20);
  cache.Insert("a", Stored("one"), 100);
  const size_t bytes = cache.bytes();
  cache.Insert("a", Stored("two"), 100);
  EXPECT_EQ(cache.Find("a")->decision_id, "two");
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(ResultCache, KeepsAnAnswerOfExactlyAShardAndRefusesOneByteMore) {
  ResultCache cache(RoomFor(1, 1000));
  cache.Insert("a", Stored("fits"), 1000);
  EXPECT_NE(cache.Find("a"), nullptr);
  cache.Insert("b", Stored("too large"), 1001);
  EXPECT_EQ(cache.Find("b"), nullptr);
}

TEST(ResultCache, StaysWithinItsBytesAndDropsTheLeastRecentlyUsed) {
  ResultCache cache(64 << 10);
  for (int i = 0; i < 1000; ++i) {
    cache.Insert(absl::StrCat("key", i), Stored(absl::StrCat(i)), 500);
    EXPECT_NE(cache.Find("key0"), nullptr) << "used after every insertion, gone after " << i;
    EXPECT_LE(cache.bytes(), size_t{64} << 10);
  }
  EXPECT_EQ(cache.Find("key1"), nullptr);
  EXPECT_NE(cache.Find("key999"), nullptr);
}

TEST(ResultCache, KeepsNothingWithoutBytes) {
  ResultCache cache(0);
  cache.Insert("a", Stored("one"), 1);
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ResultCache, MayBeUsedFromManyThreads) {
  ResultCache cache(256 << 10);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string key = absl::StrCat("key", (i * 7 + t) % 300);
        if (const auto found = cache.Find(key)) {
          EXPECT_EQ(found->decision_id, key);
        } else {
          cache.Insert(key, Stored(key), 700);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), size_t{256} << 10);
}

}  // namespace
}  // namespace flightplan::service
