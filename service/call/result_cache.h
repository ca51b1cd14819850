// Caches finished answers by request. Bounded in bytes; evicts the least recently used. Sharded by key, so that calls
// on different cores rarely contend for one lock.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace flightplan::service {

struct StoredAnswer;

class ResultCache {
 public:
  using Answer = std::shared_ptr<const StoredAnswer>;

  // 0 bytes: nothing is kept.
  explicit ResultCache(size_t max_bytes);

  // Null: not there.
  Answer Find(absl::string_view key);
  // Keeps `answer`, which holds `answer_bytes`; one that is larger than a shard's share is not kept. Replaces an entry
  // of the same key.
  void Insert(absl::string_view key, Answer answer, size_t answer_bytes);

  // Bytes charged now: keys, answers and a fixed overhead per entry.
  size_t bytes() const;

  static constexpr size_t kShards = 16;
  static constexpr size_t kEntryOverhead = 192;

 private:
  struct Entry {
    std::string key;
    Answer answer;
    size_t charge = 0;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::list<Entry> entries;                                                   // most recently used first
    absl::flat_hash_map<absl::string_view, std::list<Entry>::iterator> by_key;  // keys live in the entries
    size_t bytes = 0;
  };
  Shard& ShardOf(absl::string_view key);

  const size_t max_shard_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace flightplan::service
