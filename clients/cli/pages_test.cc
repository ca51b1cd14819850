// The pages for people, from answers written by hand, so that no change of a rule or a figure touches these files.
#include <gtest/gtest.h>

#include "clients/cli/findings.h"
#include "clients/cli/resolve_page.h"
#include "clients/cli/validate_page.h"
#include "google/protobuf/text_format.h"
#include "tests/support/golden.h"

namespace flightplan::cli {
namespace {

template <class Message>
Message FromText(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

v1::ResolveConfigRequest Request() {
  return FromText<v1::ResolveConfigRequest>(R"pb(
    model { name: "deepseek-v3" }
    hardware { gpu: "h100" gpu_count: 1024 }
    software { te_version: "2.12" }
  )pb");
}

v1::ResolveConfigResponse Resolved() {
  return FromText<v1::ResolveConfigResponse>(R"pb(
    outcome: OUTCOME_RESOLVED
    accepted_by_stack: true
    will_run: true
    model {
      name: "deepseek-v3"
      num_moe_experts: 256
      parameters { total_count: 671026419200 active_count: 37500000000 }
    }
    target: "megatron-lm main"
    layout {
      sizes {
        tensor_model_parallel_size: 2
        pipeline_model_parallel_size: 8
        virtual_pipeline_model_parallel_size: 4
        context_parallel_size: 1
        expert_model_parallel_size: 64
        expert_tensor_parallel_size: 1
        micro_batch_size: 1
      }
      data_parallel_size: 64
      expert_data_parallel_size: 2
      microbatch_count: 128
      ep_domain_count: 8
    }
    estimate {
      fit: FIT_VERDICT_MARGINAL
      usable_bytes: 84825604096
      stages {
        stage: 0
        parts { name: "parameters" part_bytes: 12884901888 }
        parts { name: "optimizer_state" part_bytes: 16106127360 }
        total_bytes { value: 28991029248 low: 27917287424 high: 32212254720 }
        allocated_bytes { value: 26843545600 low: 25769803776 high: 27917287424 }
        device_bytes { value: 32212254720 low: 30064771072 high: 34359738368 }
      }
      stages {
        stage: 1
        parts { name: "parameters" part_bytes: 1024 }
        total_bytes { value: 1024 }
      }
      scope: "parameters, gradients and optimizer state; activations are not counted"
      step_time_us { value: 6900000 low: 6200000 high: 7700000 }
      wall_ratios { key: "compute" value: 0.7 }
      wall_ratios { key: "communication" value: 0.3 }
      tokens_per_second: 2365440
      tokens_per_second_per_gpu: 2310
      flops_per_second_per_gpu: 601000000000000
      peak_flops_per_second: 1979000000000000
      mfu_ratio: 0.304
      communication { name: "expert_parallel" exposed_us: 1200000 hidden_us: 3400000 }
      communication { name: "data_parallel" exposed_us: 870000 }
      unmeasured_terms: "Mamba scan"
    }
    launches {
      dialect: "megatron-lm"
      required_inputs { name: "lr" spelling: "--lr VALUE" }
      required_inputs { name: "save" spelling: "--save FOLDER" without: "it keeps no checkpoint" }
    }
    decisions {
      rule_id: "decide.x"
      name: "sequence_parallel"
      value { bool_value: true }
      reason: "TP 2"
      basis: BASIS_RULE
    }
    decisions {
      rule_id: "decide.d"
      name: "moe_token_dispatcher_type"
      value { string_value: "flex" }
      reason: "EP 64 spans 8 NVLink domains"
      basis: BASIS_RECIPES
      citations { text: "a recipe" }
      citations { text: "b" }
      alternatives {
        value { string_value: "alltoall" }
        reason: "slower across nodes"
      }
      expected_step_ratio: -0.14
    }
    decisions {
      rule_id: "decide.w"
      name: "delay_wgrad_compute"
      value { bool_value: false }
      reason: "measured both ways on other models"
      basis: BASIS_MEASURED
      needs_ab: true
    }
    findings {
      rule_id: "ep-overlap.worth-an-ab"
      severity: SEVERITY_INFO
      seen: "moe_shared_expert_overlap=true excludes EP overlap"
      needs: "one of the two"
      fixes { knobs { name: "moe_shared_expert_overlap" } }
      source { text: "transformer_config.py:3008" }
    }
    effective_changes {
      rule_id: "args.sp"
      name: "sequence_parallel"
      from { bool_value: false }
      to { bool_value: true }
      overrides_caller: true
    }
    effective_changes {
      rule_id: "args.ffn"
      name: "ffn_hidden_size"
      to { int_value: 18432 }
    }
    ab_suggestions {
      knob: "delay_wgrad_compute"
      plan_value { bool_value: false }
      other_value { bool_value: true }
      companions {
        name: "overlap_grad_reduce"
        value { bool_value: true }
      }
      reason: "the evidence straddles zero"
      expected_step_ratio { value: -0.01 low: -0.03 high: 0.01 }
      plan_launch { text: "pretrain_gpt.py --a" }
      other_launch { text: "pretrain_gpt.py --b" }
    }
    config {
      name: "moe_router_topk"
      value { int_value: 8 }
      origin: CONFIG_ORIGIN_MODEL
      spelling: "--moe-router-topk"
    }
    digest: "fp1-6c2e"
    catalog_revision: "c1"
    evidence_revision: 1
  )pb");
}

Terminal Wide() {
  Terminal terminal;
  terminal.width = 120;
  return terminal;
}

const v1::GpuSystem& Gpu() {
  static const auto* const kGpu =
      new v1::GpuSystem(FromText<v1::GpuSystem>("name: 'h100-sxm' nvlink_domain_gpu_count: 8"));
  return *kGpu;
}

TEST(ResolvePage, OfAPlan) {
  const v1::ResolveConfigRequest request = Request();
  const v1::ResolveConfigResponse response = Resolved();
  const ResolvePage page{request, response, Gpu(), {"sequence 4,096 (--seq)"}, false};
  ExpectGolden("resolve.txt", RenderResolvePage(page, Wide()));
  Terminal narrow;
  narrow.width = 72;
  narrow.utf8 = false;
  ExpectGolden("resolve_narrow_ascii.txt", RenderResolvePage(page, narrow));
}

TEST(ResolvePage, OfAPlanInFull) {
  const v1::ResolveConfigRequest request = Request();
  const v1::ResolveConfigResponse response = Resolved();
  const ResolvePage page{request, response, Gpu(), {}, true};
  std::string text = RenderResolvePage(page, Wide());
  for (absl::string_view part : ResolveParts()) {
    absl::StrAppend(&text, "\n==== ", part, "\n", RenderResolvePart(page, part, Wide()));
  }
  ExpectGolden("resolve_verbose.txt", text);
}

TEST(ResolvePage, PutsTheFaultsOfAnInfeasiblePlanFirst) {
  const v1::ResolveConfigRequest request = Request();
  v1::ResolveConfigResponse response = Resolved();
  response.set_outcome(v1::OUTCOME_INFEASIBLE);
  response.set_accepted_by_stack(false);
  response.set_will_run(false);
  *response.add_findings() = FromText<v1::Finding>(R"pb(
    rule_id: "mesh.expert-grid"
    severity: SEVERITY_ERROR
    seen: "ETP 1 x EP 64 x PP 3 = 192 does not divide 1,024 GPUs"
    needs: "the expert grid divides the world size"
    fixes {
      knobs {
        name: "pipeline_model_parallel_size"
        value { int_value: 4 }
      }
    }
    fixes {
      knobs {
        name: "expert_model_parallel_size"
        value { int_value: 32 }
      }
      env { key: "A" value: "1" }
    }
    source { text: "parallel_state.py:812" })pb");
  const ResolvePage page{request, response, Gpu(), {}, false};
  const std::string text = RenderResolvePage(page, Wide());
  EXPECT_LT(text.find("mesh.expert-grid"), text.find("moe_token_dispatcher_type"));
  EXPECT_EQ(text.find("--format argv"), std::string::npos);  // no launch that would fail is offered
  ExpectGolden("resolve_infeasible.txt", text);
}

TEST(ValidatePage, SpeaksTheTargetsLanguage) {
  const auto response = FromText<v1::ValidateConfigResponse>(R"pb(
    accepted_by_stack: false
    will_run: false
    target: "megatron-lm main"
    findings {
      rule_id: "mesh.expert-grid"
      severity: SEVERITY_ERROR
      seen: "EP 64 does not divide 128 GPUs"
      needs: "it divides"
      fixes {
        knobs {
          name: "expert_model_parallel_size"
          value { int_value: 32 }
        }
      }
      fixes {
        knobs {
          name: "moe_shared_expert_overlap"
          value { bool_value: false }
        }
      }
      location { input: "pretrain.sh" line: 41 }
      source { text: "parallel_state.py:812" }
    }
    findings {
      rule_id: "w"
      severity: SEVERITY_WARNING
      seen: "\x1b[2Jodd"
      location { argument_index: 3 }
    }
    config {
      name: "expert_model_parallel_size"
      value { int_value: 64 }
      spelling: "--expert-model-parallel-size"
    }
    config {
      name: "moe_shared_expert_overlap"
      value { bool_value: true }
      spelling: "--moe-shared-expert-overlap"
    }
    effective_changes {
      rule_id: "c"
      name: "ffn_hidden_size"
      to { int_value: 1 }
    }
    not_judged: "hardware rules: no GPU was given (--gpu)"
  )pb");
  const std::string text = RenderValidatePage("pretrain.sh", response, false, Wide());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  ExpectGolden("validate.txt", text);
}

TEST(Findings, AreCounted) {
  EXPECT_EQ(CountText({}, 0), "no findings");
  EXPECT_EQ(CountText({}, 1), "1 silent change");
}

}  // namespace
}  // namespace flightplan::cli
