#include "resolver/engine/loongforge_parts.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace flightplan {
namespace {

using K = Knob;

// Of validate_args: what the shorter function has too. Its silent changes are all among these, or do not matter there.
constexpr absl::string_view kChecks[] = {"mlm.np-ckpt-type",
                                         "mlm.legacy-ckpt",
                                         "mlm.world-divisible",
                                         "mlm.hier-cp-product",
                                         "mlm.a2ap2p-needs-hier-cp",
                                         "mlm.data-path-xor-args",
                                         "mlm.split-path-xor-args",
                                         "mlm.mbs-required",
                                         "mlm.mbs-positive",
                                         "mlm.gbs-positive",
                                         "mlm.vpp-one-way",
                                         "mlm.interleaved-needs-pp2",
                                         "mlm.vpp-layers-divisible-vp",
                                         "mlm.interleaved-no-overlap-needs-pp3",
                                         "mlm.uneven-needs-vstages",
                                         "mlm.opg-needs-distopt",
                                         "mlm.opg-needs-ogr",
                                         "mlm.legacy-opg",
                                         "mlm.fsdp2-torch",
                                         "mlm.fsdp2-no-distopt",
                                         "mlm.fsdp2-no-gaf",
                                         "mlm.fsdp2-ckpt",
                                         "mlm.fsdp2-untie",
                                         "mlm.fsdp2-no-fp16",
                                         "mlm.fsdp2-cdmc",
                                         "mlm.opgos-needs-distopt",
                                         "mlm.opgos-needs-opg",
                                         "mlm.opgos-needs-vpp",
                                         "mlm.opgos-no-dist-ckpt",
                                         "mlm.fp8pg-needs-distopt",
                                         "mlm.mfsdp-weight-hash",
                                         "mlm.mfsdp-cdmc",
                                         "mlm.mfsdp-ckpt",
                                         "mlm.fp16-xor-bf16",
                                         "mlm.bf16-xor-fp16",
                                         "mlm.accum-fp32-main-grads",
                                         "mlm.dataset-threads",
                                         "mlm.iters-xor-samples",
                                         "mlm.iters-no-decay-samples",
                                         "mlm.iters-no-warmup-samples",
                                         "mlm.warmup-fraction-xor-iters",
                                         "mlm.samples-xor-iters",
                                         "mlm.samples-no-decay-iters",
                                         "mlm.samples-no-warmup-iters",
                                         "mlm.warmup-fraction-xor-samples",
                                         "mlm.hidden-divisible-heads",
                                         "mlm.seq-divisible-cp",
                                         "mlm.seq-xor-encoder-seq",
                                         "mlm.seq-required",
                                         "mlm.max-pos",
                                         "mlm.max-pos-decoder",
                                         "mlm.min-lr",
                                         "mlm.save-interval",
                                         "mlm.fp16-xent",
                                         "mlm.fp32-residual",
                                         "mlm.wd-constant-start",
                                         "mlm.wd-constant-end",
                                         "mlm.wd-start-required",
                                         "mlm.wd-end-required",
                                         "mlm.dist-saved-act-torch",
                                         "mlm.dist-saved-act-tp",
                                         "mlm.dist-saved-act-full",
                                         "mlm.dist-saved-act-method",
                                         "mlm.selective-no-method",
                                         "mlm.tp-overlap-needs-sp",
                                         "mlm.legacy-decoupled-lr",
                                         "mlm.legacy-rotary-interleaved",
                                         "mlm.no-position-embedding",
                                         "mlm.relative-pos-te",
                                         "mlm.legacy-cp",
                                         "mlm.legacy-dist-ckpt"};

bool OfConfigClass(Phase phase) { return phase == Phase::kModel || phase == Phase::kModelMla; }

bool AppliesToComponent(const Rule& rule) {
  if (OfConfigClass(rule.at.phase) || rule.at.phase == Phase::kParse) return true;
  if (rule.at.phase == Phase::kLoongForge) return !absl::StartsWith(rule.id, "lf.custom-");  // the language model's
  if (rule.at.phase == Phase::kCliValidate) {
    if (rule.id == "mlm.moe-single-lb") return false;  // a list of one stays a list there
    return rule.when == nullptr || std::find(std::begin(kChecks), std::end(kChecks), rule.id) != std::end(kChecks);
  }
  return absl::StrContains(rule.id, "encoder");
}

}  // namespace

bool AppliesToPart(const Rule& rule, const Facts& facts) {
  if (!facts.stack().model_files) return true;
  if (facts.set(K::model_component) && !absl::StrContains(facts.text(K::model_component), "foundation")) {
    return AppliesToComponent(rule);
  }
  return !OfConfigClass(rule.at.phase) ||
         !facts.in(K::model_family, {"wan2_1_i2v", "wan2_2_i2v", "qwen_image", "pi05", "groot_n1_6"});
}

}  // namespace flightplan
