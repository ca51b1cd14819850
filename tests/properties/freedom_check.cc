// freedom_check [--count N] [--seed S] [--first K] [--show M] [--most PER_10000] [--known 1]
//
// Random questions over every model and GPU of the catalogue, or those that broke once (freedom_questions), each asked
// in pairs that differ by a freedom:
//
//   pinned     what an answer decided about its execution, given back as the caller's word, is the same step
//   doors      the first plan of a list and the resolved open layout are the same step, and so is that plan's layout
//   backends   one more installed dispatcher backend does not make the step longer
//   memory     nor does a GPU with more memory
//   released   nor does a pin that is taken back: of EP overlap, of a flex dispatcher's backend
//   sizes      nor a size of the layout that is left open
//   plainer    of these three in a bring-up, which prefers what leaves out more of the parts that come after the run is
//              correct, and only then the shorter step: a freedom adds none, and where it takes none the step is not
//              longer
//   story      no next step is about a knob whose decision says that evidence settles it, or whose A/B is open
//
// "Longer" is by our own forecast and more than 1 %; where evidence settled one of the two choices against the forecast
// (a decision that rests on a measurement or on recipes, a size that next to nobody runs), the pair is counted apart:
// evidence is the authority there. What leaves no room for the memory forecast's error counts for longer than it takes
// (MemoryCaution of resolver/planner/caution.h), as where sizes are chosen.
// Counterexamples are printed as command lines. Exit status: 0 at most PER_10000 of the pairs (default none), 1 more,
// or no question that could be asked, 2 misuse.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/knob.h"
#include "tests/properties/freedom_answers.h"
#include "tests/properties/freedom_questions.h"
#include "tests/properties/questions.h"
#include "tests/support/requests.h"

namespace flightplan::properties {
namespace {

constexpr double kLonger = 0.01;

struct Tally {
  int64_t asked = 0, by_evidence = 0, broken = 0;
};

void Pin(const char* knob, const char* value, v1::ResolveConfigRequest* request) {
  v1::KnobSetting& pin = *request->add_pinned_knobs();
  pin.set_name(knob);
  pin.mutable_value()->set_string_value(value);
}

// ---- the laws

class Checker {
 public:
  explicit Checker(int show) : show_(show), questions_(*Catalog::Builtin()) {}

  void Check(uint64_t seed) { Check(questions_.Ask(seed), seed % 64 == 0); }

  void Check(const v1::ResolveConfigRequest& request, bool doors) {
    const std::optional<v1::ResolveConfigResponse> answer = Answer(request);
    if (!answer.has_value() || !Runs(*answer)) return;
    ++answered_;
    CheckPinned(request, *answer);
    CheckMemory(request, *answer);
    CheckBackends(request);
    CheckReleased(request);
    CheckReleasedBackend(request);
    CheckStory(request, *answer);
    if (doors) CheckDoors(request);
    if (doors) CheckSizes(request, *answer);
  }

  int Report(int64_t most) const {
    int64_t asked = 0, broken = 0;
    std::printf("%lld questions with an answer that runs\n", static_cast<long long>(answered_));
    for (const auto& [law, tally] : tallies_) {
      std::printf("%-10s %8lld asked  %6lld by evidence  %6lld broken\n", law.c_str(),
                  static_cast<long long>(tally.asked), static_cast<long long>(tally.by_evidence),
                  static_cast<long long>(tally.broken));
      asked += tally.asked;
      broken += tally.broken;
    }
    return answered_ == 0 || asked == 0 || broken * 10'000 > most * asked ? 1 : 0;
  }

 private:
  // `differ`: knobs of the two answers that do, where there are two.
  void Break(const std::string& law, const v1::ResolveConfigRequest& request, const std::string& what,
             const std::string& differ = "") {
    if (++tallies_[law].broken > show_) return;
    std::printf("%s: %s\n    %s\n", law.c_str(), what.c_str(), CommandLine(request).c_str());
    if (!differ.empty()) std::printf("    %s\n", differ.c_str());
  }

  // `freer` leaves at least what the answer's request leaves: its answer may not be slower, nor in a bring-up less
  // plain.
  void Compare(const std::string& of, const v1::ResolveConfigResponse& answer, const v1::ResolveConfigRequest& freer,
               const std::string& what) {
    const std::optional<v1::ResolveConfigResponse> other = Answer(freer);
    if (!other.has_value()) return;
    const bool bring_up = freer.stage() == v1::STAGE_BRING_UP;
    const std::string law = bring_up ? "plainer" : of;
    ++tallies_[law].asked;
    if (bring_up && Runs(*other)) {
      const std::set<std::string> parts = LaterPartsOf(answer), left = LaterPartsOf(*other);
      if (!std::includes(parts.begin(), parts.end(), left.begin(), left.end())) {
        Break(law, freer, absl::StrCat(what, ": ", absl::StrJoin(parts, ", "), " -> ", absl::StrJoin(left, ", ")),
              Differences(answer, *other));
        return;
      }
      if (left.size() < parts.size()) return;
    }
    if (Runs(*other) && StepOf(*other) <= StepOf(answer) * (1 + kLonger)) return;
    const int64_t domain = questions_.DomainOf(freer.hardware().gpu());
    const bool as_ranked = RankedOf(*other, freer, domain) <= RankedOf(answer, freer, domain) * (1 + kLonger);
    // Within a layout what leaves room comes before what leaves none, whatever its step.
    const bool for_room = of != "sizes" && LeavesRoom(*other) && !LeavesRoom(answer);
    if (Runs(*other) && (as_ranked || for_room || ByEvidence(answer, *other, domain))) {
      ++tallies_[law].by_evidence;
      return;
    }
    Break(law, freer, absl::StrFormat("%s: %.4g s -> %.4g s", what, StepOf(answer) / 1e6, StepOf(*other) / 1e6),
          Differences(answer, *other));
  }

  void CheckPinned(const v1::ResolveConfigRequest& request, const v1::ResolveConfigResponse& answer) {
    v1::ResolveConfigRequest pinned = request;
    for (const v1::Decision& decision : answer.decisions()) {
      if (!FindKnob(decision.name()).has_value()) continue;  // a variable
      v1::KnobSetting* const pin = pinned.add_pinned_knobs();
      pin->set_name(decision.name());
      *pin->mutable_value() = decision.value();
    }
    if (pinned.pinned_knobs_size() == 0) return;
    const std::optional<v1::ResolveConfigResponse> same = Answer(pinned);
    ++tallies_["pinned"].asked;
    if (same.has_value() && Runs(*same) && std::abs(StepOf(*same) / StepOf(answer) - 1) <= kLonger) return;
    Break("pinned", pinned,
          absl::StrFormat("%.4g s is %.4g s with its own decisions pinned", StepOf(answer) / 1e6,
                          same.has_value() ? StepOf(*same) / 1e6 : 0),
          same.has_value() ? Differences(answer, *same) : "");
  }

  void CheckBackends(const v1::ResolveConfigRequest& request) {
    v1::ResolveConfigRequest fewer = request;
    fewer.mutable_software()->mutable_dispatchers();
    for (const char* first : {"deepep", "hybridep"}) {
      v1::ResolveConfigRequest with = request;
      with.mutable_software()->mutable_dispatchers()->add_backends(first);
      const std::optional<v1::ResolveConfigResponse> without = Answer(fewer);
      if (without.has_value() && Runs(*without)) Compare("backends", *without, with, absl::StrCat("with ", first));
      v1::ResolveConfigRequest both = request;
      both.mutable_software()->mutable_dispatchers()->add_backends("deepep");
      both.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
      const std::optional<v1::ResolveConfigResponse> one = Answer(with);
      if (one.has_value() && Runs(*one)) Compare("backends", *one, both, absl::StrCat("both instead of ", first));
    }
  }

  void CheckMemory(const v1::ResolveConfigRequest& request, const v1::ResolveConfigResponse& answer) {
    v1::ResolveConfigRequest more = request;
    more.mutable_hardware()->mutable_fabric()->set_hbm_bytes(questions_.MemoryOf(request.hardware().gpu()) * 3 / 2);
    Compare("memory", answer, more, "half as much memory again");
  }

  void CheckReleased(const v1::ResolveConfigRequest& request) {
    CheckReleased("overlap_moe_expert_parallel_comm", "EP overlap", request);
    // Where Transformer Engine's loss is taken, Megatron's own is not weighed against it.
    const std::string& stack = request.target().framework();
    if (stack == "megatron-bridge" || stack == "nemo-rl") return;
    CheckReleased("cross_entropy_loss_fusion", "loss fusion", request);
  }

  void CheckReleased(absl::string_view knob, absl::string_view what, const v1::ResolveConfigRequest& request) {
    for (const bool on : {false, true}) {
      v1::ResolveConfigRequest pinned = request;
      testing::Pin(knob, on, &pinned);
      const std::optional<v1::ResolveConfigResponse> answer = Answer(pinned);
      if (answer.has_value() && Runs(*answer)) {
        Compare("released", *answer, request, absl::StrCat(what, " no longer pinned ", on ? "on" : "off"));
      }
    }
  }

  // Of a flex dispatcher that the caller asks for.
  void CheckReleasedBackend(const v1::ResolveConfigRequest& request) {
    if (request.layout().expert_model_parallel_size() <= 1) return;  // nothing to dispatch
    v1::ResolveConfigRequest flex = request;
    for (const char* installed : {"deepep", "hybridep"})
      flex.mutable_software()->mutable_dispatchers()->add_backends(installed);
    Pin("moe_token_dispatcher_type", "flex", &flex);
    for (const char* backend : {"deepep", "hybridep"}) {
      v1::ResolveConfigRequest named = flex;
      Pin("moe_flex_dispatcher_backend", backend, &named);
      const std::optional<v1::ResolveConfigResponse> answer = Answer(named);
      if (answer.has_value() && Runs(*answer))
        Compare("released", *answer, flex, absl::StrCat("flex no longer by ", backend));
    }
  }

  void CheckStory(const v1::ResolveConfigRequest& request, const v1::ResolveConfigResponse& answer) {
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.rule_id() != "decide.next-step") continue;
      ++tallies_["story"].asked;
      const absl::string_view needs = finding.needs();
      constexpr absl::string_view kTry = "next to try: ";
      const size_t at = needs.find(kTry);
      if (at == absl::string_view::npos) continue;
      const absl::string_view name = needs.substr(at + kTry.size(), needs.find('=', at) - at - kTry.size());
      const v1::Decision* const decision = DecisionOf(answer, name);
      if (decision != nullptr && (Settled(*decision) || decision->needs_ab())) {
        Break("story", request, absl::StrCat("a decision on ", name, " stands, and the next step is: ", needs));
      }
    }
  }

  // Each search takes a second, so one size is left open at a time.
  void CheckSizes(const v1::ResolveConfigRequest& asked, const v1::ResolveConfigResponse& answer) {
    const google::protobuf::Descriptor* const fields = v1::Layout::descriptor();
    for (int i = 0; i < fields->field_count(); ++i) {
      const google::protobuf::FieldDescriptor* const field = fields->field(i);
      if (!absl::EndsWith(field->name(), "_size")) continue;
      v1::ResolveConfigRequest open = asked;
      v1::Layout* const layout = open.mutable_layout();
      if (!layout->GetReflection()->HasField(*layout, field)) continue;
      layout->GetReflection()->ClearField(layout, field);
      Compare("sizes", answer, open, absl::StrCat("with ", field->name(), " open"));
    }
  }

  void CheckDoors(const v1::ResolveConfigRequest& asked) {
    v1::ResolveConfigRequest open = asked;
    open.clear_layout();
    v1::PlanLayoutsRequest question;
    *question.mutable_base() = open;
    v1::PlanResult plans;
    if (!testing::TestResolver().PlanLayouts(question, {}, &plans).ok() || plans.plans().empty()) return;
    ++tallies_["doors"].asked;
    const v1::ResolveConfigResponse& first = plans.plans(0);
    const std::optional<v1::ResolveConfigResponse> resolved = Answer(open);
    if (!resolved.has_value() || std::abs(StepOf(*resolved) / StepOf(first) - 1) > kLonger) {
      Break("doors", open,
            absl::StrFormat("plan finds %.4g s, resolve %.4g s", StepOf(first) / 1e6,
                            resolved.has_value() ? StepOf(*resolved) / 1e6 : 0));
    }
    v1::ResolveConfigRequest given = open;
    for (const v1::ConfigEntry& entry : first.config()) {
      v1::Layout* const layout = given.mutable_layout();
      const auto size = static_cast<int32_t>(entry.value().int_value());
      if (entry.name() == "tensor_model_parallel_size") layout->set_tensor_model_parallel_size(size);
      if (entry.name() == "pipeline_model_parallel_size") layout->set_pipeline_model_parallel_size(size);
      if (entry.name() == "context_parallel_size") layout->set_context_parallel_size(size);
      if (entry.name() == "expert_model_parallel_size") layout->set_expert_model_parallel_size(size);
      if (entry.name() == "expert_tensor_parallel_size") layout->set_expert_tensor_parallel_size(size);
      if (entry.name() == "micro_batch_size") layout->set_micro_batch_size(size);
      if (entry.name() == "virtual_pipeline_model_parallel_size") {
        layout->set_virtual_pipeline_model_parallel_size(std::max(1, size));
      }
      if (entry.name() == "pipeline_model_parallel_layout" && entry.origin() == v1::CONFIG_ORIGIN_DECIDED) {
        layout->set_pipeline_model_parallel_layout(entry.value().string_value());
      }
    }
    const std::optional<v1::ResolveConfigResponse> same = Answer(given);
    if (!same.has_value() || std::abs(StepOf(*same) / StepOf(first) - 1) > kLonger) {
      Break("doors", given,
            absl::StrFormat("the plan of %.4g s given as a layout is %.4g s", StepOf(first) / 1e6,
                            same.has_value() ? StepOf(*same) / 1e6 : 0));
    }
  }

  const int64_t show_;
  const Questions questions_;
  int64_t answered_ = 0;
  std::map<std::string, Tally> tallies_;
};

int Main(int argc, char** argv) {
  int64_t count = 1500, seed = 1, first = 0, most = 0;
  int show = 5;
  bool known = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    int64_t value = 0;
    if (!absl::SimpleAtoi(argv[i + 1], &value)) return 2;
    if (flag == "--count") count = value;
    if (flag == "--seed") seed = value;
    if (flag == "--first") first = value;
    if (flag == "--most") most = value;
    if (flag == "--known") known = value != 0;
    if (flag == "--show") show = static_cast<int>(value);
  }
  Checker checker(show);
  if (known) {
    for (const v1::ResolveConfigRequest& question : KnownQuestions()) checker.Check(question, /*doors=*/false);
    return checker.Report(most);
  }
  for (int64_t i = first; i < first + count; ++i)
    checker.Check(static_cast<uint64_t>(seed) * 1'000'003 + static_cast<uint64_t>(i));
  return checker.Report(most);
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
