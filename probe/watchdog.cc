#include "probe/watchdog.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace flightplan::probe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTick = std::chrono::milliseconds(20), kGrace = std::chrono::milliseconds(800),
               kReader = std::chrono::milliseconds(500);

void PrintWhatIsThere(const char* why, LineWriter* out, Progress* progress) {
  progress->Update([&](Profile* profile) {
    profile->partial = true;
    profile->notes.emplace_back(why);
  });
  out->Write(ProfileLine(progress->Snapshot()));
  out->Write(ErrorLine(Fail(Code::kOutOfTime, why)));
}

void Watch(double hard_seconds, const std::atomic<bool>* stop, LineWriter* out, Progress* progress) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(hard_seconds));
  Clock::time_point stopped = Clock::time_point::max();
  while (Clock::now() < end && (stopped == Clock::time_point::max() || Clock::now() < stopped + kGrace)) {
    if (*stop && stopped == Clock::time_point::max()) stopped = Clock::now();
    std::this_thread::sleep_for(kTick);
  }
  const char* why = Clock::now() < end ? "asked to stop; a measurement did not end" : "the hard limit on time passed";
  std::thread([=] {
    PrintWhatIsThere(why, out, progress);
    std::_Exit(static_cast<int>(Code::kOutOfTime));
  }).detach();
  std::this_thread::sleep_for(kReader);
  std::_Exit(static_cast<int>(Code::kOutOfTime));
}

}  // namespace

void StartWatchdog(double hard_seconds, const std::atomic<bool>* stop, LineWriter* out, Progress* progress) {
  std::thread(Watch, hard_seconds, stop, out, progress).detach();
}

}  // namespace flightplan::probe
