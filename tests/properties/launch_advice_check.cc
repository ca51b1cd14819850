// launch_advice_check [--count N] [--seed S] [--first F] [--show K]
//
// What is offered for a launch that somebody wrote is legal and does what it says: launches of the three stacks, of
// random models, GPUs and layouts, with a few flags changed, written as people write scripts. Every fix of every
// finding is put beside the text and the launch is judged again: the finding must be gone, no error may be new, and
// memory may stand no worse. Every repaired text must be bash, be read as what the repair says of it, and have no error
// that was not there before. Every third launch is converted to another stack, and the fixes of what came out are put
// to the same test. Prints the counts and K counterexamples, the launch with each and its number, with
// which --first asks it alone. Exit status: 0 none, 1 some, 2 misuse.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/properties/promise.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::properties {
namespace {

using K = Knob;
using Question = v1::ValidateConfigRequest;
using Answer = v1::ValidateConfigResponse;

constexpr std::pair<const char*, Target> kTargets[] = {{"megatron-lm", Target::kMegatronLm},
                                                       {"megatron-bridge", Target::kMegatronBridge},
                                                       {"loongforge", Target::kLoongForge}};
constexpr const char* kPrograms[] = {"pretrain_gpt.py", "scripts/training/run_recipe.py --recipe a_recipe",
                                     "/workspace/LoongForge/loongforge/train.py"};

// What people change in a launch. Empty value: a switch.
struct Edit {
  Knob knob{};
  std::vector<const char*> values;
};
const std::vector<Edit>& Edits() {
  static const auto* const kEdits = new std::vector<Edit>{
      {K::pipeline_model_parallel_size, {"1", "2", "3", "4", "6", "8"}},
      {K::tensor_model_parallel_size, {"1", "2", "3", "4", "8"}},
      {K::expert_model_parallel_size, {"1", "3", "4", "8", "16", "32"}},
      {K::expert_tensor_parallel_size, {"1", "2", "4"}},
      {K::context_parallel_size, {"1", "2", "4"}},
      {K::virtual_pipeline_model_parallel_size, {"2", "3", "4"}},
      {K::num_virtual_stages_per_pipeline_rank, {"2", "3", "4"}},
      {K::num_layers_per_virtual_pipeline_stage, {"1", "2"}},
      {K::pipeline_model_parallel_layout, {"Ett|ttL", "E(t|)*3L", "Et*3|(tt|)*22L"}},
      {K::micro_batch_size, {"1", "2", "3", "4", "8"}},
      {K::global_batch_size, {"1", "100", "256", "1000", "2048"}},
      {K::seq_length, {"2048", "4096", "32768"}},
      {K::recompute_granularity, {"full", "selective"}},
      {K::recompute_method, {"uniform", "block"}},
      {K::recompute_num_layers, {"1", "4"}},
      {K::moe_token_dispatcher_type, {"alltoall", "allgather", "flex"}},
      {K::moe_flex_dispatcher_backend, {"deepep", "hybridep"}},
      {K::overlap_moe_expert_parallel_comm, {""}},
      {K::delay_wgrad_compute, {""}},
      {K::moe_shared_expert_overlap, {""}},
      {K::moe_router_enable_expert_bias, {""}},
      {K::moe_router_score_function, {"softmax", "sigmoid"}},
      {K::moe_permute_fusion, {""}},
      {K::moe_grouped_gemm, {""}},
      {K::sequence_parallel, {""}},
      {K::use_distributed_optimizer, {""}},
      {K::overlap_grad_reduce, {""}},
      {K::overlap_param_gather, {""}},
      {K::cuda_graph_impl, {"local", "transformer_engine", "full_iteration"}},
      {K::optimizer_cpu_offload, {""}},
      {K::tp_comm_overlap, {""}},
  };
  return *kEdits;
}

class Launches {
 public:
  Launches(const Catalog& catalog, const Resolver& resolver, uint64_t seed)
      : catalog_(catalog), resolver_(resolver), random_(seed) {}

  // False: the draw has no launch, which a search without a plan has not.
  bool Next(Question* question) {
    const size_t stack = Below(std::size(kTargets));
    v1::ResolveConfigRequest q;
    const ModelSpec& model = catalog_.models()[Below(catalog_.models().size())];
    q.mutable_model()->set_name(model.name);
    q.mutable_hardware()->set_gpu(catalog_.gpus()[Below(catalog_.gpus().size())].name);
    q.mutable_hardware()->set_gpu_count(8 << Below(6));
    q.mutable_workload()->set_seq_length(4096);
    q.mutable_workload()->set_global_batch_size(int64_t{q.hardware().gpu_count()} * 8);
    q.mutable_target()->set_framework(kTargets[stack].first);
    q.set_view(v1::ANSWER_VIEW_BASIC);
    v1::Layout& layout = *q.mutable_layout();
    layout.set_tensor_model_parallel_size(1 << Below(3));
    layout.set_pipeline_model_parallel_size(1 << Below(3));
    if (model.is_moe()) layout.set_expert_model_parallel_size(1 << Below(5));
    v1::ResolveConfigResponse plan;
    if (!resolver_.ResolveConfig(q, &plan).ok() || plan.launches_size() == 0) return false;

    Environment env;
    env.target = kTargets[stack].second;
    std::vector<Words> items = ItemsOf(plan.launches(0));
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(env, &items);
    *question = Question();
    *question->mutable_target() = q.target();
    *question->mutable_hardware() = q.hardware();
    // Bridge's overrides mean the class defaults only where they come alone.
    if (env.target == Target::kMegatronBridge && Below(3) != 0) {
      for (const Words& item : items) {
        for (const std::string& word : item) question->mutable_arguments()->add_values(word);
      }
      for (const auto& [name, value] : plan.launches(0).env()) (*question->mutable_env())[name] = value;
      return true;
    }
    question->mutable_file()->set_name("launch.sh");
    question->mutable_file()->set_text(Script(items, plan.launches(0).env(), kPrograms[stack], q));
    return true;
  }

 private:
  using Words = std::vector<std::string>;  // a flag and its values, or an override
  size_t Below(size_t limit) { return random_() % limit; }

  static std::vector<Words> ItemsOf(const v1::Launch& launch) {
    std::vector<Words> items;
    for (const std::string& word : launch.argv()) {
      const bool starts = absl::StartsWith(word, "--") || items.empty() || !absl::StartsWith(items.back()[0], "--");
      if (starts) items.emplace_back();
      items.back().push_back(word);
    }
    return items;
  }

  void Change(const Environment& env, std::vector<Words>* items) {
    const Edit& edit = Edits()[Below(Edits().size())];
    const std::string spelling = SpellingOf(edit.knob, env);
    if (spelling.empty()) return;
    const bool flag = absl::StartsWith(spelling, "--");
    const auto at = std::find_if(items->begin(), items->end(), [&](const Words& item) {
      return item[0] == spelling || absl::StartsWith(item[0], absl::StrCat(spelling, "="));
    });
    const bool was = at != items->end();
    if (was) items->erase(at);
    if (was && Below(4) == 0) return;
    const std::string value = edit.values[Below(edit.values.size())];
    if (value.empty() && flag) {
      if (!was) items->push_back({spelling});
    } else if (flag) {
      items->push_back({spelling, value});
    } else {
      items->push_back({absl::StrCat(spelling, "=", value.empty() ? (was ? "false" : "true") : value)});
    }
  }

  static std::string Bare(const std::string& word) {
    const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || absl::StrContains("-_./=:,+@%", static_cast<char>(c));
    });
    return plain ? word : absl::StrCat("'", word, "'");
  }
  std::string Quoted(const std::string& word) {
    const bool safe = !absl::StrContains(word, '\'') && !absl::StrContains(word, '"') &&
                      !absl::StrContains(word, '$') && !absl::StrContains(word, '\\') && !absl::StrContains(word, '`');
    if (!safe || word.empty()) return word.empty() ? "''" : Bare(word);
    switch (Below(3)) {
      case 0:
        return absl::StrCat("\"", word, "\"");
      case 1:
        return absl::StrCat("'", word, "'");
      default:
        return Bare(word);
    }
  }

  std::string Item(const Words& item, std::string* variables) {
    if (!absl::StartsWith(item[0], "--") || item.size() != 2) {
      std::vector<std::string> words;
      for (const std::string& word : item) words.push_back(absl::StartsWith(word, "--") ? word : Quoted(word));
      return absl::StrJoin(words, " ");
    }
    switch (Below(5)) {
      case 0:
        return absl::StrCat(item[0], "=", Quoted(item[1]));
      case 1: {
        const std::string name = absl::StrCat("V", ++variable_);
        absl::StrAppend(variables, name, "=", Quoted(item[1]), "\n");
        return absl::StrCat(item[0], " ", Below(2) == 0 ? absl::StrCat("$", name) : absl::StrCat("\"${", name, "}\""));
      }
      default:
        return absl::StrCat(item[0], " ", Quoted(item[1]));
    }
  }

  template <class Env>
  std::string Script(const std::vector<Words>& items, const Env& env, const char* program,
                     const v1::ResolveConfigRequest& q) {
    std::string variables, body;
    for (const auto& [name, value] : env) absl::StrAppend(&variables, "export ", name, "=", Bare(value), "\n");
    const bool array = Below(2) == 0;
    const char* const between = array ? "\n  " : " \\\n  ";
    for (const Words& item : items) absl::StrAppend(&body, Below(3) == 0 ? " " : between, Item(item, &variables));
    const int32_t nodes = std::max(1, q.hardware().gpu_count() / 8);
    const std::string head = absl::StrCat("torchrun --nproc-per-node 8 --nnodes ", nodes, " ", program);
    if (!array) return absl::StrCat("#!/bin/bash\n", variables, head, body, "\n");
    return absl::StrCat("#!/bin/bash\n", variables, "ARGS=(", body, "\n)\n", head, " \"${ARGS[@]}\"\n");
  }

  const Catalog& catalog_;
  const Resolver& resolver_;
  std::mt19937_64 random_;
  int variable_ = 0;
};

// ---- the laws

struct Said {
  std::set<std::string> found, errors;
  int fit = 0;
  Forecast forecast;
};
template <class Findings>
Said SaidBy(const Findings& findings, const v1::MemoryVerdict& memory) {
  Said said;
  for (const v1::Finding& finding : findings) {
    said.found.insert(finding.rule_id());
    if (finding.severity() == v1::SEVERITY_ERROR) said.errors.insert(finding.rule_id());
  }
  said.fit = memory.fit();
  return said;
}

Said SaidBy(const Answer& answer) {
  Said said = SaidBy(answer.findings(), answer.memory());
  said.forecast = ForecastOf(answer.estimate());
  return said;
}

bool Known(int fit) { return fit != v1::FIT_VERDICT_UNSPECIFIED && fit != v1::FIT_VERDICT_UNKNOWN; }

// What got worse; empty: nothing.
std::string Worse(const Said& before, const Said& after) {
  for (const std::string& error : after.errors) {
    if (before.errors.count(error) == 0) return absl::StrCat("new error ", error);
  }
  if (!Known(before.fit) || before.fit == v1::FIT_VERDICT_DOES_NOT_FIT) return "";
  return !Known(after.fit) || after.fit > before.fit ? "memory stands worse" : "";
}

// Beside the text, over what it says.
Question With(Question q, const v1::Fix& fix) {
  for (const auto& [name, value] : fix.env()) (*q.mutable_env())[name] = value;
  for (const v1::KnobSetting& setting : fix.knobs()) *q.add_stated_knobs() = setting;
  return q;
}

// A variable that the script sets itself is not changed from outside.
bool SetsVariable(const Question& q, const v1::Fix& fix) {
  return std::any_of(fix.env().begin(), fix.env().end(), [&](const auto& variable) {
    return absl::StrContains(q.file().text(), absl::StrCat("export ", variable.first, "="));
  });
}

std::string TextOf(const Question& q) {
  return q.has_file() ? q.file().text() : absl::StrCat(absl::StrJoin(q.arguments().values(), " "), "\n");
}

struct Tally {
  int64_t launches = 0, refused = 0, conversions = 0, fixes = 0, promises = 0, repairs = 0, mended = 0;
  std::map<std::string, int64_t> by_rule;
  std::map<std::string, std::pair<int64_t, std::string>> broken;  // by breach: count, first example
  int64_t number = 0;                                             // of the draw that is asked
  void Break(const std::string& what, const std::string& example) {
    auto& [count, first] = broken[what];
    if (count++ == 0) first = absl::StrCat("--first ", number, "\n", example);
  }
};

class Check {
 public:
  Check(const Resolver& resolver, std::filesystem::path folder, Tally* tally)
      : resolver_(resolver), folder_(std::move(folder)), tally_(*tally) {}

  void Ask(const Question& question) {
    Question asked = question;
    asked.set_repair(true);
    Answer answer;
    if (!resolver_.ValidateConfig(asked, &answer).ok()) return;
    ++tally_.launches;
    tally_.refused += answer.will_run() ? 0 : 1;
    const Said before = SaidBy(answer);
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.stage() == "parse") continue;  // of a word that stands in the text: a repair's matter
      const std::vector<std::optional<Promise>> promises = PromisesOf(finding);
      const std::string wrong = WrongCount(promises, finding);
      if (!wrong.empty()) tally_.Break(absl::StrCat(finding.rule_id(), ": ", wrong), TextOf(question));
      for (int i = 0; i < finding.fixes_size(); ++i) {
        CheckFix(question, before, finding.rule_id(), finding.fixes(i),
                 i < static_cast<int>(promises.size()) ? promises[i] : std::nullopt);
      }
    }
    if (answer.has_repair()) CheckRepair(question, before, answer.repair());
    if (tally_.launches % 3 == 0) CheckConversion(question, kTargets[tally_.launches / 3 % std::size(kTargets)].first);
  }

  // All repaired scripts at once.
  void AskBash() {
    const std::string command = absl::StrCat("cd '", folder_.string(),
                                             "' && for f in *.sh; do bash -n \"$f\" 2>/dev/null || echo \"$f\"; done");
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return tally_.Break("bash does not start", "");
    char line[256];
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      std::string name(line);
      name.erase(name.find_last_not_of('\n') + 1);
      std::ifstream in(folder_ / name);
      tally_.Break("repair: no bash any more",
                   std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
    }
    if (pclose(pipe) != 0 && tally_.repairs > 0) tally_.Break("bash fails", command);
  }

 private:
  void CheckFix(const Question& question, const Said& before, const std::string& id, const v1::Fix& fix,
                const std::optional<Promise>& promise) {
    if (SetsVariable(question, fix)) return;
    ++tally_.fixes;
    ++tally_.by_rule[id];
    Answer then;
    const absl::Status status = resolver_.ValidateConfig(With(question, fix), &then);
    std::string breach(status.message());
    if (status.ok()) {
      const Said after = SaidBy(then);
      breach = after.found.count(id) > 0 ? "the finding stays" : Worse(before, after);
      if (breach.empty() && promise.has_value()) {
        ++tally_.promises;
        breach = BrokenPromise(*promise, before.forecast, after.forecast);
      }
    }
    if (!breach.empty()) {
      tally_.Break(absl::StrCat(id, ": ", breach),
                   absl::StrCat("fix: ", fix.ShortDebugString(), "\n", Asked(question), TextOf(question)));
    }
  }

  void CheckConversion(const Question& question, const std::string& to) {
    v1::ConvertConfigRequest asked;
    *asked.mutable_source() = question;
    asked.mutable_target()->set_framework(to);
    v1::ConvertConfigResponse converted;
    if (!resolver_.ConvertConfig(asked, &converted).ok()) return;
    ++tally_.conversions;
    Question again;
    *again.mutable_target() = asked.target();
    *again.mutable_hardware() = question.hardware();
    *again.mutable_arguments()->mutable_values() = converted.launch().argv();
    if (to == "megatron-bridge") again.set_input_format("bridge-overrides");
    for (const auto& [name, value] : converted.launch().env()) (*again.mutable_env())[name] = value;
    Answer answer;
    if (!resolver_.ValidateConfig(again, &answer).ok()) return tally_.Break("converted: not read", TextOf(again));
    const Said before = SaidBy(answer);
    for (const v1::Finding& finding : converted.target_findings()) {
      if (finding.stage() == "parse") continue;
      for (const v1::Fix& fix : finding.fixes()) CheckFix(again, before, finding.rule_id(), fix, std::nullopt);
    }
  }

  void CheckRepair(const Question& question, const Said& before, const v1::Repair& repair) {
    ++tally_.repairs;
    tally_.mended += repair.will_run() ? 1 : 0;
    // What has no place in the text is judged without it, but for variables.
    Question repaired = question;
    for (const auto& [name, value] : repair.unwritten().env()) (*repaired.mutable_env())[name] = value;
    if (question.has_file()) {
      repaired.mutable_file()->set_text(repair.text());
      std::ofstream(folder_ / absl::StrCat(tally_.repairs, ".sh")) << repair.text();
    } else {
      *repaired.mutable_arguments()->mutable_values() = repair.arguments();
    }
    Answer then;
    const absl::Status status = resolver_.ValidateConfig(repaired, &then);
    std::string breach(status.message());
    if (status.ok()) {
      Said after = SaidBy(then);
      // What could not run before has no memory to compare with: it may turn out too large, and the repair says so.
      after.fit = before.fit;
      if (!repair.will_run()) {
        for (const char* id : {"fit.memory", "fit.static-memory"}) after.errors.erase(id);
      }
      breach = Worse(before, after);
      if (breach.empty() && then.will_run() != repair.will_run()) breach = "it is not what it says";
    }
    if (!breach.empty()) {
      tally_.Break(absl::StrCat("repair: ", breach),
                   absl::StrCat(repair.unwritten().ShortDebugString(), "\n", Asked(question), TextOf(question), "->\n",
                                TextOf(repaired)));
    }
  }

  static std::string Asked(const Question& q) {
    return absl::StrCat("flightplan validate launch.sh --target ", q.target().framework(), " --gpu ",
                        q.hardware().gpu(), " --gpus ", q.hardware().gpu_count(), "\n");
  }

  const Resolver& resolver_;
  const std::filesystem::path folder_;
  Tally& tally_;
};

int Main(const std::vector<std::string>& args) {
  int64_t count = 1000, seed = 1, first = 0, show = 10;
  const std::map<std::string, int64_t*> flags = {
      {"--count", &count}, {"--seed", &seed}, {"--first", &first}, {"--show", &show}};
  for (size_t i = 0; i < args.size(); i += 2) {
    const auto flag = flags.find(args[i]);
    if (flag == flags.end() || i + 1 >= args.size() || !absl::SimpleAtoi(args[i + 1], flag->second)) {
      std::fprintf(stderr, "usage: launch_advice_check [--count N] [--seed S] [--first F] [--show K]\n");
      return 2;
    }
  }
  const TemporaryFolder folder;
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const Resolver resolver(catalog);
  Tally tally;
  Check check(resolver, folder.path(), &tally);
  for (int64_t i = first; i < first + count; ++i) {
    tally.number = i;
    Launches launches(*catalog, resolver, static_cast<uint64_t>(seed * 1'000'003 + i));
    Question question;
    if (launches.Next(&question)) check.Ask(question);
  }
  check.AskBash();
  int64_t broken = 0;
  for (const auto& [what, found] : tally.broken) broken += found.first;
  std::printf(
      "%lld launches, %lld of them refused, %lld converted; %lld fixes of %zu rules asked again, %lld of them promise "
      "a forecast, %lld repairs (%lld "
      "run then), %lld "
      "break a law\n",
      static_cast<long long>(tally.launches), static_cast<long long>(tally.refused),
      static_cast<long long>(tally.conversions), static_cast<long long>(tally.fixes), tally.by_rule.size(),
      static_cast<long long>(tally.promises), static_cast<long long>(tally.repairs),
      static_cast<long long>(tally.mended), static_cast<long long>(broken));
  for (const auto& [what, found] : tally.broken) {
    if (show-- <= 0) break;
    std::printf("---- %lld times: %s\n%s\n", static_cast<long long>(found.first), what.c_str(), found.second.c_str());
  }
  return broken == 0 && tally.fixes > 0 && tally.repairs > 0 && tally.conversions > 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) {
  return flightplan::properties::Main(std::vector<std::string>(argv + 1, argv + argc));
}
