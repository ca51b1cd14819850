#include "resolver/estimate/exchange.h"

#include <algorithm>
#include <cmath>

#include "resolver/evidence/fitted_profile.h"

namespace flightplan {
namespace {

constexpr double kDefaultDeepepSms = 20;  // Megatron-LM@d98e8a64dd token_dispatcher.py:1287
// HybridEP's, as many as were published with it (decide::PublishedSms). What fewer would cost the exchange was not
// measured, so that they give compute nothing back.
constexpr double kHybridepSms = 32, kHybridepNetworkSms = 16;
// Where nobody says it: Megatron-Core 0.16's default, which the rates are fitted with. Its library's own is 32 within a
// domain and 8 across (DeepEP's branch hybrid-ep: deep_ep/hybrid_ep_buffer.py, num_sms_dispatch_api).
constexpr double kDefaultHybridepSms = 16;

// Two links that work at once, with some of the shorter one's time showing.
double BothLinks(double inside_us, double outside_us) {
  return std::max(inside_us, outside_us) + 0.25 * std::min(inside_us, outside_us);
}

// DeepEP's bandwidth against the SMs it was given: a smooth minimum of both limits.
double DeepepUs(const GpuRates& rates, double sms) {
  const double link = rates.nvlink_us[static_cast<size_t>(Dispatcher::kDeepEp)];
  const double by_sms = rates.deepep_sm_us / std::max(1.0, sms);
  const double a = link * link, b = by_sms * by_sms;
  return std::sqrt(std::sqrt(a * a + b * b));
}

}  // namespace

double ExchangeSms(const Candidate& plan, bool crosses_domain) {
  if (plan.dispatcher == Dispatcher::kDeepEp) return plan.num_sms > 0 ? plan.num_sms : kDefaultDeepepSms;
  if (plan.dispatcher == Dispatcher::kHybridEp) {
    if (plan.num_sms == 0) return kDefaultHybridepSms;
    return std::max<double>(plan.num_sms, crosses_domain ? kHybridepNetworkSms : kHybridepSms);
  }
  return kNcclSms;
}

double DistinctGroups(double groups, double experts, double topk) {
  if (groups <= 1 || experts <= 0) return std::min(1.0, groups);
  // The chance that none of a token's experts lies in a group of experts / groups.
  const double per_group = experts / groups;
  double none = 1;
  for (int i = 0; i < static_cast<int>(topk); ++i)
    none *= std::max(0.0, experts - per_group - i) / std::max(1.0, experts - i);
  return groups * (1 - none);
}

namespace {

// Ranks, or NVLink domains, that a token reaches; group-limited routing keeps its experts together.
double RanksReached(double ranks, const MlpWork& mlp) {
  const double free = DistinctGroups(ranks, mlp.experts, mlp.topk);
  if (mlp.router_group_topk <= 0) return free;
  const double share = mlp.router_group_topk / mlp.router_groups;
  const double reachable = ranks <= mlp.router_groups ? std::min(ranks, mlp.router_group_topk) : ranks * share;
  return std::min(free, DistinctGroups(reachable, mlp.experts * share, mlp.topk));
}

}  // namespace

ExchangeWork ExchangeOf(const Candidate& plan, const GpuRates& rates, double tokens, const MlpWork& mlp, double width,
                        double rows) {
  ExchangeWork work;
  const double row = width * kBf16Bytes, ep = plan.ep, q = plan.etp;
  // Rows that leave this rank: padded to the capacity before they are sent.
  const double sent = tokens * mlp.topk * (plan.drop_pad ? plan.BusiestRows(1) : 1);
  // Permute writes one row per (token, expert), unpermute reads them back.
  work.permute_bytes = work.unpermute_bytes = row * (tokens + sent);
  work.permutes_before = plan.dispatcher == Dispatcher::kAllToAll || plan.dispatcher == Dispatcher::kAllGather;
  work.kernels = work.permutes_before ? 12 : plan.dispatcher == Dispatcher::kDeepEp ? 9 : 5;
  work.preprocess_kernels = work.permutes_before ? 5 : 2;
  if (ep * q <= 1) {
    // Nothing is sent, but the rows are written and read back all the same: by kernels of its own, as below.
    if (plan.dispatcher == Dispatcher::kHybridEp || plan.dispatcher == Dispatcher::kNcclEp) {
      work.permute_bytes += work.unpermute_bytes;
    }
    return work;
  }

  const auto at = static_cast<size_t>(plan.dispatcher);
  const double inside_ranks = std::max(1.0, std::min(ep, std::floor(rates.domain_gpus / q)));
  const double domains = std::max(1.0, ep / inside_ranks);
  double inside = 0, outside = 0, latency = rates.k.flex_latency_us;
  double inside_us = rates.nvlink_us[at];
  switch (plan.dispatcher) {
    case Dispatcher::kAllToAll:
      inside = sent * (inside_ranks - 1) / ep;
      outside = sent * (ep - inside_ranks) / ep;
      latency = rates.k.alltoall_latency_us;
      // Sorting by local expert on arrival.
      if (mlp.experts > ep) work.permute_bytes += 2 * row * rows, work.unpermute_bytes += 2 * row * rows;
      break;
    case Dispatcher::kAllGather:
      inside = tokens * (inside_ranks - 1);
      outside = tokens * (ep - inside_ranks);
      latency = rates.k.alltoall_latency_us;
      break;
    case Dispatcher::kDeepEp:
      work.permute_bytes = work.unpermute_bytes = row * 2 * rows;
      inside_us = DeepepUs(rates, ExchangeSms(plan, /*crosses_domain=*/false));
      inside = tokens * RanksReached(ep, mlp);  // what a rank keeps is copied all the same
      outside = tokens * RanksReached(domains, mlp) * (domains - 1) / domains;
      break;
    case Dispatcher::kHybridEp:
    case Dispatcher::kNcclEp:
      // Permutation is part of the exchange's own kernels.
      work.permute_bytes = work.unpermute_bytes = row * rows;
      inside = tokens * RanksReached(ep, mlp);  // what a rank keeps is copied all the same
      outside = tokens * RanksReached(domains, mlp) * (domains - 1) / domains;
      break;
  }
  // Expert tensor parallelism gathers the rows of a group's ranks, inside the node.
  const double gathered = q > 1 ? sent * (q - 1) * row * rates.collective_nvlink_us : 0;
  // More peers, smaller messages to each (DeepEP docs/README_Hybrid-EP.md: 8 to 36 ranks of GB200).
  if (plan.dispatcher >= Dispatcher::kDeepEp) inside_us *= std::pow(std::max(1.0, inside_ranks / 8), 0.125);
  // An exchange ends with the rank that receives most.
  const double busiest = rows > 0 ? std::max(1.0, rows / (sent * q)) : 1;
  const double near = inside * row * inside_us * busiest, far = outside * row * rates.network_us[at] * busiest;
  work.dispatch_us = latency + BothLinks(near, far) + gathered;
  if (domains > 1) work.dispatch_us += rates.network_latency_us;
  work.inside_share = near + far > 0 ? near / (near + far) : 1;
  work.combine_us = work.dispatch_us;
  return work;
}

}  // namespace flightplan
