#include "resolver/stacks/ms_swift/checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/nearest.h"
#include "resolver/base/saturating.h"

namespace flightplan {
namespace {

// Written for the Ray pipeline, which reads them itself.
bool OfRay(const SwiftWords& words, absl::string_view name) {
  return name == "config" && words.Bool("use_ray").value_or(false);
}

class Checks {
 public:
  Checks(const SwiftWords& words, ParseResult* out) : words_(words), out_(*out) {}

  void Run() {
    Unrecognized();
    if (!words_.clear()) return;
    WhatIsMissing();
    Recompute();
    Batching();
    Saving();
    Adapters();
    Generation();
  }

 private:
  void Refuse(absl::string_view name, absl::string_view id, std::string seen, std::string needs,
              absl::string_view source) {
    const SwiftWritten* written = words_.Find(name);
    KeepFinding(MakeParseFinding(written == nullptr ? SourcePosition() : written->at, id, Severity::kError,
                                 std::move(seen), std::move(needs), source),
                &out_.findings);
  }
  bool On(absl::string_view name, bool usual = false) const { return words_.Bool(name).value_or(usual); }

  void Unrecognized() {
    if (On("ignore_args_error")) return;
    for (const SwiftWritten& written : words_.all()) {
      if (written.former != nullptr) Former(written);
      if (written.argument != nullptr || written.former != nullptr) continue;
      if (written.unknown || OfRay(words_, written.name)) continue;
      const absl::string_view near = NearestName(written.name, SwiftArgumentNames());
      Refuse(written.name, "ms-swift.unrecognized", absl::StrCat("--", Printable(written.name)),
             absl::StrCat("an argument that ms-swift has",
                          near.empty() ? "" : absl::StrCat("; did you mean --", near, "?")),
             "ms-swift:swift/pipelines/base.py:40");
    }
  }

  // It runs with the release that it was written for.
  void Former(const SwiftWritten& written) {
    const absl::string_view today = written.former->today;
    KeepFinding(
        MakeParseFinding(written.at, "ms-swift.former", Severity::kWarning, absl::StrCat("--", Printable(written.name)),
                         today.empty() ? "an argument that ms-swift's main has no more"
                                       : absl::StrCat("an argument of an older ms-swift; main calls it --", today),
                         "ms-swift:swift/pipelines/base.py:40"),
        &out_.findings);
  }

  void WhatIsMissing() {
    // A checkpoint's own arguments may say them.
    if (words_.all().empty() || On("load_args") || On("load_data_args")) return;
    if (!words_.Has("dataset") && !words_.Has("cached_dataset")) {
      Refuse("", "ms-swift.missing", "neither --dataset nor --cached_dataset", "training needs a dataset",
             "ms-swift:swift/megatron/arguments/sft_args.py:46");
    }
    if (!words_.Has("model") && !words_.Has("mcore_model") && !words_.Has("adapters") && !words_.Has("mcore_adapter") &&
        !On("perform_initialization")) {
      Refuse("", "ms-swift.missing", "neither --model nor --mcore_model",
             "weights to start from: --model NAME, or --perform_initialization true",
             "ms-swift:swift/megatron/arguments/sft_args.py:52");
    }
  }

  // What follows from the default of recompute_granularity, "selective", too.
  void Recompute() {
    const absl::string_view granularity = words_.Text("recompute_granularity").value_or("selective");
    if (granularity != "selective" || !words_.Has("recompute_method")) return;
    Refuse("recompute_method", "ms-swift.selective-method", "--recompute_method with recompute_granularity selective",
           "a method goes with recompute_granularity full", "ms-swift:swift/megatron/arguments/megatron_args.py:801");
  }

  void Batching() {
    if (On("group_by_length") && (On("padding_free", true) || On("packing"))) {
      Refuse("group_by_length", "ms-swift.group-by-length", "--group_by_length with padding_free",
             "group_by_length goes with padding_free false alone",
             "ms-swift:swift/megatron/arguments/megatron_args.py:804");
    }
    const int64_t stages = words_.Number("pipeline_model_parallel_size").value_or(1);
    for (const absl::string_view name : {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"}) {
      if (stages != 1 || !words_.Has(name)) continue;
      Refuse(name, "ms-swift.uneven-stages", absl::StrCat("--", name, " with pipeline_model_parallel_size 1"),
             "layers of a first or last stage are said only of a pipeline",
             "ms-swift:swift/megatron/arguments/megatron_args.py:835");
    }
  }

  void Saving() {
    const std::optional<int64_t> limit = words_.Number("save_total_limit");
    if (!limit.has_value()) return;
    if (On("async_save")) {
      Refuse("async_save", "ms-swift.save-limit", "--async_save with --save_total_limit", "one of them",
             "ms-swift:swift/megatron/arguments/megatron_args.py:860");
    }
    if (*limit < 2) {
      Refuse("save_total_limit", "ms-swift.save-limit", absl::StrCat("--save_total_limit ", *limit), "at least 2",
             "ms-swift:swift/megatron/arguments/megatron_args.py:862");
    }
  }

  void Adapters() {
    const absl::string_view tuner = words_.Text("tuner_type").value_or("full");
    if (tuner != "full" && words_.Text("bridge_backend") == "megatron-bridge") {
      Refuse("bridge_backend", "ms-swift.bridge-backend", absl::StrCat("--tuner_type ", Printable(tuner)),
             "bridge_backend megatron-bridge trains whole models: tuner_type full",
             "ms-swift:swift/megatron/arguments/megatron_args.py:783");
    }
  }

  // resolve_generation_batch_size, of GRPO: megatron_args.py:261.
  void Generation() {
    if (words_.Text("rlhf_type") != "grpo") return;
    const int64_t batch = words_.Number("global_batch_size").value_or(16);
    const int64_t answers = words_.Number("num_generations").value_or(8);
    const std::optional<int64_t> said = words_.Number("generation_batch_size"),
                                 steps = words_.Number("steps_per_generation");
    const int64_t of_steps = SaturatingMul(batch, steps.value_or(1));
    const int64_t all = said.value_or(of_steps);
    if (batch < 1 || answers < 1 || all < 1) return;
    if (said.has_value() && (steps.has_value() ? *said != of_steps : *said % batch != 0)) {
      Refuse("generation_batch_size", "ms-swift.generation-batch", absl::StrCat("--generation_batch_size ", *said),
             steps.has_value() ? absl::StrCat("global_batch_size x steps_per_generation is ", of_steps)
                               : absl::StrCat("a multiple of global_batch_size ", batch),
             "ms-swift:swift/megatron/arguments/megatron_args.py:277");
    } else if (answers > 1 && all % answers != 0) {
      Refuse("num_generations", "ms-swift.generation-batch",
             absl::StrCat(all, " answers a generation, num_generations ", answers),
             "the answers of a generation (global_batch_size x steps_per_generation) are a multiple of num_generations",
             "ms-swift:swift/megatron/arguments/megatron_args.py:292");
    }
  }

  const SwiftWords& words_;
  ParseResult& out_;
};

}  // namespace

void CheckMsSwift(const SwiftWords& words, ParseResult* out) { Checks(words, out).Run(); }

}  // namespace flightplan
