// What the tests of decisions share: a question, and what the plan of it says.
#pragma once

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/start_config.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {

inline const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

// Parallel sizes of a question.
struct Layout {
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, mbs = 1;
};

inline NormalizedIntent Intent(absl::string_view model, absl::string_view gpu, int64_t gpus, const Layout& layout,
                               int64_t gbs) {
  NormalizedIntent intent;
  intent.model = **TheCatalog().FindModel(model);
  intent.gpu = **TheCatalog().FindGpu(gpu);
  intent.gpu_count = gpus;
  intent.workload.seq_length = 4096;
  intent.workload.global_batch_size = gbs;
  intent.stage = Stage::kTune;
  intent.layout.tensor_model_parallel_size = layout.tp;
  intent.layout.pipeline_model_parallel_size = layout.pp;
  intent.layout.virtual_pipeline_model_parallel_size = layout.vpp;
  intent.layout.context_parallel_size = layout.cp;
  intent.layout.expert_model_parallel_size = layout.ep;
  intent.layout.micro_batch_size = layout.mbs;
  Environment& env = intent.env;
  env.target = Target::kMegatronBridge;
  env.mla = intent.model.is_mla();
  env.te = Version::Parse("2.15.0");
  env.torch = Version::Parse("2.11.0");
  env.capabilities = {"deepep", "hybridep"};
  env.capabilities_known = true;
  env.gpu_name = intent.gpu.device_name;
  env.cc_major = intent.gpu.cc_major;
  env.cc_minor = intent.gpu.cc_minor;
  env.world_size = gpus;
  env.nvlink_domain_gpus = static_cast<int>(intent.gpu.nvlink_domain_gpus);
  env.gpus_per_node = static_cast<int>(intent.gpu.gpus_per_node);
  return intent;
}

inline void Pin(NormalizedIntent& intent, Knob knob, Value value) { intent.pins.emplace_back(knob, std::move(value)); }

inline DecidedPlan Plan(const NormalizedIntent& intent) { return Decide(intent, Derive(intent)); }

inline const Decision* Find(const DecidedPlan& plan, Knob knob) {
  for (const Decision& decision : plan.decisions) {
    if (decision.env_var.empty() && decision.knob == knob) return &decision;
  }
  return nullptr;
}

inline const Finding* FindFinding(const DecidedPlan& plan, absl::string_view id) {
  for (const Finding& finding : plan.findings) {
    if (finding.rule_id == id) return &finding;
  }
  return nullptr;
}

inline bool Cites(const Decision* decision, absl::string_view id) {
  if (decision == nullptr) return false;
  for (const std::string& citation : decision->citations) {
    if (citation.find(std::string(id)) != std::string::npos) return true;
  }
  return false;
}

inline absl::string_view Dispatcher(const DecidedPlan& plan) {
  const absl::string_view type = plan.config.Get(Knob::moe_token_dispatcher_type).text();
  return type == "flex" ? plan.config.Get(Knob::moe_flex_dispatcher_backend).text() : type;
}

inline bool On(const DecidedPlan& plan, Knob knob) { return plan.config.Get(knob).truthy(); }

}  // namespace flightplan
