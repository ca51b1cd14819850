#include "resolver/answer/response.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/finding.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/answer/estimate_message.h"
#include "resolver/answer/spellings.h"
#include "resolver/engine/repair.h"
#include "resolver/explain/verdict_message.h"
#include "resolver/plan/cpu_binding.h"

namespace flightplan {
namespace {

v1::Severity ToMessage(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return v1::SEVERITY_ERROR;
    case Severity::kWarning:
      return v1::SEVERITY_WARNING;
    case Severity::kInfo:
      return v1::SEVERITY_INFO;
  }
  return v1::SEVERITY_UNSPECIFIED;
}

v1::Basis ToMessage(Basis basis) {
  switch (basis) {
    case Basis::kCaller:
      return v1::BASIS_CALLER;
    case Basis::kRule:
      return v1::BASIS_RULE;
    case Basis::kMeasured:
      return v1::BASIS_MEASURED;
    case Basis::kRecipes:
      return v1::BASIS_RECIPES;
    case Basis::kGuidance:
      return v1::BASIS_GUIDANCE;
    case Basis::kEstimate:
      return v1::BASIS_ESTIMATE;
  }
  return v1::BASIS_UNSPECIFIED;
}

v1::ConfigOrigin ToMessage(Origin origin) {
  switch (origin) {
    case Origin::kAbsent:
      return v1::CONFIG_ORIGIN_UNSPECIFIED;
    case Origin::kDefault:
      return v1::CONFIG_ORIGIN_DEFAULT;
    case Origin::kModel:
      return v1::CONFIG_ORIGIN_MODEL;
    case Origin::kCaller:
      return v1::CONFIG_ORIGIN_CALLER;
    case Origin::kDecided:
      return v1::CONFIG_ORIGIN_DECIDED;
    case Origin::kUpstream:
      return v1::CONFIG_ORIGIN_UPSTREAM;
  }
  return v1::CONFIG_ORIGIN_UNSPECIFIED;
}

// "micro_batch_size", "env.NCCL_DEBUG".
void PutName(int field, Knob knob, const std::string& env_var, WireWriter* w) {
  if (env_var.empty()) {
    w->Text(field, Name(knob));
  } else if (env_var == kNumaBindingName) {  // no variable: a word of the launcher
    w->Text(field, env_var);
  } else {
    w->Text(field, absl::StrCat("env.", env_var));
  }
}

void PutSetting(int field, absl::string_view name, const Value& value, WireWriter* w) {
  using M = v1::KnobSetting;
  w->PutMessage(field, [&] {
    w->Text(M::kNameFieldNumber, name);
    PutValue(M::kValueFieldNumber, value, w);
  });
}

void PutSource(int field, absl::string_view source, absl::string_view area, WireWriter* w) {
  using M = v1::Citation;
  w->PutMessage(field, [&] {
    w->Text(M::kTextFieldNumber, source);
    w->Bool(M::kFieldReportFieldNumber, area == "field-report");
  });
}

void PutLocation(int field, const InputPlace& place, WireWriter* w) {
  using M = v1::Location;
  w->PutMessage(field, [&] {
    w->Text(M::kInputFieldNumber, place.input);
    if (place.at.index >= 0) w->PutInt(M::kArgumentIndexFieldNumber, place.at.index);
    if (place.at.line > 0) w->PutInt(M::kLineFieldNumber, place.at.line);
    if (place.at.column > 0) w->PutInt(M::kColumnFieldNumber, place.at.column);
  });
}

void WriteLaunch(const Launch& launch, WireWriter* w) {
  using M = v1::Launch;
  w->Text(M::kDialectFieldNumber, launch.dialect);
  for (const std::string& arg : launch.argv) w->PutText(M::kArgvFieldNumber, arg);
  for (const auto& [name, value] : launch.env) w->PutMapEntry(M::kEnvFieldNumber, name, value);
  w->Text(M::kTextFieldNumber, launch.text);
  for (const RequiredInput& input : launch.required_inputs) {
    w->PutMessage(M::kRequiredInputsFieldNumber, [&] {
      w->Text(v1::RequiredInput::kNameFieldNumber, input.name);
      w->Text(v1::RequiredInput::kWhatFieldNumber, input.what);
      w->Text(v1::RequiredInput::kSpellingFieldNumber, input.spelling);
      w->Text(v1::RequiredInput::kExampleFieldNumber, input.example);
      w->Text(v1::RequiredInput::kWithoutFieldNumber, input.without);
    });
  }
}

void WritePatch(const Patch& patch, WireWriter* w) {
  using M = v1::Fix;
  EnvVars vars;
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) {
      PutSetting(M::kKnobsFieldNumber, Name(assignment.knob), assignment.value, w);
    } else {
      vars[assignment.env_var] = assignment.value.is_none() ? "" : assignment.value.ToText();
    }
  }
  for (const auto& [name, value] : vars) w->PutMapEntry(M::kEnvFieldNumber, name, value);
  w->Bool(M::kChangesConvergenceFieldNumber, ChangesConvergence(patch));
}

}  // namespace

void PutValue(int field, const Value& value, WireWriter* w) {
  using M = v1::KnobValue;
  w->PutMessage(field, [&] {
    if (value.is_bool()) {
      w->PutBool(M::kBoolValueFieldNumber, value.truthy());
    } else if (value.is_int()) {
      w->PutInt(M::kIntValueFieldNumber, value.integer());
    } else if (value.is_float()) {
      w->PutReal(M::kDoubleValueFieldNumber, value.real());
    } else if (value.is_text()) {
      w->PutText(M::kStringValueFieldNumber, value.text());
    } else if (value.is_list()) {
      w->PutMessage(M::kListValueFieldNumber, [&] {
        for (const Value& item : value.list()) PutValue(v1::KnobList::kValuesFieldNumber, item, w);
      });
    }
  });
}

void PutFinding(int field, const Finding& finding, const InputPlace* place, WireWriter* w) {
  using M = v1::Finding;
  w->PutMessage(field, [&] {
    w->Text(M::kRuleIdFieldNumber, finding.rule_id);
    w->Text(M::kAreaFieldNumber, finding.area);
    w->Int(M::kSeverityFieldNumber, ToMessage(finding.severity));
    w->Int(M::kVerdictFieldNumber, ToMessage(finding.verdict));
    w->Text(M::kStageFieldNumber, finding.stage);
    for (const Observed& seen : finding.observed) PutSetting(M::kObservedFieldNumber, seen.name, seen.value, w);
    w->Text(M::kSeenFieldNumber, finding.seen);
    w->Text(M::kNeedsFieldNumber, finding.needs);
    for (const Patch& patch : finding.fixes) PutFix(M::kFixesFieldNumber, patch, w);
    PutSource(M::kSourceFieldNumber, finding.source, finding.area, w);
    if (place != nullptr) PutLocation(M::kLocationFieldNumber, *place, w);
  });
}

void PutChanges(int field, const std::vector<ConfigChange>& changes, WireWriter* w) {
  using M = v1::EffectiveChange;
  for (const ConfigChange& change : changes) {
    if (change.from.is_list() != change.to.is_list() && change.from.ToText() == change.to.ToText()) continue;
    w->PutMessage(field, [&] {
      w->Text(M::kRuleIdFieldNumber, change.rule_id);
      PutName(M::kNameFieldNumber, change.knob, change.env_var, w);
      PutValue(M::kFromFieldNumber, change.from, w);
      PutValue(M::kToFieldNumber, change.to, w);
      w->Bool(M::kOverridesCallerFieldNumber, change.overrides_caller);
      PutSource(M::kSourceFieldNumber, change.source, "", w);
    });
  }
}

void PutDecision(int field, const Decision& decision, WireWriter* w) {
  using M = v1::Decision;
  w->PutMessage(field, [&] {
    w->Text(M::kRuleIdFieldNumber, decision.rule_id);
    PutName(M::kNameFieldNumber, decision.knob, decision.env_var, w);
    PutValue(M::kValueFieldNumber, decision.value, w);
    w->Text(M::kReasonFieldNumber, decision.reason);
    for (const Alternative& alternative : decision.alternatives) {
      w->PutMessage(M::kAlternativesFieldNumber, [&] {
        PutValue(v1::Alternative::kValueFieldNumber, alternative.value, w);
        w->Text(v1::Alternative::kReasonFieldNumber, alternative.reason);
      });
    }
    w->Int(M::kBasisFieldNumber, ToMessage(decision.basis));
    for (const std::string& citation : decision.citations) PutSource(M::kCitationsFieldNumber, citation, "", w);
    w->Bool(M::kNeedsAbFieldNumber, decision.needs_ab);
    if (decision.expected_step_ratio.has_value()) {
      w->PutReal(M::kExpectedStepRatioFieldNumber, *decision.expected_step_ratio);
    }
  });
}

void PutLaunch(int field, const Launch& launch, WireWriter* w) {
  w->PutMessage(field, [&] { WriteLaunch(launch, w); });
}

void PutAbSuggestion(int field, const AbSuggestion& ab, const Launch& other, WireWriter* w) {
  using M = v1::AbSuggestion;
  w->PutMessage(field, [&] {
    w->Text(M::kKnobFieldNumber, Name(ab.knob));
    PutValue(M::kPlanValueFieldNumber, ab.plan_value, w);
    PutValue(M::kOtherValueFieldNumber, ab.other_value, w);
    for (const auto& [knob, value] : ab.companions) PutSetting(M::kCompanionsFieldNumber, Name(knob), value, w);
    w->Text(M::kReasonFieldNumber, ab.reason);
    if (ab.expected != 0 || ab.low != 0 || ab.high != 0) {
      PutRange(M::kExpectedStepRatioFieldNumber, ab.expected, ab.low, ab.high, w);
    }
    PutLaunch(M::kOtherLaunchFieldNumber, other, w);
  });
}

void PutFix(int field, const Patch& patch, WireWriter* w) {
  w->PutMessage(field, [&] { WritePatch(patch, w); });
}

namespace {

// The last entry of each knob, to be asked for in the order of the knob table.
template <class Entry>
class LastByKnob {
 public:
  explicit LastByKnob(absl::Span<const Entry> entries) {
    entries_.reserve(entries.size());
    for (const Entry& entry : entries) {
      if (entry.env_var.empty()) entries_.push_back(&entry);
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry* a, const Entry* b) { return a->knob < b->knob; });
  }
  const Entry* Find(Knob knob) {
    const Entry* found = nullptr;
    for (; next_ < entries_.size() && entries_[next_]->knob <= knob; ++next_) {
      if (entries_[next_]->knob == knob) found = entries_[next_];
    }
    return found;
  }

 private:
  std::vector<const Entry*> entries_;
  size_t next_ = 0;
};

}  // namespace

void PutConfig(int field, const RunResult& run, absl::Span<const Decision> decisions, absl::Span<const Knob> stated,
               WireWriter* w) {
  using M = v1::ConfigEntry;
  LastByKnob<ConfigChange> changes(run.changes);
  LastByKnob<Decision> decided(decisions);
  const Spellings& spellings = Spellings::Of(run.env);
  run.config.ForEachNotDefault([&](Knob knob) {
    const Origin origin = run.config.origin(knob);
    w->PutMessage(field, [&] {
      w->PutEncoded(spellings.NameField(knob));
      PutValue(M::kValueFieldNumber, run.config.Get(knob), w);
      w->Int(M::kOriginFieldNumber, ToMessage(origin));
      w->PutEncoded(spellings.SpellingField(knob));
      const ConfigChange* change = changes.Find(knob);
      const Decision* decision = decided.Find(knob);
      if (change != nullptr) {
        w->PutText(M::kReasonFieldNumber, "the stack sets it: ", change->rule_id);
      } else if (decision != nullptr) {
        w->Text(M::kReasonFieldNumber, decision->reason);
      } else if (origin == Origin::kModel) {
        w->Text(M::kReasonFieldNumber, "the model's architecture");
      } else if (origin == Origin::kCaller) {
        const bool beside = std::find(stated.begin(), stated.end(), knob) != stated.end();
        w->Text(M::kReasonFieldNumber, beside ? "you state it beside the text" : "you set it");
      }
    });
  });
}

}  // namespace flightplan
