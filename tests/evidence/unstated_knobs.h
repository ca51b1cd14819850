// The knobs that a row does not state: what they may have been, by the complete recipes nearest to it.
#pragma once

#include <string>
#include <vector>

#include "tests/evidence/truth.h"
#include "tests/support/json_row.h"

namespace flightplan {

// What runs on the knobs that sources leave out.
struct Unstated {
  bool recompute = false, graphs = false, dispatcher = false, overlap = false;
  bool any() const { return recompute || graphs || dispatcher || overlap; }
};

// Knobs without a place in a model (dispatcher and overlap of dense ones) are not unknown.
Unstated UnstatedOf(const Json& row, bool moe);

// What a complete recipe sets for the knobs that others leave out, and what it is for.
struct Donor {
  std::string model, gpu, precision;
  bool moe = false, low_precision = false;
  int generation = 0;
  double age = 0;  // of its release, in years since 2025
  Candidate plan;
  Unstated missing;  // a preset leaves some to others
};
Donor DonorOf(const TruthRow& row, const std::string& release, const Unstated& missing);
// What a preset leaves open is that of the complete recipe nearest to it.
void CompleteDonors(std::vector<Donor>* donors);

// Forecasts the row once for each setting that its donors have; each counts by its nearness.
void AddVariants(const std::vector<Donor>& donors, const Unstated& none, TruthRow* row);

// Years since 2025 of the releases that the rows name: containers by month, Megatron-Bridge by its container.
double ReleaseYear(const std::string& release);
// Releases in order of age: the verification cards are the newest, then the containers by date.
double ReleaseAge(const std::string& release);

}  // namespace flightplan
