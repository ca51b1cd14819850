// recipes.jsonl: a row is one recipe or launch, with what it published.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/estimate/estimate.h"
#include "tests/evidence/row_settings.h"
#include "tests/evidence/truth.h"
#include "tests/evidence/unstated_knobs.h"
#include "tests/support/json_row.h"

namespace flightplan {
namespace {

// The row's MTP depths, where it does not state them: those whose model FLOPs are the ones behind the published
// TFLOP/s.
void ReadMtp(const Json& published, const Json& extra, Run* run) {
  const double tokens = JsonNumber(published, "tokens_per_s_per_gpu"), tflops = JsonNumber(published, "tflops_per_gpu");
  if (JsonField(extra, "mtp_num_layers") != nullptr || run->work.mtp_depths <= 0 || tokens <= 0 || tflops <= 0) return;
  ModelShape shape = *run->shape;
  shape.mtp_depths = 0;
  const ModelWork without = WorkOf(shape);
  const auto seq = static_cast<double>(run->plan.seq_length);
  const double counted = tflops * 1e12 / tokens;
  if (std::abs(FlopsPerToken(without, seq) - counted) >= std::abs(FlopsPerToken(run->work, seq) - counted)) return;
  run->shape = std::make_shared<const ModelShape>(shape);
  run->work = without;
  SetStages("", run);
}

// Whole samples a second are up to 3.8 % off; then the note has the step time that the TFLOP/s give.
double SecondsOfNote(const std::string& note) {
  constexpr absl::string_view kBefore = "TFLOP/s gives ";
  const size_t at = note.find(kBefore.data());
  double seconds = 0;
  if (at == std::string::npos) return 0;
  const std::string rest = note.substr(at + kBefore.size());
  return absl::SimpleAtod(rest.substr(0, rest.find(' ')), &seconds) ? seconds : 0;
}

// Why a row is no truth, or nothing.
std::string Doubt(const Json& row, const Json& extra) {
  if (JsonText(row, "quality") == "C") return absl::StrCat("graded C: ", JsonText(row, "quality_note"));
  if (JsonFlag(extra, "layout_check")) return "cannot run on its own GPU count";
  return "";
}

// Microseconds of a step by what is published; 0: nothing is.
double PublishedStepUs(const Json& row, const Json& published, TruthRow* truth) {
  const double tokens = JsonNumber(published, "tokens_per_s_per_gpu"), tflops = JsonNumber(published, "tflops_per_gpu");
  const double seconds = JsonNumber(published, "step_time_s", JsonNumber(published, "step_time_s_derived"));
  const Candidate& plan = truth->run.plan;
  const double step_tokens = static_cast<double>(plan.global_batch_size) * static_cast<double>(plan.seq_length);
  if (const double noted = SecondsOfNote(JsonText(row, "quality_note")); noted > 0) return noted * 1e6;
  if (tokens > 0) return step_tokens / (tokens * static_cast<double>(plan.gpus)) * 1e6;
  if (seconds > 0) return seconds * 1e6;
  truth->per_flop = true;
  return FlopsPerToken(truth->run.work, static_cast<double>(plan.seq_length)) * step_tokens /
         (tflops * 1e12 * static_cast<double>(plan.gpus)) * 1e6;
}

// A recipe function's or a complete script's knobs; a preset's, as far as it states them.
bool IsDonor(const Json& row, const Json& extra, const Unstated& none) {
  const std::string origin = JsonText(row, "origin");
  const bool states = !none.recompute || !none.graphs || (!none.dispatcher && JsonField(row, "dispatcher") != nullptr);
  return (!none.any() || JsonField(extra, "partial") != nullptr) && states && JsonText(row, "quality") != "C" &&
         (origin == "bridge_perf_recipe" || origin == "bridge_workload_config" || origin == "modelzoo_script" ||
          absl::StartsWith(origin, "mlperf"));
}

bool HasFigure(const Json* published) {
  return published != nullptr &&
         (JsonNumber(*published, "tokens_per_s_per_gpu") > 0 || JsonNumber(*published, "tflops_per_gpu") > 0 ||
          JsonNumber(*published, "step_time_s") > 0);
}

// What the row publishes, into `truth`, whose run has been read.
void ReadFigure(const Json& row, const Json& extra, const Json& published, const Unstated& none, TruthRow* truth) {
  ReadMtp(published, extra, &truth->run);
  truth->release = JsonText(published, "release");
  truth->age = std::max(0.0, ReleaseYear("main") - ReleaseYear(truth->release));
  truth->family = FamilyOf(truth->run.model_name);
  truth->step_us = PublishedStepUs(row, published, truth);
  truth->rounded = absl::StrContains(truth->release, "rounded");
  truth->complete = JsonText(row, "quality") == "A";
  truth->partial = none.any() || JsonField(extra, "partial") != nullptr || JsonText(extra, "task") == "sft" ||
                   (!truth->complete && JsonField(row, "quality") != nullptr);
}

// What ran is what the row's source states, and of the rest what the scripts of its release do (extra.as_run).
void TakeAsRun(rapidjson::Document* row) {
  const Json* extra = JsonField(*row, "extra");
  const Json* as_run = extra == nullptr ? nullptr : JsonField(*extra, "as_run");
  if (as_run == nullptr) return;
  rapidjson::Document taken(&row->GetAllocator());
  taken.CopyFrom(*as_run, row->GetAllocator());
  for (auto& field : taken.GetObject()) (*row)[field.name] = field.value;
}

class RecipeReader {
 public:
  explicit RecipeReader(const Catalog& catalog) : catalog_(catalog) {}

  void Read(const Json& row) {
    static const Json kNone(rapidjson::kObjectType);
    TruthRow truth;
    truth.id = JsonText(row, "id");
    truth.precision = JsonText(row, "precision");
    const Json* found = JsonField(row, "extra");
    const Json& extra = found == nullptr ? kNone : *found;
    const std::string why = ReadSettings(catalog_, row, extra, &truth.run);
    const Unstated none = UnstatedOf(row, why.empty() && truth.run.shape->experts > 0);
    truth.gpu = truth.run.gpu_name;
    if (why.empty() && IsDonor(row, extra, none)) donors_.push_back(DonorOf(truth, JsonText(row, "release"), none));
    const Json* published = JsonField(row, "published");
    if (!HasFigure(published)) return;
    // Its recipe says what it trains, and the knobs that the row does not state.
    const bool adapters = JsonText(extra, "task") == "lora";
    std::string doubt = !why.empty() ? why : Doubt(row, extra);
    const bool graded_c = why.empty() && JsonText(row, "quality") == "C";
    if (adapters && graded_c) doubt.clear();
    if (doubt.empty() && truth.run.plan.global_batch_size <= 0) doubt = "global batch not stated";
    if (!doubt.empty()) {
      file_.left_out.push_back(absl::StrCat(truth.id, ": ", doubt));
      return;
    }
    ReadFigure(row, extra, *published, none, &truth);
    if (adapters) {
      truth.doubtful = graded_c;
      file_.adapters.push_back(std::move(truth));
      return;
    }
    file_.rows.push_back(std::move(truth));
    unstated_.push_back(none);
  }

  TruthFile Finish() {
    CompleteDonors(&donors_);
    for (size_t i = 0; i < file_.rows.size(); ++i) {
      if (unstated_[i].any()) AddVariants(donors_, unstated_[i], &file_.rows[i]);
    }
    MarkNewest(&file_.rows);
    return std::move(file_);
  }

 private:
  static void MarkNewest(std::vector<TruthRow>* rows) {
    std::map<std::string, double> newest;
    const auto key = [](const TruthRow& row) {
      return absl::StrCat(row.run.model_name, "|", row.gpu, "|", row.run.plan.gpus, "|", row.precision);
    };
    for (const TruthRow& row : *rows) {
      double& age = newest.try_emplace(key(row), -1).first->second;
      age = std::max(age, ReleaseAge(row.release));
    }
    for (TruthRow& row : *rows) row.current = ReleaseAge(row.release) >= newest[key(row)];
  }

  const Catalog& catalog_;
  TruthFile file_;
  std::vector<Donor> donors_;
  std::vector<Unstated> unstated_;  // of file_.rows
};

}  // namespace

TruthFile ReadRecipes(const Catalog& catalog, const std::string& text) {
  RecipeReader reader(catalog);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document row;
    row.Parse(line.data(), line.size());
    if (row.HasParseError() || !row.IsObject()) continue;
    TakeAsRun(&row);
    reader.Read(row);
  }
  return reader.Finish();
}

}  // namespace flightplan
