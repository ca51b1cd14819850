// How many SMs a flex backend takes.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// How many SMs the backend takes by what was published.
Value PublishedSms(bool hybridep, D d, Why* why) {
  Value sms(decide::PublishedSms(hybridep, d.f.ep_crosses_domain));
  if (hybridep && d.f.ep_crosses_domain) {
    why->reason = "the network is the bound: twice the SMs moved no more of it, and what they leave computes";
    why->basis = Basis::kMeasured;
    why->citations = {evidence::kHybridepNetworkSms};
    return sms;
  }
  why->reason = hybridep ? "the count that the performance harness uses; 16 to 32 is the range worth sweeping"
                         : "DeepEP's default; worth a sweep once dispatch shows in the profile";
  why->basis = Basis::kRecipes;
  why->citations = {hybridep ? evidence::kHybridepHarnessSms : evidence::kDeepepDefaultSms, evidence::kDispatcherGuide};
  return sms;
}

// The published count, unless a probe tells it from the best.
Value SmsOf(bool hybridep, const std::optional<SmOutlook>& probed, D d, Why* why) {
  Value published = PublishedSms(hybridep, d, why);
  if (!probed.has_value()) return published;
  const std::string gave =
      absl::StrCat(probed->emulated ? "an emulated exchange gave" : "was measured", " on ", d.intent.probe->Device());
  if (probed->low <= published.integer() && published.integer() <= probed->high) {
    absl::StrAppend(&why->reason, "; by what ", gave, ", ", probed->low, " to ", probed->high, " are alike");
    return published;
  }
  why->reason = absl::StrCat("fitted to what ", gave, ": ", probed->best, " SMs");
  if (probed->low < probed->high) {
    absl::StrAppend(&why->reason, "; ", probed->low, " to ", probed->high,
                    " are alike by it, the range worth sweeping");
  }
  why->basis = Basis::kEstimate;
  why->citations.assign(probed->citations.begin(), probed->citations.end());
  return Value(probed->best);
}

}  // namespace

int PublishedSms(bool hybridep, bool crosses_domain) {
  if (!hybridep) return 20;
  return crosses_domain ? evidence::kNetworkSms : 32;
}

void ChooseDispatcherSms(Deliberation& d, absl::string_view backend) {
  const bool hybridep = backend == "hybridep";
  if (!hybridep && backend != "deepep") return;
  // One knob since 0.19; before, one for each backend.
  const Knob older = hybridep ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms;
  if (d.pinned(older) || d.pinned(K::moe_flex_dispatcher_num_sms)) return;
  std::optional<SmOutlook> probed;
  if (d.intent.probe != nullptr) probed = d.intent.probe->DispatcherSms(d.intent, d.config());
  Why why{.rule_id = "decide.dispatcher-sms"};
  const Value sms = SmsOf(hybridep, probed, d, &why);
  d.Choose(d.known(K::moe_flex_dispatcher_num_sms) ? K::moe_flex_dispatcher_num_sms : older, sms, std::move(why));
}

}  // namespace flightplan::decide
