#include "resolver/base/sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <utility>
#endif

namespace flightplan::internal {

#if defined(__x86_64__)

bool HasSha256Instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSE4_1) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

// The instructions hold the state as ABEF and CDGH, and take two rounds of a state and two words at a time.
__attribute__((target("sha,sse4.1"))) void CompressWithInstructions(const unsigned char* data, size_t blocks,
                                                                    Sha256State* state) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(state->data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state->data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; --blocks, data += kSha256Block) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last sixteen words of the message schedule
    for (size_t i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(load(data + 16 * i), big_endian);
    for (size_t i = 0; i < 16; ++i) {
      const __m128i words = _mm_add_epi32(w[0], load(kSha256Round.data() + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
      const __m128i next =
          _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4)), w[3]);
      w[0] = std::exchange(w[1], std::exchange(w[2], std::exchange(w[3], next)));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  auto* out = reinterpret_cast<__m128i*>(state->data());
  _mm_storeu_si128(out, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(out + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool HasSha256Instructions() { return false; }
void CompressWithInstructions(const unsigned char* data, size_t blocks, Sha256State* state) {
  CompressPortably(data, blocks, state);
}

#endif

}  // namespace flightplan::internal
