// The compression function of SHA-256 (FIPS 180-4), in two ways that give the same. Used by digest.cc alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace flightplan::internal {

inline constexpr size_t kSha256Block = 64;  // bytes
using Sha256State = std::array<uint32_t, 8>;

// The constants of section 4.2.2.
extern const std::array<uint32_t, 64> kSha256Round;

void CompressPortably(const unsigned char* data, size_t blocks, Sha256State* state);

// With the processor's own instructions, about ten times as fast; only where HasSha256Instructions().
void CompressWithInstructions(const unsigned char* data, size_t blocks, Sha256State* state);
bool HasSha256Instructions();

}  // namespace flightplan::internal
