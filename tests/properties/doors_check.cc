// doors_check [--count N] [--seed S] [--open N] [--show K]
//
// One question, one forecast at every door: random questions over every model, GPU and stack are resolved, and the
// launch that each answer renders is judged as a file on the same GPUs. Step time, memory of the fullest GPU and what
// communication exposes must be those of the answer, to a hundredth of a per cent: the forecast is made from the same
// figures, and only the text between them may lose some. A launch that shows too little for a forecast (files of the
// stack's own that are not here) must say so; those are counted apart, by stack. Left out is what the page itself says
// is another model (model.features-missing), what a stack has its own way whatever it is told (kOwnWays, PadsItsShare),
// and what no command line can say (HasNoWord).
//
// --open: so many more questions with sizes left open. Prints the counts, then the commonest disagreements, each with
// its smallest question as a command line. Exit status: 0 none, 1 some, 2 misuse.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/properties/promise.h"
#include "tests/properties/questions.h"

namespace flightplan::properties {
namespace {

constexpr double kTolerance = 1e-4;

// What a launch leaves to the shell: the model's name, by the variable that the stack's words have for it.
constexpr const char* kModelVariables[] = {"MODEL", "MODEL_PATH", "MODEL_NAME", "HF_CHECKPOINT"};

// What a stack has its own way whatever the plan says: its launch is forecast as it runs.
struct OwnWay {
  const char* stack;
  const char* knob;
  const char* value;  // that the plan has
};
constexpr OwnWay kOwnWays[] = {
    // They set these two by themselves before Megatron reads them.
    {"slime", "moe_token_dispatcher_type", "allgather"},
    {"miles", "moe_token_dispatcher_type", "allgather"},
    {"vime", "moe_token_dispatcher_type", "allgather"},
    {"slime", "use_distributed_optimizer", "false"},
    {"miles", "use_distributed_optimizer", "false"},
    {"vime", "use_distributed_optimizer", "false"},
    // It builds every model without biases, gpt-oss too.
    {"verl", "add_bias_linear", "true"},
};

struct Seen {
  enum class Kind : uint8_t { kNotAsked, kSame, kUnknown, kOther } kind = Kind::kNotAsked;
  std::string what;  // of kOther: "step", "memory", "EP"; of kUnknown: what is not judged
  double before = 0, after = 0;
};

class Doors {
 public:
  Doors(const Catalog& catalog, const Resolver& resolver) : catalog_(catalog), resolver_(resolver) {}

  Seen Ask(const v1::ResolveConfigRequest& question) const {
    v1::ResolveConfigResponse plan;
    if (!resolver_.ResolveConfig(question, &plan).ok() || plan.launches_size() == 0) return {};
    if (plan.outcome() != v1::OUTCOME_RESOLVED || !plan.estimate().has_step_time_us()) return {};
    // A launch of a release that cannot say all of the model builds another one, and the page says so.
    for (const v1::Finding& finding : plan.findings()) {
      if (finding.rule_id() == "model.features-missing") return {};
    }
    if (HasItsOwnWay(question.target().framework(), plan) || PadsItsShare(question, plan) || HasNoWord(plan)) return {};
    v1::ValidateConfigRequest written;
    *written.mutable_target() = question.target();
    *written.mutable_hardware() = question.hardware();
    // No launch says which Transformer Engine it runs on, whose kernels are forecast.
    if (!question.software().te_version().empty()) *written.mutable_software() = question.software();
    written.mutable_file()->set_name("launch.sh");
    written.mutable_file()->set_text(plan.launches(0).text());
    written.set_view(v1::ANSWER_VIEW_BASIC);
    if (const auto model = catalog_.FindModel(question.model().name()); model.ok() && (*model)->hf_id.has_value()) {
      for (const char* name : kModelVariables) (*written.mutable_env())[name] = *(*model)->hf_id;
    }
    v1::ValidateConfigResponse judged;
    if (const absl::Status status = resolver_.ValidateConfig(written, &judged); !status.ok()) {
      return {Seen::Kind::kOther, absl::StrCat("refused: ", std::string(status.message())), 0, 0};
    }
    return Compare(plan.estimate(), judged);
  }

  // The smallest question that still disagrees about the same.
  v1::ResolveConfigRequest Smallest(v1::ResolveConfigRequest question, const std::string& what) const {
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (const v1::ResolveConfigRequest& simpler : Simpler(question)) {
        const Seen seen = Ask(simpler);
        if (seen.kind != Seen::Kind::kOther || seen.what != what) continue;
        question = simpler;
        smaller = true;
        break;
      }
    }
    return question;
  }

 private:
  static bool HasItsOwnWay(const std::string& stack, const v1::ResolveConfigResponse& plan) {
    return std::any_of(std::begin(kOwnWays), std::end(kOwnWays), [&](const OwnWay& own) {
      if (stack != own.stack) return false;
      return std::any_of(plan.config().begin(), plan.config().end(), [&](const v1::ConfigEntry& entry) {
        const v1::KnobValue& value = entry.value();
        const std::string text = value.has_bool_value() ? value.bool_value() ? "true" : "false" : value.string_value();
        return entry.name() == own.knob && text == own.value;
      });
    });
  }

  // Selective recompute without a module, which no command line has a word for.
  static bool HasNoWord(const v1::ResolveConfigResponse& plan) {
    return std::any_of(plan.config().begin(), plan.config().end(), [](const v1::ConfigEntry& entry) {
      return entry.name() == "recompute_modules" && entry.value().has_list_value() &&
             entry.value().list_value().values().empty();
    });
  }

  // slime and its kin pad each GPU's share of a packed microbatch to so many tokens, by TP.
  static bool PadsItsShare(const v1::ResolveConfigRequest& question, const v1::ResolveConfigResponse& plan) {
    constexpr int64_t kPadding = 128;
    const std::string& stack = question.target().framework();
    if (stack != "slime" && stack != "miles" && stack != "vime") return false;
    std::map<std::string, int64_t> sizes;
    for (const v1::ConfigEntry& entry : plan.config()) sizes[entry.name()] = entry.value().int_value();
    const auto size = [&](const char* name) { return std::max<int64_t>(1, sizes[name]); };
    const int64_t share = size("seq_length") / size("context_parallel_size");
    return share % (kPadding * size("tensor_model_parallel_size")) != 0;
  }

  static Seen Compare(const v1::Estimate& plan, const v1::ValidateConfigResponse& judged) {
    const v1::Estimate& text = judged.estimate();
    if (!text.has_step_time_us()) return {Seen::Kind::kUnknown, absl::StrJoin(judged.not_judged(), "; "), 0, 0};
    const Forecast was = ForecastOf(plan), is = ForecastOf(text);
    if (std::abs(is.gib - was.gib) > kTolerance * was.gib) return {Seen::Kind::kOther, "memory", was.gib, is.gib};
    if (std::abs(is.step_us - was.step_us) > kTolerance * was.step_us) {
      return {Seen::Kind::kOther, "step", was.step_us / 1e6, is.step_us / 1e6};
    }
    std::map<std::string, std::pair<double, double>> paths;
    for (const v1::CommunicationPath& path : plan.communication()) paths[path.name()].first = path.exposed_us();
    for (const v1::CommunicationPath& path : text.communication()) paths[path.name()].second = path.exposed_us();
    for (const auto& [name, us] : paths) {
      if (std::abs(us.first - us.second) > kTolerance * was.step_us) {
        return {Seen::Kind::kOther, name, us.first / 1e6, us.second / 1e6};
      }
    }
    return {Seen::Kind::kSame, "", 0, 0};
  }

  const Catalog& catalog_;
  const Resolver& resolver_;
};

struct Group {
  int count = 0;
  double most = 0;  // relative
  v1::ResolveConfigRequest question;
};

int Main(int argc, char** argv) {
  int64_t count = 1000, seed = 1, open = 0, show = 10;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    int64_t* const value = flag == "--count"  ? &count
                           : flag == "--seed" ? &seed
                           : flag == "--open" ? &open
                           : flag == "--show" ? &show
                                              : nullptr;
    if (value == nullptr || ++i >= argc || !absl::SimpleAtoi(argv[i], value)) {
      std::fprintf(stderr, "usage: doors_check [--count N] [--seed S] [--open N] [--show K]\n");
      return 2;
    }
  }
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const Resolver resolver(catalog);
  const Doors doors(*catalog, resolver);
  int asked = 0, same = 0, other = 0;
  std::map<std::string, std::map<std::string, int>> unknown;  // by stack, by what is said
  std::map<std::string, Group> groups;
  for (int64_t i = 0; i < count + open; ++i) {
    const v1::ResolveConfigRequest question =
        AnyQuestion(*catalog, static_cast<uint64_t>(seed) * 1'000'003 + static_cast<uint64_t>(i),
                    i < count ? Sizes::kGiven : Sizes::kSomeOpen);
    const Seen seen = doors.Ask(question);
    if (seen.kind == Seen::Kind::kNotAsked) continue;
    ++asked;
    if (seen.kind == Seen::Kind::kSame) ++same;
    if (seen.kind == Seen::Kind::kUnknown) ++unknown[question.target().framework()][seen.what];
    if (seen.kind != Seen::Kind::kOther) continue;
    ++other;
    Group& group = groups[absl::StrCat(question.target().framework(), " ", question.model().name(), " ", seen.what)];
    const double by = seen.before > 0 ? std::abs(seen.after / seen.before - 1) : 1;
    if (group.count++ == 0 || by > group.most) {
      group.most = by;
      group.question = question;
    }
  }
  std::printf("%d launches judged as their answers' texts: %d with the same forecast, %d with another\n", asked, same,
              other);
  for (const auto& [stack, reasons] : unknown) {
    int all = 0;
    for (const auto& [what, times] : reasons) all += times;
    std::printf("  %s: %d without a forecast, as it says: %s\n", stack.c_str(), all, reasons.begin()->first.c_str());
  }
  std::vector<std::pair<std::string, Group>> worst(groups.begin(), groups.end());
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (size_t i = 0; i < worst.size() && static_cast<int64_t>(i) < show; ++i) {
    const auto& [name, group] = worst[i];
    const std::string what = doors.Ask(group.question).what;
    const v1::ResolveConfigRequest least = doors.Smallest(group.question, what);
    const Seen seen = doors.Ask(least);
    std::printf("%s: %d times, up to %.1f %%; %g answered, %g judged:\n  %s\n", name.c_str(), group.count,
                100 * group.most, seen.before, seen.after, CommandLine(least).c_str());
  }
  return asked > 0 && other == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
