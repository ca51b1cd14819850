// advice_check [--count N] [--searched N] [--seed S] [--first K] [--show M] [--answers 1]
//
// What is offered is legal and does what it says: random questions over every model, GPU system, size, stack, release
// and stage of the catalogue, with sizes given, and of --searched more with some left open; every fix of every finding
// is put into the question as the answer prints it, and asked again. The finding must be gone, no error may be new,
// memory may stand no worse, and where a change of the step is promised it comes about. What is offered to be tried
// next is asked twice: with everything else decided anew, and with every other decision pinned, which must show the
// promised step and memory. The other side of every A/B is asked for with every other decision pinned: it must bring no
// error. Prints the counts and M counterexamples, shrunk, as command lines. Exit status: 0 none, 1
// some, 2 misuse. With --answers 1 no law is asked, and a digest of every answer is printed instead: a change that must
// not move an answer is compared by these.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/digest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/properties/promise.h"
#include "tests/properties/questions.h"

namespace flightplan::properties {
namespace {

using Question = v1::ResolveConfigRequest;
using Answer = v1::ResolveConfigResponse;

// A size of the layout goes into the layout, everything else is a pin, as the flags of the command do it.
Question With(Question q, const v1::Fix& fix) {
  for (const auto& [name, value] : fix.env()) (*q.mutable_env())[name] = value;
  for (const v1::KnobSetting& setting : fix.knobs()) {
    v1::Layout& layout = *q.mutable_layout();
    const auto* field = layout.GetDescriptor()->FindFieldByName(setting.name());
    const bool size = field != nullptr && field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT32;
    if (size) {
      const bool none = !setting.value().has_int_value();
      layout.GetReflection()->SetInt32(&layout, field, none ? 1 : static_cast<int32_t>(setting.value().int_value()));
    } else {
      if (field != nullptr) layout.GetReflection()->ClearField(&layout, field);
      auto& pins = *q.mutable_pinned_knobs();
      pins.erase(std::remove_if(pins.begin(), pins.end(),
                                [&](const v1::KnobSetting& pin) { return pin.name() == setting.name(); }),
                 pins.end());
      *q.add_pinned_knobs() = setting;
    }
  }
  return q;
}

bool Decides(const Answer& answer, const char* name) {
  return std::any_of(answer.decisions().begin(), answer.decisions().end(),
                     [name](const v1::Decision& decision) { return decision.name() == name; });
}

// The question with every decision of its answer as a pin.
Question AsItIs(Question q, const Answer& answer) {
  v1::Fix decided;
  for (const v1::Decision& decision : answer.decisions()) {
    if (!FindKnob(decision.name()).has_value()) continue;
    v1::KnobSetting& setting = *decided.add_knobs();
    setting.set_name(decision.name());
    if (decision.has_value()) *setting.mutable_value() = decision.value();
  }
  // What the stack itself recomputes where the caller said no more than that it should.
  constexpr char kModules[] = "recompute_modules";
  for (const v1::ConfigEntry& entry : answer.config()) {
    if (entry.name() != kModules || !entry.has_value() || Decides(answer, kModules)) continue;
    v1::KnobSetting& setting = *decided.add_knobs();
    setting.set_name(kModules);
    *setting.mutable_value() = entry.value();
  }
  return With(std::move(q), decided);
}

struct Said {
  std::set<std::string> found, errors;
  int fit = 0;
  Forecast forecast;
};
Said SaidBy(const Answer& answer) {
  Said said;
  for (const v1::Finding& finding : answer.findings()) {
    said.found.insert(finding.rule_id());
    if (finding.severity() == v1::SEVERITY_ERROR) said.errors.insert(finding.rule_id());
  }
  said.fit = answer.estimate().fit();
  said.forecast = ForecastOf(answer.estimate());
  return said;
}

// What the answer to the fixed question breaks; empty: nothing.
std::string Breach(const Said& before, const Said& after, const std::string& id,
                   const std::optional<Promise>& promised) {
  if (after.found.count(id) > 0) return "the finding stays";
  for (const std::string& error : after.errors) {
    if (before.errors.count(error) == 0) return absl::StrCat("new error ", error);
  }
  const bool worse = before.fit != 0 && (after.fit == 0 || after.fit > before.fit);
  if (worse) return "memory stands worse";
  return promised.has_value() ? BrokenPromise(*promised, before.forecast, after.forecast) : "";
}

struct Broken {
  int64_t count = 0;
  Question question;
  v1::Fix fix;
};

struct Tally {
  int64_t answered = 0, searched = 0, fixes = 0, asked_again = 0, promises = 0, trials = 0, sides = 0;
  std::map<std::string, int64_t> by_rule;
  std::map<std::string, Broken> broken;  // by rule and breach, with the first example
};

bool IsSearch(const Answer& answer) {
  for (const v1::Finding& finding : answer.findings()) {
    if (finding.rule_id() == "layout.searched") return true;
  }
  return false;
}

// What the answer to the question with all else as it was breaks; empty: nothing. `trial`: what is promised; null:
// nothing.
std::string TryAsItIs(const Resolver& resolver, const Question& question, const Answer& answer, const v1::Fix& fix,
                      const Trial* trial, const Said& before) {
  Question tried = With(AsItIs(question, answer), fix);
  Answer then;
  if (const absl::Status status = resolver.ResolveConfig(tried, &then); !status.ok()) {
    return std::string(status.message());
  }
  // Nothing on the host was no decision.
  constexpr char kOffload[] = "optimizer_cpu_offload";
  if (Decides(then, kOffload) && !Decides(answer, kOffload)) {
    v1::KnobSetting& off = *tried.add_pinned_knobs();
    off.set_name(kOffload);
    off.mutable_value()->set_bool_value(false);
    if (const absl::Status status = resolver.ResolveConfig(tried, &then); !status.ok()) {
      return std::string(status.message());
    }
  }
  const Said after = SaidBy(then);
  for (const std::string& error : after.errors) {
    if (before.errors.count(error) == 0) return absl::StrCat("new error, all else as it is: ", error);
  }
  return trial != nullptr ? BrokenTrial(*trial, before.forecast, after.forecast) : "";
}

// The other run of an A/B, as a change of the plan.
v1::Fix OtherSide(const v1::AbSuggestion& ab) {
  v1::Fix side;
  v1::KnobSetting& knob = *side.add_knobs();
  knob.set_name(ab.knob());
  if (ab.has_other_value()) *knob.mutable_value() = ab.other_value();
  for (const v1::KnobSetting& companion : ab.companions()) *side.add_knobs() = companion;
  return side;
}

// What the other run's own launch sets the knob to, once it is read as any launch is; empty: what the A/B says.
std::string BrokenText(const Resolver& resolver, const Question& question, const v1::AbSuggestion& ab) {
  v1::ValidateConfigRequest launch;
  *launch.mutable_target() = question.target();
  *launch.mutable_hardware() = question.hardware();
  *launch.mutable_software() = question.software();
  launch.mutable_file()->set_name("other.sh");
  launch.mutable_file()->set_text(ab.other_launch().text());
  v1::ValidateConfigResponse read;
  if (const absl::Status status = resolver.ValidateConfig(launch, &read); !status.ok()) {
    return absl::StrCat("its launch is not read: ", status.message());
  }
  for (const v1::ConfigEntry& entry : read.config()) {
    if (entry.name() != ab.knob()) continue;
    if (entry.value().SerializeAsString() == ab.other_value().SerializeAsString()) return "";
    return absl::StrCat("its launch says ", entry.value().ShortDebugString());
  }
  const bool is_none = ab.other_value().kind_case() == v1::KnobValue::KIND_NOT_SET;
  // Else in a file that it writes first, or in a program's own.
  return is_none || read.completeness() == v1::COMPLETENESS_PARTIAL ? "" : "its launch does not say it";
}

void Check(const Resolver& resolver, const Question& question, Tally* tally) {
  Answer answer;
  if (!resolver.ResolveConfig(question, &answer).ok()) return;
  ++tally->answered;
  tally->searched += IsSearch(answer) ? 1 : 0;
  const Said before = SaidBy(answer);
  std::map<std::string, std::pair<absl::Status, Said>> asked;  // several findings have one fix
  for (const v1::Finding& finding : answer.findings()) {
    const std::vector<std::optional<Promise>> promises = PromisesOf(finding);
    const std::optional<Trial> trial = TrialOf(finding);
    if (finding.area() == "next-step" && !finding.fixes().empty() && !trial.has_value() && promises.empty()) {
      Broken& broken = tally->broken[absl::StrCat(finding.rule_id(), ": nothing is promised")];
      if (broken.count++ == 0) broken = {1, question, finding.fixes(0)};
    }
    for (int i = 0; i < finding.fixes_size(); ++i) {
      const v1::Fix& fix = finding.fixes(i);
      const std::optional<Promise> promised = i < static_cast<int>(promises.size()) ? promises[i] : std::nullopt;
      ++tally->fixes;
      ++tally->by_rule[finding.rule_id()];
      tally->promises += promised.has_value() ? 1 : 0;
      Question fixed = With(question, fix);
      fixed.set_view(v1::ANSWER_VIEW_BASIC);  // what it says is asked, not how it was come by
      const auto [then, is_new] = asked.try_emplace(fixed.SerializeAsString());
      if (is_new) {
        Answer fixed_answer;
        then->second.first = resolver.ResolveConfig(fixed, &fixed_answer);
        then->second.second = SaidBy(fixed_answer);
        ++tally->asked_again;
      }
      const auto& [status, after] = then->second;
      std::string breach =
          status.ok() ? Breach(before, after, finding.rule_id(), promised) : std::string(status.message());
      if (breach.empty()) breach = WrongCount(promises, finding);
      if (breach.empty() && trial.has_value()) {
        ++tally->trials;
        breach = BrokenAnew(before.forecast, after.forecast);
        if (breach.empty()) breach = TryAsItIs(resolver, question, answer, fix, &*trial, before);
      }
      if (breach.empty()) continue;
      Broken& broken = tally->broken[absl::StrCat(finding.rule_id(), ": ", breach)];
      if (broken.count++ == 0) broken = {1, question, fix};
    }
  }
  for (const v1::AbSuggestion& ab : answer.ab_suggestions()) {
    ++tally->sides;
    const v1::Fix side = OtherSide(ab);
    std::string breach = BrokenText(resolver, question, ab);
    if (breach.empty()) breach = TryAsItIs(resolver, question, answer, side, nullptr, before);
    if (breach.empty()) continue;
    Broken& broken = tally->broken[absl::StrCat("A/B of ", ab.knob(), ": ", breach)];
    if (broken.count++ == 0) broken = {1, question, side};
  }
}

// A question with less in it whose answer breaks the same law.
void Shrink(const Resolver& resolver, const std::string& breach, Broken* broken) {
  constexpr int kMostSteps = 40;
  for (int step = 0; step < kMostSteps; ++step) {
    bool smaller = false;
    for (const Question& question : Simpler(broken->question)) {
      Tally tally;
      Check(resolver, question, &tally);
      const auto same = tally.broken.find(breach);
      if (same == tally.broken.end()) continue;
      broken->question = question;
      broken->fix = same->second.fix;
      smaller = true;
      break;
    }
    if (!smaller) return;
  }
}

// Without the catalogue's revision, which every change of a rule's text moves.
void PrintDigest(const Resolver& resolver, const Question& question) {
  Answer answer;
  const absl::Status status = resolver.ResolveConfig(question, &answer);
  answer.clear_catalog_revision();
  answer.clear_digest();
  const std::string bytes = status.ok() ? answer.ShortDebugString() : std::string(status.message());
  std::printf("%s  %s\n", Sha256Hex(bytes).substr(0, 16).c_str(), CommandLine(question).c_str());
}

int Main(const std::vector<std::string>& args) {
  int64_t count = 2000, searched = 200, seed = 1, first = 0, show = 20, answers = 0;
  const std::map<std::string, int64_t*> flags = {{"--count", &count}, {"--searched", &searched},
                                                 {"--seed", &seed},   {"--first", &first},
                                                 {"--show", &show},   {"--answers", &answers}};
  for (size_t i = 0; i < args.size(); i += 2) {
    const auto flag = flags.find(args[i]);
    if (flag == flags.end() || i + 1 >= args.size() || !absl::SimpleAtoi(args[i + 1], flag->second)) {
      std::fprintf(stderr,
                   "usage: advice_check [--count N] [--searched N] [--seed S] [--first K] [--show M] [--answers 1]\n");
      return 2;
    }
  }
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const Resolver resolver(catalog);
  Tally tally;
  const auto ask = [&](int64_t many, Sizes sizes) {
    for (int64_t i = first; i < first + many; ++i) {
      const Question question = AnyQuestion(*catalog, static_cast<uint64_t>(seed * 1'000'003 + i), sizes);
      if (answers == 0) {
        Check(resolver, question, &tally);
      } else {
        PrintDigest(resolver, question);
      }
    }
  };
  ask(count, Sizes::kGiven);
  ask(searched, Sizes::kSomeOpen);
  if (answers != 0) return 0;
  int64_t broken = 0;
  for (const auto& [what, found] : tally.broken) broken += found.count;
  std::printf(
      "%lld questions, %lld answered, %lld of them searched; %lld fixes of %zu rules, asked again in %lld "
      "questions, %lld promise a step, %lld a trial; %lld sides of an A/B; "
      "%lld break a law\n",
      static_cast<long long>(count) + static_cast<long long>(searched), static_cast<long long>(tally.answered),
      static_cast<long long>(tally.searched), static_cast<long long>(tally.fixes), tally.by_rule.size(),
      static_cast<long long>(tally.asked_again), static_cast<long long>(tally.promises),
      static_cast<long long>(tally.trials), static_cast<long long>(tally.sides), static_cast<long long>(broken));
  for (auto& [what, found] : tally.broken) {
    if (show-- <= 0) break;
    Shrink(resolver, what, &found);
    std::printf("  %6lld  %s\n          %s\n          fix: %s\n", static_cast<long long>(found.count), what.c_str(),
                CommandLine(found.question).c_str(), found.fix.ShortDebugString().c_str());
  }
  return broken == 0 && tally.fixes > 0 && (tally.searched > 0 || searched == 0) ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) {
  return flightplan::properties::Main(std::vector<std::string>(argv + 1, argv + argc));
}
