#include "resolver/derive/schedule.h"

#include <algorithm>
#include <array>

namespace flightplan {
namespace {

// Bytes that the first `passes` passes touch: passes run in groups of `group` microbatches, chunk after chunk. `before`
// holds the sums of the bytes of the chunks in that order: before[j] is that of the first j.
double BytesOf(const Schedule& s, int64_t passes, const double* before) {
  const int64_t cycle = s.group * s.vpp;
  const int64_t rest = passes % cycle, chunk = rest / s.group;
  const double whole = static_cast<double>(passes / cycle) * before[s.vpp] + before[chunk];
  return static_cast<double>(s.group) * whole +
         static_cast<double>(rest - chunk * s.group) * (before[chunk + 1] - before[chunk]);
}

int64_t WarmUp(const Schedule& s, int rank) {
  const int64_t total = s.microbatches * s.vpp;
  int64_t passes = s.vpp == 1 ? s.pp - rank - 1 : 2 * (s.pp - rank - 1) + (s.vpp - 1) * s.group;
  if (s.extra_forward) ++passes;
  return std::min(total, passes);
}

}  // namespace

int64_t MostInFlight(const Schedule& s, int rank) { return std::min(s.microbatches * s.vpp, WarmUp(s, rank) + 1); }

double MostKept(const Schedule& s, int rank, const double* bytes, bool at_last) {
  const int64_t total = s.microbatches * s.vpp;
  const int64_t warm_up = WarmUp(s, rank);
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
  const auto kept = [&](int64_t forwards, int64_t backwards) {
    return BytesOf(s, forwards, forth.data()) - BytesOf(s, backwards, back.data());
  };
  const int64_t cycle = s.group * s.vpp;
  double most = 0;
  const auto at = [&](int64_t backwards) {
    if (backwards < 0) return;
    const int64_t forwards = std::min(total, backwards + warm_up + 1);
    if (backwards >= forwards) return;
    if (at_last && backwards % cycle >= s.group) return;
    most = std::max(most, kept(forwards, backwards));
  };
  // One period of the steady state; what comes after its end repeats it or, when the forwards are done, holds less.
  const int64_t shift = (warm_up + 1) % s.group;
  for (int64_t x = 0; x <= cycle; x += s.group) {
    at(x - 1);
    at(x);
    if (shift == 0) continue;
    at(x + s.group - shift - 1);
    at(x + s.group - shift);
  }
  return most;
}

}  // namespace flightplan
