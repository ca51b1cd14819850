// What the rows of single operators, such as a scan or an indexer, change in a forecast.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"
#include "tests/support/sample_profile.h"

namespace flightplan {
namespace {

using sample::SampleProfile;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

// Rows of operators.py, at about the shape of the model.
using Shape = std::vector<std::pair<const char*, double>>;
constexpr double kTokens = 8192;

v1::ProbeRow* AddOperator(v1::HardwareProfile* profile, const std::string& id, double us, const Shape& shape) {
  v1::ProbeRow* row = sample::AddRow(profile, id, us, "us");
  (*row->mutable_parameters())["tokens"] = (*row->mutable_parameters())["sequence"] = kTokens;
  for (const auto& [name, value] : shape) (*row->mutable_parameters())[name] = value;
  (*row->mutable_labels())["library"] = "mamba_ssm 2.3.0";
  return row;
}

v1::ResolveConfigRequest Of(const char* model, const v1::HardwareProfile& profile) {
  v1::ResolveConfigRequest request = Training(model, "h200-sxm", 64, 4096, 1024);
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  *request.mutable_probe_profile() = profile;
  return request;
}

// Without what the routing's balance adds.
std::vector<std::string> Unmeasured(const v1::ResolveConfigResponse& response) {
  std::vector<std::string> terms;
  for (const std::string& term : response.estimate().unmeasured_terms()) {
    if (term != "natural routing") terms.push_back(term);
  }
  return terms;
}

std::string Told(const v1::ResolveConfigResponse& response) {
  const v1::Finding* const finding = FindFinding(response.findings(), "evidence.probed-operators");
  return finding == nullptr ? "" : finding->seen();
}

TEST(ProbedOperators, AScanThatWasTimedIsForecastByItsRows) {
  const Shape shape = {{"heads", 64}, {"head_dim", 64}, {"state", 128}, {"groups", 8}};
  const auto with = [&](double forward, double backward) {
    v1::HardwareProfile profile = SampleProfile();
    if (forward > 0) AddOperator(&profile, "mamba.scan.fwd", forward, shape);
    if (backward > 0) AddOperator(&profile, "mamba.scan.bwd", backward, shape);
    return Resolved(Of("nemotron-3-nano", profile));
  };
  const v1::ResolveConfigResponse without = with(0, 0), forward_alone = with(500, 0), both = with(500, 1500);
  using Terms = std::vector<std::string>;
  EXPECT_EQ(Unmeasured(without), Terms({"Mamba scan"}));
  EXPECT_EQ(Unmeasured(forward_alone), Terms({"Mamba scan"})) << "a step has both passes";
  EXPECT_EQ(StepUs(forward_alone), StepUs(without));
  EXPECT_EQ(Unmeasured(both), Terms());
  EXPECT_EQ(Told(both), "timed on this H200: Mamba scan of mamba_ssm 2.3.0");
  EXPECT_EQ(Told(without), "");
  EXPECT_LT(StepUs(both), StepUs(with(1000, 1500)));
  EXPECT_LT(StepUs(both), StepUs(with(500, 3000)));
  const v1::Range measured = both.estimate().step_time_us(), guessed = without.estimate().step_time_us();
  EXPECT_LT(std::log(measured.high() / measured.low()), std::log(guessed.high() / guessed.low()));
  // Another model's scan says nothing of this one's.
  v1::HardwareProfile delta = SampleProfile();
  for (const char* const id : {"delta.scan.fwd", "delta.scan.bwd"})
    AddOperator(&delta, id, 500, {{"heads", 32}, {"key_dim", 128}, {"value_dim", 128}});
  EXPECT_EQ(Unmeasured(Resolved(Of("nemotron-3-nano", delta))), Terms({"Mamba scan"}));
  EXPECT_EQ(Unmeasured(Resolved(Of("qwen3-next-80b-a3b", delta))), Terms());
}

// Megatron-Core's own indexer takes time that nothing else stands for; fused kernels are others.
TEST(ProbedOperators, AnIndexerThatWasTimedIsAddedToTheStep) {
  v1::HardwareProfile profile = SampleProfile();
  v1::ResolveConfigRequest request = Of("deepseek-v3.2", profile);
  Pin("dsa_kernel_backend", "none", &request);
  const v1::ResolveConfigResponse without = Resolved(request);
  AddOperator(&profile, "dsa.index.fwd", 40'000, {{"heads", 64}, {"head_dim", 128}, {"topk", 2048}})
      ->mutable_labels()
      ->clear();
  *request.mutable_probe_profile() = profile;
  const v1::ResolveConfigResponse with = Resolved(request);
  using Terms = std::vector<std::string>;
  EXPECT_EQ(Unmeasured(without), Terms({"sparse attention indexer"}));
  EXPECT_EQ(Unmeasured(with), Terms({"sparse attention"}));
  EXPECT_EQ(Told(with), "timed on this H200: sparse attention indexer, forward");
  EXPECT_GT(StepUs(with), StepUs(without));
  request.clear_pinned_knobs();
  Pin("dsa_kernel_backend", "tilelang", &request);
  EXPECT_EQ(Unmeasured(Resolved(request)), Terms({"sparse attention indexer"}));
}

}  // namespace
}  // namespace flightplan
