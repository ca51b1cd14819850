//! The facts of each answer.
use std::collections::BTreeMap;

use flightplan::v1::{self, batch_resolve_response::Result as Item, knob_value::Kind};
use flightplan::Failure;

use crate::facts::{millionths, Facts};

const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// An answer whose facts are known. `at` stands before every name; it is empty or ends in a dot.
pub trait Answer {
    fn add_to(&self, at: &str, facts: &mut Facts);
}

fn value_text(value: Option<&v1::KnobValue>) -> String {
    match value.and_then(|value| value.kind.as_ref()) {
        Some(Kind::BoolValue(value)) => value.to_string(),
        Some(Kind::IntValue(value)) => value.to_string(),
        Some(Kind::DoubleValue(value)) => millionths(*value).to_string(),
        Some(Kind::StringValue(value)) => value.clone(),
        Some(Kind::ListValue(list)) => {
            let items: Vec<String> = list.values.iter().map(|item| value_text(Some(item))).collect();
            format!("[{}]", items.join(","))
        }
        None => "None".into(),
    }
}

fn fix_text(fix: Option<&v1::Fix>) -> String {
    let Some(fix) = fix else { return String::new() };
    let mut parts: Vec<String> =
        fix.knobs.iter().map(|knob| format!("{}={}", knob.name, value_text(knob.value.as_ref()))).collect();
    let env: BTreeMap<_, _> = fix.env.iter().collect();
    parts.extend(env.into_iter().map(|(name, value)| format!("env.{name}={value}")));
    parts.join(" ")
}

fn source_text(source: &Option<v1::Citation>) -> &str {
    source.as_ref().map_or("", |source| &source.text)
}

fn add_findings(at: &str, findings: &[v1::Finding], facts: &mut Facts) {
    for finding in findings {
        let id = &finding.rule_id;
        facts.add(format!("{at}finding"), id);
        facts.add(format!("{at}severity.{id}"), finding.severity().as_str_name());
        facts.add(format!("{at}seen.{id}"), &finding.seen);
        facts.add(format!("{at}needs.{id}"), &finding.needs);
        facts.add(format!("{at}source.{id}"), source_text(&finding.source));
        finding.fixes.iter().for_each(|fix| facts.add(format!("{at}fix.{id}"), fix_text(Some(fix))));
    }
}

fn add_config(at: &str, entries: &[v1::ConfigEntry], facts: &mut Facts) {
    for entry in entries {
        facts.add(format!("{at}config.{}", entry.name), value_text(entry.value.as_ref()));
        facts.add(format!("{at}origin.{}", entry.name), entry.origin().as_str_name());
        facts.add(format!("{at}spelling.{}", entry.name), &entry.spelling);
    }
}

fn add_changes(at: &str, changes: &[v1::EffectiveChange], facts: &mut Facts) {
    for change in changes {
        let (from, to) = (value_text(change.from.as_ref()), value_text(change.to.as_ref()));
        facts.add(format!("{at}change"), format!("{} {} {from} -> {to}", change.rule_id, change.name));
    }
}

fn add_estimate(at: &str, estimate: &Option<v1::Estimate>, facts: &mut Facts) {
    let Some(estimate) = estimate else { return };
    facts.add(format!("{at}fit"), estimate.fit().as_str_name());
    facts.add(format!("{at}usable_bytes"), estimate.usable_bytes);
    if let Some(step) = &estimate.step_time_us {
        facts.add(format!("{at}step_time_us"), millionths(step.value));
    }
}

fn add_launch(at: &str, launch: &v1::Launch, facts: &mut Facts) {
    facts.add_each(&format!("{at}argv.{}", launch.dialect), &launch.argv);
    facts.add(format!("{at}text.{}", launch.dialect), &launch.text);
    for (name, value) in &launch.env {
        facts.add(format!("{at}env.{}.{name}", launch.dialect), value);
    }
}

impl Answer for v1::ResolveConfigResponse {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}outcome"), self.outcome().as_str_name());
        facts.add(format!("{at}accepted_by_stack"), self.accepted_by_stack);
        facts.add(format!("{at}will_run"), self.will_run);
        facts.add(format!("{at}target"), &self.target);
        facts.add(format!("{at}digest"), &self.digest);
        facts.add(format!("{at}catalog_revision"), &self.catalog_revision);
        facts.add(format!("{at}evidence_revision"), self.evidence_revision);
        add_config(at, &self.config, facts);
        for decision in &self.decisions {
            facts.add(format!("{at}decision.{}", decision.name), value_text(decision.value.as_ref()));
            facts.add(format!("{at}basis.{}", decision.name), decision.basis().as_str_name());
            facts.add(format!("{at}reason.{}", decision.name), &decision.reason);
        }
        add_findings(at, &self.findings, facts);
        add_changes(at, &self.effective_changes, facts);
        add_estimate(at, &self.estimate, facts);
        self.launches.iter().for_each(|launch| add_launch(at, launch, facts));
        facts.add_each(&format!("{at}ab"), self.ab_suggestions.iter().map(|suggestion| &suggestion.knob));
        if let Some(model) = &self.model {
            facts.add(format!("{at}model"), &model.name);
            facts.add(format!("{at}parameters"), model.parameters.as_ref().map_or(0, |counts| counts.total_count));
        }
        if let Some(layout) = &self.layout {
            facts.add(format!("{at}data_parallel_size"), layout.data_parallel_size);
            facts.add(format!("{at}expert_data_parallel_size"), layout.expert_data_parallel_size);
            facts.add(format!("{at}microbatch_count"), layout.microbatch_count);
        }
    }
}

impl Answer for v1::ValidateConfigResponse {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}accepted_by_stack"), self.accepted_by_stack);
        facts.add(format!("{at}will_run"), self.will_run);
        facts.add(format!("{at}target"), &self.target);
        facts.add(format!("{at}digest"), &self.digest);
        facts.add(format!("{at}catalog_revision"), &self.catalog_revision);
        facts.add(format!("{at}input_format"), &self.input_format);
        add_config(at, &self.config, facts);
        add_findings(at, &self.findings, facts);
        add_changes(at, &self.effective_changes, facts);
        facts.add_each(&format!("{at}not_judged"), &self.not_judged);
        facts.add_each(&format!("{at}wanted_file"), &self.wanted_files);
        if let Some(repair) = &self.repair {
            for step in &repair.steps {
                facts.add(format!("{at}repair.step"), format!("{} {}", step.rule_id, fix_text(step.fix.as_ref())));
            }
            facts.add(format!("{at}repair.will_run"), repair.will_run);
            facts.add(format!("{at}repair.text"), &repair.text);
            facts.add_each(&format!("{at}repair.argument"), &repair.arguments);
        }
        add_estimate(at, &self.estimate, facts);
    }
}

impl Answer for v1::PlanResult {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        for (index, plan) in self.plans.iter().enumerate() {
            facts.add(format!("{at}plans"), &plan.digest);
            plan.add_to(&format!("{at}plans.{index}."), facts);
        }
        facts.add(format!("{at}space_count"), self.space_count);
        facts.add(format!("{at}judged_count"), self.judged_count);
        add_findings(at, &self.findings, facts);
    }
}

impl Answer for v1::BatchResolveResponse {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        let below = format!("{at}{}.", self.request_id);
        match &self.result {
            Some(Item::Resolve(answer)) => answer.add_to(&below, facts),
            Some(Item::Validate(answer)) => answer.add_to(&below, facts),
            Some(Item::Error(error)) => return add_failure(&below, error.code, &Failure::of_message(error), facts),
            None => {}
        }
        add_failure(&below, 0, &Failure::default(), facts);
    }
}

impl Answer for v1::ConvertConfigResponse {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        self.launch.iter().for_each(|launch| add_launch(at, launch, facts));
        facts.add_each(&format!("{at}converted"), self.converted.iter().map(|knob| &knob.name));
        facts.add_each(&format!("{at}dropped"), self.dropped.iter().map(|knob| &knob.name));
        facts.add_each(&format!("{at}pinned_default"), self.pinned_defaults.iter().map(|knob| &knob.name));
        add_findings(&format!("{at}source."), &self.source_findings, facts);
        add_findings(&format!("{at}target."), &self.target_findings, facts);
    }
}

impl Answer for v1::ModelSpec {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}name"), &self.name);
        facts.add(format!("{at}family"), &self.family);
        facts.add(format!("{at}attention"), &self.attention);
        facts.add(format!("{at}num_layers"), self.num_layers);
        facts.add(format!("{at}hidden_size"), self.hidden_size);
        facts.add_each(&format!("{at}num_moe_experts"), self.num_moe_experts);
        facts.add_each(&format!("{at}moe_router_topk"), self.moe_router_topk);
        facts.add(format!("{at}tie_embeddings"), self.tie_embeddings);
        facts.add_each(&format!("{at}rotary_base"), self.rotary_base.map(millionths));
        for (name, value) in &self.extra_dimensions {
            facts.add(format!("{at}extra_dimensions.{name}"), millionths(*value));
        }
        let counts = self.parameters.clone().unwrap_or_default();
        facts.add(format!("{at}total_count"), counts.total_count);
        facts.add(format!("{at}active_count"), counts.active_count);
        facts.add_each(&format!("{at}sources"), &self.sources);
    }
}

impl Answer for v1::GpuSystem {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}name"), &self.name);
        facts.add_each(&format!("{at}aliases"), &self.aliases);
        facts.add(format!("{at}compute_capability"), &self.compute_capability);
        facts.add(format!("{at}hbm_bytes"), self.hbm_bytes);
        facts.add(format!("{at}sm_count"), self.sm_count);
        facts.add(format!("{at}nvlink_bytes_per_second"), millionths(self.nvlink_bytes_per_second));
        facts.add(format!("{at}nvlink_domain_gpu_count"), self.nvlink_domain_gpu_count);
        facts.add_each(&format!("{at}flex_backends"), &self.flex_backends);
    }
}

impl Answer for v1::KnobInfo {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}name"), &self.name);
        facts.add_each(&format!("{at}aliases"), &self.aliases);
        facts.add(format!("{at}section"), &self.section);
        facts.add(format!("{at}knob_class"), &self.knob_class);
        facts.add(format!("{at}type"), &self.r#type);
        facts.add_each(&format!("{at}choices"), &self.choices);
        facts.add(format!("{at}default_value"), value_text(self.default_value.as_ref()));
        facts.add_each(&format!("{at}megatron_lm_flags"), &self.megatron_lm_flags);
        facts.add(format!("{at}bridge_override"), &self.bridge_override);
    }
}

impl Answer for v1::RuleInfo {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}id"), &self.id);
        facts.add(format!("{at}area"), &self.area);
        facts.add(format!("{at}kind"), &self.kind);
        facts.add(format!("{at}verdict"), self.verdict().as_str_name());
        facts.add_each(&format!("{at}reads"), &self.reads);
        facts.add(format!("{at}text"), &self.text);
        facts.add_each(&format!("{at}fix"), self.fixes.iter().map(|fix| fix_text(Some(fix))));
        facts.add(format!("{at}source"), source_text(&self.source));
        facts.add(format!("{at}core_releases"), &self.core_releases);
    }
}

impl Answer for v1::Measurement {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}id"), &self.id);
        facts.add(format!("{at}metric"), &self.metric);
        facts.add(format!("{at}value"), millionths(self.value));
        facts.add_each(&format!("{at}error"), self.error.map(millionths));
        facts.add(format!("{at}model"), &self.model);
        facts.add(format!("{at}gpu"), &self.gpu);
        facts.add(format!("{at}gpu_count"), self.gpu_count);
        facts.add(format!("{at}quality"), &self.quality);
        facts.add(format!("{at}trust"), &self.trust);
    }
}

impl Answer for v1::ReportMeasurementResponse {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        self.measurement.clone().unwrap_or_default().add_to(at, facts);
        facts.add(format!("{at}~revision"), self.revision);
    }
}

impl Answer for v1::HardwareProfile {
    fn add_to(&self, at: &str, facts: &mut Facts) {
        facts.add(format!("{at}name"), &self.name);
        facts.add(format!("{at}device_name"), &self.device_name);
        facts.add(format!("{at}gpu"), &self.gpu);
        facts.add(format!("{at}kind"), &self.kind);
        for row in &self.rows {
            facts.add(format!("{at}row"), &row.id);
            facts.add(format!("{at}row.{}", row.id), millionths(row.value));
        }
    }
}

/// A page of a list: its field, and the field that names an entry.
macro_rules! page {
    ($page:ident, $entries:ident, $key:ident) => {
        impl Answer for v1::$page {
            fn add_to(&self, at: &str, facts: &mut Facts) {
                facts.add_each(&format!("{at}names"), self.$entries.iter().map(|entry| &entry.$key));
                facts.add(format!("{at}next_page_token"), &self.next_page_token);
            }
        }
    };
}
page!(ListModelsResponse, models, name);
page!(ListGpusResponse, gpus, name);
page!(ListKnobsResponse, knobs, name);
page!(ListRulesResponse, rules, id);
page!(ListMeasurementsResponse, measurements, id);
page!(ListProfilesResponse, profiles, name);

pub fn add_failure(at: &str, code: i32, failure: &Failure, facts: &mut Facts) {
    let name = usize::try_from(code).ok().and_then(|code| CODES.get(code));
    facts.add(format!("{at}code"), name.unwrap_or(&"OTHER"));
    if let Some(info) = &failure.info {
        facts.add(format!("{at}reason"), &info.reason);
        facts.add(format!("{at}domain"), &info.domain);
    }
    for violation in &failure.violations {
        facts.add(format!("{at}violation.{}", violation.field), &violation.description);
    }
    for violation in &failure.preconditions {
        facts.add(format!("{at}precondition.{}", violation.r#type), &violation.description);
    }
    if failure.retry.is_some() {
        facts.add(format!("{at}retry_info"), true);
    }
}
