package main

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	pb "flightplan/v1"
)

var codeNames = strings.Fields("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS " +
	"PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE " +
	"DATA_LOSS UNAUTHENTICATED")

func valueText(value *pb.KnobValue) string {
	switch kind := value.GetKind().(type) {
	case *pb.KnobValue_BoolValue:
		return strconv.FormatBool(kind.BoolValue)
	case *pb.KnobValue_IntValue:
		return strconv.FormatInt(kind.IntValue, 10)
	case *pb.KnobValue_DoubleValue:
		return strconv.FormatInt(int64(kind.DoubleValue*1e6), 10)
	case *pb.KnobValue_StringValue:
		return kind.StringValue
	case *pb.KnobValue_ListValue:
		items := make([]string, 0, len(kind.ListValue.Values))
		for _, item := range kind.ListValue.Values {
			items = append(items, valueText(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return "None"
}

func fixText(fix *pb.Fix) string {
	var parts []string
	for _, knob := range fix.GetKnobs() {
		parts = append(parts, knob.Name+"="+valueText(knob.Value))
	}
	for _, name := range sortedKeys(fix.GetEnv()) {
		parts = append(parts, "env."+name+"="+fix.Env[name])
	}
	return strings.Join(parts, " ")
}

func (f facts) addFindings(at string, findings []*pb.Finding) {
	for _, finding := range findings {
		id := finding.RuleId
		f.add(at+"finding", id)
		f.add(at+"severity."+id, finding.Severity.String())
		f.add(at+"seen."+id, finding.Seen)
		f.add(at+"needs."+id, finding.Needs)
		f.add(at+"source."+id, finding.GetSource().GetText())
		for _, fix := range finding.Fixes {
			f.add(at+"fix."+id, fixText(fix))
		}
	}
}

func (f facts) addConfig(at string, entries []*pb.ConfigEntry) {
	for _, entry := range entries {
		f.add(at+"config."+entry.Name, valueText(entry.Value))
		f.add(at+"origin."+entry.Name, entry.Origin.String())
		f.add(at+"spelling."+entry.Name, entry.Spelling)
	}
}

func (f facts) addChanges(at string, changes []*pb.EffectiveChange) {
	for _, change := range changes {
		f.add(at+"change", fmt.Sprintf("%s %s %s -> %s", change.RuleId, change.Name, valueText(change.From), valueText(change.To)))
	}
}

func (f facts) addEstimate(at string, estimate *pb.Estimate) {
	if estimate == nil {
		return
	}
	f.add(at+"fit", estimate.Fit.String())
	f.addInt(at+"usable_bytes", estimate.UsableBytes)
	if estimate.StepTimeUs != nil {
		f.addReal(at+"step_time_us", estimate.StepTimeUs.Value)
	}
}

func (f facts) addLaunch(at string, launch *pb.Launch) {
	f.addEach(at+"argv."+launch.Dialect, launch.Argv)
	f.add(at+"text."+launch.Dialect, launch.Text)
	for name, value := range launch.Env {
		f.add(at+"env."+launch.Dialect+"."+name, value)
	}
}

// addAnswer adds the facts of an answer; at stands before every name and is empty or ends in a dot.
func (f facts) addAnswer(at string, answer interface{}) {
	switch answer := answer.(type) {
	case *pb.ResolveConfigResponse:
		f.addResolve(at, answer)
	case *pb.ValidateConfigResponse:
		f.addValidate(at, answer)
	case *pb.PlanResult:
		f.addPlan(at, answer)
	case *pb.BatchResolveResponse:
		f.addBatch(at, answer)
	case *pb.ConvertConfigResponse:
		f.addConvert(at, answer)
	case *pb.ModelSpec:
		f.addModel(at, answer)
	case *pb.GpuSystem:
		f.addGpu(at, answer)
	case *pb.KnobInfo:
		f.addKnob(at, answer)
	case *pb.RuleInfo:
		f.addRule(at, answer)
	case *pb.Measurement:
		f.addMeasurement(at, answer)
	case *pb.ReportMeasurementResponse:
		f.addMeasurement(at, answer.Measurement)
		f.addInt(at+"~revision", answer.Revision)
	case *pb.HardwareProfile:
		f.addProfile(at, answer)
	case *pb.ListModelsResponse:
		for _, model := range answer.Models {
			f.add(at+"names", model.Name)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	case *pb.ListGpusResponse:
		for _, gpu := range answer.Gpus {
			f.add(at+"names", gpu.Name)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	case *pb.ListKnobsResponse:
		for _, knob := range answer.Knobs {
			f.add(at+"names", knob.Name)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	case *pb.ListRulesResponse:
		for _, rule := range answer.Rules {
			f.add(at+"names", rule.Id)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	case *pb.ListMeasurementsResponse:
		for _, measurement := range answer.Measurements {
			f.add(at+"names", measurement.Id)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	case *pb.ListProfilesResponse:
		for _, profile := range answer.Profiles {
			f.add(at+"names", profile.Name)
		}
		f.add(at+"next_page_token", answer.NextPageToken)
	default:
		panic(fmt.Sprintf("no facts for %T", answer))
	}
}

func (f facts) addResolve(at string, answer *pb.ResolveConfigResponse) {
	f.add(at+"outcome", answer.Outcome.String())
	f.addBool(at+"accepted_by_stack", answer.AcceptedByStack)
	f.addBool(at+"will_run", answer.WillRun)
	f.add(at+"target", answer.Target)
	f.add(at+"digest", answer.Digest)
	f.add(at+"catalog_revision", answer.CatalogRevision)
	f.addInt(at+"evidence_revision", answer.EvidenceRevision)
	f.addConfig(at, answer.Config)
	for _, decision := range answer.Decisions {
		f.add(at+"decision."+decision.Name, valueText(decision.Value))
		f.add(at+"basis."+decision.Name, decision.Basis.String())
		f.add(at+"reason."+decision.Name, decision.Reason)
	}
	f.addFindings(at, answer.Findings)
	f.addChanges(at, answer.EffectiveChanges)
	f.addEstimate(at, answer.Estimate)
	for _, launch := range answer.Launches {
		f.addLaunch(at, launch)
	}
	for _, suggestion := range answer.AbSuggestions {
		f.add(at+"ab", suggestion.Knob)
	}
	if answer.Model != nil {
		f.add(at+"model", answer.Model.Name)
		f.addInt(at+"parameters", answer.Model.GetParameters().GetTotalCount())
	}
	if answer.Layout != nil {
		f.addInt(at+"data_parallel_size", int64(answer.Layout.DataParallelSize))
		f.addInt(at+"expert_data_parallel_size", int64(answer.Layout.ExpertDataParallelSize))
		f.addInt(at+"microbatch_count", answer.Layout.MicrobatchCount)
	}
}

func (f facts) addValidate(at string, answer *pb.ValidateConfigResponse) {
	f.addBool(at+"accepted_by_stack", answer.AcceptedByStack)
	f.addBool(at+"will_run", answer.WillRun)
	f.add(at+"target", answer.Target)
	f.add(at+"digest", answer.Digest)
	f.add(at+"catalog_revision", answer.CatalogRevision)
	f.add(at+"input_format", answer.InputFormat)
	f.addConfig(at, answer.Config)
	f.addFindings(at, answer.Findings)
	f.addChanges(at, answer.EffectiveChanges)
	f.addEach(at+"not_judged", answer.NotJudged)
	f.addEach(at+"wanted_file", answer.WantedFiles)
	if repair := answer.Repair; repair != nil {
		for _, step := range repair.Steps {
			f.add(at+"repair.step", step.RuleId+" "+fixText(step.Fix))
		}
		f.addBool(at+"repair.will_run", repair.WillRun)
		f.add(at+"repair.text", repair.Text)
		f.addEach(at+"repair.argument", repair.Arguments)
	}
	f.addEstimate(at, answer.Estimate)
}

func (f facts) addPlan(at string, answer *pb.PlanResult) {
	for index, plan := range answer.Plans {
		f.add(at+"plans", plan.Digest)
		f.addResolve(fmt.Sprintf("%splans.%d.", at, index), plan)
	}
	f.addInt(at+"space_count", answer.SpaceCount)
	f.addInt(at+"judged_count", answer.JudgedCount)
	f.addFindings(at, answer.Findings)
}

func (f facts) addBatch(at string, answer *pb.BatchResolveResponse) {
	below := at + answer.RequestId + "."
	if resolve := answer.GetResolve(); resolve != nil {
		f.addResolve(below, resolve)
	}
	if validate := answer.GetValidate(); validate != nil {
		f.addValidate(below, validate)
	}
	f.addStatus(below, status.FromProto(answer.GetError()))
}

func (f facts) addConvert(at string, answer *pb.ConvertConfigResponse) {
	if answer.Launch != nil {
		f.addLaunch(at, answer.Launch)
	}
	for _, knob := range answer.Converted {
		f.add(at+"converted", knob.Name)
	}
	for _, knob := range answer.Dropped {
		f.add(at+"dropped", knob.Name)
	}
	for _, knob := range answer.PinnedDefaults {
		f.add(at+"pinned_default", knob.Name)
	}
	f.addFindings(at+"source.", answer.SourceFindings)
	f.addFindings(at+"target.", answer.TargetFindings)
}

func (f facts) addModel(at string, answer *pb.ModelSpec) {
	f.add(at+"name", answer.Name)
	f.add(at+"family", answer.Family)
	f.add(at+"attention", answer.Attention)
	f.addInt(at+"num_layers", int64(answer.NumLayers))
	f.addInt(at+"hidden_size", int64(answer.HiddenSize))
	if answer.NumMoeExperts != nil {
		f.addInt(at+"num_moe_experts", int64(*answer.NumMoeExperts))
	}
	if answer.MoeRouterTopk != nil {
		f.addInt(at+"moe_router_topk", int64(*answer.MoeRouterTopk))
	}
	f.addBool(at+"tie_embeddings", answer.TieEmbeddings)
	if answer.RotaryBase != nil {
		f.addReal(at+"rotary_base", *answer.RotaryBase)
	}
	for name, value := range answer.ExtraDimensions {
		f.addReal(at+"extra_dimensions."+name, value)
	}
	f.addInt(at+"total_count", answer.GetParameters().GetTotalCount())
	f.addInt(at+"active_count", answer.GetParameters().GetActiveCount())
	f.addEach(at+"sources", answer.Sources)
}

func (f facts) addGpu(at string, answer *pb.GpuSystem) {
	f.add(at+"name", answer.Name)
	f.addEach(at+"aliases", answer.Aliases)
	f.add(at+"compute_capability", answer.ComputeCapability)
	f.addInt(at+"hbm_bytes", answer.HbmBytes)
	f.addInt(at+"sm_count", int64(answer.SmCount))
	f.addReal(at+"nvlink_bytes_per_second", answer.NvlinkBytesPerSecond)
	f.addInt(at+"nvlink_domain_gpu_count", int64(answer.NvlinkDomainGpuCount))
	f.addEach(at+"flex_backends", answer.FlexBackends)
}

func (f facts) addKnob(at string, answer *pb.KnobInfo) {
	f.add(at+"name", answer.Name)
	f.addEach(at+"aliases", answer.Aliases)
	f.add(at+"section", answer.Section)
	f.add(at+"knob_class", answer.KnobClass)
	f.add(at+"type", answer.Type)
	f.addEach(at+"choices", answer.Choices)
	f.add(at+"default_value", valueText(answer.DefaultValue))
	f.addEach(at+"megatron_lm_flags", answer.MegatronLmFlags)
	f.add(at+"bridge_override", answer.BridgeOverride)
}

func (f facts) addRule(at string, answer *pb.RuleInfo) {
	f.add(at+"id", answer.Id)
	f.add(at+"area", answer.Area)
	f.add(at+"kind", answer.Kind)
	f.add(at+"verdict", answer.Verdict.String())
	f.addEach(at+"reads", answer.Reads)
	f.add(at+"text", answer.Text)
	for _, fix := range answer.Fixes {
		f.add(at+"fix", fixText(fix))
	}
	f.add(at+"source", answer.GetSource().GetText())
	f.add(at+"core_releases", answer.CoreReleases)
}

func (f facts) addMeasurement(at string, answer *pb.Measurement) {
	f.add(at+"id", answer.GetId())
	f.add(at+"metric", answer.GetMetric())
	f.addReal(at+"value", answer.GetValue())
	if answer != nil && answer.Error != nil {
		f.addReal(at+"error", *answer.Error)
	}
	f.add(at+"model", answer.GetModel())
	f.add(at+"gpu", answer.GetGpu())
	f.addInt(at+"gpu_count", int64(answer.GetGpuCount()))
	f.add(at+"quality", answer.GetQuality())
	f.add(at+"trust", answer.GetTrust())
}

func (f facts) addProfile(at string, answer *pb.HardwareProfile) {
	f.add(at+"name", answer.Name)
	f.add(at+"device_name", answer.DeviceName)
	f.add(at+"gpu", answer.Gpu)
	f.add(at+"kind", answer.Kind)
	for _, row := range answer.Rows {
		f.add(at+"row", row.Id)
		f.addReal(at+"row."+row.Id, row.Value)
	}
}

func (f facts) addStatus(at string, state *status.Status) {
	name := "OTHER"
	if code := int(state.Code()); code < len(codeNames) {
		name = codeNames[code]
	}
	f.add(at+"code", name)
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			f.add(at+"reason", detail.Reason)
			f.add(at+"domain", detail.Domain)
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				f.add(at+"violation."+violation.Field, violation.Description)
			}
		case *errdetails.PreconditionFailure:
			for _, violation := range detail.Violations {
				f.add(at+"precondition."+violation.Type, violation.Description)
			}
		case *errdetails.RetryInfo:
			f.addBool(at+"retry_info", true)
		}
	}
}
