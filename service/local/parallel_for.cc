#include "service/local/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace flightplan::service {

std::function<void(size_t count, const ParallelForBody& body)> ParallelOn(int threads) {
  return [threads](size_t count, const ParallelForBody& body) {
    // Pieces are taken as threads come free, since some take much longer than others.
    const size_t workers = std::min(static_cast<size_t>(std::max(1, threads)), count);
    const size_t piece = std::max<size_t>(1, count / (workers * 8 + 1));
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t begin = next.fetch_add(piece); begin < count; begin = next.fetch_add(piece)) {
        body(begin, std::min(count, begin + piece));
      }
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < workers; ++i) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
  };
}

}  // namespace flightplan::service
