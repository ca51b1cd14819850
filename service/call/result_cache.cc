#include "service/call/result_cache.h"

#include <utility>

#include "absl/hash/hash.h"

namespace flightplan::service {

ResultCache::ResultCache(size_t max_bytes) : max_shard_bytes_(max_bytes / kShards) {}

ResultCache::Shard& ResultCache::ShardOf(absl::string_view key) {
  // The high bits: the shard's own table uses the low ones.
  return shards_[(absl::Hash<absl::string_view>()(key) >> 48) % kShards];
}

ResultCache::Answer ResultCache::Find(absl::string_view key) {
  Shard& shard = ShardOf(key);
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  return found->second->answer;
}

void ResultCache::Insert(absl::string_view key, Answer answer, size_t answer_bytes) {
  const size_t charge = key.size() + answer_bytes + kEntryOverhead;
  if (charge > max_shard_bytes_) return;
  Shard& shard = ShardOf(key);
  std::list<Entry> dropped;  // freed after the lock is
  const std::lock_guard<std::mutex> lock(shard.mutex);
  const auto drop = [&](std::list<Entry>::iterator entry) {
    shard.bytes -= entry->charge;
    shard.by_key.erase(entry->key);
    dropped.splice(dropped.begin(), shard.entries, entry);
  };
  if (const auto found = shard.by_key.find(key); found != shard.by_key.end()) drop(found->second);
  while (shard.bytes + charge > max_shard_bytes_) drop(std::prev(shard.entries.end()));
  shard.entries.push_front(Entry{std::string(key), std::move(answer), charge});
  shard.by_key.emplace(shard.entries.front().key, shard.entries.begin());
  shard.bytes += charge;
}

size_t ResultCache::bytes() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard<std::mutex> lock(shard.mutex);
    sum += shard.bytes;
  }
  return sum;
}

}  // namespace flightplan::service
