#include "tests/properties/properties.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/engine/repair.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/megatron_bridge/dialect.h"

namespace flightplan::properties {
namespace {

using golden::GoldenCase;

bool IsError(const Finding& finding) { return finding.severity == Severity::kError; }

std::set<std::string> ErrorsOfArea(const RunResult& result, absl::string_view area) {
  std::set<std::string> ids;
  for (const Finding& finding : result.findings) {
    if (IsError(finding) && finding.area == area) ids.emplace(finding.rule_id);
  }
  return ids;
}

std::string PatchText(const Patch& patch) {
  return absl::StrJoin(patch, ", ", [](std::string* out, const Assignment& a) {
    absl::StrAppend(out, a.env_var.empty() ? std::string(Name(a.knob)) : a.env_var, "=", a.value.ToJson());
  });
}

// Of a launch that says no size of its model none is invented.
bool ShowsAModel(const GoldenCase& golden) {
  return !golden.config.Get(Knob::num_layers).is_none() || !golden.config.Get(Knob::hidden_size).is_none();
}

void CheckFix(const GoldenCase& golden, const RunResult& before, const Finding& finding, std::vector<Breach>* out) {
  const std::string id(finding.rule_id);
  if (finding.fixes.empty()) {
    if (finding.area == "model" && !ShowsAModel(golden)) return;
    if (finding.rule_id == "layers.positive") return;  // nobody knows how many were meant
    out->push_back({id, "an error without a fix"});
    return;
  }
  Config config = golden.config;
  Environment env = golden.env;
  ApplyPatch(finding.fixes[0], &config, &env);
  const RunResult after = Run(std::move(config), std::move(env));
  const std::set<std::string> old = ErrorsOfArea(before, finding.area);
  const std::set<std::string> now = ErrorsOfArea(after, finding.area);
  if (now.count(id) == 1) {
    out->push_back({id, absl::StrCat("stays after ", PatchText(finding.fixes[0]), "; saw ", finding.seen)});
  }
  for (const std::string& other : now) {
    if (old.count(other) == 0) {
      out->push_back({id, absl::StrCat("its fix ", PatchText(finding.fixes[0]), " brings ", other)});
    }
  }
}

bool Accepts(const RunResult& result) {
  return std::none_of(result.findings.begin(), result.findings.end(),
                      [](const Finding& f) { return IsError(f) && f.verdict == Verdict::kAccepted; });
}

// Who wrote a knob last, for the message.
std::string LastWriter(const RunResult& result, Knob knob) {
  std::string id = std::string(Name(knob));
  for (const ConfigChange& change : result.changes) {
    if (change.env_var.empty() && change.knob == knob) id = std::string(change.rule_id);
  }
  return id;
}

// What a caller has written, on the defaults of a target (whose class it is told by `env`).
Config OnTarget(const Config& config, const Environment& env) {
  Config out = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  config.ForEachNotDefault([&](Knob knob) {
    const bool exists = out.origin(knob) != Origin::kAbsent;
    if (exists && config.Given(knob)) out.Set(knob, config.Get(knob), Origin::kCaller);
  });
  return WriteForTarget(std::move(out), env);
}

bool HasFlag(Knob knob, const Environment& env) {
  const EnvVars no_vars;
  Config one = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  for (const Value& value : {Value(true), Value(false)}) {
    one.Set(knob, value, Origin::kCaller);
    const Launch launch = RenderDialect(OwnDialect(env.target), {one, env, no_vars});
    if (!launch.argv.empty() || !launch.unspelled.empty()) return true;
  }
  return false;
}

// What a launch line has no place for: how a Bridge recipe is called, and fields of the config classes without a flag.
void CopyUnwritable(const Config& written, const Environment& env, Config* read) {
  const bool bridge = env.target == Target::kMegatronBridge;
  written.ForEachNotDefault([&](Knob knob) {
    if (!written.Given(knob)) return;
    const bool call = Row(knob).section == Section::kLaunch || knob == Knob::dataset_kind;
    if (bridge ? call : !HasFlag(knob, env)) read->Set(knob, written.Get(knob), Origin::kCaller);
  });
}

// Markers of the typed form: an object is there, a recipe stands for its fields. The fields themselves are compared.
bool IsMarker(Knob knob) {
  return knob == Knob::comm_overlap_configured || knob == Knob::mixed_precision_configured ||
         knob == Knob::mixed_precision_recipe;
}

// Writes the configuration in the target's own words, reads them, and compares what comes of both. A knob that the
// target has no words for is set beside what was read: everything else must still be the same.
void CheckDialect(const Config& written, const Environment& env, bool own, std::vector<Breach>* out) {
  const EnvVars no_vars;
  const Launch launch = RenderDialect(OwnDialect(env.target), {written, env, no_vars});
  std::vector<Argument> args;
  for (const std::string& word : launch.argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  const ParseResult parsed = ParseOwnDialect(args, env);
  for (const ParseFinding& f : parsed.findings) {
    if (!IsError(f.finding)) continue;
    if (own) out->push_back({f.finding.seen, absl::StrCat("not read back: ", f.finding.needs)});
    return;  // a value that this target's release does not know
  }
  Config read = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(parsed.knobs, &read);
  for (Knob knob : launch.unspelled) read.Set(knob, written.Get(knob), Origin::kCaller);
  CopyUnwritable(written, env, &read);
  const RunResult before = Run(written, env);
  const RunResult after = Run(read, env);
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (IsMarker(knob) || before.config.Get(knob) == after.config.Get(knob)) continue;
    out->push_back(
        {std::string(Name(knob)), absl::StrCat(OwnDialect(env.target), ": is ", before.config.Get(knob).ToJson(),
                                               ", read back ", after.config.Get(knob).ToJson())});
  }
}

// The targets that build the configuration class of a case.
// The numbered Bridge release whose core is nearest.
int BridgeOn(int core_release) {
  const absl::Span<const int> numbered = absl::MakeSpan(kBridgeReleases).first(kBridgeReleases.size() - 1);
  const absl::Span<const int> cores = absl::MakeSpan(kBridgeCores).first(numbered.size());
  const int core = NearestRelease(cores, core_release);
  return numbered[std::find(cores.begin(), cores.end(), core) - cores.begin()];
}

std::vector<Environment> TargetsOf(const Environment& env) {
  if (env.target != Target::kCore) return {env};
  std::vector<Environment> targets;
  for (Target target : {Target::kMegatronLm, Target::kMegatronBridge, Target::kLoongForge}) {
    Environment& added = targets.emplace_back(env);
    added.target = target;
    if (target == Target::kLoongForge) added.core_release = kLoongForgeCore;
    if (target == Target::kMegatronBridge && env.core_release != kMain) {
      added.bridge_release = BridgeOn(env.core_release);
      added.core_release = StackOf(Target::kMegatronBridge).core_release(added.bridge_release);
    }
  }
  return targets;
}

// The values that the config class of the model has at the end of a launch.
Config ModelClassOf(const Config& config, const Environment& env) {
  Config out = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (Row(knob).section == Section::kModel && out.origin(knob) != Origin::kAbsent) {
      out.Set(knob, config.Get(knob), config.origin(knob));
    }
  }
  return out;
}

struct Known {
  absl::string_view property;
  absl::string_view subject;
  absl::string_view reason;
};

constexpr absl::string_view kOldSwitch =
    "upstream leaves the deprecated switch set beside what it translated it to, and refuses the two together";
constexpr absl::string_view kDevices =
    "moe_router_topk_limited_devices stays set beside the group limits it was translated to, which only those of "
    "somebody's own are held to";
constexpr absl::string_view kEarlyOverlap =
    "Bridge fills the overlap before the layout gives the virtual stages and before it turns the distributed optimizer "
    "on, so a second pass sees another pipeline and another optimizer";
constexpr absl::string_view kLateChange = "upstream makes this true only after it has checked it";
constexpr absl::string_view kYours = "what to train on, how long and how fast is the caller's to choose";
constexpr Known kKnown[] = {
    {"fixes", "lf.model-required", kYours},
    {"fixes", "lff.train-length", kYours},
    {"fixes", "lff.lr-set", kYours},
    {"again", "cuda-graph.legacy-vs-impl", kOldSwitch},
    {"again", "router.group-topk-vs-limited-devices", kDevices},
    {"again", "router.group-topk-le-groups", kDevices},
    {"again", "router.experts-divisible-by-groups", kDevices},
    {"again", "p2p-overlap.on-with-vpp", kEarlyOverlap},
    {"again", "dp-overlap.align-param-gather", kEarlyOverlap},
    {"again", "dp-overlap.on-with-dp", kEarlyOverlap},
    {"again", "comm-overlap.fields-copied", kEarlyOverlap},
    {"again", "recompute.distribute-vs-sp", kLateChange},
    {"again", "dispatcher.allgather-no-varlen", kLateChange},
    {"again", "cpu-offload.no-recompute", kLateChange},
    {"round-trip", "cuda_graph_scope", "the class of 0.15 holds one text, LoongForge's flag a list of it"},
};

}  // namespace

std::vector<Breach> CheckFixes(const GoldenCase& golden) {
  std::vector<Breach> out;
  const RunResult before = Run(golden.config, golden.env);
  std::set<std::string> done;
  for (const Finding& finding : before.findings) {
    if (IsError(finding) && done.emplace(finding.rule_id).second) CheckFix(golden, before, finding, &out);
  }
  return out;
}

std::vector<Breach> CheckShortRun(const GoldenCase& golden) {
  const RunResult whole = Run(golden.config, golden.env);
  const auto error = std::find_if(whole.findings.begin(), whole.findings.end(), IsError);
  if (MayBeSuggested(golden.config, golden.env, {}, whole.findings) == (error == whole.findings.end())) return {};
  if (error == whole.findings.end()) return {{"short-run", "finds an error that the whole run does not"}};
  return {{std::string(error->rule_id), "not found by the short run"}};
}

std::vector<Breach> CheckAgain(const GoldenCase& golden) {
  std::vector<Breach> out;
  const RunResult first = Run(golden.config, golden.env);
  if (!Accepts(first) || golden.env.target == Target::kLoongForge) return out;  // its class is of no core release
  Environment env = first.env;
  Config again = first.config;
  // validate_args is no fixed point by construction: it refuses what it has itself derived (encoder_num_layers beside
  // num_layers ...). What it leads to, the config class, is judged again.
  if (env.target == Target::kMegatronLm) {
    env.target = Target::kCore;
    again = ModelClassOf(first.config, env);
  }
  const RunResult second = Run(again, env);
  for (const Finding& f : second.findings) {
    if (IsError(f) && f.verdict == Verdict::kAccepted) out.push_back({std::string(f.rule_id), "refuses: " + f.seen});
  }
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (second.config.Get(knob) == again.Get(knob)) continue;
    out.push_back({LastWriter(second, knob), absl::StrCat(Name(knob), ": ", again.Get(knob).ToJson(), " becomes ",
                                                          second.config.Get(knob).ToJson())});
  }
  for (const auto& [name, value] : second.env.vars) {
    auto it = first.env.vars.find(name);
    if (it == first.env.vars.end() || it->second != value) out.push_back({name, absl::StrCat("becomes ", value)});
  }
  return out;
}

std::vector<Breach> CheckRoundTrip(const GoldenCase& golden) {
  std::vector<Breach> out;
  if (!Accepts(Run(golden.config, golden.env))) return out;
  for (const Environment& env : TargetsOf(golden.env)) {
    const bool own = env.target == golden.env.target;
    // Words of a command line are there already; Bridge's overrides name what its comm_overlap and mixed precision
    // would overwrite by those objects' fields.
    const bool as_it_is = own && (env.target == Target::kMegatronLm || env.target == Target::kLoongForge);
    CheckDialect(as_it_is ? golden.config : OnTarget(golden.config, env), env, own, &out);
  }
  return out;
}

absl::string_view KnownReason(absl::string_view property, absl::string_view subject) {
  for (const Known& known : kKnown) {
    if (known.property == property && known.subject == subject) return known.reason;
  }
  return "";
}

}  // namespace flightplan::properties
