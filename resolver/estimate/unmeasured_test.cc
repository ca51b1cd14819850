#include "resolver/estimate/unmeasured.h"

#include <gtest/gtest.h>

#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

using Names = std::vector<absl::string_view>;

Names TermsOf(const char* model, const Candidate& plan = {}, const GpuRates& rates = {}) {
  static const auto* const kCatalog = new Catalog(*Catalog::Builtin());
  return UnmeasuredTerms(*MakeShape(**kCatalog->FindModel(model)), plan, rates);
}

TEST(UnmeasuredTerms, NamesWhatNobodyHasPublished) {
  EXPECT_EQ(TermsOf("llama-3.1-70b"), Names());
  EXPECT_EQ(TermsOf("deepseek-v3"), Names());
  EXPECT_EQ(TermsOf("qwen3-next-80b-a3b"), Names({"gated delta net scan"}));
  EXPECT_EQ(TermsOf("nemotron-3-nano"), Names({"Mamba scan"}));
  EXPECT_EQ(TermsOf("deepseek-v3.2"), Names({"sparse attention indexer"}));
  EXPECT_EQ(TermsOf("deepseek-v4-pro"),
            Names({"compressed attention", "sparse attention indexer", "hyper-connections"}));
  EXPECT_EQ(TermsOf("step-3"), Names({"factorised attention"}));
}

// A profile's rows take a term away; of sparse attention its indexer alone.
TEST(UnmeasuredTerms, WhatAProfileTimedIsNone) {
  GpuRates rates;
  rates.scan_measured = true;
  EXPECT_EQ(TermsOf("qwen3-next-80b-a3b", {}, rates), Names());
  EXPECT_EQ(TermsOf("nemotron-3-nano", {}, rates), Names());
  EXPECT_EQ(TermsOf("deepseek-v3.2", {}, rates), Names({"sparse attention indexer"}));
  rates.indexer_us = 1e-9;
  EXPECT_EQ(TermsOf("deepseek-v3.2", {}, rates), Names({"sparse attention"}));
  Candidate fused;
  fused.sparse_kernels = true;
  EXPECT_EQ(TermsOf("deepseek-v3.2", fused, rates), Names({"sparse attention indexer"}));
  EXPECT_EQ(TermsOf("deepseek-v4-pro", {}, rates),
            Names({"compressed attention", "sparse attention indexer", "hyper-connections"}));
}

TEST(UnmeasuredTerms, NaturalRoutingIsOneWhereExpertsAreSpread) {
  Candidate plan;
  plan.ep = 8;
  EXPECT_EQ(TermsOf("qwen3-30b-a3b", plan), Names());
  plan.imbalance = 1.25F;
  EXPECT_EQ(TermsOf("qwen3-30b-a3b", plan), Names({"natural routing"}));
  plan.ep = 1;
  EXPECT_EQ(TermsOf("qwen3-30b-a3b", plan), Names());
}

TEST(UnmeasuredTerms, ANetworkWithoutRdmaIsOne) {
  GpuRates rates;
  rates.network_measured = false;
  EXPECT_EQ(TermsOf("llama-3.1-70b", {}, rates), Names({"network without RDMA"}));
}

TEST(UnmeasuredTerms, DeterministicKernelsAreOne) {
  Candidate plan;
  plan.deterministic = true;
  EXPECT_EQ(TermsOf("llama-3.1-70b", plan), Names({"deterministic kernels"}));
}

TEST(UnmeasuredTerms, AdaptersAreOneBeyondThePublishedRuns) {
  Candidate plan;
  plan.adapters.rank = 16;
  plan.adapters.targets = kAdaptQkv;
  EXPECT_EQ(TermsOf("llama-3.1-70b", plan), Names());
  EXPECT_EQ(TermsOf("qwen3-30b-a3b", plan), Names({"low-rank adapters"}));
  plan.adapters.targets = kAdaptQkv | kAdaptFc1;
  EXPECT_EQ(TermsOf("llama-3.1-70b", plan), Names({"low-rank adapters"}));
}

}  // namespace
}  // namespace flightplan
