#include "resolver/base/once_each.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(OnceEach, MakesWhatIsAskedForOnceWhateverThreadsAsk) {
  OnceEach<int, std::string> texts;
  texts.Add(1);
  texts.Add(2);
  std::atomic<int> made{0};
  std::vector<const std::string*> seen(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      seen[i] = &texts.At(1, [&] {
        ++made;
        return std::make_unique<const std::string>("one");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  for (const std::string* text : seen) EXPECT_EQ(text, seen[0]);
  EXPECT_EQ(*seen[0], "one");
}

}  // namespace
}  // namespace flightplan
