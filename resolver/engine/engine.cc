#include "resolver/engine/engine.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/once_each.h"
#include "resolver/engine/loongforge_parts.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/bridge/fix_sources_util.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/megatron_lm/fix_flags_util.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

bool GatesLibrary(const Rule& rule) {
  if (rule.kind != Kind::kError) return false;
  return std::any_of(rule.reads_env.begin(), rule.reads_env.end(),
                     [](absl::string_view name) { return name == "te" || name == "torch"; });
}

// "micro_batch_size=1, fp8 unset"
void AppendObserved(const Observed& seen, std::string* text) {
  absl::StrAppend(text, text->empty() ? "" : ", ", seen.name);
  if (seen.value.is_none()) {
    absl::StrAppend(text, " unset");
  } else if (seen.value.is_text()) {
    absl::StrAppend(text, "=", seen.value.text());
  } else {
    absl::StrAppend(text, "=", seen.value.ToText());
  }
}

Value EnvValue(const Facts& facts, absl::string_view name) {
  const Environment& env = facts.env();
  auto version = [](const std::optional<Version>& v) { return v.has_value() ? Value(v->text) : Value(); };
  if (name == "te") return version(env.te);
  if (name == "torch") return version(env.torch);
  if (name == "cuda") return env.cuda.has_value() ? version(env.cuda) : Value(env.has_cuda);
  if (name == "nccl") return version(env.nccl);
  if (name == "gpu") return env.gpu_name.empty() ? Value() : Value(env.gpu_name);
  if (name == "cc_major") return Value(env.cc_major);
  if (name == "model_class") return env.model_class.empty() ? Value() : Value(env.model_class);
  if (name == "model_type") return env.model_type.empty() ? Value() : Value(env.model_type);
  if (name == "world_size") return env.world_size.has_value() ? Value(*env.world_size) : Value();
  if (name == "data_parallel_size")
    return env.data_parallel_size.has_value() ? Value(*env.data_parallel_size) : Value();
  auto package = env.packages.find(name);
  if (package != env.packages.end()) return Value(package->second);
  return facts.var_set(name) ? Value(facts.var(name)) : Value();
}

Severity SeverityOf(Kind kind) {
  switch (kind) {
    case Kind::kError:
      return Severity::kError;
    case Kind::kWarning:
      return Severity::kWarning;
    case Kind::kInfo:
    case Kind::kChange:
      break;
  }
  return Severity::kInfo;
}

// What stopped or slowed others that upstream's code accepts.
constexpr absl::string_view kFieldReport = "field-report";

// Upstream may ask the same question again later; once is enough.
bool Reported(absl::Span<const Finding> findings, absl::string_view id) {
  return std::any_of(findings.begin(), findings.end(), [id](const Finding& f) { return f.rule_id == id; });
}

// A few checks of the config classes carry another id when a command line reaches them.
absl::string_view IdFor(const Rule& rule, Target target) {
  return StackOf(target).command_line && !rule.cli_id.empty() ? rule.cli_id : rule.id;
}

// The rule cites code that another stack runs and this one does not.
bool IsOfAnother(const Stack& stack, const Rule& rule) {
  const absl::Span<const Stack* const> all = AllStacks();
  return std::any_of(all.begin(), all.end(), [&](const Stack* other) {
    return other != &stack && !other->own_source.empty() && absl::StartsWith(rule.source, other->own_source);
  });
}

}  // namespace

Program::Program(Target target, int core_release, int bridge_release) {
  const Stack& stack = StackOf(target);
  std::map<Phase, size_t> position;
  for (size_t i = 0; i < stack.phases.size(); ++i) position[stack.phases[i]] = i;
  std::vector<const Rule*> rules;
  for (const Rule* rule : AllRules()) {
    if (position.find(rule->at.phase) == position.end()) continue;
    if (!rule->core.Contains(core_release)) continue;
    if (stack.container && !rule->bridge.Contains(bridge_release)) continue;
    if (IsOfAnother(stack, *rule)) continue;
    rules.push_back(rule);
  }
  std::stable_sort(rules.begin(), rules.end(), [&](const Rule* a, const Rule* b) {
    return std::make_tuple(position[a->at.phase], a->at.line, a->at.sub, a->id) <
           std::make_tuple(position[b->at.phase], b->at.line, b->at.sub, b->id);
  });
  for (const Rule* rule : rules) {
    const bool refuses = rule->when == nullptr || rule->kind == Kind::kError ||
                         (rule->kind == Kind::kWarning && rule->area == kFieldReport);
    steps_.push_back({rule->when, rule->change, rule, GatesLibrary(*rule), refuses});
    if (rule->when != nullptr) checks_[rule->area].push_back(rule);
  }
  for (const bool mla : {false, true}) reads_.emplace_back(rules, target, core_release, bridge_release, mla);
  behind_arguments_ = static_cast<size_t>(
      std::find_if(rules.begin(), rules.end(), [](const Rule* rule) { return rule->at.phase > Phase::kCliValidate; }) -
      rules.begin());
}

absl::Span<const Rule* const> Program::ChecksOf(absl::string_view area) const {
  const auto it = checks_.find(area);
  return it == checks_.end() ? absl::Span<const Rule* const>() : it->second;
}

const Program& Program::For(Target target, int core_release, int bridge_release) {
  using Key = std::tuple<Target, int, int>;
  static const auto* const kPrograms = [] {
    auto* all = new OnceEach<Key, Program>();
    for (const Stack* stack : AllStacks()) {
      const bool numbered = stack->release == &Environment::bridge_release;
      for (int core : kCoreReleases) {
        for (int bridge : numbered ? absl::MakeSpan(kBridgeReleases) : absl::Span<const int>(&kMain, 1)) {
          all->Add(Key(stack->target, core, bridge));
        }
      }
    }
    return all;
  }();
  const bool numbered = StackOf(target).release == &Environment::bridge_release;
  const int bridge = numbered ? NearestRelease(kBridgeReleases, bridge_release) : kMain;
  const int core = NearestRelease(kCoreReleases, core_release);
  return kPrograms->At(Key(target, core, bridge),
                       [&] { return std::unique_ptr<const Program>(new Program(target, core, bridge)); });
}

Verdict VerdictOf(Phase phase) {
  if (phase <= Phase::kProvide) return Verdict::kAccepted;
  return phase == Phase::kAdvice ? Verdict::kAdvice : Verdict::kWillRun;
}

absl::string_view StageName(Phase phase) {
  switch (phase) {
    case Phase::kParse:
      return "parse";
    case Phase::kLoongForge:
      return "loongforge";
    case Phase::kCliValidate:
      return "validate";
    case Phase::kFlexBackend:
      return "flex";
    case Phase::kEnvVars:
      return "env_vars";
    case Phase::kMixedPrecision:
      return "mixed_precision";
    case Phase::kCommOverlap:
      return "comm_overlap";
    case Phase::kContainerStart:
    case Phase::kContainer:
      return "container";
    case Phase::kModelPrepare:
      return "finalize";
    case Phase::kModel:
    case Phase::kModelMla:
      return "post_init";
    case Phase::kDdp:
      return "ddp";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kProvide:
      return "provide";
    case Phase::kBuild:
      return "build";
    case Phase::kMesh:
      return "mesh";
    case Phase::kSchedule:
      return "schedule";
    case Phase::kHardware:
      return "hardware";
    case Phase::kAdvice:
      return "advice";
  }
  return "";
}

Finding MakeFinding(const Rule& rule, const Facts& facts) {
  Finding finding;
  finding.rule_id = IdFor(rule, facts.target());
  finding.area = rule.area;
  finding.severity = SeverityOf(rule.kind);
  finding.verdict = VerdictOf(rule.at.phase);
  finding.stage = StageName(rule.at.phase);
  finding.needs = std::string(rule.needs);
  finding.source = rule.source;
  finding.observed.reserve(rule.reads.size + rule.reads_env.size);
  for (Knob knob : rule.reads) {
    finding.observed.push_back({std::string(Name(knob)), facts.value(knob)});
  }
  for (absl::string_view name : rule.reads_env) {
    finding.observed.push_back({std::string(name), EnvValue(facts, name)});
  }
  finding.seen.reserve(128);
  for (const Observed& seen : finding.observed) AppendObserved(seen, &finding.seen);
  if (rule.detail != nullptr) {
    absl::StrAppend(&finding.seen, finding.seen.empty() ? "" : ": ", rule.detail(facts));
  }
  if (rule.fix != nullptr) finding.fixes = rule.fix(facts);
  for (const StaticPatch& patch : rule.fixes) {
    Patch& out = finding.fixes.emplace_back();
    for (const StaticAssignment& a : patch) out.push_back({a.knob, std::string(a.env_var), a.value.ToValue()});
  }
  CompleteFixes(facts, &finding.fixes);
  if (facts.stack().container) RedirectToBridgeSources(facts.config(), &finding.fixes);
  if (HasCommandLine(facts)) RedirectToFlags(facts, &finding.fixes);
  return finding;
}

namespace {

// What stands behind a version rule that did not fire because the caller did not say which library there is.
enum class Assumption {
  kNone,       // it would not fire without the library either
  kOfImage,    // the stack's own image has a version that is new enough, and one of years ago is not
  kNewEnough,  // nothing but the assumption: the image's is too old, or not known
};

// Whether the step fires with the versions that stand in `env`, stated or not.
bool FiresAsStated(const Program::Step& step, const Facts& facts, Environment* env) {
  const bool te_stated = std::exchange(env->te_stated, true);
  const bool torch_stated = std::exchange(env->torch_stated, true);
  const bool fires = step.when(facts);
  env->te_stated = te_stated;
  env->torch_stated = torch_stated;
  return fires;
}

Assumption AssumptionOf(const Program::Step& step, const Facts& facts, Environment* env) {
  if (!step.gates_library || (env->te_stated && env->torch_stated)) return Assumption::kNone;
  if (FiresAsStated(step, facts, env)) return Assumption::kNewEnough;
  static const std::optional<Version>* const kOldTe = new std::optional<Version>(Version::Parse("2.0.0"));
  static const std::optional<Version>* const kOldTorch = new std::optional<Version>(Version::Parse("2.5.0"));
  std::optional<Version> te = *kOldTe, torch = *kOldTorch;
  if (!env->te_stated) te.swap(env->te);
  if (!env->torch_stated) torch.swap(env->torch);
  const bool fires = FiresAsStated(step, facts, env);
  if (!env->te_stated) te.swap(env->te);
  if (!env->torch_stated) torch.swap(env->torch);
  return fires ? Assumption::kOfImage : Assumption::kNone;
}

// The rule passed only because of an assumption: that is said, not judged.
Finding MakeAssumption(const Rule& rule, const Facts& facts, Assumption assumption) {
  Finding finding = MakeFinding(rule, facts);
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.fixes.clear();
  const Environment& env = facts.env();
  const bool known = (!env.te_stated && env.te.has_value()) || (!env.torch_stated && env.torch.has_value());
  const absl::string_view says = assumption == Assumption::kOfImage
                                     ? "version not given: that of the stack's own image, new enough"
                                 : known ? "version not given: too old in the stack's own image"
                                         : "version not given: taken as new enough";
  if (assumption == Assumption::kNewEnough && known) finding.severity = Severity::kWarning;
  absl::StrAppend(&finding.seen, " (", says, ")");
  return finding;
}

// Lets the step change the configuration; whoever reads what it wrote looks again.
void Change(const Program::Step& step, const RecordedReads& reads, Editor* editor, RuleSet* pending) {
  editor->Begin(step.rule);
  step.change(*editor);
  if (editor->writes().empty()) return;
  reads.AddReadersOf(editor->writes(), pending);
  editor->writes().Clear();
}

// Whether the step, which fires, would with an older library, too: then its version is not what the step looks at.
bool FiresWithOlderTe(const Program::Step& step, const Facts& facts, Environment* env) {
  std::optional<Version> oldest = Version();
  oldest.swap(env->te);
  const bool fires = FiresAsStated(step, facts, env);
  oldest.swap(env->te);
  return fires;
}

// What fires whatever Transformer Engine there is says nothing of one that is assumed.
Finding MakeFiredFinding(const Program::Step& step, const Facts& facts, Environment* env) {
  Finding finding = MakeFinding(*step.rule, facts);
  if (!step.gates_library || env->te_stated || !FiresWithOlderTe(step, facts, env)) return finding;
  std::erase_if(finding.observed, [](const Observed& seen) { return seen.name == "te"; });
  return finding;
}

}  // namespace

RunResult Run(Config config, Environment env, Found found, KeepArguments keep) {
  const Program& program = Program::For(env.target, env.core_release, env.bridge_release);
  RunResult result;
  result.config = std::move(config);
  result.env = std::move(env);
  result.found = std::move(found);
  result.changes.reserve(32);
  std::vector<Finding> assumed;
  bool image_said = false;
  Editor editor(&result.config, &result.env, result.found, &result.changes);
  const Facts& facts = editor.facts();
  const absl::Span<const Program::Step> steps = program.steps();
  const RecordedReads& reads = program.reads(result.env.mla);
  RuleSet pending = reads.PendingFor(result.config, result.env);
  bool kept = keep == KeepArguments::kNo;
  const bool in_parts = facts.stack().model_files;
  for (size_t i = pending.Next(0); i < steps.size(); i = pending.Next(i + 1)) {
    const Program::Step& step = steps[i];
    if (in_parts && !AppliesToPart(*step.rule, facts)) continue;
    if (!kept && i >= program.behind_arguments()) {
      result.arguments = result.config;
      kept = true;
    }
    if (step.when == nullptr) {
      Change(step, reads, &editor, &pending);
    } else if (step.when(facts)) {
      if (!Reported(result.findings, IdFor(*step.rule, result.env.target))) {
        result.findings.push_back(MakeFiredFinding(step, facts, &result.env));
      }
    } else if (const Assumption assumption = AssumptionOf(step, facts, &result.env); assumption != Assumption::kNone) {
      // One of those that the image meets speaks for all of them.
      if (assumption == Assumption::kOfImage && std::exchange(image_said, true)) continue;
      assumed.push_back(MakeAssumption(*step.rule, facts, assumption));
    }
  }
  if (!kept) result.arguments = result.config;
  // What a later question of the same rule found out is no assumption any more.
  for (Finding& finding : assumed) {
    if (!Reported(result.findings, finding.rule_id)) result.findings.push_back(std::move(finding));
  }
  return result;
}

bool MayBeSuggested(Config config, Environment env, const Found& found, absl::Span<const Finding> known,
                    std::optional<Knob> changed) {
  const Value asked = changed.has_value() ? config.Get(*changed) : Value();
  const Program& program = Program::For(env.target, env.core_release, env.bridge_release);
  const RecordedReads& reads = program.reads(env.mla);
  RuleSet pending = reads.PendingFor(config, env);
  Editor editor(&config, &env, found, nullptr);
  const absl::Span<const Program::Step> steps = program.steps();
  const bool in_parts = editor.facts().stack().model_files;
  for (size_t i = pending.Next(0); i < steps.size(); i = pending.Next(i + 1)) {
    const Program::Step& step = steps[i];
    if (in_parts && !AppliesToPart(*step.rule, editor.facts())) continue;
    if (step.when == nullptr) {
      Change(step, reads, &editor, &pending);
    } else if (step.refuses && step.when(editor.facts())) {
      if (step.rule->kind == Kind::kError || !Reported(known, IdFor(*step.rule, env.target))) return false;
    }
  }
  return !asked.is_bool() || config.Get(*changed).truthy() == asked.truthy();
}

void JudgeMemory(const FoundMemory& memory, RunResult* run) {
  run->found.memory = memory;
  const Program& program = Program::For(run->env.target, run->env.core_release, run->env.bridge_release);
  const Facts facts(run->config, run->env, run->found);
  for (const Rule* rule : program.ChecksOf("fit")) {
    if (rule->when(facts) && !Reported(run->findings, IdFor(*rule, run->env.target)))
      run->findings.push_back(MakeFinding(*rule, facts));
  }
}

void SortForPeople(std::vector<Finding>* findings) {
  std::stable_sort(findings->begin(), findings->end(), [](const Finding& a, const Finding& b) {
    const std::string none;
    const std::string& knob_a = a.observed.empty() ? none : a.observed[0].name;
    const std::string& knob_b = b.observed.empty() ? none : b.observed[0].name;
    return std::tie(a.severity, knob_a, a.rule_id) < std::tie(b.severity, knob_b, b.rule_id);
  });
}

}  // namespace flightplan
