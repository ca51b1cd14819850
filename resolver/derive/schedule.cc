#include "resolver/derive/schedule.h"

#include <algorithm>
#include <array>

namespace flightplan {
namespace {

// A number of passes. They run in groups of `group` microbatches, chunk after chunk, so that it is made of whole cycles
// through all chunks, whole groups of the next chunks, and passes of the chunk behind those.
struct Passes {
  int64_t cycles = 0, chunks = 0, rest = 0;
};

Passes Split(const Schedule& s, int64_t passes) {
  const int64_t cycle = s.group * s.vpp, part = passes % cycle;
  return {passes / cycle, part / s.group, part % s.group};
}

// What so many passes touch: group * whole + rest * next, with `rest` passes of the chunk behind the whole ones.
struct Touched {
  double whole, next;
};

// `before` holds the sums of the bytes of the chunks in their order: before[j] is that of the first j.
Touched After(const Schedule& s, int64_t cycles, int64_t chunk, const double* before) {
  return {static_cast<double>(cycles) * before[s.vpp] + before[chunk], before[chunk + 1] - before[chunk]};
}

double BytesOf(const Schedule& s, const Touched& touched, int64_t rest) {
  return static_cast<double>(s.group) * touched.whole + static_cast<double>(rest) * touched.next;
}

}  // namespace

int64_t WarmUpPasses(const Schedule& s, int rank) {
  const int64_t total = s.microbatches * s.vpp;
  const int64_t ranks_below = s.pp - rank - 1;
  int64_t passes = s.vpp == 1 ? ranks_below : 2 * ranks_below + int64_t{s.vpp - 1} * s.group;
  if (s.extra_forward) ++passes;
  return std::min(total, passes);
}

double MostKept(const Schedule& s, int rank, const double* bytes, bool at_last) {
  const int64_t total = s.microbatches * s.vpp;
  const int64_t warm_up = WarmUpPasses(s, rank);
  const bool equal = std::all_of(bytes, bytes + s.vpp, [&](double size) { return size == bytes[0]; });
  if (equal) return static_cast<double>(std::min(total, warm_up + 1)) * bytes[0];
  // What is kept is what the forwards touched less what the backwards did, which take the chunks in reverse. Between
  // two changes of chunk the sum is linear, so that the maximum lies beside one of them: at the first or the last
  // backward of a chunk, or at a change of the chunk that the forward beside it is of.
  std::array<double, kMostVirtualStages + 1> forth, back;  // of the first vpp + 1
  forth[0] = back[0] = 0;
  for (int j = 0; j < s.vpp; ++j) {
    forth[static_cast<size_t>(j) + 1] = forth[static_cast<size_t>(j)] + bytes[j];
    back[static_cast<size_t>(j) + 1] = back[static_cast<size_t>(j)] + bytes[s.vpp - 1 - j];
  }
  const Passes ahead = Split(s, warm_up + 1), end = Split(s, total);
  const double all = BytesOf(s, After(s, end.cycles, end.chunks, forth.data()), end.rest);
  std::array<Touched, kMostVirtualStages + 2> ahead_of;  // by the forwards, of so many whole chunks of backwards
  for (int64_t i = 0, cycles = ahead.cycles, chunk = ahead.chunks; i <= s.vpp + 1; ++i) {
    ahead_of[static_cast<size_t>(i)] = After(s, cycles, chunk, forth.data());
    if (++chunk == s.vpp) chunk = 0, ++cycles;
  }
  std::array<Touched, kMostVirtualStages + 1> behind;  // by the backwards, so many whole chunks of them
  for (int64_t i = 0; i < s.vpp; ++i) behind[static_cast<size_t>(i)] = After(s, 0, i, back.data());
  behind[static_cast<size_t>(s.vpp)] = After(s, 1, 0, back.data());
  double most = 0;
  // After `rest` backwards of the chunk behind `chunks` whole ones; the forwards are `forward_rest` passes behind what
  // they touched `reached` chunks after the first backward.
  const auto at = [&](int64_t chunks, int64_t rest, int64_t reached, int64_t forward_rest) {
    const int64_t backwards = chunks * s.group + rest;
    if (backwards >= total || (at_last && chunks > 0 && chunks < s.vpp)) return;
    const double touched =
        backwards + warm_up + 1 < total ? BytesOf(s, ahead_of[static_cast<size_t>(reached)], forward_rest) : all;
    most = std::max(most, touched - BytesOf(s, behind[static_cast<size_t>(chunks)], rest));
  };
  // One period of the steady state; what comes after its end repeats it or, when the forwards are done, holds less.
  const int64_t last = s.group - 1, to_change = s.group - ahead.rest;  // of the forward's chunk
  for (int64_t chunks = 0; chunks <= s.vpp; ++chunks) {
    if (chunks > 0 && ahead.rest > 0) at(chunks - 1, last, chunks, ahead.rest - 1);
    if (chunks > 0 && ahead.rest == 0) at(chunks - 1, last, chunks - 1, last);
    at(chunks, 0, chunks, ahead.rest);
    if (ahead.rest == 0) continue;
    at(chunks, to_change - 1, chunks, last);
    at(chunks, to_change, chunks + 1, 0);
  }
  return most;
}

}  // namespace flightplan
