// Random questions for a launch: every model, GPU system, stack, release and stage that is known, sizes given or left
// open, and words of the caller that stand in each other's way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::properties {

// kGiven: TP, PP and EP are said, so that no layout is searched, which costs most of the time. kSomeOpen: at least one
// of them is not.
enum class Sizes : uint8_t { kSomeOpen, kGiven };
// The same question for the same seed and sizes.
v1::ResolveConfigRequest AnyQuestion(const Catalog& catalog, uint64_t seed, Sizes sizes = Sizes::kSomeOpen);

// The question as a person would type it.
std::string CommandLine(const v1::ResolveConfigRequest& question);

// The questions that say one thing less than this one, or a smaller one.
std::vector<v1::ResolveConfigRequest> Simpler(const v1::ResolveConfigRequest& question);

}  // namespace flightplan::properties
