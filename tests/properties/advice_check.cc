// advice_check [--count N] [--seed S] [--show K]
//
// What is offered is legal and does what it says: random questions over every model, GPU system, size, stack and stage
// of the catalogue; every fix of every finding is put into the question as the answer prints it, and asked again. The
// finding must be gone, no error may be new, and memory may stand no worse. Prints the counts and K counterexamples as
// command lines. Exit status: 0 none, 1 some, 2 misuse.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/resolver.h"

namespace flightplan::properties {
namespace {

using Question = v1::ResolveConfigRequest;
using Answer = v1::ResolveConfigResponse;

constexpr const char* kTargets[] = {"megatron-lm", "megatron-bridge", "loongforge"};
constexpr const char* kPrecisions[] = {"bf16", "bf16", "fp8_block", "mxfp8"};

template <class List>
const auto& Any(const List& list, std::mt19937_64* random) {
  return list[(*random)() % std::size(list)];
}
int Power(int most, std::mt19937_64* random) { return 1 << ((*random)() % static_cast<uint64_t>(most + 1)); }

Question AnyQuestion(const Catalog& catalog, uint64_t seed) {
  std::mt19937_64 random(seed);
  Question q;
  const ModelSpec& model = Any(catalog.models(), &random);
  q.mutable_model()->set_name(model.name);
  q.mutable_hardware()->set_gpu(Any(catalog.gpus(), &random).name);
  q.mutable_hardware()->set_gpu_count(8 * Power(7, &random));
  q.mutable_workload()->set_seq_length(4096);
  q.mutable_workload()->set_global_batch_size(q.hardware().gpu_count() * 8);
  q.mutable_workload()->set_precision(Any(kPrecisions, &random));
  q.mutable_target()->set_framework(Any(kTargets, &random));
  q.set_stage(static_cast<v1::Stage>(1 + random() % 3));
  v1::Layout& layout = *q.mutable_layout();
  layout.set_tensor_model_parallel_size(Power(2, &random));
  layout.set_pipeline_model_parallel_size(Power(3, &random));
  if (random() % 3 == 0) layout.set_virtual_pipeline_model_parallel_size(Power(2, &random));
  if (model.is_moe()) layout.set_expert_model_parallel_size(Power(6, &random));
  if (random() % 3 == 0) layout.set_micro_batch_size(Power(2, &random));
  return q;
}

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
      *q.add_pinned_knobs() = setting;
    }
  }
  return q;
}

struct Said {
  std::set<std::string> found, errors;
  int fit = 0;
};
Said SaidBy(const Answer& answer) {
  Said said;
  for (const v1::Finding& finding : answer.findings()) {
    said.found.insert(finding.rule_id());
    if (finding.severity() == v1::SEVERITY_ERROR) said.errors.insert(finding.rule_id());
  }
  said.fit = answer.estimate().fit();
  return said;
}

// What the answer to the fixed question breaks; empty: nothing.
std::string Breach(const Said& before, const Said& after, const std::string& id) {
  if (after.found.count(id) > 0) return "the finding stays";
  for (const std::string& error : after.errors) {
    if (before.errors.count(error) == 0) return absl::StrCat("new error ", error);
  }
  const bool worse = before.fit != 0 && (after.fit == 0 || after.fit > before.fit);
  return worse ? "memory stands worse" : "";
}

std::string CommandOf(const Question& q, const v1::Fix& fix) {
  std::string text = absl::StrCat("flightplan resolve --model ", q.model().name(), " --gpu ", q.hardware().gpu(),
                                  " --gpus ", q.hardware().gpu_count(), " --gbs ", q.workload().global_batch_size(),
                                  " --precision ", q.workload().precision(), " --target ", q.target().framework(),
                                  " --stage ", v1::Stage_Name(q.stage()), " {", q.layout().ShortDebugString());
  return absl::StrCat(text, "}; fix: ", fix.ShortDebugString());
}

struct Tally {
  int64_t answered = 0, fixes = 0;
  std::map<std::string, int64_t> by_rule;
  std::map<std::string, std::pair<int64_t, std::string>> broken;  // by rule and breach: count, first example
};

void Check(const Resolver& resolver, const Question& question, Tally* tally) {
  Answer answer;
  if (!resolver.ResolveConfig(question, &answer).ok()) return;
  ++tally->answered;
  const Said before = SaidBy(answer);
  for (const v1::Finding& finding : answer.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      ++tally->fixes;
      ++tally->by_rule[finding.rule_id()];
      Answer then;
      const absl::Status status = resolver.ResolveConfig(With(question, fix), &then);
      const std::string breach =
          status.ok() ? Breach(before, SaidBy(then), finding.rule_id()) : std::string(status.message());
      if (breach.empty()) continue;
      auto& [count, example] = tally->broken[absl::StrCat(finding.rule_id(), ": ", breach)];
      if (count++ == 0) example = CommandOf(question, fix);
    }
  }
}

int Main(const std::vector<std::string>& args) {
  int64_t count = 2000, seed = 1, show = 20;
  for (size_t i = 0; i < args.size(); i += 2) {
    int64_t* const value = args[i] == "--count" ? &count : args[i] == "--seed" ? &seed : &show;
    const bool known = value != &show || args[i] == "--show";
    if (!known || i + 1 >= args.size() || !absl::SimpleAtoi(args[i + 1], value)) {
      std::fprintf(stderr, "usage: advice_check [--count N] [--seed S] [--show K]\n");
      return 2;
    }
  }
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const Resolver resolver(catalog);
  Tally tally;
  for (int64_t i = 0; i < count; ++i) {
    Check(resolver, AnyQuestion(*catalog, static_cast<uint64_t>(seed * 1'000'003 + i)), &tally);
  }
  int64_t broken = 0;
  for (const auto& [what, found] : tally.broken) broken += found.first;
  std::printf("%lld questions, %lld answered, %lld fixes of %zu rules asked again, %lld break a law\n",
              static_cast<long long>(count), static_cast<long long>(tally.answered),
              static_cast<long long>(tally.fixes), tally.by_rule.size(), static_cast<long long>(broken));
  for (const auto& [what, found] : tally.broken) {
    if (show-- <= 0) break;
    std::printf("  %6lld  %s\n          %s\n", static_cast<long long>(found.first), what.c_str(), found.second.c_str());
  }
  return broken == 0 && tally.fixes > 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) {
  return flightplan::properties::Main(std::vector<std::string>(argv + 1, argv + argc));
}
