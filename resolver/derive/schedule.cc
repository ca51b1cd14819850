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

Passes Sum(const Schedule& s, const Passes& a, const Passes& b) {
  Passes sum{a.cycles + b.cycles, a.chunks + b.chunks, a.rest + b.rest};
  if (sum.rest >= s.group) {
    sum.rest -= s.group;
    ++sum.chunks;
  }
  if (sum.chunks >= s.vpp) {
    sum.chunks -= s.vpp;
    ++sum.cycles;
  }
  return sum;
}

// Bytes that the first `passes` passes touch. `before` holds the sums of the bytes of the chunks in their order:
// before[j] is that of the first j.
double BytesOf(const Schedule& s, const Passes& passes, const double* before) {
  const int64_t chunk = passes.chunks;
  const double whole = static_cast<double>(passes.cycles) * before[s.vpp] + before[chunk];
  return static_cast<double>(s.group) * whole + static_cast<double>(passes.rest) * (before[chunk + 1] - before[chunk]);
}

}  // namespace

int64_t WarmUpPasses(const Schedule& s, int rank) {
  const int64_t total = s.microbatches * s.vpp;
  const int64_t ranks_below = s.pp - rank - 1;
  int64_t passes = s.vpp == 1 ? ranks_below : 2 * ranks_below + int64_t{s.vpp - 1} * s.group;
  if (s.extra_forward) ++passes;
  return std::min(total, passes);
}

int64_t MostInFlight(const Schedule& s, int rank) {
  return std::min(s.microbatches * s.vpp, WarmUpPasses(s, rank) + 1);
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
  const Passes ahead = Split(s, warm_up + 1), all = Split(s, total);
  double most = 0;
  // After `rest` backwards of the chunk behind `chunks` whole ones.
  const auto at = [&](int64_t chunks, int64_t rest) {
    const int64_t backwards = chunks * s.group + rest;
    if (backwards >= total) return;
    const Passes behind = chunks < s.vpp ? Passes{0, chunks, rest} : Passes{1, 0, rest};
    if (at_last && behind.chunks > 0) return;
    const Passes forwards = backwards + warm_up + 1 < total ? Sum(s, behind, ahead) : all;
    most = std::max(most, BytesOf(s, forwards, forth.data()) - BytesOf(s, behind, back.data()));
  };
  // One period of the steady state; what comes after its end repeats it or, when the forwards are done, holds less.
  const int64_t to_change = s.group - ahead.rest;  // of the forward's chunk
  for (int64_t chunks = 0; chunks <= s.vpp; ++chunks) {
    if (chunks > 0) at(chunks - 1, s.group - 1);
    at(chunks, 0);
    if (ahead.rest == 0) continue;
    at(chunks, to_change - 1);
    at(chunks, to_change);
  }
  return most;
}

}  // namespace flightplan
