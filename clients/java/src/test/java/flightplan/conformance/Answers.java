package flightplan.conformance;

import flightplan.Failure;
import flightplan.v1.BatchResolveResponse;
import flightplan.v1.ConfigEntry;
import flightplan.v1.ConvertConfigResponse;
import flightplan.v1.ConvertedKnob;
import flightplan.v1.Decision;
import flightplan.v1.EffectiveChange;
import flightplan.v1.Estimate;
import flightplan.v1.Finding;
import flightplan.v1.Fix;
import flightplan.v1.GpuSystem;
import flightplan.v1.HardwareProfile;
import flightplan.v1.KnobInfo;
import flightplan.v1.KnobValue;
import flightplan.v1.Launch;
import flightplan.v1.Measurement;
import flightplan.v1.ModelSpec;
import flightplan.v1.PlanResult;
import flightplan.v1.ProbeRow;
import flightplan.v1.ResolveConfigResponse;
import flightplan.v1.RuleInfo;
import flightplan.v1.ValidateConfigResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The facts of each answer. `at` stands before every name; it is empty or ends in a dot. */
final class Answers {
  private Answers() {}

  private static String text(KnobValue value) {
    switch (value.getKindCase()) {
      case BOOL_VALUE:
        return String.valueOf(value.getBoolValue());
      case INT_VALUE:
        return String.valueOf(value.getIntValue());
      case DOUBLE_VALUE:
        return String.valueOf((long) (value.getDoubleValue() * 1e6));
      case STRING_VALUE:
        return value.getStringValue();
      case LIST_VALUE:
        return value.getListValue().getValuesList().stream().map(Answers::text).collect(Collectors.joining(",", "[", "]"));
      default:
        return "None";
    }
  }

  private static String text(Fix fix) {
    List<String> parts = new ArrayList<>();
    fix.getKnobsList().forEach(knob -> parts.add(knob.getName() + "=" + text(knob.getValue())));
    new TreeMap<>(fix.getEnvMap()).forEach((name, value) -> parts.add("env." + name + "=" + value));
    return String.join(" ", parts);
  }

  private static void addFindings(String at, List<Finding> findings, Facts facts) {
    for (Finding finding : findings) {
      String id = finding.getRuleId();
      facts.add(at + "finding", id);
      facts.add(at + "severity." + id, finding.getSeverity().name());
      facts.add(at + "seen." + id, finding.getSeen());
      facts.add(at + "needs." + id, finding.getNeeds());
      facts.add(at + "source." + id, finding.getSource().getText());
      finding.getFixesList().forEach(fix -> facts.add(at + "fix." + id, text(fix)));
    }
  }

  private static void addConfig(String at, List<ConfigEntry> entries, Facts facts) {
    for (ConfigEntry entry : entries) {
      facts.add(at + "config." + entry.getName(), text(entry.getValue()));
      facts.add(at + "origin." + entry.getName(), entry.getOrigin().name());
      facts.add(at + "spelling." + entry.getName(), entry.getSpelling());
    }
  }

  private static void addChanges(String at, List<EffectiveChange> changes, Facts facts) {
    for (EffectiveChange change : changes) {
      String values = text(change.getFrom()) + " -> " + text(change.getTo());
      facts.add(at + "change", change.getRuleId() + " " + change.getName() + " " + values);
    }
  }

  private static void addEstimate(String at, Estimate estimate, Facts facts) {
    facts.add(at + "fit", estimate.getFit().name());
    facts.add(at + "usable_bytes", estimate.getUsableBytes());
    if (estimate.hasStepTimeUs()) facts.addReal(at + "step_time_us", estimate.getStepTimeUs().getValue());
  }

  private static void addLaunch(String at, Launch launch, Facts facts) {
    facts.addEach(at + "argv." + launch.getDialect(), launch.getArgvList());
    facts.add(at + "text." + launch.getDialect(), launch.getText());
    launch.getEnvMap().forEach((name, value) -> facts.add(at + "env." + launch.getDialect() + "." + name, value));
  }

  static void add(String at, ResolveConfigResponse answer, Facts facts) {
    facts.add(at + "outcome", answer.getOutcome().name());
    facts.add(at + "accepted_by_stack", answer.getAcceptedByStack());
    facts.add(at + "will_run", answer.getWillRun());
    facts.add(at + "target", answer.getTarget());
    facts.add(at + "digest", answer.getDigest());
    facts.add(at + "catalog_revision", answer.getCatalogRevision());
    facts.add(at + "evidence_revision", answer.getEvidenceRevision());
    addConfig(at, answer.getConfigList(), facts);
    for (Decision decision : answer.getDecisionsList()) {
      facts.add(at + "decision." + decision.getName(), text(decision.getValue()));
      facts.add(at + "basis." + decision.getName(), decision.getBasis().name());
      facts.add(at + "reason." + decision.getName(), decision.getReason());
    }
    addFindings(at, answer.getFindingsList(), facts);
    addChanges(at, answer.getEffectiveChangesList(), facts);
    if (answer.hasEstimate()) addEstimate(at, answer.getEstimate(), facts);
    answer.getLaunchesList().forEach(launch -> addLaunch(at, launch, facts));
    answer.getAbSuggestionsList().forEach(suggestion -> facts.add(at + "ab", suggestion.getKnob()));
    if (answer.hasModel()) {
      facts.add(at + "model", answer.getModel().getName());
      facts.add(at + "parameters", answer.getModel().getParameters().getTotalCount());
    }
    if (answer.hasLayout()) {
      facts.add(at + "data_parallel_size", answer.getLayout().getDataParallelSize());
      facts.add(at + "expert_data_parallel_size", answer.getLayout().getExpertDataParallelSize());
      facts.add(at + "microbatch_count", answer.getLayout().getMicrobatchCount());
    }
  }

  static void add(String at, ValidateConfigResponse answer, Facts facts) {
    facts.add(at + "accepted_by_stack", answer.getAcceptedByStack());
    facts.add(at + "will_run", answer.getWillRun());
    facts.add(at + "target", answer.getTarget());
    facts.add(at + "digest", answer.getDigest());
    facts.add(at + "catalog_revision", answer.getCatalogRevision());
    facts.add(at + "input_format", answer.getInputFormat());
    addConfig(at, answer.getConfigList(), facts);
    addFindings(at, answer.getFindingsList(), facts);
    addChanges(at, answer.getEffectiveChangesList(), facts);
    facts.addEach(at + "not_judged", answer.getNotJudgedList());
    facts.addEach(at + "wanted_file", answer.getWantedFilesList());
    if (answer.hasRepair()) {
      var repair = answer.getRepair();
      repair.getStepsList().forEach(step -> facts.add(at + "repair.step", step.getRuleId() + " " + text(step.getFix())));
      facts.add(at + "repair.will_run", repair.getWillRun());
      facts.add(at + "repair.text", repair.getText());
      facts.addEach(at + "repair.argument", repair.getArgumentsList());
    }
    if (answer.hasEstimate()) addEstimate(at, answer.getEstimate(), facts);
  }

  static void add(String at, PlanResult answer, Facts facts) {
    for (int i = 0; i < answer.getPlansCount(); ++i) {
      facts.add(at + "plans", answer.getPlans(i).getDigest());
      add(at + "plans." + i + ".", answer.getPlans(i), facts);
    }
    facts.add(at + "space_count", answer.getSpaceCount());
    facts.add(at + "judged_count", answer.getJudgedCount());
    addFindings(at, answer.getFindingsList(), facts);
  }

  static void add(String at, BatchResolveResponse answer, Facts facts) {
    String below = at + answer.getRequestId() + ".";
    if (answer.hasResolve()) add(below, answer.getResolve(), facts);
    if (answer.hasValidate()) add(below, answer.getValidate(), facts);
    add(below, Failure.of(answer.getError()), facts);
  }

  private static void addKnobs(String name, List<ConvertedKnob> knobs, Facts facts) {
    knobs.forEach(knob -> facts.add(name, knob.getName()));
  }

  static void add(String at, ConvertConfigResponse answer, Facts facts) {
    if (answer.hasLaunch()) addLaunch(at, answer.getLaunch(), facts);
    addKnobs(at + "converted", answer.getConvertedList(), facts);
    addKnobs(at + "dropped", answer.getDroppedList(), facts);
    addKnobs(at + "pinned_default", answer.getPinnedDefaultsList(), facts);
    addFindings(at + "source.", answer.getSourceFindingsList(), facts);
    addFindings(at + "target.", answer.getTargetFindingsList(), facts);
  }

  static void add(String at, ModelSpec answer, Facts facts) {
    facts.add(at + "name", answer.getName());
    facts.add(at + "family", answer.getFamily());
    facts.add(at + "attention", answer.getAttention());
    facts.add(at + "num_layers", answer.getNumLayers());
    facts.add(at + "hidden_size", answer.getHiddenSize());
    if (answer.hasNumMoeExperts()) facts.add(at + "num_moe_experts", answer.getNumMoeExperts());
    if (answer.hasMoeRouterTopk()) facts.add(at + "moe_router_topk", answer.getMoeRouterTopk());
    facts.add(at + "tie_embeddings", answer.getTieEmbeddings());
    if (answer.hasRotaryBase()) facts.addReal(at + "rotary_base", answer.getRotaryBase());
    answer.getExtraDimensionsMap().forEach((name, value) -> facts.addReal(at + "extra_dimensions." + name, value));
    facts.add(at + "total_count", answer.getParameters().getTotalCount());
    facts.add(at + "active_count", answer.getParameters().getActiveCount());
    facts.addEach(at + "sources", answer.getSourcesList());
  }

  static void add(String at, GpuSystem answer, Facts facts) {
    facts.add(at + "name", answer.getName());
    facts.addEach(at + "aliases", answer.getAliasesList());
    facts.add(at + "compute_capability", answer.getComputeCapability());
    facts.add(at + "hbm_bytes", answer.getHbmBytes());
    facts.add(at + "sm_count", answer.getSmCount());
    facts.addReal(at + "nvlink_bytes_per_second", answer.getNvlinkBytesPerSecond());
    facts.add(at + "nvlink_domain_gpu_count", answer.getNvlinkDomainGpuCount());
    facts.addEach(at + "flex_backends", answer.getFlexBackendsList());
  }

  static void add(String at, KnobInfo answer, Facts facts) {
    facts.add(at + "name", answer.getName());
    facts.addEach(at + "aliases", answer.getAliasesList());
    facts.add(at + "section", answer.getSection());
    facts.add(at + "knob_class", answer.getKnobClass());
    facts.add(at + "type", answer.getType());
    facts.addEach(at + "choices", answer.getChoicesList());
    facts.add(at + "default_value", text(answer.getDefaultValue()));
    facts.addEach(at + "megatron_lm_flags", answer.getMegatronLmFlagsList());
    facts.add(at + "bridge_override", answer.getBridgeOverride());
  }

  static void add(String at, RuleInfo answer, Facts facts) {
    facts.add(at + "id", answer.getId());
    facts.add(at + "area", answer.getArea());
    facts.add(at + "kind", answer.getKind());
    facts.add(at + "verdict", answer.getVerdict().name());
    facts.addEach(at + "reads", answer.getReadsList());
    facts.add(at + "text", answer.getText());
    answer.getFixesList().forEach(fix -> facts.add(at + "fix", text(fix)));
    facts.add(at + "source", answer.getSource().getText());
    facts.add(at + "core_releases", answer.getCoreReleases());
  }

  static void add(String at, Measurement answer, Facts facts) {
    facts.add(at + "id", answer.getId());
    facts.add(at + "metric", answer.getMetric());
    facts.addReal(at + "value", answer.getValue());
    if (answer.hasError()) facts.addReal(at + "error", answer.getError());
    facts.add(at + "model", answer.getModel());
    facts.add(at + "gpu", answer.getGpu());
    facts.add(at + "gpu_count", answer.getGpuCount());
    facts.add(at + "quality", answer.getQuality());
    facts.add(at + "trust", answer.getTrust());
  }

  static void add(String at, HardwareProfile answer, Facts facts) {
    facts.add(at + "name", answer.getName());
    facts.add(at + "device_name", answer.getDeviceName());
    facts.add(at + "gpu", answer.getGpu());
    facts.add(at + "kind", answer.getKind());
    for (ProbeRow row : answer.getRowsList()) {
      facts.add(at + "row", row.getId());
      facts.addReal(at + "row." + row.getId(), row.getValue());
    }
  }

  static void add(String at, Failure failure, Facts facts) {
    facts.add(at + "code", failure.code().name());
    failure.info().ifPresent(info -> {
      facts.add(at + "reason", info.getReason());
      facts.add(at + "domain", info.getDomain());
    });
    failure.violations().forEach(v -> facts.add(at + "violation." + v.getField(), v.getDescription()));
    failure.preconditions().forEach(v -> facts.add(at + "precondition." + v.getType(), v.getDescription()));
    failure.retry().ifPresent(unused -> facts.add(at + "retry_info", true));
  }
}
