// What a program for an older glibc leans on: exceptions, threads, shared ownership and random numbers. It is linked as
// the worker is, and ends with 0 where all of them work.
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int Depth(int left) {
  if (left == 0) throw std::runtime_error("thrown");
  return Depth(left - 1) + 1;
}

bool Catches() {
  try {
    return Depth(8) < 0;
  } catch (const std::runtime_error& error) {
    return std::string(error.what()) == "thrown";
  }
}

}  // namespace

int main() {
  std::atomic<int> caught{Catches()};
  const auto shared = std::make_shared<int>(7);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&caught, mine = shared] {
      for (int turn = 0; turn < 1000; ++turn) {
        std::shared_ptr<int> copy = mine;  // counted with atomics, or lost
        caught += turn == 0 && *copy == 7 && Catches();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::random_device random;
  const bool differ = random() != random() || random() != random();
  std::printf("%d of 5 caught, shared by %ld, random numbers %s\n", caught.load(), shared.use_count(),
              differ ? "differ" : "are the same");
  return caught == 5 && shared.use_count() == 1 && differ ? 0 : 1;
}
